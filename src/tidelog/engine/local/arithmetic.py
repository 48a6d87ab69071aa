"""Functors and comparisons of numbers over whole columns of codes, as `values.functors` says."""

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Final, cast

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.evaluated import Bools, Evaluated, unless_all
from tidelog.engine.protocol import Codes
from tidelog.kernels import kernel
from tidelog.values import Kind
from tidelog.values.codes import float_order, floats_to_codes

Floats = npt.NDArray[np.float64]
Compare = Callable[[Codes, Codes], Bools]


def _fold(kernel: Callable[[Codes, Codes], Codes]) -> Callable[..., Codes]:
    return lambda *codes: reduce(kernel, codes)


def _unsigned(kernel: Callable[..., npt.NDArray[np.uint64 | np.float64]]) -> Callable[..., Codes]:
    return lambda *codes: kernel(*(column.view(np.uint64) for column in codes)).view(np.int64)


def _floats(kernel: Callable[..., Floats]) -> Callable[..., Codes]:
    quiet = np.errstate(all="ignore")(kernel)
    return lambda *codes: floats_to_codes(quiet(*(column.view(np.float64) for column in codes)))


def _float_power(bases: Floats, exponents: Floats) -> Floats:
    return float_powers(np.ascontiguousarray(bases), np.ascontiguousarray(exponents))


@kernel
def float_powers(bases: Floats, exponents: Floats) -> Floats:
    """Return bases to the power of exponents, by the C library like `math.pow`; NumPy may round differently.

    Requires both to have the same size, or one of them one element, which then applies to all.
    """
    powers = np.empty(bases.size if exponents.size == 1 else exponents.size, dtype=np.float64)
    for row in range(powers.size):
        base = bases[row if bases.size > 1 else 0]
        powers[row] = base ** exponents[row if exponents.size > 1 else 0]
    return powers


def _choose_float(compare: Compare) -> Callable[[Codes, Codes], Codes]:
    return lambda left, right: np.where(compare(float_order(left), float_order(right)), left, right)


def _by_divisor(dtype: type, kernel: Callable[..., Codes]) -> Callable[..., Evaluated]:
    quiet = np.errstate(all="ignore")(kernel)

    def divide(left: Codes, right: Codes) -> Evaluated:
        if right.all():
            return quiet(left.view(dtype), right.view(dtype)).view(np.int64), None
        has_value = right != 0
        divisor: Codes = np.where(has_value, right, 1).view(dtype)
        return quiet(left.view(dtype), divisor).view(np.int64), has_value

    return divide


def _truncate(least: float, beyond: float, dtype: type) -> Callable[[Codes], Evaluated]:
    @np.errstate(all="ignore")
    def truncate(codes: Codes) -> Evaluated:
        values = np.trunc(codes.view(np.float64))
        has_value = (values >= least) & (values < beyond)
        return np.where(has_value, values, 0.0).astype(dtype).view(np.int64), unless_all(has_value)

    return truncate


_N, _U, _F, _S = Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.SYMBOL
# The code itself serves as `ord`: equal values have equal codes.
IDENTITIES: Final[frozenset[tuple[str, Kind]]] = frozenset(
    [("ord", kind) for kind in Kind]
    + [(name, kind) for name in ("to_number", "to_unsigned") for kind in (_N, _U)]
    + [("to_float", _F), ("to_string", _S), ("itou", _N), ("utoi", _U)]
)

# Two's complement: these do the same to the bits of a number and of an unsigned.
_INTEGER: Final[Mapping[str, Callable[..., Codes]]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "neg": np.negative,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
    "bxor": np.bitwise_xor,
    "bnot": np.invert,
    "bshl": lambda left, right: left << (right & 63),
    "bshru": _unsigned(lambda left, right: left >> (right & 63)),
    "land": lambda left, right: ((left != 0) & (right != 0)).astype(np.int64),
    "lor": lambda left, right: (left | right != 0).astype(np.int64),
    "lxor": lambda left, right: ((left != 0) != (right != 0)).astype(np.int64),
    "lnot": lambda codes: (codes == 0).astype(np.int64),
}

TOTAL: Final[Mapping[tuple[str, Kind], Callable[..., Codes]]] = {
    **{(name, kind): kernel for name, kernel in _INTEGER.items() for kind in (_N, _U)},
    ("bshr", _N): lambda left, right: left >> (right & 63),
    ("bshr", _U): _INTEGER["bshru"],
    ("^", _U): _unsigned(np.power),
    ("min", _N): _fold(np.minimum),
    ("max", _N): _fold(np.maximum),
    ("min", _U): _fold(_unsigned(np.minimum)),
    ("max", _U): _fold(_unsigned(np.maximum)),
    ("min", _F): _fold(_choose_float(np.less)),
    ("max", _F): _fold(_choose_float(np.greater)),
    ("+", _F): _floats(np.add),
    ("-", _F): _floats(np.subtract),
    ("*", _F): _floats(np.multiply),
    ("/", _F): _floats(np.divide),
    ("^", _F): _floats(_float_power),
    ("neg", _F): _floats(np.negative),
    **{(name, _N): lambda codes: codes.astype(np.float64).view(np.int64) for name in ("itof", "to_float")},
    **{(name, _U): _unsigned(lambda codes: codes.astype(np.float64)) for name in ("utof", "to_float")},
}

PARTIAL: Final[Mapping[tuple[str, Kind], Callable[..., Evaluated]]] = {
    # Without the remainder the quotient is exact, and rounding down is rounding to zero.
    ("/", _N): _by_divisor(np.int64, lambda left, right: (left - np.fmod(left, right)) // right),
    ("%", _N): _by_divisor(np.int64, np.fmod),
    ("/", _U): _by_divisor(np.uint64, np.floor_divide),
    ("%", _U): _by_divisor(np.uint64, np.remainder),
    ("^", _N): lambda base, power: (np.power(base, np.maximum(power, 0)), unless_all(power >= 0)),
    **{(name, _F): _truncate(-(2.0**63), 2.0**63, np.int64) for name in ("ftoi", "to_number")},
    **{(name, _F): _truncate(0.0, 2.0**64, np.uint64) for name in ("ftou", "to_unsigned")},
}

COMPARISONS: Final[Mapping[str, Callable[..., Bools]]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
DTYPES: Final = {_N: np.int64, _U: np.uint64, _F: np.float64}


def comparison(op: str, kind: Kind) -> Callable[..., Evaluated]:
    """Return a comparison of codes of a kind."""
    compare = np.errstate(invalid="ignore")(COMPARISONS[op]) if kind is _F else COMPARISONS[op]
    # Equal values have equal codes, whatever the kind.
    dtype = np.int64 if op in ("=", "!=") else DTYPES[kind]
    return lambda left, right: (cast("Codes", compare(left.view(dtype), right.view(dtype))), None)
