"""What intrinsic functors take and give."""

from collections.abc import Mapping
from dataclasses import dataclass

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
    """A functor with one signature; `most` operands beyond `operands` repeat the last kind."""

    operands: tuple[Kind, ...]
    result: Kind


@dataclass(frozen=True, slots=True)
class Conversion:
    """`to_number` and its like: any primitive kind in, one kind out."""

    result: Kind


FunctorType = Overloaded | Fixed | Conversion

FUNCTORS: Mapping[str, FunctorType] = {
    **{name: Overloaded(NUMERIC, 2, 2) for name in ("+", "-", "*", "/", "^")},
    **{
        name: Overloaded(INTEGERS, 2, 2)
        for name in ("%", "band", "bor", "bxor", "bshl", "bshr", "bshru", "land", "lor", "lxor")
    },
    "neg": Overloaded(NUMERIC, 1, 1),
    "bnot": Overloaded(INTEGERS, 1, 1),
    "lnot": Overloaded(INTEGERS, 1, 1),
    "max": Overloaded(ORDERED, 2, None),
    "min": Overloaded(ORDERED, 2, None),
    "cat": Overloaded((Kind.SYMBOL,), 2, None),
    "range": Overloaded(NUMERIC, 2, 3),
    "strlen": Fixed((Kind.SYMBOL,), Kind.NUMBER),
    "ord": Fixed((Kind.SYMBOL,), Kind.NUMBER),
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


def operand_kind(functor: str) -> Kind | None:
    """Return the kind of all operands, if the functor leaves no choice."""
    found = FUNCTORS.get(functor)
    if isinstance(found, Fixed):
        return found.operands[0]
    if isinstance(found, Overloaded) and len(found.kinds) == 1:
        return found.kinds[0]
    return None
