"""Membership of a dense binary relation: one bit per possible pair.

A relation that has a good part of all pairs of its values (a transitive closure often does) needs fewer
bits than a table of slots needs words, and the bits stay in the cache. They say whether a row is present,
but not its number.
"""

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from tidelog.kernels.fetch import fetch
from tidelog.storage import atomic
from tidelog.storage.join import code_of
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s, Slots, kernel
from tidelog.storage.membership import WON, write_won
from tidelog.storage.postings import code_range
from tidelog.storage.sharing import Share, by_one_thread
from tidelog.storage.slots import AHEAD
from tidelog.values.memory import zeros

# Slots take at least this many bytes per row; bits must take less.
_SLOT_BYTES = 16
_SMALLEST_ROWS = 1 << 18

_SHIFT = np.uint64(6)
_LOW = np.uint64(63)
_BITS = 64
_ONE = np.uint64(1)


class PairBits:
    """The pairs (a, b) with a < `height` and b < `width` that are present."""

    def __init__(self, height: int, width: int) -> None:
        self.height = height
        self.width = width
        self.words_per_row = (width + 63) // 64
        self.words = zeros((height * self.words_per_row,), np.dtype(np.uint64))

    @property
    def places(self) -> int:
        """Return how many places there are: words of 64 bits, each with a row or none."""
        return len(self.words)

    def rows_at(self, first: int, last: int, dtype: npt.DTypeLike) -> CodeArray:
        """Return the rows in a range of places."""
        rows = np.empty((_BITS * (last - first), 2), dtype)
        return rows[: list_pairs(self.words, self.words_per_row, first, last, rows)]

    def has_room(self, _needed: int) -> bool:
        """Say whether there are bits for this many rows: there are for all that lie inside."""
        return True

    def mark(self, rows: CodeArray, share: Share = by_one_thread) -> None:
        """Set the bits of rows that are known to be distinct and inside."""
        is_shared = share is not by_one_thread
        share(
            lambda first, last: mark_pairs(self.words, self.words_per_row, rows[first:last], is_shared),
            len(rows),
        )

    def insert(
        self, rows: CodeArray, candidates: CodeArray, numbers: Int64s, shared: Int64s, step: int
    ) -> int:
        """Append candidates that are not present to the rows; return how many were handled."""
        size = self.height, self.width, self.words_per_row
        return int(insert_pairs(self.words, *size, rows, candidates, 0, numbers, shared, step))

    def find(self, batch: CodeArray, constants: Int64s, key: Int32s) -> Bools:
        """Say for each binding whether the row of its operands is present."""
        present = np.empty(batch.shape[0], np.uint8)
        size = self.height, self.width, self.words_per_row
        find_pairs(self.words, *size, batch, constants, key, present)
        return present


def fitting_pairs(
    rows: Callable[[], Iterable[CodeArray]],
    needed: int,
    least: tuple[int, int] = (0, 0),
    share: Share = by_one_thread,
) -> PairBits | None:
    """Return bits of the pairs of all rows if they take less memory than slots for `needed` of them.

    It is known that there are at least so many codes in each column.
    """
    height, width = least
    if needed < _SMALLEST_ROWS or height * width > 8 * _SLOT_BYTES * needed:
        return None
    for piece in rows():
        smallest_left, left = code_range(piece, 0, 0, len(piece))
        smallest_right, right = code_range(piece, 1, 0, len(piece))
        if smallest_left < 0 or smallest_right < 0:
            return None
        # Python's integers: those of NumPy would overflow for codes of 64 bits.
        height, width = max(height, int(left) + 1), max(width, int(right) + 1)
        if height * ((width + 63) // 64) * 8 > _SLOT_BYTES * needed:
            return None
    if not height:
        return None
    pairs = PairBits(height, width)
    for piece in rows():
        pairs.mark(piece, share)
    return pairs


@kernel
def insert_pairs(
    words: Slots, height: int, width: int, words_per_row: int, rows: CodeArray, candidates: CodeArray,
    position: int, numbers: Int64s, shared: Int64s, step: int,
) -> int:  # fmt: skip
    """Insert the candidates from `position` on that are not present.

    Return the number of candidates handled: fewer than there are when one lies outside the bits.
    Threads share the work as in `membership.insert_rows`; the thread that sets a bit first owns the row.
    """
    candidate, following = position, numbers[0]
    won, won_count = np.empty(WON, np.int64), 0
    while candidate < candidates.shape[0]:
        if candidate + AHEAD < candidates.shape[0]:
            left, right = (
                np.int64(candidates[candidate + AHEAD, 0]),
                np.int64(candidates[candidate + AHEAD, 1]),
            )
            fetch(words, left * words_per_row + (right >> 6))
        left = np.int64(candidates[candidate, 0])
        right = np.int64(candidates[candidate, 1])
        if left < 0 or left >= height or right < 0 or right >= width:
            break
        place = left * words_per_row + (right >> 6)
        bit = _ONE << (np.uint64(right) & _LOW)
        if not words[place] & bit and atomic.set_new_bit(words, place, bit, step > 1):
            if step == 1:
                # A thread that is alone waits for nothing, and its numbers do not end.
                rows[following, 0] = candidates[candidate, 0]
                rows[following, 1] = candidates[candidate, 1]
                following += 1
            else:
                won[won_count] = candidate
                won_count += 1
                if won_count == WON:
                    write_won(rows, candidates, won, won_count, numbers, shared, step)
                    won_count = 0
        candidate += 1
    if step == 1:
        numbers[0] = following
    write_won(rows, candidates, won, won_count, numbers, shared, step)
    return int(candidate)


@kernel
def mark_pairs(words: Slots, words_per_row: int, rows: CodeArray, is_shared: bool) -> None:
    """Set the bits of rows that are known to be distinct and inside; others may mark other rows meanwhile."""
    for row in range(rows.shape[0]):
        right = np.uint64(rows[row, 1])
        place = np.int64(rows[row, 0]) * words_per_row + np.int64(right >> _SHIFT)
        atomic.set_new_bit(words, place, _ONE << (right & _LOW), is_shared)


@kernel
def list_pairs(words: Slots, words_per_row: int, first: int, last: int, rows: CodeArray) -> int:
    """Write the pairs in a range of words; return how many."""
    written = np.int64(0)
    for place in range(first, last):
        word = words[place]
        if word != 0:
            left, right = place // words_per_row, _BITS * (place % words_per_row)
            for bit in range(_BITS):
                rows[written, 0] = left
                rows[written, 1] = right + bit
                written += np.int64((word >> np.uint64(bit)) & _ONE)
    return int(written)


@kernel
def find_pairs(
    words: Slots,
    height: int,
    width: int,
    words_per_row: int,
    batch: CodeArray,
    constants: Int64s,
    key: Int32s,
    present: Bools,
) -> None:
    """Write whether the pair of each binding's operands is present; `key` names a source for both columns."""
    for row in range(batch.shape[0]):
        if row + AHEAD < batch.shape[0]:
            left = code_of(batch, row + AHEAD, constants, key[0])
            fetch(words, left * words_per_row + (code_of(batch, row + AHEAD, constants, key[1]) >> 6))
        left = code_of(batch, row, constants, key[0])
        right = code_of(batch, row, constants, key[1])
        present[row] = 0
        if 0 <= left < height and 0 <= right < width:
            word = words[left * words_per_row + (right >> 6)]
            present[row] = np.uint8((word >> (np.uint64(right) & _LOW)) & _ONE)
