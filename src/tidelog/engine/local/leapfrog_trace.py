"""The trace of one rule's leapfrog join: tries of two epochs and the intervals it depends on.

In an epoch the changed rows become *surgeries*: branches of a trie that appear, on every level, and
leaves that are no longer or again facts. Intervals that contain a surgery are hit. Each hit is a window:
a binding of the first variables and an interval of the next one, in which the old and the new body may
differ. The windows together are the change oracle. Only inside them both bodies are joined again; the
intervals that were hit are given up, and those that the new join records take their place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tidelog.plan.leapfrog_trace import TraceAtom, TracePlan
from tidelog.storage import StoredRelation
from tidelog.storage.intervals import Hits, IntervalIndex, sorted_once
from tidelog.storage.kernel import CodeArray, Int32s, Int64s
from tidelog.storage.leapfrog_cursor import HIGHEST, LOWEST
from tidelog.storage.leapfrog_trace import (
    COUNTS,
    GAINED,
    IS_FULL,
    LOST,
    NEW,
    OLD,
    RECORD_HEAD,
    RECORDS,
    STEPS,
    branch_levels,
    join_windows,
    unite_windows,
)
from tidelog.storage.trie import TrieBatch, merge_numbers, sort_numbers

_FACTOR = 4
_SMALLEST = 1 << 12
# A trace is recorded anew when it holds this many times the intervals it had then.
_MOST_GROWTH = 4


class TraceTrie:
    """The rows of a relation that an atom's constants and repeated variables allow, as a trie.

    Rows seen in earlier epochs are in `batches`; those located since are `fresh` until `advance`.
    Absent rows are in it too: whether a row is a fact of an epoch, its level in that epoch says.
    """

    def __init__(self, atom: TraceAtom, relation: StoredRelation, codes: Mapping[int, int]) -> None:
        self.relation = relation
        self.columns: Int32s = np.array(atom.columns, np.int32)
        self._codes = codes
        self._equal = atom.equal
        self.batches: list[TrieBatch] = []
        self.fresh: TrieBatch | None = None
        self.rows_seen = 0

    def matching(self, numbers: Int64s) -> Int64s:
        """Return those of the rows that the atom allows."""
        rows = self.relation.rows
        for column, code in self._codes.items():
            numbers = numbers[rows[numbers, column] == code]
        for one, other in self._equal:
            numbers = numbers[rows[numbers, one] == rows[numbers, other]]
        return numbers

    def look(self) -> None:
        """Take up the rows located since the last epoch."""
        first, last = self.rows_seen, self.relation.count
        self.fresh = None
        numbers = self.matching(np.arange(first, last)).astype(np.int32)
        if numbers.size:
            rows = self.relation.rows
            self.fresh = TrieBatch(rows, sort_numbers(rows, numbers, self.columns), self.columns, first, last)

    def advance(self) -> None:
        """Let the next epoch see all rows as old ones."""
        self.rows_seen = self.relation.count
        if self.fresh is None:
            return
        rows, numbers = self.relation.rows, self.fresh.numbers
        batch = self.fresh
        while self.batches and len(self.batches[-1]) < _FACTOR * numbers.shape[0]:
            before = self.batches.pop()
            numbers = merge_numbers(rows, before.numbers, numbers, self.columns)
            batch = TrieBatch(rows, numbers, self.columns, before.first, self.rows_seen)
        self.batches.append(batch)
        self.fresh = None

    def surgeries(self, flipped: Int64s) -> list[Int64s]:
        """Return for each level the branches that changed: the values from the first level down to it.

        `flipped` are rows that became facts or are facts no longer.
        """
        rows, depth = self.relation.rows, self.columns.shape[0]
        parts: list[list[Int64s]] = [[] for _ in range(depth)]
        flipped = self.matching(flipped[flipped < self.rows_seen])
        parts[-1].append(rows[flipped][:, self.columns].astype(np.int64))
        if self.fresh is not None:
            numbers = self.fresh.numbers
            levels = self._new_from(numbers)
            for level in range(depth):
                branches = rows[numbers[levels <= level]][:, self.columns[: level + 1]]
                parts[level].append(branches.astype(np.int64))
        return [
            sorted_once(np.concatenate(found)) if found else np.empty((0, level + 1), np.int64)
            for level, found in enumerate(parts)
        ]

    def _new_from(self, numbers: Int32s) -> Int64s:
        """Return for each row the first level on which the old trie has no branch for it."""
        levels = np.zeros(numbers.shape[0], np.int64)
        if self.batches:
            spans, tables, heads = _tables([self.batches], self.columns.shape[0], len(self.batches))
            places = np.zeros(tables.shape[:2], np.int64)
            keys = np.zeros((1, self.columns.shape[0]), np.int64)
            branch_levels(
                self.relation.rows, numbers, self.columns, spans, tables, heads, places, places.copy(), keys,
                levels,
            )  # fmt: skip
        return levels


def _tables(batches: Sequence[Sequence[TrieBatch]], depth: int, room: int) -> tuple[Int64s, Int64s, Int64s]:
    """Return batches as kernels read them, with room for so many."""
    spans = np.cumsum([0, *(len(of) for of in batches)]).astype(np.int64)
    tables = np.zeros((room, depth, 2), np.int64)
    heads = np.zeros((room, 2), np.int64)
    for number, batch in enumerate(batch for of in batches for batch in of):
        tables[number, : batch.table.shape[0]] = batch.table
        heads[number] = batch.head
    return spans, tables, heads


@dataclass(frozen=True)
class Sensitivity:
    """Where the intervals of one level of one atom go.

    `before` are the variables of the atom's upper levels, `others` the variables before this one that
    the atom does not have.
    """

    atom: int
    level: int
    variable: int
    before: tuple[int, ...]
    others: tuple[int, ...]
    index: IntervalIndex

    def sorted_in(self, records: Int64s) -> Int64s:
        """Return records of the join as records of the index."""
        values = records[:, RECORD_HEAD:]
        return np.hstack([values[:, self.before], records[:, 1:RECORD_HEAD], values[:, self.others]])

    def windows(self, records: Int64s) -> Int64s:
        """Return records of the index as windows: values of the variables before, low, high."""
        windows = np.empty((len(records), self.variable + 2), np.int64)
        group = len(self.before)
        windows[:, self.before] = records[:, :group]
        windows[:, self.others] = records[:, group + 2 :]
        windows[:, self.variable :] = records[:, group : group + 2]
        return windows


@dataclass(frozen=True)
class TraceChange:
    """Bindings of the old epoch alone and of the new one alone: variables, then the atoms' rows."""

    lost: Int64s
    gained: Int64s


