"""Facts as they are written in a program."""

from itertools import chain, repeat

from tidelog.syntax.macros import quote
from tidelog.values import Branch, Fact, Value


def write_fact(relation: str, fact: Fact) -> str:
    """Return a fact that reads back as itself: `edge("a", -1, [2, nil], $Leaf(3))`.

    Only the floats that are not numbers have no written form: they are shown as `inf` and `nan`.
    """
    return f"{relation}({', '.join(map(write_value, fact))})"


class _Mark(str):
    """A piece of punctuation, to be told from a symbol's text."""

    __slots__ = ()


def write_value(value: Value) -> str:
    """Return a value as a term of the language."""
    # A stack instead of recursion: a record may be a list of many thousand members.
    parts: list[str] = []
    waiting: list[Value] = [value]
    while waiting:
        piece = waiting.pop()
        match piece:
            case _Mark():
                parts.append(str(piece))
            case None:
                parts.append("nil")
            case str():
                parts.append(quote(piece))
            case tuple():
                waiting += _inside("[", piece, "]")
            case Branch():
                waiting += _inside(f"${piece.name}(", piece.fields, ")")
            case int() if piece >= 1 << 63:
                parts.append(f"{piece}u")
            case _:
                parts.append(repr(piece))
    return "".join(parts)


def _inside(opening: str, values: tuple[Value, ...], closing: str) -> list[Value]:
    """Return what to write for members, last first."""
    members = chain.from_iterable(zip(repeat(_Mark(", ")), values, strict=False))
    return [_Mark(opening), *list(members)[1:], _Mark(closing)][::-1]
