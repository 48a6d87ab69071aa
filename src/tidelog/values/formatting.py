"""Codes as text: the form of fact files, and JSON."""

import json
from typing import TYPE_CHECKING

from tidelog.values.codes import code_to_float, code_to_unsigned
from tidelog.values.records import NIL
from tidelog.values.style import Style
from tidelog.values.text import format_float, format_float_as_souffle, quote, quote_inside
from tidelog.values.types import Kind, ValueType

if TYPE_CHECKING:
    from tidelog.values.codec import Codec


# What is still to be written: text, or the code of a value.
_Piece = str | tuple[int, ValueType]


def format_value(code: int, value_type: ValueType, codec: "Codec", style: Style = Style.PLAIN) -> str:
    """Return the text of a value.

    Outside JSON a symbol is its bare text, inside a record in quotes where it must be.
    """
    if not style.is_json and value_type.kind is Kind.SYMBOL:
        return codec.symbols.text_of(code)
    # A stack instead of recursion: a record may be a list of many thousand members.
    parts: list[str] = []
    waiting: list[_Piece] = [(code, value_type)]
    while waiting:
        piece = waiting.pop()
        if isinstance(piece, str):
            parts.append(piece)
        elif piece[1].kind is Kind.RECORD:
            waiting.extend(reversed(_record(*piece, codec, style)))
        elif piece[1].kind is Kind.ADT and not style.is_json:
            waiting.extend(reversed(_branch(*piece, codec)))
        elif piece[1].kind is Kind.ADT:
            parts.append(json.dumps(format_value(*piece, codec), ensure_ascii=False))
        else:
            parts.append(_simple(*piece, codec, style))
    return "".join(parts)


def _simple(code: int, value_type: ValueType, codec: "Codec", style: Style) -> str:
    match value_type.kind:
        case Kind.UNSIGNED:
            return str(code_to_unsigned(code))
        case Kind.FLOAT:
            value = code_to_float(code)
            if style in (Style.SOUFFLE, Style.SOUFFLE_QUOTED):
                return format_float_as_souffle(value)
            return json.dumps(value) if style.is_json else format_float(value)
        case Kind.SYMBOL:
            text = codec.symbols.text_of(code)
            if style.is_json:
                return json.dumps(text, ensure_ascii=False)
            if style is Style.SOUFFLE_QUOTED:
                return quote(text)
            return quote_inside(text) if text or style is Style.PLAIN else ""
        case _:
            return str(code)


def _record(code: int, value_type: ValueType, codec: "Codec", style: Style) -> list[_Piece]:
    if code == NIL:
        return ["null" if style.is_json else "nil"]
    pieces: list[_Piece] = ["{" if style is Style.JSON_OBJECTS else "["]
    names = [field.name for field in value_type.fields]
    for position, (name, field) in enumerate(zip(names, codec.fields(code, value_type), strict=True)):
        if position:
            pieces.append(", ")
        if style is Style.JSON_OBJECTS:
            pieces.append(f"{json.dumps(name)}: ")
        pieces.append(field)
    pieces.append("}" if style is Style.JSON_OBJECTS else "]")
    return pieces


def _branch(code: int, value_type: ValueType, codec: "Codec") -> list[_Piece]:
    pieces: list[_Piece] = [f"${value_type.branches[codec.records.row(code)[0]].name}"]
    fields = codec.fields(code, value_type)
    for position, field in enumerate(fields):
        pieces.append(", " if position else "(")
        pieces.append(field)
    if fields:
        pieces.append(")")
    return pieces
