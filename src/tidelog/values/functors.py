"""What every intrinsic functor and comparison means, over Python values.

This page is the law: engines that work on codes must agree with it value by value.

* number wraps to 64 bits in two's complement, unsigned modulo 2**64; a float is an IEEE double
  without negative zero and with one NaN.
* `NoValueError` says that there is no value: integer division by zero, a negative exponent of
  an integer power, a text that is not a number, `substr` outside the text, a float that is not an
  integer of 64 bits, a regular expression that cannot be read.
* Value order (`order_key`): numbers by size, NaN after all others, symbols by code points, records
  by fields with nil first, algebraic values by branch name and then fields.
"""

import math
import operator
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final, cast

from tidelog.dataclass import dataclass
from tidelog.values.patterns import PatternError, compile_pattern
from tidelog.values.types import Kind
from tidelog.values.value import BadPatternError, Branch, NoValueError, Value

NUMBER_MIN: Final = -(2**63)
NUMBER_MAX: Final = 2**63 - 1
UNSIGNED_MAX: Final = 2**64 - 1
NAN: Final = math.nan


@dataclass(frozen=True, slots=True)
class Signature:
    """The kinds a functor takes and gives.

    `kind` is what `Application.kind` and `apply` are given; it is the kind of the first operand.
    A variadic functor has one operand here and takes one or more of that kind.
    """

    operands: tuple[Kind, ...]
    result: Kind
    is_variadic: bool = False

    @property
    def kind(self) -> Kind:
        """Return the kind that tells this signature from the functor's others."""
        return self.operands[0]

    def accepts(self, count: int) -> bool:
        """Say whether the functor takes `count` operands."""
        return count >= 1 if self.is_variadic else count == len(self.operands)


_N, _U, _F, _S = Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.SYMBOL


def _same(width: int, *kinds: Kind) -> tuple[Signature, ...]:
    return tuple(Signature((kind,) * width, kind) for kind in kinds)


def _variadic(*kinds: Kind) -> tuple[Signature, ...]:
    return tuple(Signature((kind,), kind, is_variadic=True) for kind in kinds)


def _convert(result: Kind, *kinds: Kind) -> tuple[Signature, ...]:
    return tuple(Signature((kind,), result) for kind in kinds)


# Signatures stand in order of preference: where the operands leave a choice (`to_string(1)`) the
# first that fits is meant.
SIGNATURES: Final[Mapping[str, tuple[Signature, ...]]] = {
    **{name: _same(2, _N, _U, _F) for name in ("+", "-", "*", "/", "^")},
    **{name: _same(2, _N, _U) for name in ("%", "band", "bor", "bxor", "bshl", "bshr", "bshru")},
    **{name: _same(2, _N, _U) for name in ("land", "lor", "lxor")},
    **{name: _same(1, _N, _U) for name in ("bnot", "lnot")},
    "neg": _same(1, _N, _F),
    "max": _variadic(_N, _U, _F, _S),
    "min": _variadic(_N, _U, _F, _S),
    "cat": _variadic(_S),
    "strlen": _convert(_N, _S),
    "substr": (Signature((_S, _N, _N), _S),),
    "ord": _convert(_N, _S, _N, _U, _F, Kind.RECORD, Kind.ADT),
    "to_number": _convert(_N, _S, _N, _U, _F),
    "to_unsigned": _convert(_U, _S, _N, _U, _F),
    "to_float": _convert(_F, _S, _N, _U, _F),
    "to_string": _convert(_S, _N, _U, _F, _S),
    "itof": _convert(_F, _N),
    "itou": _convert(_U, _N),
    "utof": _convert(_F, _U),
    "utoi": _convert(_N, _U),
    "ftoi": _convert(_N, _F),
    "ftou": _convert(_U, _F),
}

# `range` gives many values, so it is a `Generator` of a body and no functor for `apply`.
RANGE_SIGNATURES: Final = tuple(s for width in (2, 3) for s in _same(width, _N, _U, _F))

