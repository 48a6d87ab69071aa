"""How many distinct keys a relation has, and how many rows share one, counted approximately."""

import math

import numpy as np

from tidelog.kernels.fetch import fetch
from tidelog.storage.hashing import hash_columns
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s, Words, kernel
from tidelog.storage.slots import AHEAD, ONE

_MOST_ROWS = 1 << 20
_CELLS = 1 << 21
_FEW_ROWS = 1 << 11
_SAMPLE = 1 << 14
_MANY_ROWS = 1 << 16


@kernel
def _mark_cells(rows: CodeArray, columns: Int32s, cells: Bools) -> int:
    """Mark the cell of every key and return how many cells are marked."""
    mask = np.uint64(cells.shape[0] - 1)
    marked = 0
    for row in range(rows.shape[0]):
        cell = hash_columns(rows, row, columns) & mask
        marked += np.int64(1) - cells[cell]
        cells[cell] = 1
    return marked


def count_distinct(rows: CodeArray, columns: tuple[int, ...], total: int | None = None) -> float:
    """Return about how many distinct values these columns have in `total` rows, of which some are here.

    Linear counting: keys are hashed into cells, and the share of empty cells shows how many keys
    there were. Of a long relation only the first million rows are read and the result is scaled
    by what their second half added to the first.
    """
    read = rows[:_MOST_ROWS]
    total = len(rows) if total is None else total
    cells = np.zeros(min(_CELLS, 1 << max(8, (4 * len(read)).bit_length())), np.uint8)
    key: Int32s = np.array(columns, np.int32)
    half = len(read) // 2
    first = _estimate(_mark_cells(read[:half], key, cells), len(cells))
    whole = _estimate(int(np.count_nonzero(cells)) + _mark_cells(read[half:], key, cells), len(cells))
    if total == len(read):
        return whole
    growth = (whole - first) / max(len(read) - half, 1)
    return whole + growth * (total - len(read)) / 2


@kernel
def _hash_sample(rows: CodeArray, columns: Int32s, hashes: Words) -> None:
    """Write the hashes of the keys of so many rows, evenly apart."""
    for position in range(hashes.shape[0]):
        # Rows lie too far apart for the processor to guess the next one.
        fetch(rows, (position + AHEAD) * rows.shape[0] // hashes.shape[0])
        hashes[position] = hash_columns(rows, position * rows.shape[0] // hashes.shape[0], columns)


def rows_per_key(rows: CodeArray, columns: tuple[int, ...]) -> float:
    """Return how many rows share the key of a row picked at random.

    This is what a join meets if its bindings are facts themselves: if a few keys have most of the rows, it is
    far more than the mean over keys. It is estimated from how often the keys of sampled rows are equal.
    """
    count = len(rows)
    size = min(count, _SAMPLE)
    if size < 2:
        return float(size)
    hashes = _sample(rows, columns, size)
    hashes.sort()
    ends = np.flatnonzero(np.append(hashes[1:] != hashes[:-1], True)) + 1
    lengths = np.diff(ends, prepend=0).astype(np.float64)
    equal_pairs = float((lengths * (lengths - 1) / 2).sum())
    return max(1.0, count * equal_pairs / (size * (size - 1) / 2))


def matches_per_row(
    rows: CodeArray, columns: tuple[int, ...], facts: CodeArray, key: tuple[int, ...]
) -> float:
    """Return about how many facts have the key that a row picked at random has in other columns.

    It is estimated from how often the keys of sampled rows and of sampled facts are equal.
    """
    sampled, others = _sample(rows, columns, _FEW_ROWS), _sample(facts, key, _MANY_ROWS)
    size = 1 << (2 * len(sampled)).bit_length()
    equal_pairs = _count_equal(sampled, others, np.zeros(size, np.uint64), np.zeros(size, np.int64))
    return equal_pairs / len(sampled) * len(facts) / len(others)


@kernel
def _count_equal(few: Words, many: Words, cells: Words, counts: Int64s) -> int:
    """Return how many pairs of a hash of the few and one of the many are equal.

    `cells` and `counts` are empty tables, larger than there are few hashes, their size a power of two.
    """
    mask = np.uint64(cells.shape[0] - 1)
    for hashed in few:
        cell = hashed & mask
        while counts[cell] > 0 and cells[cell] != hashed:
            cell = (cell + ONE) & mask
        cells[cell] = hashed
        counts[cell] += 1
    pairs = 0
    for hashed in many:
        cell = hashed & mask
        while counts[cell] > 0 and cells[cell] != hashed:
            cell = (cell + ONE) & mask
        pairs += counts[cell]
    return pairs


def _sample(rows: CodeArray, columns: tuple[int, ...], most: int) -> Words:
    """Return the hashes of the keys of some rows."""
    hashes = np.empty(min(len(rows), most), np.uint64)
    _hash_sample(rows, np.array(columns, np.int32), hashes)
    return hashes


def _estimate(marked: int, cells: int) -> float:
    empty = max(cells - marked, 1)
    return cells * math.log(cells / empty)
