"""Columns of files with names: taken by name, by position, or refused."""

import pyarrow as pa
import pyarrow.parquet
import pytest

import tidelog
from support.fact_files import mistakes_of, read_text, relation_of
from tidelog.errors import TidelogError

PERSON = relation_of("person", name="symbol", city="symbol")
COUNT = relation_of("count", name="symbol", n="number")


@pytest.mark.parametrize(
    ("content", "parameters"),
    [
        ("name\tcity\nAda\tOslo\n", {}),
        ("city\tname\nOslo\tAda\n", {}),
        ("city\tname\r\nOslo\tAda\r\n", {}),
        ("\ufeffcity\tname\nOslo\tAda\n", {}),
        (" city \t name \nOslo\tAda\n", {}),
        ("city,name\nOslo,Ada\n", {"rfc4180": "true"}),
        ('"city","name"\n"Oslo","Ada"\n', {"rfc4180": "true"}),
        ('"city","name"\r\n"Oslo",Ada\r\n', {"IO": "csv", "filename": "person.facts"}),
        ("city||name\nOslo||Ada\n", {"delimiter": "||"}),
        ("city;name\nOslo;Ada", {"delimiter": ";"}),
        ("who\twhere\nAda\tOslo\n", {}),
        ("who\twhere\twhy\nAda\tOslo\n", {}),
        ("\nAda\tOslo\n", {}),
        ("city\tage\tname\nOslo\t36\tAda\n", {"columns": "2:0"}),
        ("name\tcity\nOslo\tAda\n", {"columns": "1:0"}),
    ],
)
def test_headers_say_which_column_is_which(tmp_path, content, parameters):
    """All names: by name. None: by position, the line is skipped. `columns` goes before the names."""
    assert read_text(tmp_path, PERSON, content, headers="true", **parameters) == [("Ada", "Oslo")]


@pytest.mark.parametrize("content", ["", "name\tcity", "city\tname\n"])
def test_a_header_alone_has_no_facts(tmp_path, content):
    """A file may have no lines, or no lines but the header."""
    assert read_text(tmp_path, PERSON, content, headers="true") == []


@pytest.mark.parametrize(
    ("header", "code", "words"),
    [
        (
            "name\ttown",
            "column-names",
            "`name` is a column of the relation, `town` is not, `city` is missing",
        ),
        ("name\tname", "column-names", "`name` occurs twice"),
        ("name", "wrong-column-count", "1 column (name) where 2 columns (name, city)"),
        ("city\tage\tname", "wrong-column-count", 'columns="2:0"'),
    ],
)
def test_headers_that_match_in_part_are_refused(tmp_path, header, code, words):
    """The header is underlined, and no line below it is looked at."""
    with pytest.raises(TidelogError) as caught:
        read_text(tmp_path, PERSON, f"{header}\nAda\n", headers="true")

    assert mistakes_of(caught.value) == [(code, 1, 1, header)]
    assert words in str(caught.value)


def test_a_header_may_differ_in_case_but_not_in_order(tmp_path):
    """Names in another case are taken by position only where that is what they say; else they are refused."""
    assert read_text(tmp_path, PERSON, "Name\tCITY\nAda\tOslo\n", headers="true") == [("Ada", "Oslo")]

    with pytest.raises(TidelogError, match="differs from `city` in case only") as caught:
        read_text(tmp_path, PERSON, "City\tName\nOslo\tAda\n", headers="true")
    assert mistakes_of(caught.value) == [("column-names", 1, 1, "City\tName")]


def test_lines_are_counted_with_the_header(tmp_path):
    """Mistakes below a header, also one that takes several lines, have the line of the file."""
    with pytest.raises(TidelogError) as caught:
        read_text(tmp_path, COUNT, "n\tname\n1\ta\nx\tb\n2\n3\tc\td\n", headers="true")
    assert mistakes_of(caught.value) == [
        ("malformed-value", 3, 1, "x"),
        ("wrong-column-count", 4, 2, ""),
        ("wrong-column-count", 5, 5, "d"),
    ]

    with pytest.raises(TidelogError) as caught:
        read_text(tmp_path, COUNT, '"how\nmany","who"\na,1\nb,x\n', headers="true", rfc4180="true")
    assert mistakes_of(caught.value) == [("malformed-value", 4, 3, "x")]


def test_long_files_keep_the_order_of_their_header(tmp_path, monkeypatch):
    """The header counts for all windows that a file is read in."""
    monkeypatch.setattr("tidelog.io.csv_pieces.WINDOW_BYTES", 50)
    lines = "".join(f"{number}\ttext {number}\n" for number in range(100))

    facts = read_text(tmp_path, COUNT, "n\tname\n" + lines, headers="true")

    assert facts == [(f"text {number}", number) for number in range(100)]


def test_sqlite_columns_are_matched_by_name(tmp_path):
    """A table is like a file with a header."""
    program = '.decl e(name: symbol, city: symbol)\n.input e(IO=sqlite, dbname="db")'
    tidelog.open(
        '.decl e(city: symbol, name: symbol)\n.output e(IO=sqlite, dbname="db")\ne("Oslo", "Ada").',
        engine="reference",
    ).write(tmp_path)

    db = tidelog.open(program, facts=tmp_path, engine="reference")
    with pytest.raises(TidelogError, match="`town` is missing") as caught:
        tidelog.open(program.replace("city", "town"), facts=tmp_path, engine="reference")

    assert set(db["e"]) == {("Ada", "Oslo")}
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["column-names"]


def test_parquet_columns_are_matched_by_name(tmp_path):
    """By name if all are there, by position if none is, else refused."""
    program = ".decl e(name: symbol, city: symbol)\n.input e(IO=parquet)"
    tables = [
        (pa.table({"city": ["Oslo"], "name": ["Ada"]}), {("Ada", "Oslo")}),
        (pa.table({"who": ["Ada"], "where": ["Oslo"]}), {("Ada", "Oslo")}),
    ]

    for table, facts in tables:
        pyarrow.parquet.write_table(table, tmp_path / "e.parquet")
        assert set(tidelog.open(program, facts=tmp_path, engine="reference")["e"]) == facts
    pyarrow.parquet.write_table(pa.table({"who": ["Ada"], "city": ["Oslo"]}), tmp_path / "e.parquet")
    with pytest.raises(TidelogError, match="`who` is not"):
        tidelog.open(program, facts=tmp_path, engine="reference")