_ALL = frozenset(Kind)
_ORDERED = frozenset((_N, _U, _F, _S))
# The kinds each comparison applies to; both operands are of one kind.
COMPARISONS: Final[Mapping[str, frozenset[Kind]]] = {
    "=": _ALL,
    "!=": _ALL,
    **dict.fromkeys(("<", "<=", ">", ">="), _ORDERED),
    **dict.fromkeys(("match", "contains", "!match", "!contains"), frozenset((_S,))),
}


def apply(functor: str, kind: Kind, arguments: tuple[Value, ...]) -> Value:
    """Return the value of a functor, or raise `NoValueError`.

    The arguments are of the kinds of the signature whose first operand is `kind`.

        apply("/", Kind.NUMBER, (-7, 2)) == -3
    """
    match kind:
        case Kind.NUMBER:
            function = _NUMBER.get(functor) or _INTEGER.get(functor)
        case Kind.UNSIGNED:
            function = _UNSIGNED.get(functor) or _INTEGER.get(functor)
        case Kind.FLOAT:
            function = _FLOAT.get(functor)
        case Kind.SYMBOL:
            function = _SYMBOL.get(functor)
        case Kind.RECORD | Kind.ADT:
            function = _ord_of_text if functor == "ord" else None
    assert function is not None, f"no functor {functor} of kind {kind.value}"
    return canonical(function(*arguments), _result_kind(functor, kind))


def compare(op: str, kind: Kind, left: Value, right: Value) -> bool:
    """Say whether a comparison holds, or raise `BadPatternError`.

    `match(pattern, text)` asks for the whole text, and `patterns.py` says what patterns mean;
    `contains(part, text)` asks for a part of it. NaN equals itself and is neither below nor above nor
    `<=` anything.
    """
    match op:
        case "=":
            return _equal(left, right)
        case "!=":
            return not _equal(left, right)
        case "match" | "!match":
            found = _pattern(cast("str", left)).fullmatch(cast("str", right)) is not None
            return found == (op == "match")
        case "contains" | "!contains":
            return (cast("str", left) in cast("str", right)) == (op == "contains")
    relation = _ORDER[op]
    if kind is Kind.FLOAT:
        return bool(relation(left, right))
    return bool(relation(order_key(left), order_key(right)))


def canonical(value: Value, kind: Kind) -> Value:
    """Return the value as a column of this kind keeps it: wrapped, one NaN, no negative zero."""
    match kind:
        case Kind.NUMBER:
            return wrap_number(cast("int", value))
        case Kind.UNSIGNED:
            return cast("int", value) & UNSIGNED_MAX
        case Kind.FLOAT:
            return canonical_float(cast("float", value))
        case _:
            return value


def canonical_float(value: float) -> float:
    """Return the float with negative zero made zero and any NaN made the one `NAN`."""
    return NAN if math.isnan(value) else value + 0.0


def canonical_value(value: Value) -> Value:
    """Return the value with every float inside it canonical."""
    match value:
        case float():
            return canonical_float(value)
        case tuple():
            return tuple(map(canonical_value, value))
        case Branch():
            return Branch(value.name, cast("tuple[Value, ...]", canonical_value(value.fields)))
        case _:
            return value


def wrap_number(value: int) -> int:
    """Return the low 64 bits read in two's complement."""
    return (value - NUMBER_MIN & UNSIGNED_MAX) + NUMBER_MIN


def order_key(value: Value) -> Any:
    """Return a key that sorts values of one type in value order.

    sorted([None, (2,), (1,)], key=order_key) == [None, (1,), (2,)]
    """
    match value:
        case None:
            return (0,)
        case tuple():
            return (1, *map(order_key, value))
        case Branch():
            return (value.name, *map(order_key, value.fields))
        case float():
            return (1, 0.0) if math.isnan(value) else (0, value)
        case _:
            return value


