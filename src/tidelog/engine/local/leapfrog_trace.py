"""The trace of one rule's leapfrog join: tries of two epochs and the intervals it depends on.

Intervals that contain a surgery of an atom's trie are hit. Each hit is a window: a binding of the first
variables and an interval of the next one, in which the old and the new body may differ. Together the
windows are the change oracle. Both bodies are joined again only inside them; the intervals that were hit
are dropped, and those that the new join records replace them.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.local.trace_trie import TraceTrie
from tidelog.plan.leapfrog_trace import TracePlan
from tidelog.storage import StoredRelation
from tidelog.storage.intervals import Hits, IntervalIndex, sorted_once
from tidelog.storage.kernel import Int64s
from tidelog.storage.leapfrog import RECORD_HEAD, Recorder
from tidelog.storage.leapfrog_join import HIGHEST, LOWEST, Join, JoinShape, make_join, with_tries
from tidelog.storage.leapfrog_trace import COUNTS, join_windows, unite_windows

_SMALLEST = 1 << 12
# A trace is recorded again when it has this many times the intervals it was recorded with.
_MOST_GROWTH = 4


@dataclass(frozen=True)
class Sensitivity:
    """Where the intervals of one level of one atom are stored.

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

    `work` counts the steps made so far, `edits` what the last change altered: intervals dropped and
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
        self.sensitivities = self._make_indexes()
        self.work = 0
        self.edits = 0
        self._hits: list[tuple[IntervalIndex, Hits]] = []
        self._records: list[Int64s] = []
        self._size_recorded = 0

    def _make_indexes(self) -> list[Sensitivity]:
        """Return an index for each level whose variables are not a prefix of the order.

        For the others, a changed branch itself shows where the join changes; with `keeps_all` they have
        indexes too, for inspection.
        """
        self._indexes: dict[tuple[int, int], int] = {}
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
        """Say whether the trace is worth keeping: if it has grown too much, recording it again is cheaper."""
        return self.size <= max(_SMALLEST, _MOST_GROWTH * self._size_recorded)

    def record(self) -> None:
        """Join the old epoch from scratch and keep what the join depends on."""
        everything = np.array([[LOWEST, HIGHEST]], np.int64)
        self._join(0, everything, has_old=False)
        self._keep_records()
        self._size_recorded = self.size

    def oracle(self) -> dict[int, Int64s]:
        """Return the windows of each variable in which the body may have changed, sorted and disjoint."""
        by_variable: dict[int, list[Int64s]] = {}
        self._hits = []
        for number, (atom, trie) in enumerate(zip(self.plan.atoms, self.tries, strict=True)):
            for level, variable in enumerate(atom.variables):
                points, place = trie.surgeries[level], self._indexes.get((number, level))
                if place is None:
                    # Nothing is recorded here, so a branch without facts may go unnoticed.
                    windows = np.hstack([points, points[:, -1:]])
                else:
                    points = np.concatenate([points, trie.cleared[level]])
                    sensitivity = self.sensitivities[place]
                    hits = sensitivity.index.find(points)
                    self._hits.append((sensitivity.index, hits))
                    windows = sensitivity.windows(hits.records)
                self.work += len(points)
                by_variable.setdefault(variable, []).append(windows)
        return {variable: _united(found) for variable, found in sorted(by_variable.items())}

    def follow(self) -> TraceChange:
        """Return how the bindings change with the tries; `commit` or `forget` must follow."""
        parts = [
            self._join(variable, windows, has_old=True)
            for variable, windows in self.oracle().items()
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
        """Replace the intervals that were hit by the recorded ones."""
        for index, hits in self._hits:
            index.delete(hits)
        self._keep_records()
        self._hits = []

    def forget(self) -> None:
        """Drop what the epoch in progress recorded."""
        self._hits, self._records = [], []

    def _keep_records(self) -> None:
        records = np.concatenate(
            [np.empty((0, RECORD_HEAD + len(self.plan.variables)), np.int64), *self._records]
        )
        for place, sensitivity in enumerate(self.sensitivities):
            sensitivity.index.add(sensitivity.sorted_in(records[records[:, 0] == place]))
        self._records = []

    def _join(self, variable: int, windows: Int64s, *, has_old: bool) -> TraceChange:
        """Join windows of one variable, with larger outputs whenever they turn out too small."""
        width = len(self.plan.variables) + len(self.plan.atoms)
        lost, gained = (np.empty((_SMALLEST, width), np.int64) for _ in range(2))
        records = np.empty((_SMALLEST, RECORD_HEAD + len(self.plan.variables)), np.int64)
        counts = np.zeros(1, COUNTS)
        old, new = self._versions(variable, has_old=has_old)
        done = 0
        while True:
            recorder = Recorder(records, counts)
            done = join_windows(windows, done, old, new, has_old, lost, gained, recorder)
            if not counts["is_full"]:
                break
            counts["is_full"] = 0
            lost = _longer(lost, int(counts["lost"][0]))
            gained = _longer(gained, int(counts["gained"][0]))
            records = _longer(records, int(counts["records"][0]))
        self.work += int(counts["steps"][0])
        self._records.append(records[: counts["records"][0]].copy())
        return TraceChange(lost[: counts["lost"][0]], gained[: counts["gained"][0]])

    def _versions(self, variable: int, *, has_old: bool) -> tuple[Join, Join]:
        """Return the joins of the variables from this one on, over the tries of the old and of the new epoch.

        Recording uses the new version, with the levels of the old epoch.
        """
        shape = JoinShape(
            outer=variable,
            variables=len(self.plan.variables) - variable,
            atoms=[atom.variables for atom in self.plan.atoms],
            outputs=range(len(self.plan.variables) + len(self.plan.atoms)),
        )
        old, new = (make_join(shape, self._relations[0].rows) for _ in range(2))
        for place, index in self._indexes.items():
            new.levels[place]["index"] = index
        for join in (old, new):
            join.atoms["levels"] = [relation.levels.ctypes.data for relation in self._relations]
            if join is old or not has_old:
                join.atoms["before"] = [relation.before.ctypes.data for relation in self._relations]
        before = [trie.batches for trie in self.tries]
        after = [trie.following for trie in self.tries] if has_old else before
        return with_tries(old, before), with_tries(new, after)


def _longer(array: Int64s, used: int) -> Int64s:
    larger = np.empty((4 * array.shape[0], array.shape[1]), np.int64)
    larger[:used] = array[:used]
    return larger


def _united(parts: Sequence[Int64s]) -> Int64s:
    """Return windows sorted, those of one prefix that overlap as one."""
    windows = sorted_once(np.concatenate(parts))
    united = np.empty_like(windows)
    return united[: unite_windows(windows, united)]
