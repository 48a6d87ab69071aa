"""The leapfrog join made runnable: tries of the atoms, and the arrays that describe the body."""

import numpy as np

from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.steps import BUFFER_ROWS, Step
from tidelog.plan.operators import Comparison, Layout, Leapfrog, Operand, TrieAtom
from tidelog.storage.join import EQUAL, LESS, LESS_EQUAL, UNEQUAL
from tidelog.storage.kernel import CodeArray, Int32s, Int64s
from tidelog.storage.leapfrog import CONSTANTS, STATE_SIZE, STEPS, VARIABLE, VARIABLES, leapfrog
from tidelog.storage.trie import TrieBatch

# What a step of the join counts as in the work of maintenance, where bindings of other joins count 1.
_STEPS_PER_BINDING = 2
_OPS = {"=": EQUAL, "!=": UNEQUAL, "<": LESS, "<=": LESS_EQUAL}


class LeapfrogStep(Step):
    """Extends bindings by what all atoms agree on."""

    def __init__(
        self, operator: Leapfrog, layout: Layout, state: LocalState, expressions: Expressions
    ) -> None:
        self._state = state
        self._atoms = [_AtomTries(atom, state) for atom in operator.atoms]
        registers = _Registers(operator, layout, state, expressions)
        depth = max(len(atom.operands) for atom in operator.atoms)
        self._fixed: Int32s = np.full((len(operator.atoms), depth), -1, np.int32)
        self._depths: Int64s = np.array([len(atom.operands) for atom in operator.atoms], np.int64)
        self._starts, self._parts = self._participants(operator, registers)
        self._check_starts, self._checks = _scheduled(operator, registers)
        self._sources = registers.numbers(operator.outputs)
        self._bases, self._registers = registers.finish()
        self._witness = operator.witness
        self._keys: Int64s = np.zeros((len(operator.atoms), depth), np.int64)
        self._out: CodeArray = np.empty((BUFFER_ROWS, len(operator.outputs)), state.dtype)
        self._progress: Int64s = np.zeros(STATE_SIZE, np.int64)
        self._wanted: Int64s = np.zeros((len(operator.atoms), 4), np.int64)

    def _participants(self, operator: Leapfrog, registers: "_Registers") -> tuple[Int64s, Int32s]:
        """Note the levels whose value is known, and return the (atom, level) pairs of each variable."""
        parts: dict[str, list[tuple[int, int]]] = {name: [] for name in operator.order}
        for number, atom in enumerate(operator.atoms):
            seen: set[Operand] = set()
            for level, operand in enumerate(atom.operands):
                if operand in parts and operand not in seen:
                    parts[str(operand)].append((number, level))
                else:
                    self._fixed[number, level] = registers.number(operand)
                seen.add(operand)
        starts = np.cumsum([0, *(len(of) for of in parts.values())])
        flat = [part for of in parts.values() for part in of]
        return starts.astype(np.int64), np.array(flat, np.int32).reshape(-1, 2)

    def run(self, batch: CodeArray) -> None:
        """Push the bindings in which every atom has a fact in view."""
        batches: list[list[TrieBatch]] = []
        for number, atom in enumerate(self._atoms):
            found = atom.batches(self._wanted[number])
            if not found:
                return
            batches.append(found)
        spans, tables, heads = _tables(batches, self._fixed.shape[1])
        places = np.zeros(tables.shape[:2], np.int64)
        ends = np.zeros(tables.shape[:2], np.int64)
        given = np.ascontiguousarray(batch, self._state.dtype)
        progress = self._progress
        progress[:] = 0
        progress[VARIABLE] = -1
        while progress[0] < given.shape[0]:
            written = leapfrog(
                given, spans, tables, heads, self._fixed, self._depths, self._wanted, self._starts,
                self._parts, self._check_starts, self._checks, self._witness, self._bases, self._sources,
                self._registers, places, ends, self._keys, progress, self._out,
            )  # fmt: skip
            self._state.count_bindings(written + int(progress[STEPS]) // _STEPS_PER_BINDING)
            progress[STEPS] = 0
            if written:
                self.next.run(self._out[:written])


def _tables(batches: list[list[TrieBatch]], depth: int) -> tuple[Int64s, Int64s, Int64s]:
    """Return the batches of all atoms as the kernel reads them: spans, tables and heads."""
    flat = [batch for of in batches for batch in of]
    spans = np.cumsum([0, *(len(of) for of in batches)]).astype(np.int64)
    tables = np.zeros((len(flat), depth, 2), np.int64)
    heads = np.empty((len(flat), 2), np.int64)
    for number, batch in enumerate(flat):
        tables[number, : batch.table.shape[0]] = batch.table
        heads[number] = batch.head
    return spans, tables, heads


class _AtomTries:
    """The batches of one atom's trie that hold what the current iteration sees."""

    def __init__(self, atom: TrieAtom, state: LocalState) -> None:
        self._relation = state.relations[atom.relation]
        self._visible = state.visible[atom.relation]
        self._view = atom.view
        self._columns = atom.columns
        self._is_numbered = atom.row is not None
        self._seen: tuple[int, int, int] | None = None
        self._batches: list[TrieBatch] = []

    def batches(self, wanted: Int64s) -> list[TrieBatch]:
        """Return the batches, none if there is nothing to see, and fill in which rows are wanted."""
        relation = self._relation
        first, last = self._visible.rows(self._view)
        if first == last:
            return []
        trie = relation.trie(self._columns)
        trie.add_rows(relation.rows, self._visible.end)
        if self._seen != (first, last, trie.rows_indexed):
            self._batches = trie.view(relation.rows, first, last)
            self._seen = (first, last, trie.rows_indexed)
        is_whole = all(first <= batch.first and batch.last <= last for batch in self._batches)
        alive = relation.alive.ctypes.data if relation.deleted else 0
        wanted[:] = (first, last, alive, not is_whole or alive or self._is_numbered)
        return self._batches


class _Registers:
    """Numbers what a leapfrog join reads: given columns, constants, variables, row numbers."""

    def __init__(
        self, operator: Leapfrog, layout: Layout, state: LocalState, expressions: Expressions
    ) -> None:
        self._places: dict[Operand, int] = {}
        for place, operand in enumerate(layout):
            self._places.setdefault(operand, place)
        self._constants: list[int] = []
        operands = [
            *(operand for atom in operator.atoms for operand in atom.operands),
            *(operand for check in operator.filters for operand in (check.left, check.right)),
            *operator.outputs,
        ]
        for operand in operands:
            if not isinstance(operand, str) and operand not in self._places:
                code = expressions.codec.encode(operand.value, operand.type)
                state.require(code)
                self._places[operand] = len(layout) + len(self._constants)
                self._constants.append(code)
        variables = len(layout) + len(self._constants)
        rows = variables + len(operator.order)
        self._bases = (len(layout), variables, rows)
        self._size = rows + len(operator.atoms)
        self._places.update({name: variables + place for place, name in enumerate(operator.order)})
        self._places.update(
            {atom.row: rows + place for place, atom in enumerate(operator.atoms) if atom.row is not None}
        )

    def number(self, operand: Operand) -> int:
        """Return the register of an operand."""
        return self._places[operand]

    def numbers(self, operands: Layout) -> Int32s:
        """Return the registers of several operands."""
        return np.array([self.number(operand) for operand in operands], np.int32)

    def ready(self, comparison: Comparison) -> int:
        """Return the number of variables that must have values before a comparison can be made."""
        places = (self.number(comparison.left), self.number(comparison.right))
        return max(0, *(place - self._bases[VARIABLES] + 1 for place in places))

    def finish(self) -> tuple[Int64s, Int64s]:
        """Return where the kinds of registers begin, and the registers with the constants filled in."""
        registers = np.zeros(self._size, np.int64)
        first = self._bases[CONSTANTS]
        registers[first : first + len(self._constants)] = self._constants
        return np.array(self._bases, np.int64), registers


def _scheduled(operator: Leapfrog, registers: _Registers) -> tuple[Int64s, Int32s]:
    """Return the comparisons in the order of the variables after which they can be made."""
    by_place: dict[int, list[tuple[int, int, int]]] = {n: [] for n in range(len(operator.order) + 1)}
    for check in operator.filters:
        row = (_OPS[check.op], registers.number(check.left), registers.number(check.right))
        by_place[registers.ready(check)].append(row)
    starts = np.cumsum([0, *(len(checks) for checks in by_place.values())])
    flat = [check for checks in by_place.values() for check in checks]
    return starts.astype(np.int64), np.array(flat, np.int32).reshape(-1, 3)
