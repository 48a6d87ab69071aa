"""The first facts of a relation as a small table."""

from collections.abc import Sequence

from tidelog.program.suggest import counted
from tidelog.values import Branch, Fact, Value


def as_text(name: str, columns: Sequence[str], facts: Sequence[Fact], size: int) -> str:
    """Return a title, the column names and the facts, one per line.

    path: 3 facts
    x  y
    1  2
    1  3
    2  3
    """
    lines = [f"{name}: {counted(size, 'fact')}"]
    if columns:
        lines += aligned([list(columns), *([value_text(value) for value in fact] for fact in facts)])
    if size > len(facts):
        lines.append(f"... and {size - len(facts):,} more")
    return "\n".join(lines)


def aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows of a table as lines in which every column begins at one place."""
    widths = [max(map(len, texts)) for texts in zip(*table, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


def value_text(value: Value) -> str:
    """Return a value as a table shows it: texts without quotes, on one line."""
    match value:
        case None:
            return "nil"
        case tuple():
            return f"[{', '.join(map(value_text, value))}]"
        case Branch():
            fields = f"({', '.join(map(value_text, value.fields))})" if value.fields else ""
            return f"${value.name}{fields}"
        case str():
            # One fact, one line, whatever the text holds.
            return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
        case _:
            return str(value)
