"""Facts as tables: aligned, CSV, JSON and Markdown."""

import csv
import json

import pytest

from tidelog.cli.tables import TableForm, table_lines
from tidelog.values import Branch, Fact

COLUMNS = ("x", "y")
FACTS: list[Fact] = [(1, "a"), (22, "b|c")]


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        (TableForm.TABLE, ["x   y", "1   a", "22  b|c"]),
        (TableForm.CSV, ["x,y", "1,a", "22,b|c"]),
        (TableForm.JSON, ['[{"x": 1, "y": "a"},', ' {"x": 22, "y": "b|c"}]']),
        (TableForm.MARKDOWN, ["| x | y |", "|---|---|", "| 1 | a |", "| 22 | b&#124;c |"]),
    ],
)
def test_forms(form: TableForm, lines: list[str]) -> None:
    """Every form has a header, in JSON the keys, and a line for each fact."""
    assert list(table_lines(COLUMNS, FACTS, form)) == lines


@pytest.mark.parametrize("form", list(TableForm))
def test_no_facts(form: TableForm) -> None:
    """A table without facts has its header; as JSON it is an empty list."""
    lines = list(table_lines(COLUMNS, [], form))

    assert lines == ["[]"] if form is TableForm.JSON else "x" in lines[0]


def test_texts_of_any_kind_are_read_back() -> None:
    """Quotes, separators and newlines survive CSV and JSON."""
    facts: list[Fact] = [('say "hi", now', "two\nlines"), ("", "ü")]

    written = "\n".join(table_lines(COLUMNS, facts, TableForm.CSV))
    objects = json.loads("\n".join(table_lines(COLUMNS, facts, TableForm.JSON)))

    assert list(csv.reader(written.splitlines(keepends=True)))[1:] == [list(fact) for fact in facts]
    assert [tuple(each.values()) for each in objects] == facts


def test_records_and_branches() -> None:
    """A record is a list in JSON and a text elsewhere."""
    facts: list[Fact] = [((1, None), Branch("Leaf", (2,)))]

    assert list(table_lines(COLUMNS, facts, TableForm.CSV)) == ["x,y", '"[1, nil]",$Leaf(2)']
    assert list(table_lines(COLUMNS, facts, TableForm.JSON)) == ['[{"x": [1, null], "y": "$Leaf(2)"}]']