def range_values(kind: Kind, start: Value, stop: Value, step: Value | None) -> Iterator[Value]:
    """Yield the values of `range(start, stop, step)`: from start, stop left out.

    Without a step it counts by 1 towards stop. A step of 0 gives start alone, and nothing if
    start is stop. Nothing wraps: the range ends where the next value would not fit, and a
    float range where adding the step changes nothing.

        list(range_values(Kind.NUMBER, 3, 1, None)) == [3, 2]
    """
    current, end = cast("float", start), cast("float", stop)
    by = cast("float", step) if step is not None else (1 if current <= end else -1)
    while current < end if by > 0 else current > end if by < 0 else current != end:
        yield current
        following = current + by
        if following == current or math.isnan(following):
            return
        current = canonical_float(following) if kind is Kind.FLOAT else following


def float_range_length(start: float, stop: float, step: float | None) -> float:
    """Return about how many values a float range has, never notably more than there are.

    Beyond 2⁵² steps from 0 a step may change nothing, so what is there is not counted.
    """
    by = step if step is not None else (1.0 if start <= stop else -1.0)
    end = 2.0**52 * abs(by)
    if by == 0 or not abs(start) < end or math.isnan(stop):
        return 1.0
    return max(0.0, (max(-end, min(stop, end)) - start) / by)


def exact_sum(values: Iterable[float]) -> float:
    """Return the sum of floats rounded once, so that their order does not matter.

    It is `math.fsum` where that has an answer; opposite infinities give NaN, and a sum beyond
    the largest double an infinity.
    """
    terms = list(values)
    special = [term for term in terms if not math.isfinite(term)]
    if special:
        return canonical_float(sum(special))
    try:
        return canonical_float(math.fsum(terms))
    except OverflowError:
        from fractions import Fraction  # noqa: PLC0415 - rarely needed

        total = sum(map(Fraction, terms), Fraction(0))
    try:
        return canonical_float(float(total))
    except OverflowError:
        return math.inf if total > 0 else -math.inf


# --- integers ------------------------------------------------------------------------------


def _divide(left: int, right: int) -> int:
    if right == 0:
        raise NoValueError
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    return left - right * _divide(left, right)


def _power(base: int, exponent: int) -> int:
    if exponent < 0:
        raise NoValueError
    return pow(base, exponent, UNSIGNED_MAX + 1)


def _shift_right_unsigned(value: int, count: int) -> int:
    return (value & UNSIGNED_MAX) >> (count & 63)


def _identity(value: Value) -> Value:
    return value


_Function = Callable[..., Value]
_ORDER: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

# What number and unsigned share; `apply` wraps the result to its kind.
_INTEGER: Final[Mapping[str, _Function]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": _remainder,
    "^": _power,
    "neg": operator.neg,
    "band": operator.and_,
    "bor": operator.or_,
    "bxor": operator.xor,
    "bnot": operator.invert,
    "bshl": lambda value, count: value << (count & 63),
    "bshr": lambda value, count: value >> (count & 63),
    "bshru": _shift_right_unsigned,
    "land": lambda left, right: int(left != 0 and right != 0),
    "lor": lambda left, right: int(left != 0 or right != 0),
    "lxor": lambda left, right: int((left != 0) != (right != 0)),
    "lnot": lambda value: int(value == 0),
    "max": lambda *values: max(values),
    "min": lambda *values: min(values),
    "ord": _identity,
    "to_number": _identity,
    "to_unsigned": _identity,
    "to_float": float,
    "to_string": str,
}
_NUMBER: Final[Mapping[str, _Function]] = {"itof": float, "itou": _identity}
_UNSIGNED: Final[Mapping[str, _Function]] = {"utof": float, "utoi": _identity}


# --- floats --------------------------------------------------------------------------------


def _divide_floats(left: float, right: float) -> float:
    if right != 0.0:
        return left / right
    # Zero has no sign here, so the sign of the infinity is the dividend's.
    return NAN if left == 0.0 or math.isnan(left) else math.copysign(math.inf, left)


