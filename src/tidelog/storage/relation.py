"""The rows of one relation with their membership table and indexes."""

from collections.abc import Iterator, Sequence
from copy import copy
from itertools import count

import numpy as np
import numpy.typing as npt

from tidelog.storage.annotations import ABSENT
from tidelog.storage.join import find_bindings
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s, Slots
from tidelog.storage.membership import (
    insert_rows,
    move_rows,
    moves_into_gaps,
    number_rows,
)
from tidelog.storage.packed import PackedWords, packed_words
from tidelog.storage.pairs import PairBits, fitting_pairs
from tidelog.storage.postings import code_range, number_groups
from tidelog.storage.relation_indexes import RelationIndexes
from tidelog.storage.relation_levels import RelationLevels
from tidelog.storage.sharing import Share, Task, by_one_thread
from tidelog.storage.slots import FULLEST, grow_slots, slots_built_for, slots_for
from tidelog.values.memory import enlarge, enlarged, enlarged_sparse, give_back, roomy, zeros

_SMALLEST = 64
_VERSIONS = count()
NO_BYTES: Bools = np.empty(0, np.uint8)
NO_COUNTS: Int32s = np.empty(0, np.int32)
_NO_CONSTANTS: Int64s = np.empty(0, np.int64)
# Fewer bytes of rows are not worth dropping.
_BYTES_TO_DROP = 1 << 25
# A sample of rows that were let go is taken from so many parts of presence, and has about so many rows.
_SAMPLES = 64
_SAMPLED_ROWS = 1 << 18
# How much of presence is read at a time.
_PLACES_AT_A_TIME = 1 << 14
# So many rows must be dead, and a quarter of all, before live rows are moved together: moving them costs no
# more than a few times what the deletions did.
LEAST_DEAD = 4096
# Row numbers are handed to threads in blocks; a thread leaves at most one block unfinished. In large blocks
# threads do not write to the same lines of the cache; in slots, filling what is left of one takes longer.
_NUMBERS_PER_BLOCK = 256
_NUMBERS_PER_LARGE_BLOCK = 1 << 13
# Threads that copy rows, or enter them into a new table, take so many at a time.
_ROWS_PER_BLOCK = 1 << 13


