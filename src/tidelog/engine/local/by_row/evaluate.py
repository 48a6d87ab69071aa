"""Runs iterations of a few rows in one kernel instead of a few dozen kernel calls each."""

from typing import NamedTuple

import numpy as np

from tidelog.engine.local.by_row import layout
from tidelog.engine.local.by_row.chains import NotSmall
from tidelog.engine.local.by_row.iterations import run_iterations
from tidelog.engine.local.by_row.stratum import StratumLayout
from tidelog.engine.local.by_row.sync import Sync, index_named
from tidelog.engine.local.by_row.tables import StrataTables
from tidelog.engine.local.derive import LocalDerivations
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState, NeedsWideCodes
from tidelog.plan.flatten import flatten_rule
from tidelog.plan.maintenance import reason_to_recompute
from tidelog.program.nodes import Stratum
from tidelog.storage.structs import addresses_of, first_struct, words_of

_CANDIDATES = 1 << 12
_ROOM = 1024
# After so many bindings the kernel returns, for progress and interrupts.
_WORK_AT_A_TIME = 1 << 19


class RowProgress(NamedTuple):
    """How far iterations ran: the last one, whether it was the last of all, and whether batches go on."""

    iteration: int
    is_finished: bool
    is_left: bool


class RowIterations:
    """The iterations of one stratum row by row; raises `NotSmall` if the kernel cannot run its rules.

    It leaves the relations' indexes behind in another form, with row numbers: chains of steps must be made
    again after it ran.
    """

    def __init__(self, stratum: Stratum, state: LocalState, expressions: Expressions) -> None:
        self._own = stratum.relations
        self._state = state
        if reason_to_recompute(stratum, state.program) is not None or len(self._own) > layout.RELATION_LIMIT:
            raise NotSmall
        flat = [flatten_rule(rule, state.program) for rule in stratum.rules]
        rules = [rule for rule in flat if any(x.relation in self._own for x in rule.literals)]
        names = list(dict.fromkeys([*self._own, *(x.relation for rule in rules for x in rule.literals)]))
        read = {state.projections[name].base for name in names if name in state.projections}
        names = list(dict.fromkeys([*names, *read]))
        others = set(names) - set(self._own)
        self._tables = tables = StrataTables(
            names, state.relations, [len(self._own)], [others], state.projections
        )
        derivations = LocalDerivations(state, expressions)
        StratumLayout(tables, 0, self._own, rules, derivations, for_evaluation=True).enter()
        widest = int(tables.relations["arity"].max())
        self._found = np.empty((_CANDIDATES, 1 + widest), np.int64)
        self._all_counters = np.zeros(1, words_of(layout.Counters))
        self._counters = first_struct(layout.Counters, self._all_counters)
        self._arrays = tables.arrays(self._all_counters)
        self._addresses = addresses_of(*self._arrays)
        self._sync: Sync | None = None

    @property
    def rows(self) -> int:
        """Return how many rows the relations have whose tables and indexes are needed with row numbers."""
        return sum(self._state.relations[name].count for name in self._tables.names)

    @property
    def derivations(self) -> int:
        """Return how many derivations were found."""
        return int(self._counters.derivations)

    def run(self, iteration: int, last: int) -> RowProgress:
        """Run iterations after number `iteration` and at most up to `last`."""
        state, counters = self._state, self._counters
        self._begin()
        before = int(counters.work)
        counters.level_count, counters.work_limit = iteration, before + _WORK_AT_A_TIME
        status = layout.NEEDS_ROOM
        while status == layout.NEEDS_ROOM:
            counters.short_index = -1
            arguments = self._found, last, int(state.annotated)
            status = int(run_iterations(self._addresses, self._tables.like, *arguments))
            self._read()
            if status == layout.NEEDS_ROOM:
                self._make_room()
        if status == layout.NEEDS_WIDE_CODES:
            raise NeedsWideCodes
        state.count_bindings(int(counters.work) - before)
        done = int(counters.level_count)
        return RowProgress(done, status == layout.DONE, status == layout.TOO_LARGE or done >= last)

    def _begin(self) -> None:
        """Let the tables have what the relations have, and their indexes row numbers."""
        relations = self._state.relations
        if self._sync is None:
            self._sync = Sync(self._tables, marks_of=None)
            for name in self._tables.names:
                keys = None if name in self._own else {key for of, key in self._tables.keys if of == name}
                relations[name].number_entries(keys)
        self._sync.write(relations)
        for name in self._own:
            record, visible = self._tables.relations[self._tables.numbers[name]], self._state.visible[name]
            record["delta"], record["end"] = visible.delta, visible.end

    def _read(self) -> None:
        """Let relations and views have what the kernel left in the tables."""
        assert self._sync is not None
        self._sync.read(self._state.relations)
        for name in self._own:
            record, visible = self._tables.relations[self._tables.numbers[name]], self._state.visible[name]
            visible.delta, visible.end = int(record["delta"]), int(record["end"])

    def _make_room(self) -> None:
        """Let the kernel append more rows."""
        assert self._sync is not None
        relations, short = self._state.relations, int(self._counters.short_index)
        for name in self._own:
            relations[name].reserve(max(_ROOM, _CANDIDATES, relations[name].count // 2))
        for (name, key), number in self._tables.keys.items():
            if name in self._own:
                index = index_named(relations[name], key)
                index.reserve(max(_ROOM, relations[name].count // 2))
                if number == short:
                    index.admit(int(self._counters.short_key), relations[name].count)
        self._sync.write_some(relations, self._own)


def make_row_iterations(
    stratum: Stratum, state: LocalState, expressions: Expressions
) -> RowIterations | None:
    """Return the iterations of a stratum row by row, None if the kernel cannot run its rules."""
    try:
        return RowIterations(stratum, state, expressions)
    except NotSmall:
        return None