class RuleTrace:
    """The recorded join of one rule.

    `work` counts the steps made so far, `edits` what the last change altered: intervals given up and
    recorded, bindings lost and gained.
    """

    def __init__(
        self,
        plan: TracePlan,
        relations: Mapping[str, StoredRelation],
        tries: Sequence[TraceTrie],
        *,
        keeps_all: bool = False,
    ) -> None:
        self.plan = plan
        self._keeps_all = keeps_all
        self.tries = tries
        self._relations = [relations[atom.relation] for atom in plan.atoms]
        self._describe()
        self.sensitivities = self._make_indexes()
        self.work = 0
        self.edits = 0
        self._hits: list[tuple[IntervalIndex, Hits]] = []
        self._records: list[Int64s] = []
        self._size_recorded = 0

    def _describe(self) -> None:
        """Lay out the arrays that the kernel reads."""
        atoms = self.plan.atoms
        depth = max(len(atom.columns) for atom in atoms)
        parts: list[list[tuple[int, int]]] = [[] for _ in self.plan.variables]
        self._sought: Int32s = np.full((len(atoms), depth), -1, np.int32)
        for number, atom in enumerate(atoms):
            for level, variable in enumerate(atom.variables):
                parts[variable].append((number, level))
                self._sought[number, level] = variable
        self._starts = np.cumsum([0, *(len(of) for of in parts)]).astype(np.int64)
        self._parts: Int32s = np.array([part for of in parts for part in of], np.int32)
        self._depths: Int64s = np.array([len(atom.columns) for atom in atoms], np.int64)

    def _make_indexes(self) -> list[Sensitivity]:
        """Return an index for each level whose variables are no beginning of the order.

        Of the others, a changed branch says itself where the join changes; with `keeps_all` they have
        indexes too, to look at.
        """
        self._indexes: Int32s = np.full(self._sought.shape, -1, np.int32)
        found: list[Sensitivity] = []
        for number, atom in enumerate(self.plan.atoms):
            for level, variable in enumerate(atom.variables):
                if not self._keeps_all and atom.variables[: level + 1] == tuple(range(level + 1)):
                    continue
                before = atom.variables[:level]
                others = tuple(v for v in range(variable) if v not in before)
                index = IntervalIndex(level, variable + 2)
                self._indexes[number, level] = len(found)
                found.append(Sensitivity(number, level, variable, before, others, index))
        return found

    @property
    def size(self) -> int:
        """Return the number of intervals kept."""
        return sum(sensitivity.index.size for sensitivity in self.sensitivities)

    def is_current(self) -> bool:
        """Say whether the trace has not grown so much that it is better recorded anew."""
        return self.size <= max(_SMALLEST, _MOST_GROWTH * self._size_recorded)

    def record(self) -> None:
        """Join the old epoch from nothing and keep what the join depends on."""
        everything = np.array([[LOWEST, HIGHEST]], np.int64)
        self._join(0, np.empty((1, 0), np.int64), everything, has_old=False)
        self._keep_records()
        self._size_recorded = self.size

    def oracle(self, changed: Mapping[str, Int64s]) -> dict[int, Int64s]:
        """Return the windows of each variable in which the body may have changed, sorted and disjoint.

        `changed` are the rows of each relation that became facts or are facts no longer.
        """
        by_variable: dict[int, list[Int64s]] = {}
        self._hits = []
        nothing = np.empty(0, np.int64)
        for number, (atom, trie) in enumerate(zip(self.plan.atoms, self.tries, strict=True)):
            surgeries = trie.surgeries(changed.get(atom.relation, nothing))
            for level, points in enumerate(surgeries):
                if not len(points):
                    continue
                self.work += len(points)
                variable = atom.variables[level]
                place = self._indexes[number, level]
                if place < 0:
                    windows = np.hstack([points, points[:, -1:]])
                else:
                    sensitivity = self.sensitivities[place]
                    hits = sensitivity.index.find(points)
                    self._hits.append((sensitivity.index, hits))
                    windows = sensitivity.windows(hits.records)
                by_variable.setdefault(variable, []).append(windows)
        return {variable: _united(found) for variable, found in sorted(by_variable.items())}

    def follow(self, changed: Mapping[str, Int64s]) -> TraceChange:
        """Return how the bindings change; `commit` or `forget` must follow."""
        parts = [
            self._join(variable, windows[:, :-2], windows[:, -2:], has_old=True)
            for variable, windows in self.oracle(changed).items()
            if len(windows)
        ]
        width = len(self.plan.variables) + len(self.plan.atoms)
        nothing = np.empty((0, width), np.int64)
        change = TraceChange(
            np.concatenate([nothing, *(part.lost for part in parts)]),
            np.concatenate([nothing, *(part.gained for part in parts)]),
        )
        self.edits = len(change.lost) + len(change.gained) + sum(len(hits) for _, hits in self._hits)
        self.edits += sum(len(records) for records in self._records)
        return change

    def commit(self) -> None:
        """Let the recorded intervals take the place of those that were hit."""
        for index, hits in self._hits:
            index.delete(hits)
        self._keep_records()
        self._hits = []

    def forget(self) -> None:
        """Give up what the epoch under way recorded."""
        self._hits, self._records = [], []

    def _keep_records(self) -> None:
        records = np.concatenate(
            [np.empty((0, RECORD_HEAD + len(self.plan.variables)), np.int64), *self._records]
        )
        for place, sensitivity in enumerate(self.sensitivities):
            sensitivity.index.add(sensitivity.sorted_in(records[records[:, 0] == place]))
        self._records = []

    def _join(self, variable: int, prefixes: Int64s, windows: Int64s, *, has_old: bool) -> TraceChange:
        """Join windows of one variable, with larger outputs whenever they prove too small."""
        width = len(self.plan.variables) + len(self.plan.atoms)
        prefixes, windows = np.ascontiguousarray(prefixes), np.ascontiguousarray(windows)
        before = np.array([sum(v < variable for v in atom.variables) for atom in self.plan.atoms], np.int64)
        lost, gained = (np.empty((_SMALLEST, width), np.int64) for _ in range(2))
        records = np.empty((_SMALLEST, RECORD_HEAD + len(self.plan.variables)), np.int64)
        counts = np.zeros(COUNTS, np.int64)
        arrays = self._versions(has_old=has_old)
        done = 0
        while True:
            done = join_windows(
                variable, prefixes, windows, done, has_old, self._starts, self._parts, self._sought, before,
                self._depths, self._indexes, arrays.live, arrays.spans, arrays.tables, arrays.heads,
                arrays.like, arrays.registers, arrays.places, arrays.ends, arrays.keys, records, counts, lost,
                gained,
            )  # fmt: skip
            if not counts[IS_FULL]:
                break
            counts[IS_FULL] = 0
            lost = _longer(lost, int(counts[LOST]))
            gained = _longer(gained, int(counts[GAINED]))
            records = _longer(records, int(counts[RECORDS]))
        self.work += int(counts[STEPS])
        self._records.append(records[: counts[RECORDS]].copy())
        return TraceChange(lost[: counts[LOST]], gained[: counts[GAINED]])

    def _versions(self, *, has_old: bool) -> "_Versions":
        """Return the tries of both epochs as the kernel reads them.

        A trace is recorded in the new version's place, from the levels of the old epoch.
        """
        old = [trie.batches for trie in self.tries]
        new = [[*trie.batches, *([trie.fresh] if trie.fresh else [])] for trie in self.tries]
        depth = self._sought.shape[1]
        room = max(1, sum(len(of) for of in new))
        spans, tables, heads = (
            np.stack(parts) for parts in zip(*(_tables(v, depth, room) for v in (old, new)), strict=True)
        )
        live = np.empty((2, len(self.tries)), np.int64)
        live[OLD] = [relation.previous.ctypes.data for relation in self._relations]
        live[NEW] = live[OLD]
        if has_old:
            live[NEW] = [relation.levels.ctypes.data for relation in self._relations]
        registers = np.zeros((2, len(self.plan.variables) + len(self.tries)), np.int64)
        places, ends = (np.zeros((2, room, depth), np.int64) for _ in range(2))
        keys = np.zeros((2, len(self.tries), depth), np.int64)
        like = self._relations[0].rows
        return _Versions(live, spans, tables, heads, like, registers, places, ends, keys)


@dataclass(frozen=True)
class _Versions:
    live: Int64s
    spans: Int64s
    tables: Int64s
    heads: Int64s
    like: CodeArray
    registers: Int64s
    places: Int64s
    ends: Int64s
    keys: Int64s


def _longer(array: Int64s, used: int) -> Int64s:
    larger = np.empty((4 * array.shape[0], array.shape[1]), np.int64)
    larger[:used] = array[:used]
    return larger


def _united(parts: Sequence[Int64s]) -> Int64s:
    """Return windows sorted, those of one prefix that overlap as one."""
    windows = sorted_once(np.concatenate(parts))
    united = np.empty_like(windows)
    return united[: unite_windows(windows, united)]
