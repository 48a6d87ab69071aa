"""What may stand in one place of a tree that is made of values."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tidelog.dataclass import dataclass
from tidelog.trees.pool import TreeValue
from tidelog.trees.schema import ValueKind, identifier

NUMBER_RANGE: Final = range(-(2**63), 2**63)


@dataclass(frozen=True)
class Plain:
    """A type whose values are values of links: how to recognise, keep and restore them."""

    name: str
    kind: ValueKind
    accepts: Callable[[object], bool]
    keep: Callable[[Any], TreeValue]
    restore: Callable[[Any], object]


@dataclass(frozen=True)
class ListOf:
    """Lists, or tuples of any length, of one kind of element."""

    name: str
    element: "Shape"
    make: Callable[[list[object]], object]
    python: type


@dataclass(frozen=True)
class MapOf:
    """Dictionaries from texts to one kind of value."""

    name: str
    entry: "EntryOf"


@dataclass(frozen=True)
class EntryOf:
    """Pairs of a key and a value, which dictionaries are lists of."""

    name: str
    value: "Shape"


@dataclass(frozen=True)
class TupleOf:
    """Tuples of a fixed length."""

    name: str
    items: tuple["Shape", ...]


@dataclass(frozen=True)
class RecordOf:
    """Dictionaries with known keys; who reads the values knows what each holds."""

    name: str


@dataclass(frozen=True)
class Ref:
    """Another shape, by its name: for values that can hold values like themselves."""

    name: str


Member = type | RecordOf | Ref | Plain | ListOf | MapOf | EntryOf | TupleOf


@dataclass(frozen=True)
class Shape:
    """What may stand in one place: one of several members, or nothing.

    A class stands for itself and its subclasses. If the only member is `Plain`, the place holds a
    value; otherwise it holds a node, and plain members become nodes with a `value`.
    """

    members: tuple[Member, ...]
    is_optional: bool = False

    @property
    def plain(self) -> Plain | None:
        """Return the plain type if the place holds a value."""
        only = self.members[0] if len(self.members) == 1 else None
        return only if isinstance(only, Plain) else None

    @property
    def name(self) -> str:
        """Return a name for lists of it."""
        name = "_or_".join(member_name(member) for member in self.members)
        return f"{name}_or_None" if self.is_optional else name


def member_name(member: Member) -> str:
    """Return the name of the node type of a member."""
    return identifier(member.__name__) if isinstance(member, type) else member.name


PLAIN: Final[Mapping[type, Plain]] = {
    str: Plain("str", ValueKind.SYMBOL, lambda x: type(x) is str, str, str),
    bool: Plain("bool", ValueKind.NUMBER, lambda x: type(x) is bool, int, bool),
    int: Plain("int", ValueKind.NUMBER, lambda x: type(x) is int and x in NUMBER_RANGE, int, int),
    float: Plain("float", ValueKind.FLOAT, lambda x: type(x) is float, float, float),
    bytes: Plain(
        "bytes",
        ValueKind.SYMBOL,
        lambda x: type(x) is bytes,
        lambda x: x.decode("latin-1"),
        lambda x: x.encode("latin-1"),
    ),
}
