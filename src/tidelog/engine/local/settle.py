"""What a relation holds after an iteration, if its facts are not simply added.

Candidates for such a relation are collected separately; at the iteration's end a choice-domain leaves
some out, lattice columns are joined, an equivalence is closed, and subsumption deletes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.state import NeedsWideCodes, fits_narrow
from tidelog.engine.protocol import UserFunctions
from tidelog.engine.user_functors import call_functor, find_functor, no_join
from tidelog.program.nodes import INTRINSIC_JOINS, Lattice, Program, Relation
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import CodeArray, Int64s
from tidelog.storage.lattice_table import LatticeTable
from tidelog.storage.value_order import ValueOrder
from tidelog.values import NoValueError, Value
from tidelog.values.codec import Codec
from tidelog.values.functors import order_key

Rows = npt.NDArray[np.int64]
Lub = Callable[[str, Value, Value], Value]


def needs_settling(relation: Relation) -> bool:
    """Say whether candidates of the relation must be collected before they become facts."""
    return bool(relation.choices or relation.is_equivalence or relation.lattice_columns)


class Settler:
    """Turns the candidates of one relation into facts, iteration by iteration."""

    def __init__(
        self,
        relation: Relation,
        stored: StoredRelation,
        program: Program,
        codec: Codec,
        functions: UserFunctions,
    ) -> None:
        self.pending: StoredRelation | LatticeTable = StoredRelation(relation.arity, stored.dtype)
        self._relation = relation
        self._stored = stored
        self._codec = codec
        self._choice = _Choice(relation.choices) if relation.choices else None
        self._equivalence = _Equivalence() if relation.is_equivalence else None
        self._lattice = None
        self._table = lattice_table(relation, stored, program)
        if self._table is not None:
            self.pending = self._table
        elif relation.lattice_columns:
            self._lattice = _Lattice(relation, program, codec, functions)

    def settle(self, candidates: CodeArray | None = None) -> Int64s:
        """Insert the candidates that are facts now; delete the facts they replace, and return their rows."""
        if self._table is not None:
            if candidates is not None:
                self._table.insert(candidates)
            return self._table.settle()
        assert isinstance(self.pending, StoredRelation)
        rows = (self.pending.live_rows() if candidates is None else candidates).astype(np.int64)
        self.pending = StoredRelation(self._relation.arity, self._stored.dtype)
        types = [column.type for column in self._relation.columns]
        if len(rows):
            order = self._codec.sort_rows(list(rows.T), types)
            rows = rows[order]
        deleted = np.empty(0, np.int64)
        if self._choice is not None:
            rows = self._choice.admit(rows)
        if self._lattice is not None:
            replaced, rows = self._lattice.join(rows)
            if len(replaced):
                deleted = self._stored.find(replaced.astype(self._stored.dtype))
                self._stored.delete_rows(deleted)
        if self._equivalence is not None:
            rows = self._equivalence.close(rows)
        self._stored.insert(self._packed(rows))
        return deleted

    def narrow(self, candidates: Rows) -> bool:
        """Narrow the values of a lattice to what rules derive from them; say whether any changed."""
        if self._lattice is None:
            return False
        rows = candidates
        if len(rows):
            types = [column.type for column in self._relation.columns]
            rows = rows[self._codec.sort_rows(list(rows.T), types)]
        replaced, rows = self._lattice.narrow(rows)
        if len(replaced):
            self._stored.delete_rows(self._stored.find(replaced.astype(self._stored.dtype)))
            self._stored.insert(self._packed(rows))
        return bool(len(replaced))

    def _packed(self, rows: Rows) -> CodeArray:
        """Return rows of the relation's width; raise `NeedsWideCodes` if a value is too large."""
        if self._stored.dtype == np.int32 and not fits_narrow(rows):
            raise NeedsWideCodes
        return np.ascontiguousarray(rows.astype(self._stored.dtype))


def lattice_table(relation: Relation, stored: StoredRelation, program: Program) -> LatticeTable | None:
    """Return the table that joins candidates as they come, or None if a join is not `min` or `max`."""
    columns = relation.lattice_columns
    if len(columns) != 1 or relation.choices:
        return None
    type_name = relation.columns[columns[0]].type
    lattice = program.lattices[type_name]
    extreme = lattice.extreme
    if extreme is None or lattice.widen is not None or lattice.narrow is not None:
        return None
    return LatticeTable(stored, columns[0], ValueOrder(program.kind_of(type_name), extreme == "max"))


def joiner(name: str, functions: UserFunctions, codec: Codec) -> Callable[..., Value]:
    """Return the function that joins two values."""
    if name in INTRINSIC_JOINS:
        best = min if INTRINSIC_JOINS[name] == "min" else max
        return lambda left, right: best(left, right, key=order_key)
    function = find_functor(name, functions, codec, None)

    def join(left: Value, right: Value) -> Value:
        try:
            return call_functor(name, function, (left, right), None)
        except NoValueError:
            raise no_join(name, (left, right)) from None

    return join


