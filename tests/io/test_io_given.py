"""Everything that can be handed in as facts becomes those facts, or a diagnostic that says what to do."""

import gzip
import re
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import tidelog
from support.fact_files import facts_of, relation_of
from support.given_facts import CONVERTED, EMPTY, FACTS, MISSING, RIGHT, TURNED, WRONG
from support.value_types import TYPES
from tidelog import io
from tidelog.errors import TidelogError
from tidelog.program.nodes import Directive
from tidelog.values import Branch, Codec

EDGE = relation_of("edge", x="number", y="symbol")
PROGRAM = ".decl edge(x: number, y: symbol)\n.decl copy(x: number, y: symbol)\ncopy(x, y) :- edge(x, y).\n"


def facts_from(data, relation):
    """Return the facts that data given in Python becomes."""
    codec = Codec(TYPES)
    return facts_of(io.columns_from(data, relation, codec), relation, codec)


@pytest.fixture(scope="module")
def session():
    """Return a session whose relation `edge` may be changed."""
    return tidelog.open(PROGRAM, engine="reference")


@pytest.mark.parametrize("name", RIGHT)
def test_right_data_becomes_facts(name, session):
    """`open`, `apply` and transactions take it, to insert and to delete."""
    opened = tidelog.open(PROGRAM, facts={"edge": RIGHT[name]()}, engine="reference")
    session.apply(insert={"edge": RIGHT[name]()})
    inserted = set(session["copy"])
    with session.transaction() as transaction:
        transaction.delete("edge", RIGHT[name]())

    assert set(opened["copy"]) == inserted == set(FACTS)
    assert set(session["copy"]) == set()


@pytest.mark.parametrize("name", EMPTY)
def test_empty_data_has_no_facts(name):
    """Whatever the type of columns that have no values."""
    assert facts_from(EMPTY[name](), EDGE) == []


@pytest.mark.parametrize("name", WRONG)
def test_wrong_data_is_a_diagnostic(name, session):
    """The message says which row or column is wrong, the hint what to give; nothing has changed."""
    make, code, words = WRONG[name]

    for give in (
        lambda: tidelog.open(PROGRAM, facts={"edge": make()}, engine="reference"),
        lambda: session.apply(insert={"edge": make()}),
        lambda: session.apply({"edge": {"delete": make()}}),
    ):
        with pytest.raises(TidelogError) as caught:
            give()
        assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {code}
        assert all(word in str(caught.value) for word in words), str(caught.value)
    assert set(session["copy"]) == set()


@pytest.mark.parametrize(
    ("make", "library"), [(make, library) for makes in CONVERTED.values() for library, make in makes.items()]
)
def test_the_hint_converts_the_column(make, library):
    """A column of another type names the expression to convert it, which is right as it stands."""
    with pytest.raises(TidelogError, match="convert it first") as caught:
        facts_from(make(), EDGE)

    (diagnostic,) = caught.value.diagnostics
    expression = re.search(r"convert it first: `(.*)`", diagnostic.hint)[1]
    names = {"frame": make(), "table": make(), "pd": pd, "pl": pl, "pa": pa}
    column = eval(expression, names)  # noqa: S307 - our own hint
    assert library in type(column).__module__
    assert all(isinstance(x, int) for x, _ in facts_from({"x": column, "y": ["a"] * len(column)}, EDGE))


@pytest.mark.parametrize("kind", ["number", "unsigned", "float", "symbol"])
@pytest.mark.parametrize("name", CONVERTED)
def test_every_column_is_taken_or_explained(name, kind):
    """A column of any type is the facts of a relation, or a diagnostic with a hint."""
    relation = relation_of("r", x=kind, y="symbol")

    for make in CONVERTED[name].values():
        if (name, kind) in {("float", "float"), ("text", "symbol")}:
            assert facts_from(make(), relation)
            continue
        with pytest.raises(TidelogError) as caught:
            facts_from(make(), relation)
        assert all(diagnostic.hint for diagnostic in caught.value.diagnostics), str(caught.value)


