"""Facts given in Python."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from support.fact_files import facts_of, relation_of
from support.value_types import TYPES
from tidelog import io
from tidelog.errors import TidelogError
from tidelog.values import Branch, Codec

EDGE = relation_of("edge", x="number", y="symbol")
NODE = relation_of("node", x="number")
FLAG = relation_of("flag")


def facts_from(data, relation):
    """Return the facts that data given in Python stands for."""
    codec = Codec(TYPES)
    return facts_of(io.columns_from(data, relation, codec), relation, codec)


NAMED = {"x": [1, 2], "y": ["a", "b"]}
SOURCES = {
    "tuples": lambda: [(1, "a"), (2, "b")],
    "generator": lambda: (fact for fact in [[1, "a"], (2, "b")]),
    "columns": lambda: NAMED,
    "columns in another order": lambda: {"y": ["a", "b"], "x": [1, 2]},
    "columns of arrays": lambda: {"x": np.array([1, 2], np.int32), "y": np.array(["a", "b"])},
    "other names": lambda: {"from": [1, 2], "to": ["a", "b"]},
    "pandas": lambda: pd.DataFrame(NAMED),
    "pandas categories": lambda: pd.DataFrame({"x": [1, 2], "y": pd.Categorical(["a", "b"])}),
    "pandas objects": lambda: pd.DataFrame({"x": [1, 2], "y": pd.Series(["a", "b"], dtype=object)}),
    "polars": lambda: pl.DataFrame(NAMED),
    "polars series": lambda: {"x": pl.Series([1, 2]), "y": pl.Series(["a", "b"], dtype=pl.Categorical)},
    "arrow table": lambda: pa.table(NAMED),
    "arrow batch": lambda: pa.record_batch(NAMED),
    "arrow reader": lambda: pa.table(NAMED).to_reader(),
    "arrow views": lambda: pa.table({"x": [1, 2], "y": pa.array(["a", "b"], pa.string_view())}),
    "arrow dictionary": lambda: pa.table({"x": [1, 2], "y": pa.array(["a", "b"]).dictionary_encode()}),
}


@pytest.mark.parametrize("source", SOURCES)
def test_facts_come_from_what_people_have(source):
    """Tuples, columns, frames and Arrow data all give the same facts."""
    assert facts_from(SOURCES[source](), EDGE) == [(1, "a"), (2, "b")]


def test_paths_are_read(tmp_path):
    """A path or its text is read by its suffix."""
    (tmp_path / "edge.csv").write_text("x,y\n1,a\n")

    assert facts_from(tmp_path / "edge.csv", EDGE) == [(1, "a")]
    assert facts_from(str(tmp_path / "edge.csv"), EDGE) == [(1, "a")]


def test_one_column_needs_no_tuples():
    """Bare values are facts of a relation with one column; arrays have two dimensions."""
    assert facts_from([1, (2,)], NODE) == [(1,), (2,)]
    assert facts_from(np.array([[1], [2]]), NODE) == [(1,), (2,)]


@pytest.mark.parametrize(
    ("data", "facts"), [([()], [()]), ([], []), (True, [()]), (False, []), (pa.table({}), [])]
)
def test_a_relation_without_columns(data, facts):
    """It holds for a non-empty iterable or True."""
    assert facts_from(data, FLAG) == facts


def test_floats_may_be_nan_and_integers():
    """NaN is a value of a float column, and integers are floats there."""
    relation = relation_of("r", f="float")

    nan = {"f": np.array([np.nan])}
    for data in (nan, pd.DataFrame(nan), pl.DataFrame(nan)):
        assert repr(facts_from(data, relation)) == "[(nan,)]"
    assert facts_from({"f": np.array([1, 2])}, relation) == [(1.0,), (2.0,)]


def test_records_are_tuples_texts_lists_or_structs():
    """Nested values come as Python values or in Arrow's forms."""
    relation = relation_of("r", p="Pair", t="Tree")
    value, branch = (1, "a"), Branch("Empty")

    assert facts_from([(value, branch)], relation) == [(value, branch)]
    assert facts_from(pd.DataFrame({"p": [value], "t": [branch]}), relation) == [(value, branch)]
    table = pa.table({"p": ["[1, a]"], "t": ["$Empty"]})
    assert facts_from(table, relation) == [(value, branch)]
    structs = pa.table({"p": pa.array([{"left": 1, "right": "a"}, None]), "t": ["$Empty", "$Empty"]})
    assert facts_from(structs, relation) == [(value, branch), (None, branch)]


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        ([(1,)], "wrong-column-count", "row 1"),
        ([(1, "a"), (2, 3)], "wrong-value-type", "row 2, column `y`"),
        ([(True, "a")], "wrong-value-type", "row 1, column `x`"),
        ([(1, "a"), "x"], "wrong-value-type", "row 2"),
        (5, "wrong-value-type", "int"),
        ({"x": [1]}, "wrong-column-count", "1 column (x)"),
        ({"x": [1], "y": ["a", "b"]}, "wrong-value-type", "different lengths"),
        (pd.DataFrame({"x": [1.0, None], "y": ["a", "b"]}), "wrong-value-type", "column `x`"),
        (pa.table({"x": [1, None], "y": ["a", "b"]}), "wrong-value-type", "row 2 is null"),
        (pa.table({"x": [True], "y": ["a"]}), "wrong-value-type", "bool"),
        (pl.DataFrame({"x": [1.5], "y": ["a"]}), "wrong-value-type", "double"),
        (pa.table({"x": pa.array([2**64 - 1], pa.uint64()), "y": ["a"]}), "wrong-value-type", "column `x`"),
        ("missing.csv", "missing-fact-file", "missing.csv"),
    ],
)
def test_wrong_data_is_a_diagnostic(data, code, words):
    """The message names the relation or file, and the row or column where there is one."""
    with pytest.raises(TidelogError) as caught:
        facts_from(data, EDGE)

    assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {code}
    assert words in str(caught.value)


def test_all_wrong_rows_are_reported():
    """Up to twenty wrong rows are named, then counted."""
    with pytest.raises(TidelogError) as caught:
        facts_from([("x", "a")] * 30, EDGE)

    assert len(caught.value.diagnostics) == 21
    assert "10 more mistakes" in str(caught.value)
