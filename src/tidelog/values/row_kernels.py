"""Kernels that find and keep rows of codes of one width.

`contents[place]` is the row kept at a place; `table` is an open-addressing hash table of places,
-1 where it is free, with a power of two of entries, at least one of them free; `hashes` keeps the
hash of every row.
"""

import numpy as np
import numpy.typing as npt

from tidelog.kernels import inlined, kernel
from tidelog.values.codes import Codes

Int32s = npt.NDArray[np.int32]
Hashes = npt.NDArray[np.uint32]

FREE = -1


@inlined
def hash_row(rows: Codes, row: int) -> np.uint32:
    """Return a hash of one row."""
    # Products of two 32-bit numbers fit 64 bits, so that nothing overflows when this runs as
    # plain Python.
    low = np.uint64(0xFFFFFFFF)
    value = np.uint64(rows.shape[1])
    for column in range(rows.shape[1]):
        code = int(rows[row, column])
        value = ((value ^ np.uint64(code & 0xFFFFFFFF)) * np.uint64(0x85EBCA6B)) & low
        value ^= value >> np.uint64(15)
        value = ((value ^ np.uint64((code >> 32) & 0xFFFFFFFF)) * np.uint64(0xC2B2AE35)) & low
        value ^= value >> np.uint64(13)
    value = (value * np.uint64(0x9E3779B1)) & low
    return np.uint32(value ^ (value >> np.uint64(16)))


@kernel
def intern_rows(  # noqa: PLR0913, PLR0917 - a kernel takes arrays, not objects
    rows: Codes, table: Int32s, hashes: Hashes, contents: Codes, count: int, places: Codes
) -> int:
    """Write the place of every row to `places` and return the number of rows kept then.

    Requires room in every array for all rows to be new.
    """
    mask = table.size - 1
    width = rows.shape[1]
    for row in range(rows.shape[0]):
        value = hash_row(rows, row)
        entry = int(value) & mask
        found = FREE
        while table[entry] != FREE:
            place = int(table[entry])
            if hashes[place] == value:
                column = 0
                while column < width and contents[place, column] == rows[row, column]:
                    column += 1
                if column == width:
                    found = place
                    break
            entry = (entry + 1) & mask
        if found == FREE:
            found = count
            table[entry] = found
            hashes[found] = value
            for column in range(width):
                contents[found, column] = rows[row, column]
            count += 1
        places[row] = found
    return count


@kernel
def fill_row_table(table: Int32s, hashes: Hashes, count: int) -> None:
    """Put the places 0 to `count` into an empty table."""
    mask = table.size - 1
    for place in range(count):
        entry = int(hashes[place]) & mask
        while table[entry] != FREE:
            entry = (entry + 1) & mask
        table[entry] = place
