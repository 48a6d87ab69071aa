"""Membership of facts that fit one word: the table holds the facts themselves.

Each column has a width in bits; a row is one word, its first column highest. A candidate that is known costs
one cache miss, where slots cost two: the slot and the row it leads to. The table says whether a row is
present, but not its number.
"""

import numpy as np

from tidelog.storage import atomic
from tidelog.storage.hashing import mix
from tidelog.storage.join import code_of
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s, Integer, Slots, inlined, kernel
from tidelog.storage.postings import code_range
from tidelog.storage.slots import BLOCK, EMPTY, ONE
from tidelog.values.memory import zeros

# Relations with fewer rows keep their slots: tables that stay in the cache gain nothing.
_SMALLEST_ROWS = 1 << 12
# A word is stored plus one, so that zero is empty, and must not overflow.
_WORD_BITS = 63
# The table grows when more than this share of it would be full.
_FULLEST = 0.7


class PackedWords:
    """The rows whose column `c` is below 2 ** `widths[c]`, as words in an open-addressing table."""

    def __init__(self, widths: Int64s, needed: int) -> None:
        self.widths = widths
        self.table: Slots = zeros((_table_size(needed),), np.dtype(np.uint64))

    def has_room(self, needed: int) -> bool:
        """Say whether the table takes this many rows."""
        return needed <= _FULLEST * len(self.table)

    def grown(self, needed: int) -> "PackedWords":
        """Return a table with the same rows and room for `needed`."""
        larger = PackedWords(self.widths, needed)
        grow_words(self.table, larger.table)
        return larger

    def mark(self, rows: CodeArray, count: int) -> None:
        """Enter rows that are known to be distinct and to fit."""
        enter_words(self.table, self.widths, rows[:count])

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


def _table_size(needed: int) -> int:
    size = 2 * _SMALLEST_ROWS
    while needed > _FULLEST * size:
        size *= 2
    return size


def fitting_words(needed: int, *parts: CodeArray) -> PackedWords | None:
    """Return an empty table for the rows of all parts, or None if they are few or do not fit words."""
    arity = parts[0].shape[1]
    if needed < _SMALLEST_ROWS or arity < 1:
        return None
    widths = np.zeros(arity, np.int64)
    for rows in parts:
        for column in range(arity):
            smallest, largest = code_range(rows, column, 0, len(rows))
            if smallest < 0:
                return None
            widths[column] = max(widths[column], int(largest).bit_length())
    spare = _WORD_BITS - int(widths.sum())
    if spare < 0:
        return None
    # Columns grow: they share the bits that are left.
    return PackedWords(widths + spare // arity, needed)


@inlined
def _packed(rows: CodeArray, row: Integer, widths: Int64s) -> np.uint64:
    """Return a row as a word plus one, or zero if it does not fit."""
    word = EMPTY
    for column in range(widths.shape[0]):
        code = np.int64(rows[row, column])
        if code < 0 or code >> widths[column] != 0:
            return EMPTY
        word = (word << np.uint64(widths[column])) | np.uint64(code)
    return word + ONE


@inlined
def _packed_operands(
    batch: CodeArray, row: Integer, constants: Int64s, key: Int32s, widths: Int64s
) -> np.uint64:
    """Return the operands of a binding as a word plus one, or zero if they do not fit."""
    word = EMPTY
    for column in range(widths.shape[0]):
        code = code_of(batch, row, constants, key[column])
        if code < 0 or code >> widths[column] != 0:
            return EMPTY
        word = (word << np.uint64(widths[column])) | np.uint64(code)
    return word + ONE


@inlined
def _home(table: Slots, word: np.uint64) -> np.uint64:
    return mix(word) & np.uint64(table.shape[0] - 1)


@inlined
def _place(table: Slots, word: np.uint64) -> np.uint64:
    """Return where a word is, or the empty place where it would be."""
    mask = np.uint64(table.shape[0] - 1)
    place = _home(table, word)
    while table[place] != EMPTY and table[place] != word:
        place = (place + ONE) & mask
    return place


@kernel
def grow_words(old: Slots, new: Slots) -> None:
    """Enter every word of a table into an empty, larger one."""
    for place in range(old.shape[0]):
        if old[place] != EMPTY:
            new[_place(new, old[place])] = old[place]


@kernel
def enter_words(table: Slots, widths: Int64s, rows: CodeArray) -> None:
    """Enter rows that are known to be distinct and to fit."""
    for row in range(rows.shape[0]):
        word = _packed(rows, row, widths)
        table[_place(table, word)] = word


@kernel
def insert_words(
    table: Slots,
    widths: Int64s,
    rows: CodeArray,
    candidates: CodeArray,
    numbers: Int64s,
    shared: Int64s,
    step: int,
) -> int:
    """Append the candidates that are not present to the rows.

    Return the number of candidates handled: fewer than there are when one does not fit a word.
    Threads share the work as in `membership.insert_rows`; the thread that enters a word owns the row.
    """
    words = np.empty(BLOCK, np.uint64)
    touched = EMPTY
    following, end = numbers[0], numbers[1]
    mask = np.uint64(table.shape[0] - 1)
    candidate = 0
    fits = True
    while fits and candidate < candidates.shape[0]:
        count = 0
        last = min(BLOCK, candidates.shape[0] - candidate)
        while count < last:
            words[count] = _packed(candidates, candidate + count, widths)
            if words[count] == EMPTY:
                fits = False
                break
            touched |= table[_home(table, words[count])]
            count += 1
        for offset in range(count):
            word = words[offset]
            place = _home(table, word)
            while True:
                found = table[place]
                if found == EMPTY:
                    found = atomic.swap_if_equal(table, place, EMPTY, word)
                    if found == EMPTY:
                        if following == end:
                            following = atomic.add(shared, 0, step)
                            end = following + step
                        for column in range(rows.shape[1]):
                            rows[following, column] = candidates[candidate + offset, column]
                        following += 1
                        break
                if found == word:
                    break
                place = (place + ONE) & mask
        candidate += count
    numbers[0] = following
    numbers[1] = end
    if touched == EMPTY and candidate < 0:
        return -1  # keeps the touching loads from being optimised away
    return candidate


@kernel
def find_words(
    table: Slots, widths: Int64s, batch: CodeArray, constants: Int64s, key: Int32s, present: Bools
) -> None:
    """Write whether the row of each binding's operands is present; `key` names a source for every column."""
    words = np.empty(BLOCK, np.uint64)
    touched = EMPTY
    for first in range(0, batch.shape[0], BLOCK):
        count = min(BLOCK, batch.shape[0] - first)
        for offset in range(count):
            words[offset] = _packed_operands(batch, first + offset, constants, key, widths)
            touched |= table[_home(table, words[offset])]
        for offset in range(count):
            is_present = words[offset] != EMPTY and table[_place(table, words[offset])] != EMPTY
            present[first + offset] = np.uint8(1) if is_present else np.uint8(0)
    if touched == EMPTY and batch.shape[0] < 0:
        present[0] = 0  # keeps the touching loads from being optimised away
