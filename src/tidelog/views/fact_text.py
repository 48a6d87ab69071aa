"""Facts as they are written in a program."""

from tidelog.syntax.macros import quote
from tidelog.values import Branch, Fact, Value


def write_fact(relation: str, fact: Fact) -> str:
    """Return a fact that reads back as itself: `edge("a", -1, [2, nil], $Leaf(3))`."""
    return f"{relation}({', '.join(map(_write, fact))})"


def _write(value: Value) -> str:
    match value:
        case None:
            return "nil"
        case str():
            return quote(value)
        case tuple():
            return f"[{', '.join(map(_write, value))}]"
        case Branch():
            return f"${value.name}({', '.join(map(_write, value.fields))})"
        case _:
            return repr(value)
