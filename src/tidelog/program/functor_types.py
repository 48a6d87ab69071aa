"""What intrinsic functors take and give."""

from collections.abc import Mapping

from tidelog.dataclass import dataclass
from tidelog.values import Kind

INTEGERS = (Kind.NUMBER, Kind.UNSIGNED)
NUMERIC = (Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT)
ORDERED = (Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.SYMBOL)


@dataclass(frozen=True, slots=True)
class Overloaded:
    """A functor whose operands all have one kind out of `kinds`, and whose result has it too."""

    kinds: tuple[Kind, ...]
    fewest: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Fixed:
    """A functor with one signature."""

    operands: tuple[Kind, ...]
    result: Kind


@dataclass(frozen=True, slots=True)
class Conversion:
    """`to_number` and its like: one operand of any of some kinds in, one kind out."""

    result: Kind
    kinds: tuple[Kind, ...] = ORDERED


FunctorType = Overloaded | Fixed | Conversion

FUNCTORS: Mapping[str, FunctorType] = {
    "+": Overloaded(ORDERED, 2, 2),
    **{name: Overloaded(NUMERIC, 2, 2) for name in ("-", "*", "/", "^")},
    **{
        name: Overloaded(INTEGERS, 2, 2)
        for name in ("%", "band", "bor", "bxor", "bshl", "bshr", "bshru", "land", "lor", "lxor")
    },
    "neg": Overloaded(NUMERIC, 1, 1),
    "bnot": Overloaded(INTEGERS, 1, 1),
    "lnot": Overloaded(INTEGERS, 1, 1),
    "max": Overloaded(ORDERED, 1, None),
    "min": Overloaded(ORDERED, 1, None),
    "cat": Overloaded((Kind.SYMBOL,), 1, None),
    "range": Overloaded(NUMERIC, 2, 3),
    "strlen": Fixed((Kind.SYMBOL,), Kind.NUMBER),
    "ord": Conversion(Kind.NUMBER, tuple(Kind)),
    "substr": Fixed((Kind.SYMBOL, Kind.NUMBER, Kind.NUMBER), Kind.SYMBOL),
    "itof": Fixed((Kind.NUMBER,), Kind.FLOAT),
    "itou": Fixed((Kind.NUMBER,), Kind.UNSIGNED),
    "ftoi": Fixed((Kind.FLOAT,), Kind.NUMBER),
    "ftou": Fixed((Kind.FLOAT,), Kind.UNSIGNED),
    "utof": Fixed((Kind.UNSIGNED,), Kind.FLOAT),
    "utoi": Fixed((Kind.UNSIGNED,), Kind.NUMBER),
    "to_number": Conversion(Kind.NUMBER),
    "to_unsigned": Conversion(Kind.UNSIGNED),
    "to_float": Conversion(Kind.FLOAT),
    "to_string": Conversion(Kind.SYMBOL),
}

CONVERSIONS: Mapping[tuple[Kind, Kind], str] = {
    (Kind.NUMBER, Kind.UNSIGNED): "itou",
    (Kind.NUMBER, Kind.FLOAT): "itof",
    (Kind.UNSIGNED, Kind.NUMBER): "utoi",
    (Kind.UNSIGNED, Kind.FLOAT): "utof",
    (Kind.FLOAT, Kind.NUMBER): "ftoi",
    (Kind.FLOAT, Kind.UNSIGNED): "ftou",
}


def arity_of(functor: FunctorType) -> tuple[int, int | None]:
    """Return the fewest and the most operands (None: any number)."""
    match functor:
        case Overloaded():
            return functor.fewest, functor.most
        case Fixed():
            return len(functor.operands), len(functor.operands)
        case Conversion():
            return 1, 1