class _Choice:
    """Remembers which values of each domain are taken."""

    def __init__(self, domains: Sequence[tuple[int, ...]]) -> None:
        self._domains = domains
        self._taken: list[set[tuple[int, ...]]] = [set() for _ in domains]

    def admit(self, rows: Rows) -> Rows:
        """Return the rows, taken in order, that agree with no earlier one on any domain."""
        kept = []
        for number, row in enumerate(rows.tolist()):
            keys = [tuple(row[place] for place in domain) for domain in self._domains]
            if any(key in taken for key, taken in zip(keys, self._taken, strict=True)):
                continue
            for key, taken in zip(keys, self._taken, strict=True):
                taken.add(key)
            kept.append(number)
        return rows[kept]


class _Equivalence:
    """Classes of values; uniting two of them yields exactly the pairs that are new."""

    def __init__(self) -> None:
        self._class_of: dict[int, list[int]] = {}

    def close(self, pairs: Rows) -> Rows:
        """Return the pairs that these add to the equivalence."""
        added: list[Rows] = [np.empty((0, 2), np.int64)]
        for left, right in pairs.tolist():
            for member in (left, right):
                if member not in self._class_of:
                    self._class_of[member] = [member]
                    added.append(np.array([[member, member]], np.int64))
            first, second = self._class_of[left], self._class_of[right]
            if first is second:
                continue
            added.extend(_both_ways(np.array(first, np.int64), np.array(second, np.int64)))
            small, large = sorted((first, second), key=len)
            large.extend(small)
            for member in small:
                self._class_of[member] = large
        return np.concatenate(added)


def _both_ways(first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> Iterable[Rows]:
    lefts = np.repeat(first, len(second))
    rights = np.tile(second, len(first))
    return np.stack([lefts, rights], axis=1), np.stack([rights, lefts], axis=1)


class _Lattice:
    """The current fact of every combination of plain columns."""

    def __init__(self, relation: Relation, program: Program, codec: Codec, functions: UserFunctions) -> None:
        self._columns = relation.columns
        self._joined = relation.lattice_columns
        self._plain = [place for place in range(relation.arity) if place not in self._joined]
        self._codec = codec
        self._lubs = {
            place: joiner(program.lattices[relation.columns[place].type].lub, functions, codec)
            for place in self._joined
        }
        self._widens = self._operators(program, functions, lambda lattice: lattice.widen)
        self._narrows = self._operators(program, functions, lambda lattice: lattice.narrow)
        self._facts: dict[tuple[int, ...], tuple[int, ...]] = {}

    def join(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the facts that the rows replace and the facts they become."""
        before: dict[tuple[int, ...], tuple[int, ...] | None] = {}
        for row in rows.tolist():
            key = tuple(row[place] for place in self._plain)
            current = self._facts.get(key)
            before.setdefault(key, current)
            self._facts[key] = tuple(row) if current is None else self._combine(current, row)
        if self._widens:
            for key, old in before.items():
                if old is not None:
                    self._facts[key] = self._apply(self._widens, old, self._facts[key])
        return self._difference(before)

    def narrow(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the facts that change and what they become if rules make these rows of all facts."""
        derived: dict[tuple[int, ...], tuple[int, ...]] = {}
        for row in rows.tolist():
            key = tuple(row[place] for place in self._plain)
            known = derived.get(key)
            derived[key] = tuple(row) if known is None else self._combine(known, row)
        before: dict[tuple[int, ...], tuple[int, ...] | None] = {}
        for key, fact in derived.items():
            old = self._facts.get(key)
            if old is not None:
                before[key] = old
                narrowed = self._apply(self._narrows, old, fact, always=True)
                self._facts[key] = narrowed
        return self._difference(before)

    def _difference(self, before: Mapping[tuple[int, ...], tuple[int, ...] | None]) -> tuple[Rows, Rows]:
        """Return the facts that differ from what they were, as they were and as they are."""
        changed = [key for key, old in before.items() if old != self._facts[key]]
        replaced = [old for key in changed if (old := before[key]) is not None]
        facts = [self._facts[key] for key in changed]
        width = len(self._columns)
        return np.array(replaced, np.int64).reshape(-1, width), np.array(facts, np.int64).reshape(-1, width)

    def _operators(
        self, program: Program, functions: UserFunctions, choose: Callable[[Lattice], str | None]
    ) -> dict[int, Callable[..., Value]]:
        """Return an operator of lattices for each column that has it."""
        found = {place: choose(program.lattices[self._columns[place].type]) for place in self._joined}
        return {place: joiner(name, functions, self._codec) for place, name in found.items() if name}

    def _apply(
        self,
        operators: Mapping[int, Callable[..., Value]],
        old: tuple[int, ...],
        new: tuple[int, ...],
        *,
        always: bool = False,
    ) -> tuple[int, ...]:
        """Return the new fact with operators applied to the old and the new values that differ, or to all."""
        result = list(new)
        for place, operator in operators.items():
            if always or old[place] != new[place]:
                type_name = self._columns[place].type
                values = (self._codec.decode(codes[place], type_name) for codes in (old, new))
                result[place] = self._codec.encode(operator(*values), type_name)
        return tuple(result)

    def _combine(self, left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
        result = list(left)
        for place in self._joined:
            if left[place] == right[place]:
                continue
            type_name = self._columns[place].type
            values = (self._codec.decode(codes[place], type_name) for codes in (left, right))
            result[place] = self._codec.encode(self._lubs[place](*values), type_name)
        return tuple(result)
