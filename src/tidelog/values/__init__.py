"""Column types, values, and the codes that stand for values."""

from tidelog.values.types import PRIMITIVES, BranchType, Field, Kind, TypeTable, ValueType
from tidelog.values.value import Branch, Fact, NoValueError, Value

__all__ = [
    "PRIMITIVES",
    "Branch",
    "BranchType",
    "Fact",
    "Field",
    "Kind",
    "NoValueError",
    "TypeTable",
    "Value",
    "ValueType",
]
