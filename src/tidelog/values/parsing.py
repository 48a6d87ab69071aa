"""Text of fact files as codes."""

from typing import TYPE_CHECKING

from tidelog.values.codes import float_to_code, unsigned_to_code
from tidelog.values.records import NIL
from tidelog.values.text import TextReader, parse_float, parse_integer
from tidelog.values.types import Kind, ValueType

if TYPE_CHECKING:
    from tidelog.values.codec import Codec

# A row under construction, the types of the fields still to come (last first), its bracket.
_OpenRow = tuple[list[int], list[ValueType], str]


def parse_value(text: str, value_type: ValueType, codec: "Codec") -> int:
    """Return the code of the value that a text writes.

    A text that is not a value of the type raises `TextError`.
    """
    match value_type.kind:
        case Kind.NUMBER:
            return parse_integer(text, Kind.NUMBER)
        case Kind.UNSIGNED:
            return unsigned_to_code(parse_integer(text, Kind.UNSIGNED))
        case Kind.FLOAT:
            return float_to_code(parse_float(text))
        case Kind.SYMBOL:
            return codec.symbols.code_of(text)
        case Kind.RECORD | Kind.ADT:
            reader = TextReader(text)
            code = _nested(reader, value_type, codec)
            reader.finish()
            return code


def _nested(reader: TextReader, value_type: ValueType, codec: "Codec") -> int:
    # Rows wait on a stack of our own: a record may be a list of many thousand members.
    rows: list[_OpenRow] = []
    done = _start(reader, value_type, codec, rows)
    while True:
        while done is None:
            row, types, close = rows[-1]
            if types:
                done = _start(reader, types.pop(), codec, rows)
            else:
                reader.expect(close)
                rows.pop()
                done = codec.records.code_of(row)
        if not rows:
            return done
        row, types, _ = rows[-1]
        row.append(done)
        done = None
        if types:
            reader.expect(",")


def _start(reader: TextReader, value_type: ValueType, codec: "Codec", rows: list[_OpenRow]) -> int | None:
    """Return the code of a value that is complete, or put its opened row on the stack."""
    if value_type.kind is Kind.RECORD:
        if reader.accept("nil"):
            return NIL
        reader.expect("[")
        rows.append(([], [codec.resolve(field.type) for field in value_type.fields][::-1], "]"))
        return None
    if value_type.kind is not Kind.ADT:
        return _simple(reader, value_type, codec)
    reader.expect("$")
    name, start = reader.word()
    try:
        position, branch = value_type.branch(name)
    except KeyError:
        reader.at = start
        end = start + max(1, len(name))
        raise reader.error(f"`{value_type.name}` has no branch `{name}`", end) from None
    types = [codec.resolve(field.type) for field in branch.fields][::-1]
    if not types and not reader.accept("("):
        return codec.records.code_of([position])
    if types:
        reader.expect("(")
    rows.append(([position], types, ")"))
    return None


def _simple(reader: TextReader, value_type: ValueType, codec: "Codec") -> int:
    if value_type.kind is Kind.SYMBOL:
        return codec.symbols.code_of(reader.symbol())
    text, start = reader.word()
    if value_type.kind is Kind.FLOAT:
        return float_to_code(parse_float(text, start))
    number = parse_integer(text, value_type.kind, start)
    return number if value_type.kind is Kind.NUMBER else unsigned_to_code(number)
