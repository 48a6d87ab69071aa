"""Values as Python sees them."""

from tidelog.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Branch:
    """A value of an algebraic type: `$Name(fields...)`."""

    name: str
    fields: tuple["Value", ...] = ()

    def __str__(self) -> str:
        return f"${self.name}" + (f"({', '.join(map(str, self.fields))})" if self.fields else "")


# number and unsigned: int; symbol: str; record: tuple, nil: None; algebraic type: Branch.
Value = int | float | str | tuple["Value", ...] | None | Branch
Fact = tuple[Value, ...]


class NoValueError(Exception):
    """A functor has no value for these arguments (division by zero, `to_number("x")`).

    The binding that asked for it yields no derivation; no user ever sees this exception.
    """


class BadPatternError(NoValueError):
    """A text from facts that `match` cannot use as a pattern, and why."""

    def __init__(self, pattern: str, reason: str) -> None:
        super().__init__(pattern, reason)
        self.pattern = pattern
        self.reason = reason
