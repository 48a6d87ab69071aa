"""Changes in whatever form a user has them, as the net change of input facts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import MaintainedEngine, RelationChange
from tidelog.engine.protocol import Codes
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import described
from tidelog.program.inputs import fixed_relation
from tidelog.program.lattice_tables import fixed_relations
from tidelog.program.nodes import Program, Relation
from tidelog.program.suggest import undeclared_relation
from tidelog.program.written_facts import encode_atoms, find_relation
from tidelog.session.load import columns_of
from tidelog.source import Source, Span
from tidelog.syntax import tree
from tidelog.syntax.changes import WrittenChange, WrittenTransaction, parse_changes, parse_facts
from tidelog.syntax.find_source import is_name_of_file
from tidelog.values import Codec
from tidelog.views.delta import RelationDelta, Sides, fact_count


@dataclass(frozen=True, slots=True)
class Change:
    """What to insert into one relation and what to delete from it, in any form that facts have."""

    insert: object = ()
    delete: object = ()


# A mapping from relations to facts, or texts such as `edge(1, 2)`.
SomeFacts = Mapping[str, object] | str | Iterable[str]
# A change script, or what to do to each relation.
Changes = str | Mapping[str, Change | RelationDelta | Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class NetChange:
    """Changes of input facts that have an effect, and those that have none."""

    changes: Mapping[str, RelationChange]
    without_effect: Mapping[str, Sides]


@dataclass(frozen=True, slots=True)
class _Step:
    is_insert: bool
    relation: str
    columns: Sequence[Codes]


class Gathering:
    """Changes in the order they were asked for; mistakes gather in `diagnostics`.

    `changeable` names the relations whose input facts may change.
    """

    def __init__(self, program: Program, codec: Codec, changeable: frozenset[str]) -> None:
        self._program = program
        self._codec = codec
        self._changeable = changeable
        self._steps: list[_Step] = []
        self.diagnostics: list[Diagnostic] = []

    def facts(self, facts: SomeFacts, *, is_insert: bool) -> None:
        """Take facts of several relations to insert or to delete."""
        if isinstance(facts, Mapping):
            for name, data in facts.items():
                self.data(name, data, is_insert=is_insert)
            return
        texts = [facts] if isinstance(facts, str) else facts
        if not _may_hold_texts(texts):
            self.diagnostics.append(_no_facts(facts))
            return
        for text in texts:
            if not isinstance(text, str):
                self.diagnostics.append(_no_text(text))
                return
            try:
                atoms = parse_facts(text)
            except TidelogError as error:
                self.diagnostics += error.diagnostics
                continue
            self._atoms([(is_insert, atom) for atom in atoms])

    def data(self, name: str, data: object, *, is_insert: bool) -> None:
        """Take facts of one relation, in any form that `tidelog.open` takes facts in."""
        relation = self._program.relations.get(name) if isinstance(name, str) else None
        if relation is None:
            self.diagnostics.append(undeclared_relation(name, self._program.relations))
            return
        if not self._may_change(relation, None) or (type(data) is tuple and not data):
            return
        try:
            columns = columns_of(data, relation, self._program, self._codec)
        except TidelogError as error:
            self.diagnostics += error.diagnostics
            return
        if not relation.arity:
            columns = [np.zeros(0 if columns is None else 1, dtype=np.int64)]
        self._steps.append(_Step(is_insert, name, columns or ()))

    def changes(self, changes: Changes) -> None:
        """Take a change script, or changes by relation; deletions go before insertions there."""
        if isinstance(changes, PathLike) or (isinstance(changes, str) and is_name_of_file(changes)):
            self.diagnostics.append(_no_script(changes))
            return
        if isinstance(changes, str):
            for transaction in parse_changes(Source("changes", changes)):
                self.transaction(transaction)
            return
        if not isinstance(changes, Mapping):
            self.diagnostics.append(_no_changes(changes))
            return
        for name, change in changes.items():
            match change:
                case Change():
                    insert, delete = change.insert, change.delete
                case Mapping():
                    insert, delete = change.get("insert", ()), change.get("delete", ())
                    self.diagnostics += _unknown_words(name, set(change) - {"insert", "delete"})
                case RelationDelta():
                    insert, delete = change.inserted, change.deleted
                case _:
                    self.diagnostics.append(_no_change(name, change))
                    continue
            self.data(name, delete, is_insert=False)
            self.data(name, insert, is_insert=True)

    def transaction(self, transaction: WrittenTransaction) -> None:
        """Take the changes of a script's transaction, and its mistakes."""
        self.diagnostics += transaction.diagnostics
        self.written(transaction.changes, transaction.line_offset)

    def written(self, changes: Iterable[WrittenChange], line_offset: int = 0) -> None:
        """Take changes read from a script."""
        before = len(self.diagnostics)
        self._atoms([(change.is_insert, change.atom) for change in changes])
        if line_offset:
            self.diagnostics[before:] = [
                replace(each, line_offset=each.line_offset + line_offset)
                for each in self.diagnostics[before:]
            ]

    def net(self, engine: MaintainedEngine) -> NetChange:
        """Return what is left to do: of all that was asked about a fact the last counts.

        Raises `TidelogError` with all mistakes.
        """
        if self.diagnostics:
            raise TidelogError(self.diagnostics)
        by_relation: dict[str, list[_Step]] = {}
        for step in self._steps:
            if fact_count(step.columns):
                by_relation.setdefault(step.relation, []).append(step)
        changes: dict[str, RelationChange] = {}
        without_effect: dict[str, Sides] = {}
        for name, steps in by_relation.items():
            columns, is_wanted = _last_of_each(steps)
            is_input = self._is_input(engine, name, columns)
            is_idle = is_wanted == is_input
            idle_count = np.count_nonzero(is_idle)
            if idle_count < is_idle.size:
                inserted, deleted = is_wanted & ~is_input, ~is_wanted & is_input
                changes[name] = RelationChange(_pick(columns, inserted), _pick(columns, deleted))
            if idle_count:
                idle = _pick(columns, is_wanted & is_idle), _pick(columns, is_idle & ~is_wanted)
                without_effect[name] = idle
        return NetChange(changes, without_effect)

    def _is_input(
        self, engine: MaintainedEngine, name: str, columns: Sequence[Codes]
    ) -> npt.NDArray[np.bool_]:
        """Say of each fact whether it is an input fact before the changes."""
        return engine.is_input(name, columns)

    def _aim(self, program: Program, codec: Codec, changeable: frozenset[str]) -> None:
        """Take the changes that follow for those of another program with the same codes."""
        self._program, self._codec, self._changeable = program, codec, changeable

    def _check_changeable(self, changeable: frozenset[str]) -> None:
        """Raise if other facts can be changed now than when the changes were taken."""
        self._changeable = changeable
        for name in dict.fromkeys(step.relation for step in self._steps):
            self._may_change(self._program.relations[name], None)
        if self.diagnostics:
            raise TidelogError(self.diagnostics)

    def _atoms(self, changes: Sequence[tuple[bool, tree.Atom]]) -> None:
        """Take facts written as text; runs of the same relation and direction are read together."""
        start = 0
        for position in range(1, len(changes) + 1):
            is_insert, atom = changes[start]
            if position < len(changes):
                next_insert, next_atom = changes[position]
                if (next_insert, next_atom.relation, len(next_atom.terms)) == (
                    is_insert,
                    atom.relation,
                    len(atom.terms),
                ):
                    continue
            self._run([each for _, each in changes[start:position]], is_insert=is_insert)
            start = position

    def _run(self, atoms: Sequence[tree.Atom], *, is_insert: bool) -> None:
        relation = find_relation(atoms[0], self._program)
        if isinstance(relation, Diagnostic):
            self.diagnostics.append(relation)
        elif self._may_change(relation, atoms[0].span):
            columns = encode_atoms(atoms, relation, self._codec, self.diagnostics)
            self._steps.append(_Step(is_insert, relation.name, columns))

    def _may_change(self, relation: Relation, span: Span | None) -> bool:
        if relation.name in self._changeable:
            return True
        if relation.name in fixed_relations(self._program):
            self.diagnostics.append(replace(fixed_relation(relation.name), span=span))
            return False
        inputs = [name for name in self._program.relations if name in self._changeable]
        self.diagnostics.append(
            Diagnostic(
                code="not-an-input",
                message=f"`{relation.name}` is derived by rules, so its facts cannot be changed",
                span=span,
                hint=f"declare `.input {relation.name}`"
                + (f", or change {', '.join(f'`{name}`' for name in inputs[:6])}" if inputs else ""),
            )
        )
        return False