@pytest.mark.parametrize(
    ("make", "library"), [(make, library) for makes in MISSING.values() for library, make in makes.items()]
)
def test_missing_values_are_named(make, library):
    """The row of the first missing value is named, and what the library does about them."""
    with pytest.raises(TidelogError) as caught:
        facts_from(make(), EDGE)

    (diagnostic,) = caught.value.diagnostics
    assert re.search(r"row [12] is (null|missing)", diagnostic.message)
    assert {"pandas": "dropna", "polars": "drop_nulls", "pyarrow": "drop_null"}[library] in diagnostic.hint


def test_missing_floats_are_not_nan():
    """NaN is a value of a float column; a null is none, also where a library would make it NaN."""
    relation = relation_of("r", f="float")
    nan = float("nan")

    for data in (
        [nan],
        {"f": [nan]},
        pd.DataFrame({"f": [nan]}),
        pl.DataFrame({"f": [nan]}),
        np.array([nan]),
    ):
        assert repr(facts_from(data, relation)) == "[(nan,)]"
    for data in (
        pl.DataFrame({"f": [1.0, None]}),
        pl.Series([1.0, None]),
        pd.DataFrame({"f": pd.Series([1.0, None], dtype="Float64")}),
        pd.DataFrame({"f": pd.Series([1, None], dtype="Int64")}),
        pd.Series([1.0, None], dtype="double[pyarrow]"),
        pa.table({"f": [1.0, None]}),
    ):
        with pytest.raises(TidelogError, match="row 2 is null"):
            facts_from(data, relation)


def test_missing_records_are_nil():
    """A record that is missing is nil, in every form."""
    relation = relation_of("r", p="Pair")
    facts = [((1, "a"),), (None,)]

    assert facts_from([((1, "a"),), (None,)], relation) == facts
    assert facts_from({"p": [(1, "a"), None]}, relation) == facts
    assert facts_from(pd.DataFrame({"p": [(1, "a"), None]}), relation) == facts
    assert facts_from(pd.DataFrame({"p": [(1, "a"), pd.NA]}), relation) == facts
    assert facts_from(pa.table({"p": [{"left": 1, "right": "a"}, None]}), relation) == facts
    assert facts_from(pa.array([{"left": 1, "right": "a"}, None]), relation) == facts


def test_fields_of_structs_are_matched_by_name():
    """The fields of a struct may have another order than those of the record, but no other names."""
    relation = relation_of("r", p="Pair", t="Tree")
    right = pa.table({"p": [{"right": "a", "left": 1}], "t": ["$Empty"]})
    wrong = pa.table({"p": [{"right": "a", "middle": 1}], "t": ["$Empty"]})

    assert facts_from(right, relation) == [((1, "a"), Branch("Empty"))]
    with pytest.raises(TidelogError, match="`left` is missing"):
        facts_from(wrong, relation)


ONE_COLUMN = {
    "values": lambda: [1, 2],
    "tuples": lambda: [(1,), [2]],
    "set": lambda: {1, 2},
    "range": lambda: range(1, 3),
    "column": lambda: {"x": [1, 2]},
    "dicts": lambda: [{"x": 1}, {"x": 2}],
    "array": lambda: np.array([1, 2]),
    "array of two dimensions": lambda: np.array([[1], [2]]),
    "pandas": lambda: pd.DataFrame({"x": [1, 2]}),
    "pandas series": lambda: pd.Series([1, 2], name="y"),
    "pandas Int64": lambda: pd.Series([1, 2], dtype="Int64"),
    "pandas index": lambda: pd.Index([1, 2]),
    "pandas categories": lambda: pd.Categorical([1, 2]),
    "polars series": lambda: pl.Series([1, 2]),
    "Arrow array": lambda: pa.array([1, 2]),
    "Arrow chunks": lambda: pa.chunked_array([[1], [2]]),
}


@pytest.mark.parametrize("name", ONE_COLUMN)
def test_one_column_needs_no_tuples(name):
    """Bare values, arrays and series are facts of a relation with one column."""
    assert facts_from(ONE_COLUMN[name](), relation_of("node", x="number")) == [(1,), (2,)]


def test_branches_are_values():
    """A branch is a value of an algebraic type, not a data class with columns."""
    assert facts_from([Branch("Empty")], relation_of("r", t="Tree")) == [(Branch("Empty"),)]


