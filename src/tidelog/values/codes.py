"""Numbers as codes: how unsigned and float values fit the one int64 of a column.

A number is its own code. An unsigned keeps its 64 bits. A float is its bits, with one NaN and
no negative zero, so that equal values have equal codes.
"""

import struct
from typing import Final

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]

NUMBER_MIN: Final = -(2**63)
NUMBER_MAX: Final = 2**63 - 1
UNSIGNED_MAX: Final = 2**64 - 1
NAN_CODE: Final = 0x7FF8_0000_0000_0000

_SIGN_BIT: Final = np.int64(NUMBER_MIN)
_ALL_BUT_SIGN: Final = np.int64(NUMBER_MAX)


def wrap(value: int) -> int:
    """Return the 64-bit two's complement number that `value` wraps to.

    `wrap(2**63) == -(2**63)`
    """
    return ((value + 2**63) & UNSIGNED_MAX) - 2**63


def unsigned_to_code(value: int) -> int:
    """Return the code of an unsigned value, which must lie in 0 .. 2**64 - 1."""
    return value if value <= NUMBER_MAX else value - 2**64


def code_to_unsigned(code: int) -> int:
    """Return the unsigned value that a code stands for."""
    return code & UNSIGNED_MAX


def float_to_code(value: float) -> int:
    """Return the code of a float; every NaN has one code and -0.0 has that of 0.0."""
    if value != value:  # noqa: PLR0124 - only NaN differs from itself
        return NAN_CODE
    code: int = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]
    return code


def code_to_float(code: int) -> float:
    """Return the float that a code stands for."""
    value: float = struct.unpack("<d", struct.pack("<q", code))[0]
    return value


def unsigneds_to_codes(values: npt.NDArray[np.uint64]) -> Codes:
    """Return the codes of unsigned values, as a view where possible."""
    return np.ascontiguousarray(values, dtype=np.uint64).view(np.int64)


def codes_to_unsigneds(codes: Codes) -> npt.NDArray[np.uint64]:
    """Return the unsigned values of codes, as a view where possible."""
    return np.ascontiguousarray(codes, dtype=np.int64).view(np.uint64)


def floats_to_codes(values: npt.NDArray[np.float64]) -> Codes:
    """Return the codes of floats in a new array."""
    # Adding zero turns -0.0 into 0.0 and copies.
    codes: Codes = (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.int64)
    codes[np.isnan(values)] = NAN_CODE
    return codes


def codes_to_floats(codes: Codes) -> npt.NDArray[np.float64]:
    """Return the floats of codes, as a view where possible."""
    return np.ascontiguousarray(codes, dtype=np.int64).view(np.float64)


def unsigned_order(codes: Codes) -> Codes:
    """Return keys whose int64 order is the order of the unsigned values."""
    return codes ^ _SIGN_BIT


def float_order(codes: Codes) -> Codes:
    """Return keys whose int64 order is the order of the floats, NaN last."""
    # Bits of negative floats grow with their size, so all bits but the sign are turned.
    return np.where(codes < 0, codes ^ _ALL_BUT_SIGN, codes)
