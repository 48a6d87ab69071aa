"""Hash of a row: 32 bits, all of them well mixed."""

import numpy as np

from tidelog.storage.kernel import CodeArray, Int32s, Integer, inlined

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT_A = np.uint64(32)
_SHIFT_B = np.uint64(29)


@inlined
def mix(state: np.uint64) -> np.uint64:
    """Return `state` with every bit spread over the whole word."""
    state = (state ^ (state >> _SHIFT_A)) * _MULTIPLIER
    return state ^ (state >> _SHIFT_B)


@inlined
def hash_row(rows: CodeArray, row: Integer) -> np.uint64:
    """Return the 32-bit hash of all columns of a row, as uint64."""
    state = np.uint64(rows.shape[1])
    for column in range(rows.shape[1]):
        state = mix(state ^ np.uint64(rows[row, column]))
    return state & _LOW


@inlined
def hash_columns(rows: CodeArray, row: Integer, columns: Int32s) -> np.uint64:
    """Return the 32-bit hash of these columns of a row, as uint64."""
    state = np.uint64(columns.shape[0])
    for position in range(columns.shape[0]):
        state = mix(state ^ np.uint64(rows[row, columns[position]]))
    return state & _LOW
