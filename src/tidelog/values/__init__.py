"""Column types, values, and the codes that stand for values."""

from typing import TYPE_CHECKING

from tidelog.lazily import lazily
from tidelog.values.types import PRIMITIVES, BranchType, Field, Kind, TypeTable, ValueType
from tidelog.values.value import BadPatternError, Branch, Fact, NoValueError, Value

if TYPE_CHECKING:
    from tidelog.values.codec import Codec
    from tidelog.values.codes import Codes
    from tidelog.values.dictionary import Dictionary
    from tidelog.values.records import NIL, Records
    from tidelog.values.text import TextError

__all__ = [
    "NIL",
    "PRIMITIVES",
    "BadPatternError",
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

# Imported when first asked for: reading and checking a program takes types, but no arrays.
__getattr__ = lazily(
    __name__,
    {
        "NIL": "tidelog.values.records",
        "Codec": "tidelog.values.codec",
        "Codes": "tidelog.values.codes",
        "Dictionary": "tidelog.values.dictionary",
        "Records": "tidelog.values.records",
        "TextError": "tidelog.values.text",
    },
)
