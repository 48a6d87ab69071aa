"""The codes of a fact someone asks about, without teaching the dictionary new texts."""

from collections.abc import Sequence

from tidelog.errors import TidelogError
from tidelog.values import Codec, Value


def find_codes(fact: Sequence[object], types: Sequence[str], codec: Codec) -> list[int] | None:
    """Return one code per column, or None when no relation of these types can hold the fact.

    A fact of the wrong length, a value of the wrong type or a text never seen is simply not
    there: asking is not a mistake.
    """
    if len(fact) != len(types):
        return None
    codes: list[int] = []
    for value, type_name in zip(fact, types, strict=True):
        code = _find_code(value, type_name, codec)
        if code is None:
            return None
        codes.append(code)
    return codes


def _find_code(value: object, type_name: str, codec: Codec) -> int | None:
    if isinstance(value, str):
        if codec.types[type_name].kind.value != "symbol":
            return None
        return codec.symbols.find(value)
    try:
        return codec.encode(_as_value(value), type_name)
    except TidelogError:
        return None


def _as_value(value: object) -> Value:
    # The codec itself says what is wrong with a value that is none of ours.
    return value  # type: ignore[return-value]