class StoredRelation(RelationLevels, RelationIndexes):
    """Distinct rows in the order of their insertion.

    Rows are numbered from 0. `insert` adds rows at the end; an iteration's new rows are
    therefore a range of numbers, and the facts of earlier iterations a prefix. `alive` exists
    only once a row was deleted.

    A relation stays the same object when its rows are widened, moved together or evaluated again. Its
    `version` identifies one such content: row numbers and indexes belong to a version, and are valid again
    when that content is restored.
    """

    # As `first_new`: no row is new, so nothing adds to the count of an existing row.
    NEVER = 1 << 62

    def __init__(self, arity: int, dtype: npt.DTypeLike, *, counting: bool = False) -> None:
        self.version = next(_VERSIONS)
        self.arity = arity
        # By row number; those in the range `dropped` have no content, and are found in `_presence` alone.
        self.held: CodeArray = np.empty((_SMALLEST, arity), dtype)
        self.dropped = (0, 0)
        self._slots: Slots = np.zeros(_SMALLEST * 2, np.uint32)
        # Says whether a row is present, without its number, and stands in for the slots.
        self._presence: PairBits | PackedWords | None = None
        self.needs_numbers = True
        self._may_use_pairs = True
        # How many rows there will be, and the largest codes of their columns as a row, where that is known.
        self._expected = 0
        self._largest: CodeArray = self.held[:0]
        self.alive: Bools = NO_BYTES
        # Whether insertion counts derivations; rows are annotated all the same.
        self.counts_derivations = counting
        self.counts: Int32s = np.zeros(_SMALLEST, np.int32) if counting else NO_COUNTS
        self.levels: Int32s = np.zeros(_SMALLEST, np.int32) if counting else NO_COUNTS
        self.before: Int32s = np.zeros(_SMALLEST, np.int32) if counting else NO_COUNTS
        self.count = 0
        self.deleted = 0
        super().__init__(is_numbered=counting)
        self.shared = np.zeros(1, np.int64)
        self.all_columns: Int32s = np.arange(arity, dtype=np.int32)

    def __len__(self) -> int:
        return self.count - self.deleted

    @property
    def rows(self) -> CodeArray:
        """Return all rows by their numbers; do not write to it."""
        self.restore_rows()
        return self.held

    def drop_rows(self, first: int, last: int) -> None:
        """Drop rows that are not read again soon, if presence knows them; they may get other numbers.

        `first` must be the same every time.
        """
        known = self.dropped[1] or first
        size = (last - known) * self.arity * self.held.itemsize
        if self._presence is not None and size >= _BYTES_TO_DROP and give_back(self.held, known, last):
            self.dropped = first, last

    def restore_rows(self) -> None:
        """Write the rows that were dropped again, in any order; nothing may scan their places meanwhile."""
        first, last = self.dropped
        if not last:
            return
        kept = StoredRelation(self.arity, self.dtype)
        kept.insert(self.held[:first])
        kept.insert(self.held[last : self.count])
        following = first
        for piece in self._pieces():
            rows = piece[kept.find(piece) < 0]
            self.held[following : following + len(rows)] = rows
            following += len(rows)
        assert following == last, "presence has every row"
        self.dropped = (0, 0)

    @property
    def places(self) -> int:
        """Return how many places `rows_at` reads: those of presence, if rows were dropped, or row numbers."""
        return self.count if self._presence is None or not self.dropped[1] else self._presence.places

    def rows_at(self, first: int, last: int) -> CodeArray:
        """Return the rows in a range of places."""
        if self._presence is None or not self.dropped[1]:
            return self.held[first:last]
        return self._presence.rows_at(first, last, self.dtype)

    def _pieces(self) -> Iterator[CodeArray]:
        """Yield all rows in any order."""
        step = _PLACES_AT_A_TIME if self.dropped[1] else max(self.count, 1)
        for first in range(0, self.places, step):
            yield self.rows_at(first, min(first + step, self.places))

    def some_rows(self) -> CodeArray:
        """Return rows to look at for statistics: all, or a fair sample where they would have to be copied."""
        if not self.dropped[1]:
            return (
                self.live_rows() if not self.deleted or self.count <= _SAMPLED_ROWS else self._live_sample()
            )
        size = max(1, min(self.places // _SAMPLES, self.places * _SAMPLED_ROWS // self.count // _SAMPLES))
        starts = (number * self.places // _SAMPLES for number in range(_SAMPLES))
        return np.concatenate([self.rows_at(first, first + size) for first in starts])

    def _live_sample(self) -> CodeArray:
        """Return live rows from all parts of the relation."""
        size = max(1, _SAMPLED_ROWS // _SAMPLES)
        starts = (number * self.count // _SAMPLES for number in range(_SAMPLES))
        sample = np.concatenate([self.live_rows(first, min(first + size, self.count)) for first in starts])
        return sample if len(sample) else self.live_rows()

    def expect(self, rows: CodeArray, count: int) -> None:
        """Expect about `count` rows with codes like those of other rows.

        Membership that knows no numbers has room for them at once, so that it need not grow.
        """
        ranges = [code_range(rows, column, 0, len(rows)) for column in range(self.arity)] if count else []
        if ranges and all(smallest >= 0 for smallest, _ in ranges):
            self._expected = count
            self._largest = np.array([[largest for _, largest in ranges]], self.dtype)

    def reserve(self, extra: int, share: Share = by_one_thread) -> None:
        """Make room for `extra` more rows.

        Arrays are replaced, not resized: a thread that still reads the old ones is safe,
        since rows never change once written.
        """
        needed = self.count + extra
        self._enlarge_rows(needed)
        if not self._has_room(needed):
            self._enlarge_membership(needed, share)

    def _enlarge_rows(self, needed: int) -> None:
        if needed > self.held.shape[0]:
            capacity = roomy(needed, self.held.shape[0], self.arity * self.held.itemsize)
            names = (*(("levels",) if self.counts.size else ()), *(("alive",) if self.alive.size else ()))
            enlarge(self, names, capacity, self.count)
            if self.counts.size:
                # Few rows are counted, far apart, unless insertion counts them all.
                self.counts = enlarged_sparse(
                    self.counts, capacity, self.count, is_sparse=not self.counts_derivations
                )
                self.before = enlarged_sparse(self.before, capacity, self.count)
            self.held = enlarged(self.held, capacity, self.count, self.dropped)

    def complete_membership(self) -> None:
        """Build the table of rows that were appended, before threads ask it for some."""
        if not self._has_room(self.count):
            self._enlarge_membership(self.count)

    def _has_room(self, needed: int) -> bool:
        """Say whether membership takes this many rows."""
        if self._presence is not None:
            return self._presence.has_room(needed)
        return needed <= FULLEST * len(self._slots)

    def _enlarge_membership(self, needed: int, share: Share = by_one_thread) -> None:
        """Enlarge the slots, or switch to presence alone where it is smaller or faster."""
        if self.needs_numbers:
            self.require_numbers(share)
        elif not self.counts_derivations and not self.alive.size:
            expected = max(needed, self._expected)
            if self._use(self._pairs(expected, share) or self._packed(expected, share)):
                return
            if self._presence is not None:
                self.require_numbers(share)
        if not self._slots.size:
            self._build_slots(share)
        if needed > FULLEST * len(self._slots):
            larger = zeros((slots_for(needed, len(self._slots)),), np.dtype(np.uint32))
            grow_slots(self._slots, larger, self.held, self.all_columns)
            self._slots = larger

    def _pairs(self, needed: int, share: Share) -> PairBits | None:
        """Return the rows as bits of pairs, if these take less memory than slots for `needed` rows."""
        if not self._may_use_pairs or self.arity != 2:
            return None
        if self._packed_now is None:
            left, right = [int(code) + 1 for row in self._largest for code in row] or (0, 0)
        else:
            left, right = (1 << width >> 1 for width in self._packed_now.needed_widths.tolist())
        return fitting_pairs(self._pieces, needed, (left, right), share)

    @property
    def _packed_now(self) -> PackedWords | None:
        return self._presence if isinstance(self._presence, PackedWords) else None

    def _packed(self, needed: int, share: Share, outside: CodeArray | None = None) -> PackedWords | None:
        """Return the rows as packed words with room for `needed`, if they fit."""
        others = self.held[:0] if outside is None else outside
        if self._packed_now is None:
            others = np.concatenate([others, self._largest])
        return packed_words(needed, self._pieces, others, self._packed_now, share)

    def _use(self, presence: PairBits | PackedWords | None) -> bool:
        """Let presence stand in for the slots, if there is one; say whether it does."""
        if presence is None:
            return False
        self._presence = presence
        self._slots = np.zeros(0, np.uint32)
        return True

    @property
    def word_widths(self) -> Int64s | None:
        """Return how many bits each column takes in a word, if membership holds rows as words."""
        return None if self._packed_now is None else self._packed_now.widths

    @property
    def slots(self) -> Slots:
        """Return the table from rows to their numbers, built if presence or nothing is in its place."""
        if self._presence is not None or not self._slots.size:
            self.require_numbers()
        return self._slots

    def require_numbers(self, share: Share = by_one_thread) -> None:
        """Switch back to slots, permanently: they also have a row's number."""
        self.needs_numbers = True
        if self._presence is not None or not self._slots.size:
            self._build_slots(share)

    def _build_slots(self, share: Share = by_one_thread) -> None:
        """Enter all rows into a new table, which others see only once it is complete."""
        slots = zeros((max(2 * _SMALLEST, slots_built_for(self.count)),), np.dtype(np.uint32))
        rows, is_shared = self.rows, share is not by_one_thread
        with self._building():
            share_rows(
                lambda first, last: number_rows(slots, rows, first, last, is_shared), self.count, share
            )
        self._slots = slots
        self._presence = None

    def append(self, rows: CodeArray) -> None:
        """Append rows that are distinct and not here yet, without entering them into the table.

        The table is built when it is first needed. Rows are not annotated, and none was deleted.
        """
        assert not self.dropped[1], "presence goes, and has rows that nothing else has"
        needed = self.count + len(rows)
        self._enlarge_rows(needed)
        self.held[self.count : needed] = rows
        self.count = needed
        self._slots, self._presence = np.empty(0, np.uint32), None

    def put_aside(self, rows: CodeArray) -> Int64s:
        """Write rows behind all others, until more are inserted, and return numbers that lead to them."""
        self._enlarge_rows(self.count + len(rows))
        self.held[self.count : self.count + len(rows)] = rows
        return np.arange(self.count, self.count + len(rows))

    def admit(self, outside: CodeArray, share: Share = by_one_thread) -> None:
        """Make membership take candidates, the first of which lies outside the present one."""
        self._may_use_pairs = False
        if not self._use(self._packed(self.count + len(outside), share, outside)):
            self.require_numbers(share)

    def are_present(
        self, batch: CodeArray, constants: Int64s, key: Int32s, lowest: int, highest: int
    ) -> Bools:
        """Say for each binding whether there is a row of its operands, numbered `lowest` to `highest - 1`.

        Presence knows no numbers and answers for all rows. Other threads may be inserting: whichever
        membership is read has all rows that were there before they began.
        """
        slots, presence = self._slots, self._presence
        if presence is not None:
            return presence.find(batch, constants, key)
        # A thread that switches back to slots has them ready before it lets presence go.
        found = self._find(batch, constants, key, slots if slots.size else self.slots)
        return ((found >= lowest) & (found < highest)).view(np.uint8)

    def contains(self, rows: CodeArray) -> npt.NDArray[np.bool_]:
        """Say of each of these rows whether it is one of the relation that is not deleted."""
        present = self.are_present(rows, _NO_CONSTANTS, self.all_columns, 0, self.count)
        return present.view(np.bool_)

    def row_numbers(self, batch: CodeArray, constants: Int64s, key: Int32s) -> Int64s:
        """Return the row number of each binding's operands, -1 if the row is absent or hidden."""
        return self._find(batch, constants, key, self.slots)

    def _find(self, batch: CodeArray, constants: Int64s, key: Int32s, slots: Slots) -> Int64s:
        found = np.empty(batch.shape[0], np.int64)
        find_bindings(batch, constants, key, slots, self.held, self.all_columns, found)
        if self.alive.size:
            # A hidden row is not a fact, neither of the old epoch nor of the new one.
            found[(found >= 0) & (self.alive[np.maximum(found, 0)] == 0)] = -1
        return found

    def insert(self, candidates: CodeArray, weights: Int32s = NO_COUNTS, first_new: int = 0) -> int:
        """Insert candidate rows and return how many were new.

        The candidates have the relation's width; duplicates among them count once. `Index.add_rows`
        updates indexes.
        """
        self.reserve(candidates.shape[0])
        numbers = np.array([self.count, self.held.shape[0]], np.int64)
        before = self.count
        handled = self._enter(candidates, weights, first_new, numbers, 1)
        self.count = int(numbers[0])
        if handled < candidates.shape[0]:
            self.admit(candidates[handled:])
            self.insert(candidates[handled:], weights, first_new)
        return self.count - before

    def insert_shared(self, candidates: CodeArray, weights: Int32s, first_new: int, numbers: Int64s) -> int:
        """Insert from one of several threads, between `open_shared` and `close_shared`.

        Return the number of candidates handled; the next one lies outside what membership can take, and is
        inserted after `admit_shared`.
        """
        return self._enter(candidates, weights, first_new, numbers, self._numbers_per_block)

    @property
    def _numbers_per_block(self) -> int:
        """Return how many row numbers a thread takes at a time."""
        return _NUMBERS_PER_BLOCK if self._presence is None else _NUMBERS_PER_LARGE_BLOCK

    def _enter(
        self, candidates: CodeArray, weights: Int32s, first_new: int, numbers: Int64s, step: int
    ) -> int:
        """Insert candidates with row numbers from a thread's block; return how many were handled."""
        if self._presence is not None:
            return self._presence.insert(self.held, candidates, numbers, self.shared, step)
        annotated = self.held, self.alive, self._counted
        insert_rows(self._slots, *annotated, candidates, weights, first_new, numbers, self.shared, step)
        return len(candidates)

    @property
    def _counted(self) -> Int32s:
        """Return the counts if insertion keeps them, otherwise none."""
        return self.counts if self.counts_derivations else NO_COUNTS

    def open_shared(self, threads: int) -> list[Int64s]:
        """Return, for each thread, the block of row numbers it inserts with (empty at first)."""
        self.shared[0] = self.count
        return [np.zeros(2, np.int64) for _ in range(threads)]

    def room_shared(self, extra: int, threads: int) -> bool:
        """Say whether `extra` candidates of all threads fit beside what was inserted."""
        needed = int(self.shared[0]) + extra + threads * self._numbers_per_block
        return needed <= self.held.shape[0] and self._has_room(needed)

    def reserve_shared(self, extra: int, blocks: Sequence[Int64s], share: Share = by_one_thread) -> None:
        """Make room as `room_shared` requires; no thread may be inserting meanwhile."""
        self.close_shared(blocks)
        # Membership may be slots now and words afterwards.
        block = _NUMBERS_PER_BLOCK if self.needs_numbers else _NUMBERS_PER_LARGE_BLOCK
        self.reserve(max(len(blocks) * (extra + 2 * block), self.count // 2), share)

    def admit_shared(
        self, outside: CodeArray, blocks: Sequence[Int64s], share: Share = by_one_thread
    ) -> None:
        """Make membership take such candidates, between the insertions of several threads."""
        self.close_shared(blocks)
        self.admit(outside, share)
        self.reserve_shared(len(outside), blocks, share)

    def close_shared(self, blocks: Sequence[Int64s]) -> None:
        """Renumber the last rows into the numbers that threads left unused, and empty the blocks."""
        last = int(self.shared[0])
        self.count = last - sum(int(end - following) for following, end in blocks)
        for move in moves_into_gaps(blocks, last):
            if self._presence is None and len(self._slots):
                move_rows(self._slots, self.held, self._counted, *move)
            else:
                # Presence does not know numbers, and rows that were only appended have no slots yet.
                moved = self.held[move.source : move.source + move.length]
                self.held[move.target : move.target + move.length] = moved
        for block in blocks:
            block[:] = 0
        # Closing again without an insertion between must change nothing.
        self.shared[0] = self.count

    def locate(self, candidates: CodeArray) -> Int64s:
        """Return the row number of each candidate; rows not there yet are appended as absent."""
        self.track_deletions()
        last = candidates.shape[0]
        numbers = np.empty(last, np.int64)
        if self.count + last > self.held.shape[0] or not self._has_room(self.count + last):
            # Facts that were deleted still have their rows: a full relation need not grow for them.
            find_bindings(
                candidates, _NO_CONSTANTS, self.all_columns, self.slots, self.held, self.all_columns, numbers
            )
            if numbers.min(initial=0) >= 0:
                return numbers
            self.reserve(last)
        before = self.count
        self.count = int(
            number_groups(self.slots, self.held, candidates, self.all_columns, 0, last, before, numbers)
        )
        if self.count > before:
            self.alive[before : self.count] = 0
            self.levels[before : self.count] = ABSENT
            self.counts[before : self.count] = 0
            self.deleted += self.count - before
        return numbers

    def track_deletions(self) -> None:
        """Record from now on which rows are visible; until now all are."""
        self.require_numbers()
        self.number_entries()
        if not self.alive.size:
            self.alive = zeros((self.held.shape[0],), np.dtype(np.uint8))
            self.alive[: self.count] = 1

    def show_rows(self, numbers: Int64s) -> None:
        """Let joins see distinct rows that are facts of the old or of the new epoch."""
        if self.alive.size:
            self.deleted -= int(np.count_nonzero(self.alive[numbers] == 0))
            self.alive[numbers] = 1

    def hide_absent_rows(self, numbers: Int64s) -> None:
        """Hide from joins those of the rows that are not facts now."""
        absent = numbers[self.levels[numbers] == ABSENT]
        if absent.size:
            self.delete_rows(absent)

    def forget_deleted_levels(self) -> None:
        """Remove the level of rows that were deleted during an evaluation."""
        if self.deleted and self.levels.size:
            absent = np.flatnonzero(self.alive[: self.count] == 0)
            self.levels[absent] = ABSENT

    def delete_rows(self, numbers: Int64s) -> None:
        """Mark distinct rows as deleted; their content may be inserted again later."""
        self.track_deletions()
        self.deleted += int(np.count_nonzero(self.alive[numbers]))
        self.alive[numbers] = 0

    def find(self, probes: CodeArray) -> Int64s:
        """Return the number of the row equal to each probe, or -1."""
        return self.row_numbers(probes, _NO_CONSTANTS, self.all_columns)

    def live_rows(self, first: int = 0, last: int | None = None) -> CodeArray:
        """Return the rows numbered `first` to `last` that are not deleted; do not write to it."""
        last = self.count if last is None else last
        rows = (self.held if first >= self.dropped[1] else self.rows)[first:last]
        if not self.deleted:
            return rows
        live: CodeArray = rows[self.alive[first:last] != 0]
        return live

    @property
    def is_sparse(self) -> bool:
        """Say whether so many rows are dead that `copied` would save notable memory."""
        return self.deleted >= LEAST_DEAD and 4 * self.deleted >= self.count

    def copied(self, dtype: npt.DTypeLike, share: Share = by_one_thread) -> "StoredRelation":
        """Return the live rows in order, with codes of this width; indexes are built again on demand."""
        packed = StoredRelation(self.arity, dtype, counting=bool(self.counts.size))
        packed.counts_derivations = self.counts_derivations
        packed._is_trimmed = self._is_trimmed
        numbers = np.flatnonzero(self.alive[: self.count]) if self.deleted else np.arange(self.count)
        packed._enlarge_rows(len(numbers))
        rows, is_annotated = self.rows, bool(self.counts.size)

        def move(first: int, last: int) -> None:
            some = numbers[first:last]
            packed.held[first:last] = rows[some]
            if is_annotated:
                packed.levels[first:last] = self.levels[some]

        share_rows(move, len(numbers), share)
        if is_annotated:
            for name in ("counts", "before"):
                few = getattr(self, name)[numbers]
                written = np.flatnonzero(few)
                getattr(packed, name)[written] = few[written]
        packed.count = len(numbers)
        packed._build_slots(share)
        return packed

    def snapshot(self) -> "StoredRelation":
        """Return a relation with the same content, to keep while this one gets another content."""
        self.restore_rows()
        return copy(self)

    def forget_indexes(self) -> None:
        """Let the memory of indexes and tries go; this is another version, in which they are built again."""
        self.version = next(_VERSIONS)
        self.indexes, self.direct, self.tries = {}, {}, {}

    def take(self, other: "StoredRelation") -> None:
        """Take over the content and version of another relation, which must not be used any more."""
        self.__dict__.update(other.__dict__)


def share_rows(task: Task, count: int, share: Share) -> None:
    """Run a task over ranges of rows, in blocks that are worth a thread's while."""
    share(
        lambda first, last: task(first * _ROWS_PER_BLOCK, min(last * _ROWS_PER_BLOCK, count)),
        -(-count // _ROWS_PER_BLOCK),
    )
