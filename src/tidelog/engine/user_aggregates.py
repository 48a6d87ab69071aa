"""Aggregates written in Python: a class with `add` and `result`, and what else it offers.

    class Median:
        def __init__(self): self.values = []
        def add(self, value): self.values.append(value)
        def result(self): return sorted(self.values)[len(self.values) // 2]

`remove(value)` undoes `add` in any order; `merge(other)` returns a new aggregate of the values of both,
those of `other` after its own. With `remove` a group keeps one object, with `merge` a scan tree of them;
with neither, a group that changes is rebuilt from its values.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol, cast

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.nodes import Aggregate
from tidelog.source import Span
from tidelog.values import NoValueError, Value


class AggregateObject(Protocol):
    """What every aggregate written by a user can do."""

    def add(self, value: Any) -> None:
        """Take a value."""

    def result(self) -> Value:
        """Return the aggregate of the values; raise `NoValueError` if there is none."""


@dataclass(frozen=True, slots=True)
class UserAggregate:
    """A class written by a user; what it raises becomes a diagnostic."""

    name: str
    factory: Callable[[], Any]
    span: Span | None = None

    @property
    def can_remove(self) -> bool:
        """Say whether values can be removed again."""
        return hasattr(self.factory, "remove")

    @property
    def can_merge(self) -> bool:
        """Say whether two aggregates can be merged."""
        return hasattr(self.factory, "merge")

    def make(self, values: Iterable[Value] = ()) -> AggregateObject:
        """Return an aggregate of values."""
        made = cast("AggregateObject", self._careful(self.factory))
        for value in values:
            self._careful(made.add, value)
        return made

    def add(self, aggregate: AggregateObject, value: Value, diff: int) -> None:
        """Insert `diff` copies of a value, or delete as many if it is negative."""
        change = aggregate.add if diff > 0 else cast("Any", aggregate).remove
        for _ in range(abs(diff)):
            self._careful(change, value)

    def merge(self, left: AggregateObject, right: AggregateObject) -> AggregateObject:
        """Return an aggregate of the values of both."""
        return cast("AggregateObject", self._careful(cast("Any", left).merge, right))

    def result(self, aggregate: AggregateObject) -> Value:
        """Return the aggregate of the values, or raise `NoValueError`."""
        return cast("Value", self._careful(aggregate.result))

    def combine(self, values: Iterable[Value]) -> Value:
        """Return the aggregate of values in value order, or raise `NoValueError`."""
        return self.result(self.make(values))

    def _careful(self, function: Callable[..., object], *operands: object) -> object:
        try:
            return function(*operands)
        except (NoValueError, TidelogError):
            raise
        except Exception as error:
            what = f"{getattr(function, '__name__', self.name)}({', '.join(map(repr, operands))})"
            failure = f"{type(error).__name__}: {error}"
            message = f"`{what}` of the aggregate `{self.name}` failed: {failure}"
            hint = "`result` may raise NoValueError where there is no value; nothing else may fail"
            failed = Diagnostic(code="aggregate-failed", message=message, span=self.span, hint=hint)
            raise TidelogError([failed]) from error


def is_object(aggregate: Aggregate) -> bool:
    """Say whether an aggregate is a class written by a user, not a functor that folds."""
    return aggregate.functor.startswith("@") and aggregate.init is None


def concatenated(separator: Value, values: Iterable[Value]) -> Value:
    """Return texts in value order joined by a separator; an empty text if there are none."""
    return cast("str", separator).join(cast("Iterable[str]", values))
