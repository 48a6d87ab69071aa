"""Membership of facts that fit one word: the table holds the facts themselves.

Each column has a width in bits; a row is one word, its first column highest. A candidate that is known costs
one cache miss, where slots cost two: the slot and the row it leads to. The table says whether a row is
present, but not its number.

Words are mixed by a function that can be undone. The low bits of a mixed word are its home, so an entry needs
to hold only the bits above, and how far from home it lies. In a large table this fits 32 bits.
"""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.kernels.fetch import fetch
from tidelog.storage import atomic
from tidelog.storage.join import code_of
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s, Integer, Words, inlined, kernel
from tidelog.storage.membership import WON, write_won
from tidelog.storage.postings import code_range
from tidelog.storage.sharing import Share, by_one_thread
from tidelog.storage.slots import AHEAD, EMPTY, ONE
from tidelog.values.memory import zeros

# Entries in 32 or 64 bits, 0 where a place is empty.
Entries = npt.NDArray[np.unsignedinteger[Any]]

# Relations with fewer rows keep their slots: tables that stay in the cache gain nothing.
_SMALLEST_ROWS = 1 << 12
# The longest words: one more than an entry must not overflow.
_WORD_BITS = 63
_DISTANCE_BITS = 8
# What is left of 32 bits for the word.
_NARROW_BITS = 32 - _DISTANCE_BITS
# The table grows when more than this share of it would be full; then entries lie close to their homes.
_FULLEST = 0.6
# A table this many times larger than it need be, in which entries still lie too far, is given up.
_LARGEST = 16

_DISTANCE = np.uint64(_DISTANCE_BITS)
_FARTHEST = np.uint64((1 << _DISTANCE_BITS) - 1)
# No word is as long.
_OUTSIDE = np.uint64(2**64 - 1)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
# What undoes it: their product is 1, for words of any length.
_INVERSE = np.uint64(pow(0x9E3779B97F4A7C15, -1, 1 << 64))


class PackedWords:
    """The rows whose column `c` is below 2 ** `widths[c]`, as words in an open-addressing table."""

    def __init__(self, widths: Int64s, size: int) -> None:
        # What its rows, and the candidates it was made for, take.
        self.needed_widths = widths
        bits = size.bit_length() - 1
        is_narrow = int(widths.sum()) - bits <= _NARROW_BITS
        # Columns grow: they share the bits that are left.
        longest = min(_WORD_BITS, bits + _NARROW_BITS) if is_narrow else _WORD_BITS
        self.widths = widths + (longest - int(widths.sum())) // len(widths)
        self.table: Entries = zeros((size,), np.dtype(np.uint32 if is_narrow else np.uint64))

    def has_room(self, needed: int) -> bool:
        """Say whether the table takes this many rows."""
        return needed <= _FULLEST * len(self.table)

    def keeps_width(self, size: int) -> bool:
        """Say whether entries of a table of this size are as wide, whatever rows this one has got since."""
        if self.table.itemsize == 4:
            return size >= len(self.table)
        return int(self.needed_widths.sum()) - (size.bit_length() - 1) > _NARROW_BITS

    @property
    def places(self) -> int:
        """Return how many places there are, each with one row or none."""
        return len(self.table)

    def rows_at(self, first: int, last: int, dtype: npt.DTypeLike) -> CodeArray:
        """Return the rows in a range of places."""
        rows = np.empty((last - first, len(self.widths)), dtype)
        return rows[: list_words(self.table, self.widths, first, last, rows)]

    def insert(
        self, rows: CodeArray, candidates: CodeArray, numbers: Int64s, shared: Int64s, step: int
    ) -> int:
        """Append candidates that are not present to the rows; return how many were handled."""
        return int(insert_words(self.table, self.widths, rows, candidates, numbers, shared, step))

    def find(self, batch: CodeArray, constants: Int64s, key: Int32s) -> Bools:
        """Say for each binding whether the row of its operands is present."""
        present = np.empty(batch.shape[0], np.uint8)
        find_words(self.table, self.widths, batch, constants, key, present)
        return present


