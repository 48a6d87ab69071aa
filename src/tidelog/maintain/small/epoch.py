"""Runs small epochs of strata through the kernel, and reports the stratum at which it stops."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.by_row import layout
from tidelog.engine.local.by_row.chains import NotSmall
from tidelog.engine.local.by_row.stratum import enter_stratum
from tidelog.engine.local.by_row.sync import Sync, index_named
from tidelog.engine.local.by_row.tables import AnyArray, StrataTables, index_below
from tidelog.engine.local.by_row.tables_image import read_tables, write_tables
from tidelog.engine.local.state import NeedsWideCodes
from tidelog.maintain.epoch_marks import EpochMarks
from tidelog.maintain.row_delta import RowDelta
from tidelog.maintain.small.strata import commit_strata, undo_strata, update_strata
from tidelog.maintain.small.stratum import SmallStratum
from tidelog.storage.kernel import Int64s
from tidelog.storage.structs import addresses_of, columns, first_struct, words_of
from tidelog.values.image import Add, ArrayOf
from tidelog.values.memory import give_back_unused, zeros

if TYPE_CHECKING:
    from tidelog.maintain.engine import LocalMaintainedEngine
    from tidelog.maintain.strata import KeptStratum

Float64s = npt.NDArray[np.float64]

# Rows that one epoch may queue or settle in a stratum, and touch there; beyond, it is not small.
_QUEUE_ROWS = 1 << 16
_JOURNAL_ROWS = 1 << 17
# Work that is small however many levels it takes, and work that is small for one level: batches of
# more bindings than this are joined faster together than one by one.
_FREE_WORK = 120_000
_WORK_PER_LEVEL = 4_000
# Up to this many changed rows are always tried here first.
_FEW_ROWS = 16
_ATTEMPTS = 32
_ROOM = 1024
_MANY_ROWS = 1 << 18


# Fields that say which of the changed rows belong to a relation: from the first of the deleted ones to the
# number of the inserted ones.
_INPUT_RANGES = "first_input_deleted", "input_inserted_count"
_RANGES = "first_deleted", "inserted_count"
Result = TypeVar("Result")


class SmallOutcome(NamedTuple):
    """What the kernel did to a stratum: rows that reached it, work, the highest level it settled."""

    stratum: int
    rows: int
    work: int
    level: int
    is_growing: bool


class SmallEpochs:
    """The strata of a program as the kernel takes them, laid out when first needed.

    An epoch is `begin`, then `advance` until it returns DONE, with a `note` of each stratum that the caller
    updated in between, then `commit` or `undo`.
    """

    def __init__(
        self,
        strata: "Sequence[KeptStratum]",
        engine: "LocalMaintainedEngine",
        marks_of: Callable[[str], EpochMarks],
    ) -> None:
        self._strata = [kept.stratum for kept in strata]
        self._rules = [kept.rules for kept in strata]
        self._relations = engine.relations
        self._derivations = engine.derivations
        names = [name for stratum in self._strata for name in stratum.relations]
        sizes = [len(stratum.relations) for stratum in self._strata]
        reads = [kept.read for kept in strata]
        self._tables = StrataTables(names, self._relations, sizes, reads, engine.projections)
        self._sync = Sync(self._tables, marks_of)
        self._tables.strata["row_limit"] = _QUEUE_ROWS
        self._is_used = np.zeros(len(strata), np.bool_)
        self._is_beyond = np.zeros(len(strata), np.bool_)
        self._queue = _room_for(_QUEUE_ROWS, np.int64)
        self._taken = _room_for(_QUEUE_ROWS, np.int64)
        self._journal = _room_for(2 * _JOURNAL_ROWS, words_of(layout.TouchedRow))
        # Each row of a stratum has one offer at most, and is in the journal then.
        self._offers = _room_for(len(self._journal), words_of(layout.Offer))
        self._changed = _room_for(2 * _JOURNAL_ROWS, np.int64)
        self._all_counters = np.zeros(1, words_of(layout.Counters))
        self._counters = first_struct(layout.Counters, self._all_counters)
        self._counter_words = self._all_counters.view(np.int64)
        self._inputs = columns(self._tables.relations, *_INPUT_RANGES)
        self._changes = columns(self._tables.relations, *_RANGES)
        self._outcomes = columns(self._tables.strata, "reaching", "is_growing")
        # The arrays of the tables at one of their versions, and the addresses of all that kernels take.
        self._arrays: tuple[AnyArray, ...] = ()
        self._version = -1
        self._addresses = np.empty((0, 2), np.int64)
        # Rows in `changed` that the caller entered.
        self._noted = 0
        self._alone: dict[int, SmallStratum | None] = {}
        self._attempts: dict[int, int] = {}
        # Rows of relations that were laid out since memory was given back.
        self._rows_laid_out = 0

    def begin(
        self,
        inputs: Mapping[str, RowDelta],
        handlers: Int64s,
        budgets: Float64s,
        rates: Float64s,
        most_work: float,
    ) -> None:
        """Take the input facts that change, and what the kernel may do to each stratum in this epoch.

        `handlers` are numbers of `layout`; a stratum expected to take `most_work`, going by its work per row
        in `rates`, is for the caller to decide on.
        """
        tables = self._tables
        self._counter_words[:] = 0
        counters = self._counters
        counters.free_work, counters.work_per_level = _FREE_WORK, _WORK_PER_LEVEL
        counters.few_rows, counters.most_work = _FEW_ROWS, most_work
        counters.queue_room, counters.journal_room = _QUEUE_ROWS, len(self._journal)
        counters.journal_needed = _JOURNAL_ROWS
        self._inputs[:] = 0
        self._changes[:] = 0
        tables.strata["handler"] = np.where(self._is_used, handlers, np.maximum(handlers, 1))
        tables.strata["budget"] = budgets
        tables.strata["rate"] = rates
        self._noted = 0
        self._attempts = {}
        for name, change in inputs.items():
            self._enter(self._inputs[tables.numbers[name]], change)
        self._sync.write(self._relations)

    def note(self, stratum: int, changes: Mapping[str, RowDelta], *, is_recomputed: bool) -> None:
        """Note what the caller changed in a stratum; a recomputed one has new relations."""
        names = self._strata[stratum].relations
        for name, change in changes.items():
            if self._tables.numbers[name] in self._tables.reads:
                self._enter(self._changes[self._tables.numbers[name]], change)
        if is_recomputed:
            self._stop_using(frozenset(names))
            self._sync.write(self._relations)
        else:
            self._sync.write_some(self._relations, names)

    def _enter(self, ranges: Int64s, change: RowDelta) -> None:
        first = int(self._counters.changed_count)
        middle, last = first + change.deleted.size, first + change.deleted.size + change.inserted.size
        self._noted += last - first
        self._make_room_for_changed(first)
        self._changed[first:middle] = change.deleted
        self._changed[middle:last] = change.inserted
        self._counters.changed_count = last
        ranges[:] = first, middle - first, middle, last - middle

    def advance(self, stratum: int, *, is_decided: bool = False) -> tuple[int, int]:
        """Update strata from this one on; return why the kernel stopped, and where.

        With `is_decided` the first one is tried whatever work is expected.
        """
        if not self._is_used.any():
            # The kernel is not loaded, or even compiled, until there is something for it to do.
            return layout.ASKS, self._next_reached(stratum)
        counters = self._counters
        while True:
            counters.stratum, counters.short_index, counters.is_decided = stratum, -1, is_decided
            status = int(self._run(update_strata, len(self._strata)))
            self._sync.read(self._relations)
            stopped = int(counters.stratum)
            if stopped != stratum:
                stratum, is_decided = stopped, False
            if status == layout.NEEDS_WIDE_CODES:
                raise NeedsWideCodes
            if status == layout.NEEDS_JOURNAL:
                self._enlarge_journal()
                continue
            if status != layout.NEEDS_ROOM:
                break
            attempts = self._attempts[stratum] = self._attempts.get(stratum, 0) + 1
            if attempts == _ATTEMPTS:
                break
            self._make_room(stratum)
            # It was already decided that it is done here.
            is_decided = True
        if status in {layout.NEEDS_ROOM, layout.TOO_LARGE}:
            of_stratum = self._tables.strata[stratum]
            of_stratum["row_limit"] = of_stratum["reaching"] // 2
            status = layout.TOO_LARGE
        return status, stratum

    def _run(self, kernel: Callable[..., Result], *arguments: int) -> Result:
        """Run a kernel over the tables and the arrays that the epoch writes to."""
        if self._version != self._tables.version:
            # A stratum that could not be laid out leaves other arrays behind, too.
            self._sync.write(self._relations)
            self._version = self._tables.version
            self._arrays = self._tables.arrays(self._all_counters)
            self._addresses = np.empty((0, 2), np.int64)
        if not self._addresses.size:
            own = self._queue, self._taken, self._journal, self._offers, self._changed
            self._addresses = addresses_of(*self._arrays, *own)
        return kernel(self._addresses, self._tables.like, *arguments)

    def takes(self, stratum: int, rows: int) -> bool:
        """Lay the stratum out, and say whether to try a change of this many rows here."""
        if self._is_beyond[stratum]:
            return False
        of_stratum = self._tables.strata[stratum]
        limit = int(of_stratum["row_limit"])
        if rows > max(limit, _FEW_ROWS):
            # A change that was too large may be small the next time.
            of_stratum["row_limit"] = min(limit + max(limit // 8, 1), _QUEUE_ROWS)
            return False
        if not self._is_used[stratum] and not self._use(stratum):
            self._is_beyond[stratum] = True
            return False
        of_stratum["handler"] = layout.KERNEL
        return True

    def lay_out(self, stratum: int) -> bool:
        """Lay a stratum out ahead of the first change; return False if the kernel cannot run it."""
        if not self._is_used[stratum] and not self._is_beyond[stratum] and not self._use(stratum):
            self._is_beyond[stratum] = True
        return bool(self._is_used[stratum])

    def write_image(self, add: Add) -> dict[str, object]:
        """Add the strata that are laid out to an image; return what `read_image` needs."""
        return {
            "tables": write_tables(self._tables, add),
            "used": np.flatnonzero(self._is_used).tolist(),
            "beyond": np.flatnonzero(self._is_beyond).tolist(),
        }

    def read_image(self, about: Mapping[str, Any], array_of: ArrayOf) -> Sequence[int]:
        """Lay strata out as an image has them, before the first epoch; return which."""
        if not read_tables(self._tables, about["tables"], array_of):
            return ()
        self._is_used[about["used"]] = True
        self._is_beyond[about["beyond"]] = True
        self._tables.use_only(about["used"])
        return list(about["used"])

    def _use(self, stratum: int) -> bool:
        """Lay a stratum out and keep what it needs up to date; return False if the kernel cannot run it."""
        names, rules = self._strata[stratum].relations, self._rules[stratum]
        if self._tables.is_laid_out(stratum):
            self._tables.use(stratum)
        elif not enter_stratum(self._tables, stratum, names, rules, self._derivations):
            return False
        self._rows_laid_out += sum(self._relations[name].count for name in names)
        self._is_used[stratum] = True
        self._build()
        self._sync.write(self._relations)
        return True

    def _build(self) -> None:
        """Build the tables of rows and the indexes that are missing, in threads if there are several jobs."""
        used = [self._relations[name] for name in self._tables.read]
        for relation in used:
            relation.restore_rows()
        rows = sum(relation.count for relation in used)
        # Levels are made of indexes, and at once.
        names = [(name, key) for name, key in self._tables.used if not index_below(key)]
        self._derivations.run_all(
            [
                *(relation.require_numbers for relation in used),
                *(partial(index_named, self._relations[name], key) for name, key in names),
            ],
            rows,
        )

    def _stop_using(self, names: AbstractSet[str]) -> None:
        """Stop updating the strata that use replaced relations until they are reached again.

        Their indexes no longer exist, and after a recompute there may never be a small epoch.
        """
        used = np.flatnonzero(self._is_used).tolist()
        stopped = [stratum for stratum in used if self._tables.needs(stratum, names)]
        self._is_used[stopped] = False
        handlers = self._tables.strata["handler"]
        handlers[stopped] = np.maximum(handlers[stopped], layout.CALLER)
        self._tables.use_only(np.flatnonzero(self._is_used).tolist())

    def _next_reached(self, stratum: int) -> int:
        """Return the first stratum from here on that changes reach."""
        tables = self._tables
        inputs = self._inputs[:, 1] + self._inputs[:, 3]
        changed = self._changes[:, 1] + self._changes[:, 3]
        for number in range(stratum, len(self._strata)):
            row = tables.strata[number]
            own = slice(row["first_relation"], row["first_relation"] + row["relation_count"])
            reads = tables.reads[row["first_read"] : row["first_read"] + row["read_count"]]
            row["reaching"] = 0
            if inputs[own].any() or changed[reads].any() or row["handler"] == layout.FORCED:
                return number
        return len(self._strata)

    def alone(self, stratum: int) -> SmallStratum | None:
        """Return the tables of one stratum on its own, or None if kernels cannot run its rules."""
        if stratum not in self._alone:
            own, parts = self._strata[stratum].relations, (self._relations, self._derivations)
            try:
                self._alone[stratum] = SmallStratum(self._rules[stratum], own, *parts)
            except NotSmall:
                self._alone[stratum] = None
        return self._alone[stratum]

    def work(self, stratum: int) -> int:
        """Return the work of a stratum that the kernel updated or gave up."""
        return int(self._tables.strata[stratum]["work"])

    def outcomes(self, first: int, last: int) -> Iterator[SmallOutcome]:
        """Yield what was done to those strata of a range that any change reached."""
        done = self._outcomes[first:last]
        for number in np.flatnonzero(done[:, 0]).tolist():
            rows, work, level, is_growing = done[number].tolist()
            yield SmallOutcome(first + number, rows, work, level, bool(is_growing))

    def changes(self, first: int, last: int) -> dict[str, RowDelta]:
        """Return what changed in the relations of a range of strata."""
        strata = self._tables.strata
        if first >= last:
            return {}
        begin = int(strata[first]["first_relation"])
        end = int(strata[last - 1]["first_relation"] + strata[last - 1]["relation_count"])
        ranges = self._changes[begin:end]
        changes = {}
        for number in np.flatnonzero(ranges[:, 1] + ranges[:, 3]).tolist():
            deleted, deleted_count, inserted, inserted_count = ranges[number].tolist()
            changes[self._tables.names[begin + number]] = RowDelta(
                inserted=self._changed[inserted : inserted + inserted_count].copy(),
                deleted=self._changed[deleted : deleted + deleted_count].copy(),
            )
        return changes

    def commit(self) -> None:
        """Forget the old epoch in the strata that the kernel updated."""
        if self._counters.touched_count:
            self._run(commit_strata)
            self._sync.read(self._relations)
        if self._rows_laid_out >= _MANY_ROWS:
            # Planning and building indexes have used about as much memory as the indexes take.
            self._rows_laid_out = 0
            give_back_unused()

    def undo(self) -> None:
        """Restore the old epoch in the strata that the kernel updated."""
        if self._counters.touched_count:
            self._sync.write(self._relations)
            self._run(undo_strata)
            self._sync.read(self._relations)

    def _enlarge_journal(self) -> None:
        used = int(self._counters.touched_count)
        self._journal = _enlarged(self._journal, used, used + len(self._journal))
        self._offers = _room_for(len(self._journal), self._offers.dtype)
        self._counters.journal_room = len(self._journal)
        self._addresses = np.empty((0, 2), np.int64)
        self._make_room_for_changed(int(self._counters.changed_count))

    def _make_room_for_changed(self, used: int) -> None:
        """Make room for all rows that were noted or may enter the journal."""
        needed = self._noted + len(self._journal)
        if needed > self._changed.size:
            self._changed = _enlarged(self._changed, used, 2 * needed)
            self._addresses = np.empty((0, 2), np.int64)

    def _make_room(self, stratum: int) -> None:
        """Let the kernel append more rows than last time."""
        relations, names = self._relations, self._strata[stratum].relations
        short = int(self._counters.short_index)
        for name in names:
            relations[name].reserve(max(_ROOM, relations[name].count // 16))
        for (name, key), number in self._tables.keys.items():
            if name in names:
                index = index_named(relations[name], key)
                index.reserve(max(_ROOM, relations[name].count // 16))
                if number == short:
                    index.admit(int(self._counters.short_key), relations[name].count)
        self._sync.write_some(relations, names)


def _room_for(count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return room for what few epochs need all of; what none has written takes no memory."""
    return zeros((count,), np.dtype(dtype), is_sparse=True)


def _enlarged(array: npt.NDArray[Any], used: int, count: int) -> npt.NDArray[Any]:
    """Return room for so many with the first ones of an array."""
    larger = _room_for(count, array.dtype)
    larger[:used] = array[:used]
    return larger