@pytest.mark.parametrize(
    ("data", "holds"),
    [
        (True, True),
        (False, False),
        ([()], True),
        ([], False),
        ({}, False),
        ([{}], True),
        (pd.DataFrame(), False),
        (pd.DataFrame(index=[0]), True),
        (pa.table({}), False),
        (np.empty((0, 0)), False),
        (np.empty((1, 0)), True),
    ],
)
def test_a_relation_without_columns(data, holds):
    """It holds for True and for data with a row, not for data without one."""
    assert facts_from(data, relation_of("flag")) == ([()] if holds else [])


def test_relations_and_answers_are_taken_by_position():
    """A relation, an answer or a delta is a set of tuples: the names of its columns do not matter."""
    db = tidelog.open(
        '.decl flag()\nflag().\n.decl edge(x: symbol, y: symbol)\nedge("a", "b").', engine="reference"
    )
    program = ".decl flag()\n.decl edge(x: symbol, y: symbol)\n.input flag\n.input edge"

    facts = {"edge": db.query("edge(y, x)"), "flag": db["flag"]}
    other = tidelog.open(program, facts=facts, engine="reference")
    fresh = tidelog.open(program, engine="reference")
    fresh.apply(insert=facts)

    for session in (other, fresh):
        assert set(session["edge"]) == {("a", "b")}
        assert set(session["flag"]) == {()}


@pytest.mark.parametrize(
    "facts",
    [5, b"folder", [("edge", 1)], pd.DataFrame({"x": [1]}), {1: [(1, "a")]}, {("edge",): []}, object()],
    ids=lambda data: type(data).__name__,
)
def test_facts_are_a_folder_or_a_mapping(facts):
    """Anything else that `facts=` gets says what to give."""
    with pytest.raises(TidelogError) as caught:
        tidelog.open(PROGRAM, facts=facts, engine="reference")

    assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {"bad-facts"}
    assert "facts={'edge': [(1, 2)]}" in str(caught.value)


@pytest.mark.parametrize(
    "facts",
    [
        5,
        b"edge",
        [5],
        [("edge", 1)],
        pd.DataFrame({"x": [1]}),
        pl.Series([1]),
        pa.table({"x": [1]}),
        object(),
    ],
    ids=lambda data: type(data).__name__,
)
def test_changes_are_texts_or_mappings(facts, session):
    """Anything else that `insert=`, `delete=` or a transaction gets is one diagnostic."""

    def take(facts):
        with session.transaction() as transaction:
            transaction.insert(facts)

    for change in (
        lambda: session.apply(insert=facts),
        lambda: session.apply(delete=facts),
        lambda: take(facts),
    ):
        with pytest.raises(TidelogError) as caught:
            change()
        assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["bad-changes"]
    with pytest.raises(TidelogError):
        session.apply({1: facts})
    with pytest.raises(TidelogError, match="changes are a change script or a mapping"):
        session.apply(facts)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("1,a\n", [(1, "a")]),
        ("x,y\n1,a\n", [(1, "a")]),
        ("y,x\na,1\n", [(1, "a")]),
        ('"y", x\r\n"a",1\r\n', [(1, "a")]),
    ],
)
def test_a_file_with_a_header_is_matched_by_name(tmp_path, text, facts):
    """A first line with the columns' names is a header, in whatever order it has them."""
    (tmp_path / "edge.csv").write_text(text, newline="")

    assert facts_from(tmp_path / "edge.csv", EDGE) == facts
    assert facts_from(str(tmp_path / "edge.csv"), EDGE) == facts


def _sqlite(path):
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE edge (y, x)")
        database.executemany("INSERT INTO edge VALUES (?, ?)", [("a", 1), ("b", 2)])


TURNED_FILES = {
    "edge.csv": lambda path: path.write_text("y,x\na,1\nb,2\n"),
    "edge.tsv": lambda path: path.write_text("y\tx\na\t1\nb\t2\n"),
    "edge": lambda path: path.write_text("y\tx\na\t1\nb\t2\n"),
    "edge.csv.gz": lambda path: path.write_bytes(gzip.compress(b"y,x\na,1\nb,2\n")),
    "edge.json": lambda path: path.write_text('[{"y": "a", "x": 1}, {"y": "b", "x": 2}]'),
    "edge.jsonl": lambda path: path.write_text('{"y": "a", "x": 1}\n{"y": "b", "x": 2}\n'),
    "edge.ndjson": lambda path: path.write_text('{"y": "a", "x": 1}\n[2, "b"]\n'),
    "edge.parquet": lambda path: pyarrow.parquet.write_table(pa.table(TURNED), path),
    "edge.sqlite": _sqlite,
    "edge.db": _sqlite,
}


