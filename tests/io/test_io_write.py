"""Writing relations."""

import gzip
import os
import sqlite3
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fact_files import facts_of, relation_of, written
from support.value_types import TYPES, VALUES, same, value_key
from tidelog import io
from tidelog.errors import TidelogError
from tidelog.io import write
from tidelog.io.staging import Staging
from tidelog.program.nodes import Directive
from tidelog.values import Codec

EDGE = relation_of("edge", x="number", y="symbol")
ALL = relation_of("all", n="number", u="unsigned", f="float", s="symbol", p="Pair", t="Tree")


def test_facts_are_written_in_value_order(tmp_path):
    """Rows are sorted column by column, numbers by size and symbols by text."""
    facts = [(10, "a"), (9, "b"), (9, "a"), (-1, "z")]

    assert written(tmp_path, EDGE, facts) == "-1\tz\n9\ta\n9\tb\n10\ta\n"
    assert [file.name for file in tmp_path.iterdir()] == ["edge.csv"]


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({}, '1\ta "b"\n'),
        ({"headers": "true"}, 'x\ty\n1\ta "b"\n'),
        ({"delimiter": ", "}, '1, a "b"\n'),
        ({"rfc4180": "true"}, '1,"a ""b"""\n'),
        ({"IO": "jsonfile"}, '[[1, "a \\"b\\""]]\n'),
        ({"IO": "jsonfile", "format": "object"}, '[{"x": 1, "y": "a \\"b\\""}]\n'),
        ({"filename": "other.txt"}, '1\ta "b"\n'),
    ],
)
def test_formats(tmp_path, parameters, text):
    """Every text format is written as Soufflé writes it."""
    assert written(tmp_path, EDGE, [(1, 'a "b"')], **parameters) == text


@pytest.mark.parametrize(
    ("floats", "text"),
    [("souffle", "1\n2.5\n0.10000000000000001\n1e+20\ninf\n"), ("exact", "1.0\n2.5\n0.1\n1e+20\ninf\n")],
)
@pytest.mark.parametrize("times", [1, 100])
def test_floats_are_written_as_souffle_does_or_exactly(tmp_path, floats, text, times):
    """Soufflé writes 17 digits and no `.0`; `floats=exact` the fewest digits; few and many rows alike."""
    relation = relation_of("f", n="number", x="float")
    values = [1.0, 2.5, 0.1, 1e20, float("inf")]
    facts = [(n * 5 + place, value) for n in range(times) for place, value in enumerate(values)]

    lines = written(tmp_path, relation, facts, floats=floats).splitlines()

    assert [line.split("\t")[1] for line in lines] == text.split() * times


def test_an_empty_symbol_inside_a_record_is_empty(tmp_path):
    """It is written as nothing, as Soufflé has it, and is read back."""
    relation = relation_of("r", p="Pair")
    codec = Codec(TYPES)

    text = written(tmp_path, relation, [((1, ""),), ((2, "a, b"),)])

    assert text == '[1, ]\n[2, "a, b"]\n'
    assert codec.decode(codec.parse("[1, ]", "Pair"), "Pair") == (1, "")


def test_a_way_to_write_floats_must_be_known(tmp_path):
    """Another word is a mistake of the directive."""
    with pytest.raises(TidelogError, match="use `souffle` or `exact`"):
        written(tmp_path, EDGE, [(1, "a")], floats="short")


def test_relations_without_facts_or_columns(tmp_path):
    """An empty relation is an empty file; one without columns has the line `()` if it holds."""
    codec = Codec(TYPES)
    flag = relation_of("flag")

    for name, columns in (("yes", []), ("no", None)):
        io.write_relation(flag, Directive("output", "flag", {"filename": name}), columns, codec, tmp_path)
    io.write_relation(EDGE, Directive("output", "edge", {}), [np.empty(0, np.int64)] * 2, codec, tmp_path)

    contents = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert contents == {"yes": "()\n", "no": "", "edge.csv": ""}


def test_standard_output_is_framed(tmp_path, capsysbinary):
    """`IO=stdout` and the directory `-` print the relation's name and facts between lines."""
    codec = Codec(TYPES)
    columns = io.columns_from([(1, "é")], EDGE, codec)

    io.write_relation(EDGE, Directive("output", "edge", {"IO": "stdout"}), columns, codec, tmp_path)
    framed = capsysbinary.readouterr().out
    io.write_relation(EDGE, Directive("output", "edge", {"headers": "true"}), columns, codec, Path("-"))
    with_names = capsysbinary.readouterr().out

    assert framed.decode() == "---------------\nedge\n===============\n1\té\n===============\n"
    assert with_names.decode() == "---------------\nedge\nx\ty\n===============\n1\té\n===============\n"
    assert list(tmp_path.iterdir()) == []


