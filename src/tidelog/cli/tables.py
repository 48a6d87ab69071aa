"""Facts as tables in the forms that people and other programs read."""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from io import StringIO

from tidelog.io.show import aligned, value_text
from tidelog.values import Fact
from tidelog.views.fact_json import fact_json


class TableForm(StrEnum):
    """The forms of a table."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    MARKDOWN = "markdown"


def table_lines(columns: Sequence[str], facts: Iterable[Fact], form: TableForm) -> Iterator[str]:
    """Yield the lines of a table with a header; JSON is a list of objects, one to a line.

    x,y              [{"x": 1, "y": "a"},         | x | y |
    1,a               {"x": 2, "y": "b"}]         |---|---|
    2,b                                           | 1 | a |
    """
    match form:
        case TableForm.TABLE:
            yield from aligned([list(columns), *map(_texts, facts)])
        case TableForm.CSV:
            yield from _csv_lines(columns, facts)
        case TableForm.JSON:
            yield from _json_lines(columns, facts)
        case TableForm.MARKDOWN:
            yield _markdown_line(columns)
            yield f"|{'---|' * len(columns)}"
            yield from (_markdown_line(_texts(fact)) for fact in facts)


def _texts(fact: Fact) -> list[str]:
    return [value_text(value) for value in fact]


def _csv_lines(columns: Sequence[str], facts: Iterable[Fact]) -> Iterator[str]:
    for fact in (columns, *facts):
        line = StringIO()
        # A text stands as it is: quotes keep its newlines.
        cells = (value if isinstance(value, str) else value_text(value) for value in fact)
        csv.writer(line, lineterminator="\n").writerow(cells)
        yield line.getvalue()[:-1]


def _json_lines(columns: Sequence[str], facts: Iterable[Fact]) -> Iterator[str]:
    line = "["
    for fact in facts:
        if line != "[":
            yield f"{line},"
            line = " "
        line += json.dumps(dict(zip(columns, fact_json(fact), strict=True)), ensure_ascii=False)
    yield f"{line}]"


def _markdown_line(texts: Sequence[str]) -> str:
    return f"| {' | '.join(text.replace('|', '&#124;') for text in texts)} |"
