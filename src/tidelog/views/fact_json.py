"""Facts as values that JSON can write."""

import math

from tidelog.values import Branch, Fact, Value
from tidelog.views.fact_text import write_value


def fact_json(fact: Fact) -> list[object]:
    """Return a fact's values: records as lists, branches and numbers that JSON lacks as text."""
    return [_value_json(value) for value in fact]


def _value_json(value: Value) -> object:
    match value:
        case tuple():
            return [_value_json(part) for part in value]
        case Branch():
            return write_value(value)
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value