def test_packed_output_is_the_same_every_time(tmp_path):
    """`compress` writes gzip without a date, so that equal facts give equal bytes."""
    codec = Codec(TYPES)
    columns = io.columns_from([(1, "a")], EDGE, codec)
    directive = Directive("output", "edge", {"compress": "true"})

    io.write_relation(EDGE, directive, columns, codec, tmp_path)
    first = (tmp_path / "edge.csv.gz").read_bytes()
    io.write_relation(EDGE, directive, columns, codec, tmp_path)

    assert gzip.decompress(first) == b"1\ta\n"
    assert (tmp_path / "edge.csv.gz").read_bytes() == first


def test_many_rows_are_written_in_batches(tmp_path, monkeypatch):
    """Batches join without a seam, in lines and in JSON."""
    monkeypatch.setattr(write, "BATCH_ROWS", 7)
    facts = [(number, f"t{number}") for number in range(20)]

    text = written(tmp_path, EDGE, facts)
    (tmp_path / "edge.csv").unlink()
    json_text = written(tmp_path, EDGE, facts, IO="jsonfile")

    assert text.splitlines() == [f"{number}\tt{number}" for number in range(20)]
    assert json_text == "[" + ",\n".join(f'[{number}, "t{number}"]' for number in range(20)) + "]\n"


FORMATS = [
    {"rfc4180": "true"},
    {"rfc4180": "true", "headers": "true", "delimiter": ";"},
    {"IO": "jsonfile"},
    {"IO": "jsonfile", "format": "object"},
    {"IO": "sqlite"},
    {"IO": "parquet"},
]


@given(
    st.lists(st.tuples(*(VALUES[column.type] for column in ALL.columns)), max_size=8),
    st.sampled_from(FORMATS),
)
def test_what_is_written_is_read_back(tmp_path_factory, facts, parameters):
    """Formats with quotes give back every fact, whatever its texts hold."""
    folder = tmp_path_factory.getbasetemp()
    codec = Codec(TYPES)
    columns = io.columns_from(facts, ALL, codec)
    place = {**parameters, "filename": f"all.{FORMATS.index(parameters)}"}

    io.write_relation(ALL, Directive("output", "all", place), columns, codec, folder)
    back = io.read_relation(ALL, Directive("input", "all", place), codec, folder)

    expected = sorted(facts, key=lambda fact: [value_key(value) for value in fact])
    assert same(facts_of(back, ALL, codec), expected)


def test_outputs_appear_together(tmp_path):
    """With a staging no output is there before all are written."""
    codec = Codec(TYPES)
    columns = io.columns_from([(1, "a")], EDGE, codec)
    (tmp_path / "one.csv").write_text("old")

    with io.Staging() as staging:
        for name in ("one.csv", "two.csv"):
            directive = Directive("output", "edge", {"filename": name})
            io.write_relation(EDGE, directive, columns, codec, tmp_path, staging=staging)
        before = {file.name: file.read_text() for file in tmp_path.iterdir() if not file.name.startswith(".")}

    after = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert before == {"one.csv": "old"}
    assert after == {"one.csv": "1\ta\n", "two.csv": "1\ta\n"}


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, RuntimeError])
def test_an_interruption_leaves_everything_as_it_was(tmp_path, capsys, interruption):
    """Ctrl-C and errors delete what was staged, print nothing and touch no output."""
    codec = Codec(TYPES)
    columns = io.columns_from([(1, "a")], EDGE, codec)
    (tmp_path / "edge.csv").write_text("old")

    def write_some_and_stop():
        with io.Staging() as staging:
            for parameters in ({}, {"IO": "stdout"}, {"IO": "sqlite"}):
                directive = Directive("output", "edge", parameters)
                io.write_relation(EDGE, directive, columns, codec, tmp_path, staging=staging)
            raise interruption

    with pytest.raises(interruption):
        write_some_and_stop()

    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"edge.csv": "old"}
    assert capsys.readouterr().out == ""