def packed_words(
    needed: int,
    rows: Callable[[], Iterable[CodeArray]],
    outside: CodeArray,
    before: PackedWords | None = None,
    share: Share = by_one_thread,
) -> PackedWords | None:
    """Return a table with these rows and room for `needed`, which also takes rows from outside.

    Return None if rows are few, do not fit words, or lie too far from home. `before` has the same rows.
    """
    if needed < _SMALLEST_ROWS:
        return None
    # In the smallest table the longest word still leaves room for the distance.
    size = 1 << _DISTANCE_BITS
    while needed > _FULLEST * size:
        size *= 2
    largest = _LARGEST * size
    # Never narrower than before: another thread may be about to insert what that was made for.
    known = before.needed_widths if before else np.zeros(outside.shape[1], np.int64)
    keeps_width = before is not None and before.keeps_width(size) and not len(outside)
    widths = known if keeps_width else _widths(known, chain(rows(), [outside]))
    if widths is None:
        return None
    still_fit = before is not None and bool((widths <= before.widths).all())
    if before is not None and still_fit and len(before.table) >= size:
        # It had room, but not within reach.
        size = 2 * len(before.table)
    while size <= largest:
        packed = PackedWords(widths, size)
        if before is not None and still_fit and packed.table.dtype == before.table.dtype:
            packed.widths = before.widths
            is_done = _grown(before.table, packed.table, share)
        else:
            is_done = all(_entered(packed, piece, share) for piece in rows())
        if is_done:
            return packed
        size *= 2
        if keeps_width:
            keeps_width, widths = False, _widths(known, rows())
            assert widths is not None, "all rows fit words before"
    return None


def _grown(old: Entries, new: Entries, share: Share) -> bool:
    """Enter every word of a table into an empty, larger one; say whether none lies too far from home."""
    is_shared = share is not by_one_thread
    done: list[bool] = []
    share(lambda first, last: done.append(grow_words(old, new, first, last, is_shared)), len(old))
    return all(done)


def _entered(packed: PackedWords, rows: CodeArray, share: Share) -> bool:
    """Enter rows that are known to be distinct; say whether they fit, and none lies too far from home."""
    is_shared = share is not by_one_thread
    done: list[bool] = []
    share(
        lambda first, last: done.append(
            enter_words(packed.table, packed.widths, rows[first:last], is_shared)
        ),
        len(rows),
    )
    return all(done)


def _widths(known: Int64s, parts: Iterable[CodeArray]) -> Int64s | None:
    """Return how many bits the columns of all parts take, at least those known; None if no word has them."""
    widths = known.copy()
    for rows in parts:
        for column in range(len(widths)):
            smallest, largest = code_range(rows, column, 0, len(rows))
            if smallest < 0:
                return None
            widths[column] = max(widths[column], int(largest).bit_length())
    return widths if len(widths) and widths.sum() <= _WORD_BITS else None


@inlined
def _mixed(word: np.uint64, length: np.uint64) -> np.uint64:
    """Return a word with its bits mixed, as a permutation of all words of this length."""
    half = (length + ONE) >> ONE
    word ^= word >> half
    word = (word * _MULTIPLIER) & ((ONE << length) - ONE)
    return word ^ (word >> half)


@inlined
def _unmixed(word: np.uint64, length: np.uint64) -> np.uint64:
    """Return the word that `_mixed` has mixed."""
    half = (length + ONE) >> ONE
    word ^= word >> half
    word = (word * _INVERSE) & ((ONE << length) - ONE)
    return word ^ (word >> half)


@inlined
def _home_bits(table: Entries) -> np.uint64:
    """Return how many bits of a mixed word are its home."""
    bits = EMPTY
    while ONE << bits < np.uint64(table.shape[0]):
        bits += ONE
    return bits


