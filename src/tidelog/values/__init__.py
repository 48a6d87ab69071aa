"""Column types, values, and the codes that stand for values."""

from tidelog.values.codec import Codec
from tidelog.values.codes import Codes
from tidelog.values.dictionary import Dictionary
from tidelog.values.records import NIL, Records
from tidelog.values.text import TextError
from tidelog.values.types import PRIMITIVES, BranchType, Field, Kind, TypeTable, ValueType
from tidelog.values.value import Branch, Fact, NoValueError, Value

__all__ = [
    "NIL",
    "PRIMITIVES",
    "Branch",
    "BranchType",
    "Codec",
    "Codes",
    "Dictionary",
    "Fact",
    "Field",
    "Kind",
    "NoValueError",
    "Records",
    "TextError",
    "TypeTable",
    "Value",
    "ValueType",
]