def test_sqlite_keeps_the_other_tables(tmp_path):
    """A table replaces that of its name; several relations may share a file."""
    with sqlite3.connect(tmp_path / "db") as database:
        database.execute("CREATE TABLE kept (x)")
        database.execute("CREATE VIEW edge AS SELECT 1")
    database.close()
    codec = Codec(TYPES)
    columns = io.columns_from([(1, "a")], EDGE, codec)

    with io.Staging() as staging:
        for name in ("edge", "copy"):
            directive = Directive("output", "edge", {"IO": "sqlite", "filename": "db", "name": name})
            io.write_relation(EDGE, directive, columns, codec, tmp_path, staging=staging)

    database = sqlite3.connect(tmp_path / "db")
    names = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    rows = database.execute("SELECT x, y FROM edge").fetchall()
    database.close()
    assert names == {"kept", "edge", "copy"}
    assert rows == [(1, "a")]


def test_parquet_has_the_columns_names_and_types(tmp_path):
    """Numbers are numbers; an empty relation has its schema too."""
    codec = Codec(TYPES)
    directive = Directive("output", "edge", {"IO": "parquet"})

    io.write_relation(EDGE, directive, [np.empty(0, np.int64)] * 2, codec, tmp_path)

    schema = pyarrow.parquet.read_schema(tmp_path / "edge.parquet")
    assert [(field.name, str(field.type)) for field in schema] == [("x", "int64"), ("y", "string")]


def test_links_stay_and_pipes_are_written_to(tmp_path):
    """An output that is a link replaces what it names; a device or pipe is never replaced."""
    codec = Codec(TYPES)
    columns = io.columns_from([(1, "a")], EDGE, codec)
    (tmp_path / "link.csv").symlink_to(tmp_path / "target.csv")
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)

    for filename in ("link.csv", "pipe", "/dev/null"):
        io.write_relation(EDGE, Directive("output", "edge", {"filename": filename}), columns, codec, tmp_path)

    received = os.read(reader, 100)
    os.close(reader)
    assert received == b"1\ta\n"
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "target.csv").read_text() == "1\ta\n"
    assert Path("/dev/null").is_char_device()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link.csv", "pipe", "target.csv"]


@pytest.mark.parametrize("kind", ["file", "sqlite", "parquet", "jsonfile"])
def test_an_output_that_cannot_be_written_is_a_diagnostic(tmp_path, kind):
    """A folder in the place of the file, or a file in the place of the folder."""
    codec = Codec(TYPES)
    columns = io.columns_from([(1, "a")], EDGE, codec)
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").touch()

    for filename in ("folder", "plain/edge"):
        directive = Directive("output", "edge", {"IO": kind, "filename": filename})
        with pytest.raises(TidelogError) as caught:
            io.write_relation(EDGE, directive, columns, codec, tmp_path)
        assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["unwritable-file"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["folder", "plain"]


def test_a_folder_of_parts_takes_the_place_of_an_output(tmp_path):
    """Of a file, or of the parts of an earlier run, all of which go."""
    output = tmp_path / "out" / "edge.csv"
    output.parent.mkdir()
    output.write_text("before")

    for number in range(2):
        with Staging() as staging:
            folder = staging.parts_for(output)
            (folder / f"part-0000{number}.csv").write_text(str(number))
            assert staging.parts_for(output) == folder

    assert [path.name for path in output.iterdir()] == ["part-00001.csv"]
    assert list(output.parent.iterdir()) == [output]
    assert output.stat().st_mode & 0o777 == output.parent.stat().st_mode & 0o777


@pytest.mark.parametrize("has_parts", [False, True])
def test_a_folder_of_parts_that_is_not_finished_is_deleted(tmp_path, has_parts):
    """The output stays as it was."""
    output = tmp_path / "edge.csv"
    if has_parts:
        output.mkdir()
        (output / "part-00000.csv").write_text("before")

    with suppress(KeyboardInterrupt), Staging() as staging:
        (staging.parts_for(output) / "part-00000.csv").write_text("after")
        raise KeyboardInterrupt

    assert [path.read_text() for path in tmp_path.rglob("part-*")] == ["before"] * has_parts
    assert list(tmp_path.iterdir()) == [output] * has_parts


def test_a_folder_with_other_files_is_no_output(tmp_path):
    """Nobody's files are deleted for parts."""
    (tmp_path / "edge.csv").mkdir()
    (tmp_path / "edge.csv" / "mine").touch()

    with pytest.raises(TidelogError, match="other files than parts"), Staging() as staging:
        staging.parts_for(tmp_path / "edge.csv")

    assert (tmp_path / "edge.csv" / "mine").exists()
