"""Reading fact files."""

import gzip
import io as streams
import json
import os
import sqlite3
import sys
import threading

import pyarrow as pa
import pyarrow.parquet
import pytest

from support.fact_files import facts_of, mistakes_of, read_text, relation_of
from support.value_types import TYPES
from tidelog import io
from tidelog.errors import TidelogError
from tidelog.io import csv_pieces, csv_read
from tidelog.program.nodes import Directive
from tidelog.values import Branch, Codec

EDGE = relation_of("edge", x="number", y="symbol")
MIXED = relation_of("mixed", u="unsigned", f="float", p="Pair", t="Tree")
NAME = relation_of("name", text="symbol")


@pytest.fixture(params=["few lines", "Arrow"], autouse=True, scope="module")
def _reader(request):
    """Read texts that could be read by Arrow as the few lines they are, and by Arrow."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "Arrow":
            patch.setattr(csv_read, "FEW_BYTES", -1)
        yield


def test_columns_are_separated_by_tabs(tmp_path):
    """A `.facts` file has one fact per line, and no quotes or escapes in texts."""
    facts = read_text(tmp_path, EDGE, '1\ta "b\\t\n-2\t\n')

    assert facts == [(1, 'a "b\\t'), (-2, "")]


def test_every_type_has_a_text(tmp_path):
    """Unsigned, float, records and branches are read from their text forms."""
    facts = read_text(tmp_path, MIXED, "18446744073709551615\t1e3\t[1, a, b]\t$Empty\n".replace("a, b", "a"))

    assert facts == [(2**64 - 1, 1000.0, (1, "a"), Branch("Empty"))]


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        ("", []),
        ("1\ta", [(1, "a")]),
        ("1\ta\r\n2\tb\r\n", [(1, "a"), (2, "b")]),
        ("1\ta\n\n2\tb\n\n", [(1, "a"), (2, "b")]),
        ("\ufeff1\ta\n", [(1, "a")]),
        ("1\tsome\rtext\n", [(1, "some\rtext")]),
        ("+1\ta\n0b10\tb\n0x10\tc\n 7\td\n", [(1, "a"), (2, "b"), (16, "c"), (7, "d")]),
    ],
)
def test_line_ends_and_number_forms(tmp_path, content, facts):
    """Missing last newlines, Windows line ends, empty lines, byte order marks are all fine."""
    assert read_text(tmp_path, EDGE, content) == facts


def test_an_empty_line_is_the_empty_text(tmp_path):
    """Where a relation has one column of texts, an empty line is a fact."""
    assert read_text(tmp_path, NAME, "a\n\nb\n") == [("a",), ("",), ("b",)]


@pytest.mark.parametrize("delimiter", [",", "|", "||", ";", "é"])
def test_delimiters(tmp_path, delimiter):
    """The delimiter may be any text."""
    content = f"1{delimiter}a b\n2{delimiter}c\n"

    assert read_text(tmp_path, EDGE, content, delimiter=delimiter) == [(1, "a b"), (2, "c")]


def test_commas_inside_records_do_not_separate_columns(tmp_path):
    """With the delimiter `,` brackets are counted, as Soufflé does."""
    relation = relation_of("r", p="Pair", x="number")

    assert read_text(tmp_path, relation, "[1, a],2\nnil,3\n", delimiter=",") == [((1, "a"), 2), (None, 3)]


def test_headers_are_skipped(tmp_path):
    """With `headers` the first line is no fact, and lines are still counted from 1."""
    assert read_text(tmp_path, EDGE, "x\ty\n1\ta\n", headers="true") == [(1, "a")]

    with pytest.raises(TidelogError) as caught:
        read_text(tmp_path, EDGE, "x\ty\n1\ta\nz\tb\n", headers="true")
    assert mistakes_of(caught.value) == [("malformed-value", 3, 1, "z")]


def test_rfc4180_has_quotes(tmp_path):
    """With `rfc4180` columns are separated by commas and texts may stand in quotes."""
    content = '1,"a ""b"", c"\n2,d\n3,"two\nlines"\n'

    assert read_text(tmp_path, EDGE, content, rfc4180="true") == [
        (1, 'a "b", c'),
        (2, "d"),
        (3, "two\nlines"),
    ]


def test_chosen_columns(tmp_path):
    """`columns` names the file's columns that are wanted, in order."""
    assert read_text(tmp_path, EDGE, "a\tz\t1\nb\tz\t2\n", columns="2:0") == [(1, "a"), (2, "b")]


