"""The codes of a fact someone asks about."""

from collections.abc import Sequence
from typing import cast

from tidelog.errors import TidelogError
from tidelog.values import Codec, Value


def find_codes(fact: Sequence[object], types: Sequence[str], codec: Codec) -> list[int] | None:
    """Return one code per column, or None when no relation of these types can hold the fact.

    A fact of the wrong length or a value of the wrong type is simply not there: asking is not a
    mistake.
    """
    if len(fact) != len(types):
        return None
    try:
        return [
            codec.encode(cast("Value", value), type_name)
            for value, type_name in zip(fact, types, strict=True)
        ]
    except TidelogError:
        return None