@inlined
def _search(table: Entries, mixed: np.uint64, bits: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return where a word is, or would be, and its entry there; the entry is 0 if it lies too far."""
    mask = np.uint64(table.shape[0] - 1)
    place = mixed & mask
    entry = ((mixed >> bits) << _DISTANCE) + ONE
    last = entry | _FARTHEST
    while table[place] != EMPTY and np.uint64(table[place]) != entry:
        if entry >= last:
            return place, EMPTY
        place = (place + ONE) & mask
        entry += ONE
    return place, entry


@inlined
def _enter(table: Entries, mixed: np.uint64, bits: np.uint64, is_shared: bool) -> bool:
    """Enter a word that is not present; say whether it lies close enough to its home."""
    place, entry = _search(table, mixed, bits)
    while entry != EMPTY and not atomic.fill(table, place, entry, is_shared):
        # Another thread was first.
        place, entry = _search(table, mixed, bits)
    return bool(entry != EMPTY)


@kernel
def grow_words(old: Entries, new: Entries, first: int, last: int, is_shared: bool) -> bool:
    """Enter the words in a range of places into a larger table; say whether none lies too far from home.

    If it `is_shared`, other threads do so with other ranges. The size of the new table is a multiple of that
    of the old one, and an entry lies no farther than `_FARTHEST` from its home in either. So what another
    thread enters is, modulo the old size, at most that far inside this range: only there do threads meet.
    """
    bits, more = _home_bits(old), _home_bits(new)
    mask = np.uint64(old.shape[0] - 1)
    meeting, parting = np.uint64(first) + _FARTHEST, np.uint64(last)
    for position in range(first, last):
        if old[position] != EMPTY:
            entry = np.uint64(old[position]) - ONE
            home = (np.uint64(position) - (entry & _FARTHEST)) & mask
            mixed = ((entry >> _DISTANCE) << bits) | home
            is_met = is_shared and bool(home < meeting or home + _FARTHEST + _FARTHEST >= parting)
            if not _enter(new, mixed, more, is_met):
                return False
    return True


@kernel
def list_words(table: Entries, widths: Int64s, first: int, last: int, rows: CodeArray) -> int:
    """Write the rows in a range of places; return how many."""
    bits, length = _home_bits(table), np.uint64(widths.sum())
    mask = np.uint64(table.shape[0] - 1)
    written = 0
    for position in range(first, last):
        if table[position] != EMPTY:
            entry = np.uint64(table[position]) - ONE
            home = (np.uint64(position) - (entry & _FARTHEST)) & mask
            word = _unmixed(((entry >> _DISTANCE) << bits) | home, length)
            for column in range(widths.shape[0] - 1, -1, -1):
                width = np.uint64(widths[column])
                rows[written, column] = word & ((ONE << width) - ONE)
                word >>= width
            written += 1
    return written


@inlined
def _fetch_words(table: Entries, widths: Int64s, rows: CodeArray, first: Integer, mixed: Words) -> None:
    """Write the mixed words of a block of rows, _OUTSIDE for those that do not fit, and fetch their homes."""
    length, mask = np.uint64(widths.sum()), np.uint64(table.shape[0] - 1)
    for offset in range(min(AHEAD, rows.shape[0] - first)):
        word, outside = EMPTY, EMPTY
        for column in range(widths.shape[0]):
            code, width = np.uint64(np.int64(rows[first + offset, column])), np.uint64(widths[column])
            outside |= code >> width
            word = (word << width) | code
        mixed[offset] = _mixed(word, length) if outside == EMPTY else _OUTSIDE
        fetch(table, mixed[offset] & mask)


@kernel
def enter_words(table: Entries, widths: Int64s, rows: CodeArray, is_shared: bool) -> bool:
    """Enter rows that are known to be distinct; say whether they fit, and none lies too far from home.

    If it `is_shared`, other threads enter other rows.
    """
    bits = _home_bits(table)
    mixed, later = np.empty(AHEAD, np.uint64), np.empty(AHEAD, np.uint64)
    _fetch_words(table, widths, rows, 0, later)
    for first in range(0, rows.shape[0], AHEAD):
        mixed, later = later, mixed
        _fetch_words(table, widths, rows, first + AHEAD, later)
        for offset in range(min(AHEAD, rows.shape[0] - first)):
            if mixed[offset] == _OUTSIDE or not _enter(table, mixed[offset], bits, is_shared):
                return False
    return True


@kernel
def insert_words(
    table: Entries,
    widths: Int64s,
    rows: CodeArray,
    candidates: CodeArray,
    numbers: Int64s,
    shared: Int64s,
    step: int,
) -> int:
    """Append the candidates that are not present to the rows.

    Return the number of candidates handled: fewer than there are when one does not fit a word, or lies too
    far from home. Threads share the work as in `membership.insert_rows`; the thread that makes an entry owns
    the row.
    """
    bits = _home_bits(table)
    handled = won_count = 0
    following = numbers[0]
    is_inside = True
    won = np.empty(WON, np.int64)
    mixed, later = np.empty(AHEAD, np.uint64), np.empty(AHEAD, np.uint64)
    _fetch_words(table, widths, candidates, 0, later)
    while is_inside and handled < candidates.shape[0]:
        mixed, later = later, mixed
        _fetch_words(table, widths, candidates, handled + AHEAD, later)
        for offset in range(min(AHEAD, candidates.shape[0] - handled)):
            place, entry = EMPTY, EMPTY
            if mixed[offset] != _OUTSIDE:
                place, entry = _search(table, mixed[offset], bits)
            while entry != EMPTY and table[place] == EMPTY:
                if atomic.fill(table, place, entry, step > 1):
                    if step == 1:
                        # A thread that is alone waits for nothing, and its numbers do not end.
                        for column in range(rows.shape[1]):
                            rows[following, column] = candidates[handled, column]
                        following += 1
                    else:
                        won[won_count] = handled
                        won_count += 1
                    break
                # Another thread was first: look at whatever it entered here.
                place, entry = _search(table, mixed[offset], bits)
            if entry == EMPTY:
                is_inside = False
                break
            handled += 1
        if won_count > WON - AHEAD:
            write_won(rows, candidates, won, won_count, numbers, shared, step)
            won_count = 0
    if step == 1:
        numbers[0] = following
    write_won(rows, candidates, won, won_count, numbers, shared, step)
    return handled


@inlined
def _fetch_operands(
    table: Entries, widths: Int64s, batch: CodeArray, first: Integer, constants: Int64s, key: Int32s,
    mixed: Words,
) -> None:  # fmt: skip
    """Do for the operands of a block of bindings what `_fetch_words` does for rows."""
    length, mask = np.uint64(widths.sum()), np.uint64(table.shape[0] - 1)
    for offset in range(min(AHEAD, batch.shape[0] - first)):
        word, outside = EMPTY, EMPTY
        for column in range(widths.shape[0]):
            code = np.uint64(code_of(batch, first + offset, constants, key[column]))
            outside |= code >> np.uint64(widths[column])
            word = (word << np.uint64(widths[column])) | code
        mixed[offset] = _mixed(word, length) if outside == EMPTY else _OUTSIDE
        fetch(table, mixed[offset] & mask)


@kernel
def find_words(
    table: Entries, widths: Int64s, batch: CodeArray, constants: Int64s, key: Int32s, present: Bools
) -> None:
    """Write whether the row of each binding's operands is present; `key` names a source for every column."""
    bits = _home_bits(table)
    mixed, later = np.empty(AHEAD, np.uint64), np.empty(AHEAD, np.uint64)
    _fetch_operands(table, widths, batch, 0, constants, key, later)
    for first in range(0, batch.shape[0], AHEAD):
        mixed, later = later, mixed
        _fetch_operands(table, widths, batch, first + AHEAD, constants, key, later)
        for offset in range(min(AHEAD, batch.shape[0] - first)):
            present[first + offset] = 0
            if mixed[offset] != _OUTSIDE:
                place, entry = _search(table, mixed[offset], bits)
                present[first + offset] = np.uint8(entry != EMPTY and table[place] != EMPTY)
