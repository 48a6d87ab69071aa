"""Types of columns: how the code in a column is to be read."""

from collections.abc import Mapping
from enum import Enum

from tidelog.dataclass import dataclass


class Kind(Enum):
    """The six ways to read a code.

    A number is its own code; an unsigned keeps its 64 bits; a float is its bits (one NaN,
    no negative zero, so that equal values have equal codes); symbols, records and branches
    of algebraic types are codes of a dictionary.
    """

    NUMBER = "number"
    UNSIGNED = "unsigned"
    FLOAT = "float"
    SYMBOL = "symbol"
    RECORD = "record"
    ADT = "adt"

    @property
    def is_numeric(self) -> bool:
        """Say whether arithmetic applies."""
        return self in (Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT)


@dataclass(frozen=True, slots=True)
class Field:
    """A named member of a record or of a branch; `type` is a type's name."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class BranchType:
    """One constructor of an algebraic type."""

    name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class ValueType:
    """A named type.

    `base` names the type this one narrows (None for the four primitive types, records and
    algebraic types); `members` are the types of a union; `fields` belong to a record and
    """

    name: str
    kind: Kind
    base: str | None = None
    members: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()
    branches: tuple[BranchType, ...] = ()

    def branch(self, name: str) -> tuple[int, BranchType]:
        """Return the position and the type of the branch called `name`."""
        for position, branch in enumerate(self.branches):
            if branch.name == name:
                return position, branch
        raise KeyError(name)


PRIMITIVES: Mapping[str, ValueType] = {
    kind.value: ValueType(kind.value, kind) for kind in (Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.SYMBOL)
}

TypeTable = Mapping[str, ValueType]