def test_a_relation_without_columns_holds_if_there_is_a_line(tmp_path):
    """The file of such a relation has the line `()` or nothing."""
    assert read_text(tmp_path, relation_of("flag"), "()\n") == [()]
    assert read_text(tmp_path, relation_of("flag"), "") == []


def test_packed_files_are_unpacked(tmp_path):
    """Bytes that are gzip are unpacked, and `r.facts.gz` stands for a missing `r.facts`."""
    assert read_text(tmp_path, EDGE, gzip.compress(b"1\ta\n")) == [(1, "a")]
    (tmp_path / "edge.facts").rename(tmp_path / "edge.facts.gz")
    codec = Codec(TYPES)
    columns = io.read_relation(EDGE, Directive("input", "edge", {}), codec, tmp_path)
    assert facts_of(columns, EDGE, codec) == [(1, "a")]


def test_long_files_are_read_in_windows(tmp_path, monkeypatch):
    """Windows end at lines, so that facts and line numbers are those of the whole file."""
    monkeypatch.setattr(csv_pieces, "WINDOW_BYTES", 50)
    lines = [f"{number}\ttext {number}" for number in range(200)]

    facts = read_text(tmp_path, EDGE, "\n".join(lines))
    assert facts == [(number, f"text {number}") for number in range(200)]

    lines[150] = "x\ty"
    with pytest.raises(TidelogError) as caught:
        read_text(tmp_path, EDGE, "\n".join(lines))
    assert mistakes_of(caught.value) == [("malformed-value", 151, 1, "x")]


def test_every_mistake_has_its_place(tmp_path):
    """File, line, column and the offending text of all malformed rows are reported at once."""
    content = b"1\ta\n2\nx\tb\n99999999999999999999\tq\n3\t\xff\n4\ta\tb\n5\tok\n"

    with pytest.raises(TidelogError) as caught:
        read_text(tmp_path, EDGE, content)

    assert mistakes_of(caught.value) == [
        ("wrong-column-count", 2, 2, ""),
        ("malformed-value", 3, 1, "x"),
        ("number-too-large", 4, 1, "99999999999999999999"),
        ("bad-encoding", 5, 3, "\N{REPLACEMENT CHARACTER}"),
        ("wrong-column-count", 6, 5, "b"),
    ]
    assert str(caught.value).startswith(f"{tmp_path / 'edge.facts'}:2:2: error[wrong-column-count]")


def test_only_twenty_mistakes_are_shown(tmp_path):
    """A file that is wrong all over gives twenty diagnostics and a count."""
    with pytest.raises(TidelogError) as caught:
        read_text(tmp_path, EDGE, "x\ty\n" * 1000)

    assert len(caught.value.diagnostics) == 21
    assert "980 more mistakes" in str(caught.value)


def test_a_mistake_in_a_long_line_is_shown_alone(tmp_path):
    """The message of a mistake far to the right stays readable."""
    relation = relation_of("edge", y="symbol", x="number")

    with pytest.raises(TidelogError) as caught:
        read_text(tmp_path, relation, "a" * 100_000 + "\tz\n")

    assert len(str(caught.value)) < 1500
    assert "column 100002" in str(caught.value)


def test_hexadecimal_digits_beyond_the_range_do_not_wrap(tmp_path):
    """Sixteen `F` digits are no -1."""
    with pytest.raises(TidelogError) as caught:
        read_text(tmp_path, EDGE, "0xFFFFFFFFFFFFFFFF\ta\n")

    assert mistakes_of(caught.value) == [("number-too-large", 1, 1, "0xFFFFFFFFFFFFFFFF")]


def test_quotes_that_stay_open_are_reported(tmp_path):
    """An open quote is reported where it opens."""
    with pytest.raises(TidelogError) as caught:
        read_text(tmp_path, EDGE, '1,a\n2,"b\n3,c\n', rfc4180="true")

    assert mistakes_of(caught.value) == [("malformed-row", 2, 3, '"')]


def test_a_missing_file_names_the_closest_one(tmp_path):
    """The hint names a file of the folder with a similar name."""
    (tmp_path / "edges.facts").touch()

    with pytest.raises(TidelogError) as caught:
        io.read_relation(EDGE, Directive("input", "edge", {}), Codec(TYPES), tmp_path)

    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "missing-fact-file"
    assert diagnostic.hint == "did you mean `edges.facts`?"


