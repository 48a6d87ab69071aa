"""Values as bytes whose order is the order of the values, for whoever sorts without codes.

    nil < [1, a] < [1, ab] < [2, ""]        the bytes of each are less than those of the next

No value's bytes begin with all those of another one, so the bytes of fields stand one after the other.
"""

import struct
from typing import TYPE_CHECKING, Final

from tidelog.values.codes import NUMBER_MAX, UNSIGNED_MAX
from tidelog.values.records import NIL
from tidelog.values.types import Kind, ValueType

if TYPE_CHECKING:
    from tidelog.values.codec import Codec

_SIGN_BIT: Final = 2**63
_NIL: Final = b"\0"
_NOT_NIL: Final = b"\1"


def order_bytes(code: int, value_type: ValueType, codec: "Codec") -> bytes:
    """Return the bytes of a value; they are equal for equal values of a type only."""
    # A stack instead of recursion: a record may be a list of many thousand members.
    parts: list[bytes] = []
    waiting = [(code, value_type)]
    while waiting:
        code, value_type = waiting.pop()
        if value_type.kind is Kind.RECORD:
            parts.append(_NIL if code == NIL else _NOT_NIL)
        elif value_type.kind is Kind.ADT:
            names = [branch.name for branch in value_type.branches]
            place = sorted(names).index(names[codec.records.row(code)[0]])
            parts.append(struct.pack(">I", place))
        else:
            parts.append(_simple(code, value_type.kind, codec))
            continue
        if value_type.kind is Kind.ADT or code != NIL:
            waiting.extend(reversed(codec.fields(code, value_type)))
    return b"".join(parts)


def _simple(code: int, kind: Kind, codec: "Codec") -> bytes:
    match kind:
        case Kind.SYMBOL:
            # A zero byte inside the text is greater than its end.
            return codec.symbols.text_of(code).encode().replace(b"\0", b"\0\xff") + b"\0\0"
        case Kind.UNSIGNED:
            key = code & UNSIGNED_MAX
        case Kind.FLOAT:
            # See `codes.float_order`.
            key = (code ^ NUMBER_MAX if code < 0 else code) + _SIGN_BIT
        case _:
            key = code + _SIGN_BIT
    return struct.pack(">Q", key)