def _last_of_each(steps: Sequence[_Step]) -> tuple[list[Codes], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Return every fact once, and whether the last step that names it inserts it."""
    width = len(steps[0].columns)
    columns = [
        np.concatenate([step.columns[place] for step in steps]) if len(steps) > 1 else steps[0].columns[place]
        for place in range(width)
    ]
    counts = [fact_count(step.columns) for step in steps]
    is_insert = np.repeat(np.array([step.is_insert for step in steps]), counts)
    if len(is_insert) == 1:
        return columns, is_insert
    # Stable, so that equal facts stand in the order they were asked for.
    order = np.lexsort(columns)
    is_last = np.ones(len(order), dtype=np.bool_)
    is_last[:-1] = np.logical_or.reduce([column[order[:-1]] != column[order[1:]] for column in columns])
    kept = order[is_last]
    return [column[kept] for column in columns], is_insert[kept]


def _pick(columns: Sequence[Codes], rows: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[Codes]:
    return [column[rows] for column in columns]


def _may_hold_texts(facts: object) -> bool:
    """Say whether facts of several relations may come out; a frame or an array holds values of one."""
    is_data = any(hasattr(facts, name) for name in ("columns", "dtype", "__arrow_c_stream__", "__array__"))
    return isinstance(facts, Iterable) and not is_data and not isinstance(facts, (bytes, bytearray))


def _no_facts(found: object) -> Diagnostic:
    return Diagnostic(
        code="bad-changes",
        message=f"facts are texts or a mapping from relations to facts, not {described(found)}",
        hint="give insert={'edge': [(1, 2)]} or insert=['edge(1, 2)']",
    )


def _no_changes(found: object) -> Diagnostic:
    return Diagnostic(
        code="bad-changes",
        message=f"changes are a change script or a mapping from relations to changes, not {described(found)}",
        hint="give for example '+edge(1, 2). -edge(2, 3).'",
    )


def _no_script(found: object) -> Diagnostic:
    return Diagnostic(
        code="bad-changes",
        message=f"changes are given as a text, not by the name of a file: {found}",
        hint=f"read it: db.apply(pathlib.Path({str(found)!r}).read_text())",
    )


def _no_text(found: object) -> Diagnostic:
    return Diagnostic(
        code="bad-changes",
        message=f"facts without a relation are texts such as 'edge(1, 2)', not {type(found).__name__}",
        hint="give tuples in a mapping: insert={'edge': [(1, 2)]}",
    )


def _no_change(name: str, found: object) -> Diagnostic:
    return Diagnostic(
        code="bad-changes",
        message=f"the changes of `{name}` are given as {type(found).__name__}",
        hint="give tidelog.Change(insert=..., delete=...), or use insert= and delete=",
    )


def _unknown_words(name: str, words: set[str]) -> list[Diagnostic]:
    return [
        Diagnostic(
            code="bad-changes",
            message=f"the changes of `{name}` have a part {word!r}",
            hint="the parts are 'insert' and 'delete'",
        )
        for word in sorted(words, key=str)
    ]