@pytest.mark.parametrize("name", TURNED_FILES)
def test_files_are_read_by_name(tmp_path, name):
    """Every file that names its columns may have them in another order."""
    TURNED_FILES[name](tmp_path / name)

    assert facts_from(tmp_path / name, EDGE) == FACTS
    assert facts_from(str(tmp_path / name), EDGE) == FACTS


INPUTS = {
    "headers=true, rfc4180=true": "to,from\na,1\n",
    'headers=true, delimiter=";"': "y;x\na;1\n",
    'rfc4180=true, columns="2:0"': "a,b,1\n",
    "IO=csv, headers=false": "1,a\n",
    'delimiter=","': "1,a\n",
    "IO=jsonfile": '[{"y": "a", "x": 1}]',
}


@pytest.mark.parametrize("parameters", INPUTS)
def test_files_from_python_are_read_as_the_program_says(tmp_path, parameters):
    """The parameters of `.input` count for a file that is given in Python in place of the usual one."""
    content = INPUTS[parameters]
    if "to,from" in content:
        content = "from,to\n1,a\n"
    (tmp_path / "some.txt").write_text(content)
    program = PROGRAM + f".input edge({parameters})\n"

    opened = tidelog.open(program, facts={"edge": tmp_path / "some.txt"}, engine="reference")
    changed = tidelog.open(program, engine="reference")
    changed.apply(insert={"edge": str(tmp_path / "some.txt")})

    assert set(opened["copy"]) == set(changed["copy"]) == {(1, "a")}


def test_directives_that_differ_need_the_name_of_the_file(tmp_path):
    """Where several `.input` differ, the one with the file's name says how it is read."""
    (tmp_path / "one.txt").write_text("1;a\n")
    (tmp_path / "two.txt").write_text("1;a\n")
    program = PROGRAM + '.input edge(filename="one.txt", delimiter=";")\n.input edge\n'

    db = tidelog.open(program, facts={"edge": tmp_path / "one.txt"}, engine="reference")
    with pytest.raises(TidelogError, match="differ in how a file is read"):
        tidelog.open(program, facts={"edge": tmp_path / "two.txt"}, engine="reference")

    assert set(db["copy"]) == {(1, "a")}


def test_tabs_in_quotes_do_not_separate_columns(tmp_path):
    """A first line whose tabs may be part of quoted texts is read as the program says, or refused."""
    three = relation_of("r", x="symbol", y="symbol", z="symbol")
    two = relation_of("r", x="symbol", y="symbol")
    codec = Codec(TYPES)
    path = tmp_path / "r.csv"
    path.write_text('"a\tb","c",d\n')

    assert facts_from(path, three) == [("a\tb", "c", "d")]
    path.write_text('"a\tb","c"\n')
    with pytest.raises(TidelogError, match="may be separated by tabs, or by commas"):
        facts_from(path, two)
    for parameters, facts in (
        ({"rfc4180": "true"}, [("a\tb", "c")]),
        ({"delimiter": "\\t"}, [('"a', 'b","c"')]),
    ):
        columns = io.columns_from(path, two, codec, [Directive("input", "r", parameters)])
        assert facts_of(columns, two, codec) == facts


def test_a_delimiter_alone_has_no_quotes(tmp_path):
    """A directive with a delimiter reads a file as it does on the command line: quotes are text."""
    (tmp_path / "edge.csv").write_text('1,"a"\n')
    program = PROGRAM + '.input edge(delimiter=",", filename="edge.csv")\n'

    by_path = tidelog.open(program, facts={"edge": tmp_path / "edge.csv"}, engine="reference")
    by_folder = tidelog.open(program, facts=tmp_path, engine="reference")

    assert set(by_path["copy"]) == set(by_folder["copy"]) == {(1, '"a"')}
