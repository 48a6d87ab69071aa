"""An analysis that follows the files of a code base, and what it finds, with file and line."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from tidelog.analysis.open_tree import open_tree
from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic
from tidelog.program.nodes import Program, Relation
from tidelog.session.session import Session
from tidelog.source import Span
from tidelog.trees.edits import EditScript
from tidelog.trees.forest import Forest, ForestStep
from tidelog.values import Fact, Value
from tidelog.views import Delta
from tidelog.views.fact_text import write_value

_NODE = "Node"
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class Finding:
    """A fact of an output relation, and where its first node is."""

    relation: str
    fact: Fact
    text: str
    span: Span | None

    def __str__(self) -> str:
        return f"{self.span}: {self.text}" if self.span else self.text


@dataclass(frozen=True, slots=True)
class FollowStep:
    """What changed when files changed; `mistakes` are about files that keep the tree they had."""

    paths: tuple[str, ...]
    script: EditScript
    delta: Delta
    inserted: tuple[Finding, ...]
    deleted: tuple[Finding, ...]
    mistakes: tuple[Diagnostic, ...]


class Follow:
    """A program over a forest whose files change.

        follow = Follow("unused.dl", Forest.of_folder("src").forest)
        step = follow.update({"a.py": text})
        for finding in step.inserted:
            print(finding)

    The findings are the facts of the `.output` relations. A step happens completely or not at all.
    """

    def __init__(self, program: str | Path, forest: Forest, **options: Any) -> None:
        self._start(open_tree(program, forest, **options), forest)

    def _start(self, db: Session, forest: Forest) -> None:
        self.db = db
        self._forest = forest
        self._places = _Places(forest)
        self._node_columns: dict[str, tuple[int, ...]] = {}

    @classmethod
    def resumed(cls, db: Session, forest: Forest) -> Self:
        """Return what follows a forest whose facts a session already has, such as one over a store."""
        made = cls.__new__(cls)
        made._start(db, forest)  # noqa: SLF001 - of this class
        return made

    @property
    def forest(self) -> Forest:
        """Return the files as they are now."""
        return self._forest

    @forest.setter
    def forest(self, forest: Forest) -> None:
        self._forest = forest
        self._places = _Places(forest)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Return the names of the output relations."""
        directives = self.db.program.directives
        return tuple(dict.fromkeys(each.relation for each in directives if each.kind == "output"))

    def findings(self) -> list[Finding]:
        """Return all current findings, in the order of files and lines."""
        found = (
            finding for name in self.outputs for finding in self._findings(name, self.db[name], self._places)
        )
        return sorted(found, key=_place)

    def update(self, changes: Mapping[str, str | None]) -> FollowStep:
        """Return what changes when files get these texts; None deletes a file."""
        return self.take(self.forest.update(changes), tuple(changes))

    def take(self, step: ForestStep, paths: tuple[str, ...]) -> FollowStep:
        """Return what changes with a step of the forest, in which these files changed."""
        before = self._places
        near = paths[0] if paths else None
        delta = self.db.apply(step.script)
        self.forest = step.forest
        inserted = [
            finding
            for name in self.outputs
            for finding in self._findings(name, delta[name].inserted, self._places, near)
        ]
        deleted = [
            finding
            for name in self.outputs
            for finding in self._findings(name, delta[name].deleted, before, near)
        ]
        return FollowStep(
            paths,
            step.script,
            delta,
            tuple(sorted(inserted, key=_place)),
            tuple(sorted(deleted, key=_place)),
            step.mistakes,
        )

    def why(self, finding: Finding, depth: int = 3) -> str:
        """Return why something was found, with the source lines that each fact of the proof is about."""
        from tidelog.analysis.follow_why import explain  # noqa: PLC0415 - you pay only for what you ask

        return explain(self, finding, depth)

    def tell(self, relation: str, fact: Fact) -> tuple[str, Span | None]:
        """Return a fact with pieces of source for nodes, and where the first of these stands."""
        finding = self.finding(relation, fact)
        return finding.text, finding.span

    def finding(self, relation: str, fact: Fact, near: str | None = None) -> Finding:
        """Return a fact as it is found in the present texts; `near` is the file to look in first."""
        return next(iter(self._findings(relation, [fact], self._places, near)))

    def places(self, finding: Finding, near: str | None = None) -> list[tuple[str, Span]]:
        """Return the columns of a finding that hold nodes, each with the place of its node."""
        relation = self.db.program.relations[finding.relation]
        found = []
        for place in self._columns(finding.relation):
            span = self._places.span(finding.fact[place], near)
            if span is not None:
                found.append((relation.columns[place].name, span))
        return found

    def close(self) -> None:
        """Release all facts."""
        self.db.close()

    def _columns(self, name: str) -> tuple[int, ...]:
        """Return the places of the columns of a relation that hold nodes."""
        known = self._node_columns.get(name)
        if known is None:
            known = node_columns(self.db.program.relations[name], self.db.program)
            self._node_columns[name] = known
        return known

    def _findings(
        self, name: str, facts: Iterable[Fact], places: "_Places", near: str | None = None
    ) -> Iterable[Finding]:
        columns = self._columns(name)
        for fact in facts:
            parts = [
                "_"
                if value is None
                else places.shown(value, near)
                if column in columns
                else write_value(value)
                for column, value in enumerate(fact)
            ]
            spans = (places.span(fact[column], near) for column in columns)
            span = next((each for each in spans if each is not None), None)
            yield Finding(name, fact, f"{name}({', '.join(parts)})", span)


class _Places:
    """Where the nodes of a forest stand: each is looked for once, however many findings are about it."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self._spans: dict[int, Span | None] = {}
        self._shown: dict[int, str] = {}

    def span(self, node: Value, near: str | None) -> Span | None:
        """Return where a node stands; None if there is no such node."""
        if not isinstance(node, int):
            return None
        if node not in self._spans:
            self._spans[node] = self._forest.place_of(node, near)
        return self._spans[node]

    def shown(self, node: Value, near: str | None) -> str:
        """Return a node as a piece of the text, or its id where there is none."""
        if not isinstance(node, int):
            return f"#{node}"
        known = self._shown.get(node)
        if known is None:
            known = self._shown[node] = _piece(self.span(node, near)) or f"#{node}"
        return known


def node_columns(relation: Relation, program: Program) -> tuple[int, ...]:
    """Return the places of the columns that hold nodes."""
    return tuple(place for place, column in enumerate(relation.columns) if _is_node(column.type, program))


def _is_node(name: str | None, program: Program) -> bool:
    while name is not None and name != _NODE:
        found = program.types.get(name)
        name = None if found is None else found.base
    return name == _NODE


def _piece(span: Span | None) -> str:
    """Return the beginning of a piece of source; nothing if there is none."""
    if span is None or not span.text:
        return ""
    first, *rest = span.text.splitlines() or [""]
    is_cut = bool(rest) or len(first) > _LONGEST
    return f"`{first[:_LONGEST]}{'…' if is_cut else ''}`"


def _place(finding: Finding) -> tuple[str, int, str, str]:
    span = finding.span
    return ("", 0, finding.relation, finding.text) if span is None else (
        span.source.name, span.start, finding.relation, finding.text
    )  # fmt: skip
