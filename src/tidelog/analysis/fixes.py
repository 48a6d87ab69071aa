"""Fixes of findings, given by relations that are named after them.

For findings `unused(at, name)` the relation `fix_unused` has the columns of `unused` and, by name,

    node: Node      the node whose source is replaced
    text: symbol    by what; the empty text deletes it, with its line if nothing else is on it
    title: symbol   what the fix is called; may be left out

Other columns of type `Node` are holes: `{left}` in the text is the source of the node in column `left`.
All facts of one finding with one title are the edits of one fix.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from tidelog.analysis.follow import Finding, Follow, node_columns
from tidelog.dataclass import dataclass
from tidelog.program.nodes import Relation
from tidelog.source import Span
from tidelog.values import Fact

PREFIX: Final = "fix_"


@dataclass(frozen=True, slots=True)
class FixEdit:
    """A piece of source, and the text that replaces it."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that belong together; none overlaps another."""

    title: str
    edits: tuple[FixEdit, ...]


def find_fixes(follow: Follow, finding: Finding) -> list[Fix]:
    """Return the fixes that the program offers for a finding, in the order of their titles.

    A fix whose edits overlap, or whose nodes have no place, is left out.
    """
    relation = follow.db.program.relations.get(f"{PREFIX}{finding.relation}")
    width = len(finding.fact)
    if relation is None or not _is_fix(relation, width):
        return []
    by_title: dict[str, list[FixEdit | None]] = {}
    for fact in follow.db[relation.name]:
        if fact[:width] == finding.fact:
            title, edit = _edit(follow, relation, fact, width)
            by_title.setdefault(title or f"Fix {finding.relation}", []).append(edit)
    fixes = []
    for title, edits in sorted(by_title.items()):
        placed = sorted((edit for edit in edits if edit is not None), key=lambda edit: _order(edit.span))
        if len(placed) == len(edits) and not _do_overlap(placed):
            fixes.append(Fix(title, tuple(placed)))
    return fixes


def _is_fix(relation: Relation, width: int) -> bool:
    names = [column.name for column in relation.columns[width:]]
    return "node" in names and "text" in names


def _edit(follow: Follow, relation: Relation, fact: Fact, width: int) -> tuple[str, FixEdit | None]:
    values = {column.name: fact[place] for place, column in enumerate(relation.columns) if place >= width}
    title = values.get("title")
    text = str(values["text"])
    for place in node_columns(relation, follow.db.program):
        name = relation.columns[place].name
        if place >= width and name != "node" and f"{{{name}}}" in text:
            text = text.replace(f"{{{name}}}", _source_of(follow, fact[place]))
    node = values["node"]
    span = follow.forest.place_of(node) if isinstance(node, int) else None
    edit = None if span is None else FixEdit(_whole_line(span) if not text else span, text)
    return title if isinstance(title, str) else "", edit


def _source_of(follow: Follow, node: object) -> str:
    span = follow.forest.place_of(node) if isinstance(node, int) else None
    return "" if span is None else span.text


def _whole_line(span: Span) -> Span:
    """Return a span that is deleted, with its whole line if nothing else is on it."""
    text = span.source.text
    start = text.rfind("\n", 0, span.start) + 1
    found = text.find("\n", span.end)
    end = len(text) if found < 0 else found
    if text[start : span.start].strip() or text[span.end : end].strip():
        return span
    return Span(span.source, start, min(end + 1, len(text)))


def _order(span: Span) -> tuple[str, int]:
    return span.source.name, span.start


def _do_overlap(edits: Iterable[FixEdit]) -> bool:
    found = list(edits)
    return any(
        one.span.source.name == other.span.source.name and one.span.end > other.span.start
        for one, other in pairwise(found)
    )
