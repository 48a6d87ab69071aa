"""A refutation as text and as JSON."""

import json
import shutil
import textwrap
from collections.abc import Iterator
from typing import Final

from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.items import written_bindings
from tidelog.explain.proofs.json_form import SCHEMA_VERSION, Json, bindings_value, json_value, rule_value
from tidelog.explain.proofs.judge import JudgedLiteral, Verdict
from tidelog.explain.proofs.refutation import NearMiss, Refutation
from tidelog.program.written_names import written_name
from tidelog.views.fact_text import write_value

MARKS: Final = {Verdict.HOLDS: "✓", Verdict.FAILS: "✗", Verdict.OPEN: "?"}
_WORDS: Final = {Verdict.HOLDS: "", Verdict.FAILS: "fails", Verdict.OPEN: "needs values"}


def draw_refutation(refutation: Refutation, width: int | None = None) -> str:
    """Return the refutation as a tree of lines no longer than the width.

    vpt("u", "L4") does not hold
    ├─ vpt#2, points.dl:7, with Var2 = "ins"
    │  ├─ ✓ assign("u", "ins")
    │  └─ ✗ vpt("ins", "L4")  [no such fact]
    """
    room = max(width or shutil.get_terminal_size((100, 24)).columns, 40)
    lines = []
    for first, rest, text in _lines(refutation, "", "", set()):
        wrapped = textwrap.wrap(
            text, room, initial_indent=first, subsequent_indent=rest + "   ", break_on_hyphens=False
        )
        lines += [first + text] if len(first) + len(text) <= room else wrapped
    return "\n".join(lines)


def _lines(
    refutation: Refutation, first: str, rest: str, seen: set[GroundAtom]
) -> Iterator[tuple[str, str, str]]:
    seen.add(refutation.atom)
    note = f"  [{refutation.note}]" if refutation.note else ""
    yield first, rest, f"{refutation.atom} does not hold{note}"
    entries: list[tuple[str, NearMiss | None]] = []
    for rule in refutation.rules:
        span = rule.rule.span
        title = f"{rule.rule.name}, {span.source.name}:{span.line}"
        rule_note = f"  [{rule.note}]" if rule.note else ""
        for miss in rule.near_misses:
            bound = written_bindings(dict(miss.bindings))
            entries.append((f"{title}{', with ' + bound if bound else ''}{rule_note}", miss))
        if not rule.near_misses:
            entries.append((f"{title}{rule_note}", None))
    for place, (title, near) in enumerate(entries):
        is_last = place == len(entries) - 1
        below = rest + ("   " if is_last else "│  ")
        yield rest + ("└─ " if is_last else "├─ "), below, title
        if near is not None:
            yield from _literals(near, refutation, below, seen)


def _literals(
    miss: NearMiss, refutation: Refutation, indent: str, seen: set[GroundAtom]
) -> Iterator[tuple[str, str, str]]:
    for place, literal in enumerate(miss.literals):
        is_last = place == len(miss.literals) - 1
        first, rest = (indent + "└─ ", indent + "   ") if is_last else (indent + "├─ ", indent + "│  ")
        yield first, rest, f"{MARKS[literal.verdict]} {literal.text}{_details(literal)}"
        deeper = None if literal.missing is None else refutation.deeper.get(literal.missing)
        if deeper is not None and deeper.atom not in seen:
            yield from _lines(deeper, rest + "└─ ", rest + "   ", seen)


def _details(literal: JudgedLiteral) -> str:
    if literal.verdict is Verdict.FAILS and literal.relation is not None:
        return "  [it holds]" if literal.is_negated else "  [no such fact]"
    word = literal.note or _WORDS[literal.verdict]
    return f"  [{word}]" if word else ""


def write_refutation(refutation: Refutation) -> str:
    """Return the refutation as JSON text."""
    return json.dumps(refutation_value(refutation), ensure_ascii=False, indent=1, allow_nan=False)


def refutation_value(refutation: Refutation) -> dict[str, Json]:
    """Return the refutation as values that JSON can write; docs/proofs.md has the schema."""
    return {
        "form": "tidelog-refutation",
        "version": SCHEMA_VERSION,
        "relation": refutation.atom.relation,
        "fact": [json_value(value) for value in refutation.atom.fact],
        "text": str(refutation.atom),
        "note": refutation.note,
        "rules": [
            {
                "rule": rule_value(rule.rule),
                "note": rule.note,
                "near_misses": [_miss(miss, refutation) for miss in rule.near_misses],
            }
            for rule in refutation.rules
        ],
    }


def _miss(miss: NearMiss, refutation: Refutation) -> Json:
    return {
        "bindings": bindings_value(dict(miss.bindings)),
        "literals": [_literal(literal, refutation) for literal in miss.literals],
    }


def _literal(literal: JudgedLiteral, refutation: Refutation) -> Json:
    deeper = None if literal.missing is None else refutation.deeper.get(literal.missing)
    return {
        "text": literal.text,
        "verdict": literal.verdict.value,
        "negated": literal.is_negated,
        "relation": literal.relation,
        "fact": None if literal.atom is None else [json_value(value) for value in literal.atom.fact],
        "free": [written_name(name) for name in literal.free],
        "known": {str(place): write_value(value) for place, value in literal.pattern},
        "why_not": None if deeper is None else refutation_value(deeper),
    }