def _power_floats(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    except ValueError:
        # 0 to a negative power, or a negative base with an exponent that is not an integer.
        return math.inf if base == 0.0 else NAN


def _truncate(value: float, least: int, most: int) -> int:
    if not math.isfinite(value):
        raise NoValueError
    truncated = math.trunc(value)
    if not least <= truncated <= most:
        raise NoValueError
    return truncated


def _float_to_number(value: float) -> int:
    return _truncate(value, NUMBER_MIN, NUMBER_MAX)


def _float_to_unsigned(value: float) -> int:
    return _truncate(value, 0, UNSIGNED_MAX)


def _float_bits(value: float) -> int:
    return cast("int", struct.unpack("<q", struct.pack("<d", value))[0])


_FLOAT: Final[Mapping[str, _Function]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide_floats,
    "^": _power_floats,
    "neg": operator.neg,
    "max": lambda *values: max(values, key=order_key),
    "min": lambda *values: min(values, key=order_key),
    "ord": _float_bits,
    "ftoi": _float_to_number,
    "ftou": _float_to_unsigned,
    "to_number": _float_to_number,
    "to_unsigned": _float_to_unsigned,
    "to_float": _identity,
    # The shortest text that reads back as the same float: 1.0, 0.1, 1e+16, inf, nan.
    "to_string": repr,
}


# --- symbols -------------------------------------------------------------------------------

_INTEGER_TEXT = re.compile(r"[+-]?0*([0-9]{1,20})")
_OTHER_BASE_TEXT = re.compile(r"[+-]?0(x0*[0-9a-f]{1,16}|b0*[01]{1,64})", re.IGNORECASE)
_FLOAT_TEXT = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*([eE][+-]?[0-9]+)?|\.[0-9]+([eE][+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE
)


def _text_to_integer(text: str, least: int, most: int) -> int:
    """Return what a text writes in decimal digits, or with `0x` or `0b` in hexadecimal or binary ones."""
    if _INTEGER_TEXT.fullmatch(text) is not None:
        value = int(text)
    elif _OTHER_BASE_TEXT.fullmatch(text) is not None:
        value = int(text, 0)
    else:
        raise NoValueError
    if not least <= value <= most:
        raise NoValueError
    return value


def _text_to_float(text: str) -> float:
    if _FLOAT_TEXT.fullmatch(text) is None:
        raise NoValueError
    return float(text)


def _part_of_text(text: str, index: int, length: int) -> str:
    """Return at most `length` code points from `index` on: fewer where the text ends first."""
    if not 0 <= index <= len(text) or length < 0:
        raise NoValueError
    return text[index : index + length]


def _ord_of_text(value: Value) -> int:
    """Return a number made from the value's content.

    An engine may give the value's code instead: programs may rely on equal values having equal
    numbers and on nothing else.
    """
    digest = blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return compile_pattern(text)
    except PatternError as error:
        raise BadPatternError(text, str(error)) from None


_SYMBOL: Final[Mapping[str, _Function]] = {
    "max": lambda *values: max(values),
    "min": lambda *values: min(values),
    "cat": lambda *values: "".join(values),
    "strlen": len,
    "substr": _part_of_text,
    "ord": _ord_of_text,
    "to_number": lambda text: _text_to_integer(text, NUMBER_MIN, NUMBER_MAX),
    "to_unsigned": lambda text: _text_to_integer(text, 0, UNSIGNED_MAX),
    "to_float": _text_to_float,
    "to_string": _identity,
}


# --- shared --------------------------------------------------------------------------------

_RESULTS: Final[Mapping[tuple[str, Kind], Kind]] = {
    (name, signature.kind): signature.result
    for name, signatures in SIGNATURES.items()
    for signature in signatures
}


def _result_kind(functor: str, kind: Kind) -> Kind:
    # `neg` of an unsigned has no signature, yet a meaning: it wraps.
    return _RESULTS.get((functor, kind), kind)


def _equal(left: Value, right: Value) -> bool:
    # Keys make NaN equal to itself wherever it stands, also inside a record.
    return bool(order_key(left) == order_key(right))
