"""What the statements of cells do to sessions."""

from collections.abc import Iterator, MutableMapping
from dataclasses import field, replace
from pathlib import Path

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.notebook.request import CellRequest
from tidelog.session import Session, open_session
from tidelog.source import Source
from tidelog.syntax import parse, tree
from tidelog.syntax.changes import parse_changes
from tidelog.syntax.query import parse_query
from tidelog.syntax.statements import StatementKind, Statements, split_statements
from tidelog.views import Answer, Delta
from tidelog.views.query_values import asked_names

Shown = Session | Answer | Delta
Declaration = (
    tree.RelationDeclaration
    | tree.SubtypeDeclaration
    | tree.UnionDeclaration
    | tree.RecordDeclaration
    | tree.AlgebraicDeclaration
    | tree.FunctorDeclaration
    | tree.Component
)


@dataclass(frozen=True)
class CellSession:
    """A session and what cells made it from, so that a cell can be run again after an edit."""

    session: Session
    folder: Path | None = None
    facts: dict[str, object] = field(default_factory=dict)
    steps: list[Statements] = field(default_factory=list)


class Cells:
    """The sessions of a notebook; `variables` are those of the notebook, among which named sessions are."""

    def __init__(self, variables: MutableMapping[str, object]) -> None:
        self._variables = variables
        self._known: dict[str, CellSession] = {}
        self._last = ""

    def run(self, request: CellRequest, text: str) -> Iterator[Shown]:
        """Do what a cell says, and yield what is to be shown.

        These are answers and deltas; for a cell of declarations and rules alone, which makes the session or
        replaces what an earlier run of it declared, it is the session.
        """
        name = self._last = request.name
        statements = split_statements(text)
        facts = {relation: self._value(variable) for relation, variable in request.facts.items()}
        is_shown = False
        for shown in self._steps(name, statements, request.folder, facts):
            is_shown = True
            yield shown
        if not is_shown:
            yield self.session()

    def session(self) -> Session:
        """Return the session of the last cell."""
        found = self._find(self._last)
        if found is None:
            raise TidelogError([_no_session(self._last)])
        return found.session

    def query(self, text: str) -> Answer:
        """Return the answer of the last cell's session; `$name` stands for the variable of that name."""
        session = self.session()
        asked = text.strip().removeprefix("?-").removesuffix(".").strip()
        branches = {branch.name for each in session.program.types.values() for branch in each.branches}
        names = asked_names(parse_query(Source("query", asked))).keys() - branches
        values = {name: self._variables[name] for name in names if name in self._variables}
        return session.query(asked, **values)

    def _steps(
        self, name: str, statements: list[Statements], folder: Path | None, facts: dict[str, object]
    ) -> Iterator[Shown]:
        known = self._find(name)
        if known is None:
            if not statements or statements[0].kind is not StatementKind.PROGRAM:
                raise TidelogError([_no_session(name)])
            first, *statements = statements
            self._keep(name, _open(folder, facts, [first]))
        elif facts:
            yield known.session.apply(insert=facts)
            known.facts.update(facts)
        for each in statements:
            match each.kind:
                case StatementKind.PROGRAM:
                    yield from self._program(name, each)
                case StatementKind.CHANGES:
                    yield from _apply(self._known[name].session, each)
                    self._known[name].steps.append(each)
                case StatementKind.QUERY:
                    yield self.query(each.text)

    def _program(self, name: str, added: Statements) -> Iterator[Delta]:
        """Add declarations and rules; a text that declares all an earlier one did takes its place."""
        known = self._known[name]
        declared = _declared(added)
        places = [
            place
            for place, step in enumerate(known.steps)
            if step == added or (_declared(step) and _declared(step) <= declared)
        ]
        if not places:
            yield known.session.add_rules(Source("cell", added.text))
            known.steps.append(added)
        elif known.steps[places[0]] != added or len(places) > 1:
            kept = [step for place, step in enumerate(known.steps) if place not in places[1:]]
            kept[places[0]] = added
            self._keep(name, _open(known.folder, known.facts, kept))
            known.session.close()

    def _find(self, name: str) -> CellSession | None:
        """Return what is known of a session, also one that Python made."""
        if name and name in self._variables:
            found = self._variables[name]
            if not isinstance(found, Session):
                raise TidelogError([_not_a_session(name, found)])
            if name not in self._known or self._known[name].session is not found:
                self._known[name] = CellSession(found)
        elif name:
            self._known.pop(name, None)
        return self._known.get(name)

    def _keep(self, name: str, made: CellSession) -> None:
        self._known[name] = made
        if name:
            self._variables[name] = made.session

    def _value(self, variable: str) -> object:
        if variable not in self._variables:
            message = f"there is no variable `{variable}`"
            hint = "behind `=` stands a variable of the notebook that holds facts"
            raise TidelogError([Diagnostic(code="bad-argument", message=message, hint=hint)])
        return self._variables[variable]


def _open(folder: Path | None, facts: dict[str, object], steps: list[Statements]) -> CellSession:
    """Return a session over the first step, after all the others."""
    first, *others = steps
    session = open_session(Source("cell", first.text), facts=folder if folder is not None else facts)
    try:
        if folder is not None and facts:
            session.apply(insert=facts)
        for step in others:
            if step.kind is StatementKind.PROGRAM:
                session.add_rules(Source("cell", step.text))
            else:
                list(_apply(session, step))
    except BaseException:
        session.close()
        raise
    return CellSession(session, folder, facts, steps)


def _apply(session: Session, changes: Statements) -> Iterator[Delta]:
    """Yield the delta of each transaction."""
    for transaction in parse_changes(Source("cell", changes.text)):
        if transaction.changes or transaction.diagnostics:
            yield session.apply(replace(transaction, is_committed=True))


def _declared(step: Statements) -> frozenset[str]:
    """Return the names that a program text declares."""
    if step.kind is not StatementKind.PROGRAM:
        return frozenset()
    items = parse(Source("cell", step.text)).items
    return frozenset(item.name for item in items if isinstance(item, Declaration))


def _no_session(name: str) -> Diagnostic:
    what = f"there is no session `{name}` yet" if name else "there is no session yet"
    return Diagnostic(
        code="no-session", message=what, hint="begin with declarations: .decl edge(x: number, y: number)"
    )


def _not_a_session(name: str, found: object) -> Diagnostic:
    return Diagnostic(
        code="no-session",
        message=f"the variable `{name}` is not a session but a value of type {type(found).__name__}",
        hint="choose another name, or delete the variable",
    )