def test_a_missing_folder_is_named(tmp_path):
    """Where the folder itself is not there, the hint says so."""
    with pytest.raises(TidelogError) as caught:
        io.read_relation(EDGE, Directive("input", "edge", {}), Codec(TYPES), tmp_path / "gone")

    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.hint == f"there is no folder `{tmp_path / 'gone'}`; name the one that has the facts"


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"IO": "fiel"}, "unknown-io"),
        ({"IO": "stdout"}, "unknown-io"),
        ({"delimiter": ""}, "bad-io-parameter"),
        ({"delimiter": '"', "rfc4180": "true"}, "bad-io-parameter"),
        ({"columns": "0"}, "bad-io-parameter"),
        ({"columns": "0:x"}, "bad-io-parameter"),
        ({"filename": "folder"}, "unreadable-file"),
    ],
)
def test_wrong_parameters_are_diagnostics(tmp_path, parameters, code):
    """What a directive gets wrong is said before anything is read."""
    (tmp_path / "folder").mkdir()

    with pytest.raises(TidelogError) as caught:
        io.read_relation(EDGE, Directive("input", "edge", parameters), Codec(TYPES), tmp_path)

    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [code]


def test_directories_and_names_of_the_directive_win(tmp_path):
    """`fact-dir` and `filename` say where a file lies."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "e.txt").write_text("1\ta\n")
    parameters = {"fact-dir": str(tmp_path / "other"), "filename": "e.txt"}
    codec = Codec(TYPES)

    columns = io.read_relation(EDGE, Directive("input", "edge", parameters), codec, tmp_path)

    assert facts_of(columns, EDGE, codec) == [(1, "a")]


@pytest.mark.parametrize(("kind", "content"), [("stdin", "1\ta\n"), ("json", '[[1, "a"]]')])
def test_standard_input(tmp_path, monkeypatch, kind, content):
    """`IO=stdin` reads lines and `IO=json` reads JSON from standard input."""
    monkeypatch.setattr(sys, "stdin", streams.TextIOWrapper(streams.BytesIO(content.encode())))
    codec = Codec(TYPES)

    columns = io.read_relation(EDGE, Directive("input", "edge", {"IO": kind}), codec, tmp_path)

    assert facts_of(columns, EDGE, codec) == [(1, "a")]


def test_json_lists_and_objects(tmp_path):
    """A fact is a list or an object; a record is null, a list or an object."""
    facts = [[1, 0.5, [1, "a"], "$Empty"], {"t": "$Empty", "u": 2, "f": 3, "p": {"right": "b", "left": 2}}]
    facts.append([3, 1.5, None, "$Leaf([1, a], 2)"])

    read = read_text(tmp_path, MIXED, json.dumps(facts), IO="jsonfile", filename="mixed.facts")

    assert read == [
        (1, 0.5, (1, "a"), Branch("Empty")),
        (2, 3.0, (2, "b"), Branch("Empty")),
        (3, 1.5, None, Branch("Leaf", ((1, "a"), 2))),
    ]


@pytest.mark.parametrize(
    ("content", "codes"),
    [
        ("[[1, 2", ["malformed-json"]),
        ("{}", ["malformed-json"]),
        ("[1]", ["malformed-json"]),
        ("[[1]]", ["wrong-column-count"]),
        ('[{"x": 1}]', ["column-names"]),
        ('[["a", "b"], [true, "b"], [1, 2]]', ["wrong-value-type"] * 3),
        ('[[99999999999999999999, "b"]]', ["wrong-value-type"]),
        ("[" * 100_000, ["malformed-json"]),
        ("9" * 10_000, ["number-too-large"]),
        (b"[[1, \xff]]", ["bad-encoding"]),
    ],
)
def test_malformed_json_is_a_diagnostic(tmp_path, content, codes):
    """Broken JSON has a line and column; wrong facts are named by number."""
    with pytest.raises(TidelogError) as caught:
        read_text(tmp_path, EDGE, content, IO="jsonfile", filename="edge.facts")

    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == codes


def test_sqlite(tmp_path):
    """A table or view called as the relation is read; others are suggested."""
    with sqlite3.connect(tmp_path / "edge.sqlite") as database:
        database.execute("CREATE TABLE edge (x INTEGER, y TEXT)")
        database.execute("INSERT INTO edge VALUES (1, 'a'), (2, 'b')")
    database.close()
    codec = Codec(TYPES)

    columns = io.read_relation(EDGE, Directive("input", "edge", {"IO": "sqlite"}), codec, tmp_path)
    assert facts_of(columns, EDGE, codec) == [(1, "a"), (2, "b")]

    parameters = {"IO": "sqlite", "dbname": "edge.sqlite", "name": "edgy"}
    with pytest.raises(TidelogError, match=r"did you mean `edge`\?") as caught:
        io.read_relation(EDGE, Directive("input", "edge", parameters), codec, tmp_path)
    assert caught.value.diagnostics[0].code == "missing-table"


def test_parquet(tmp_path):
    """Columns of a Parquet file are matched by name."""
    table = pa.table({"y": ["a", "b"], "x": pa.array([1, 2], pa.int16())})
    pyarrow.parquet.write_table(table, tmp_path / "edge.parquet")
    codec = Codec(TYPES)

    columns = io.read_relation(EDGE, Directive("input", "edge", {"IO": "parquet"}), codec, tmp_path)

    assert facts_of(columns, EDGE, codec) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.csv", '1,"a, b"\n'),
        ("e.csv", 'x,y\n1,"a, b"\n'),
        ("e.csv", "1\ta, b\n"),
        ("e.tsv", "x\ty\n1\ta, b\n"),
        ("e.facts", "1\ta, b\n"),
        ("e", "1\ta, b\n"),
        ("e.json", '[[1, "a, b"]]'),
        ("e.jsonl", '{"x": 1, "y": "a, b"}\n'),
    ],
)
def test_suffixes_say_how_a_file_is_read(tmp_path, name, content):
    """`read_file` goes by the suffix, and takes a line of column names for a header."""
    (tmp_path / name).write_text(content)
    codec = Codec(TYPES)

    columns = io.read_file(EDGE, tmp_path / name, codec)

    assert facts_of(columns, EDGE, codec) == [(1, "a, b")]


@pytest.mark.parametrize("parameters", [{}, {"IO": "jsonfile", "filename": "r.facts"}])
def test_floats_that_are_too_large_do_not_become_infinity(tmp_path, parameters):
    """A text of an infinite float says so; any other one must fit."""
    relation = relation_of("r", f="float")
    word = "Infinity" if parameters else "inf"
    wrap = "[[{}]]" if parameters else "{}\n"

    assert read_text(tmp_path, relation, wrap.format(word), **parameters) == [(float("inf"),)]
    with pytest.raises(TidelogError) as caught:
        read_text(tmp_path, relation, wrap.format("-1e999"), **parameters)
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["number-too-large"]


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        ('[{"x": 1}]', "column-names", "fact 1 has no `y`"),
        ('[{"x": 1, "y": "a", "z": 2}]', "column-names", "has 'z', which is not a column"),
        ('[{"x": 1, "y": "a", "x": 2}]', "malformed-json", "the name 'x' twice"),
    ],
)
def test_objects_of_json_have_the_columns_names(tmp_path, content, code, words):
    """The names that are missing, unknown or there twice are told."""
    with pytest.raises(TidelogError, match=words) as caught:
        read_text(tmp_path, EDGE, content, IO="jsonfile", filename="edge.facts")

    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [code]


def test_pipes_are_read_once(tmp_path):
    """A pipe given by its path is read from its beginning, though nobody can look at it first."""
    os.mkfifo(tmp_path / "pipe.csv")
    codec = Codec(TYPES)
    writer = threading.Thread(target=lambda: (tmp_path / "pipe.csv").write_text("1,a\n2,b\n"))

    writer.start()
    columns = io.read_file(EDGE, tmp_path / "pipe.csv", codec)
    writer.join()

    assert facts_of(columns, EDGE, codec) == [(1, "a"), (2, "b")]


def test_lines_of_megabytes_are_read(tmp_path):
    """A line may be longer than what Arrow reads at a time."""
    text = "x" * 5_000_000

    assert read_text(tmp_path, EDGE, f"1\ta\n2\t{text}\n3\tb\n") == [(1, "a"), (2, text), (3, "b")]


def test_a_parquet_file_with_an_unreadable_name_is_a_mistake(tmp_path):
    """The name of a column that is not UTF-8 is told, and no traceback."""
    path = tmp_path / "edge.parquet"
    pyarrow.parquet.write_table(pa.table({"qq": [1], "y": ["a"]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"qq", b"\xe9q"))

    with pytest.raises(TidelogError, match="the name of a column is not UTF-8"):
        io.read_relation(EDGE, Directive("input", "edge", {"IO": "parquet"}), Codec(TYPES), tmp_path)
