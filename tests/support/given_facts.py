"""Everything a data scientist may hand in as the facts of `edge(x: number, y: symbol)`.

Each case says the facts it becomes, or the code of the diagnostic and words that must be in it.
"""

import datetime as dt
from collections import OrderedDict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from io import StringIO
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet

FACTS = [(1, "a"), (2, "b")]
NAMED = {"x": [1, 2], "y": ["a", "b"]}
TURNED = {"y": ["a", "b"], "x": [1, 2]}
OTHER = {"from": [1, 2], "to": ["a", "b"]}
PART = {"x": [1, 2], "z": ["a", "b"]}
ROWS = [{"x": 1, "y": "a"}, {"y": "b", "x": 2}]


@dataclass
class Edge:
    """A data class with the names of the columns."""

    x: int
    y: str


@dataclass
class Turned:
    """The names of the columns in another order."""

    y: str
    x: int


@dataclass
class Part:
    """One of the names."""

    x: int
    z: str


class SparkFrame:
    """What of a data frame of Spark is used."""

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        """Return the rows as an Arrow table."""
        return pa.table(TURNED)


EdgeTuple = namedtuple("EdgeTuple", "x y")  # noqa: PYI024 - what many people have
TurnedTuple = namedtuple("TurnedTuple", "y x")  # noqa: PYI024 - as above
OtherTuple = namedtuple("OtherTuple", "source target")  # noqa: PYI024 - as above
PartTuple = namedtuple("PartTuple", "z x")  # noqa: PYI024 - as above


def _structured(names: list[str]) -> np.ndarray:
    kinds = {"x": "i8", "y": "U5", "z": "U5"}
    values = {"x": [1, 2], "y": ["a", "b"], "z": ["a", "b"]}
    array = np.zeros(2, dtype=[(name, kinds[name]) for name in names])
    for name in names:
        array[name] = values[name]
    return array


# Data that is right: it all becomes FACTS.
RIGHT: dict[str, Callable[[], object]] = {
    "list of tuples": lambda: list(FACTS),
    "list of lists": lambda: [[1, "a"], [2, "b"]],
    "tuple of tuples": lambda: tuple(FACTS),
    "set": lambda: set(FACTS),
    "frozenset": lambda: frozenset(FACTS),
    "deque": lambda: deque(FACTS),
    "dict keys": lambda: dict.fromkeys(FACTS).keys(),
    "generator": lambda: (fact for fact in FACTS),
    "zip": lambda: zip([1, 2], ["a", "b"], strict=True),
    "tuples of NumPy scalars": lambda: [(np.int32(1), np.str_("a")), (np.uint8(2), "b")],
    "list of dicts": lambda: ROWS,
    "generator of dicts": lambda: (row for row in ROWS),
    "list of mappings": lambda: [MappingProxyType(ROWS[0]), OrderedDict(ROWS[1])],
    "data classes": lambda: [Edge(1, "a"), Edge(2, "b")],
    "data classes in another order": lambda: [Turned("a", 1), Turned("b", 2)],
    "named tuples": lambda: [EdgeTuple(1, "a"), EdgeTuple(2, "b")],
    "named tuples in another order": lambda: [TurnedTuple("a", 1), TurnedTuple("b", 2)],
    "named tuples of other names": lambda: [OtherTuple(1, "a"), OtherTuple(2, "b")],
    "pandas itertuples": lambda: pd.DataFrame(TURNED).itertuples(index=False),
    "polars iter_rows": lambda: pl.DataFrame(TURNED).iter_rows(named=True),
    "pandas records": lambda: pd.DataFrame(TURNED).to_dict("records"),
    "columns": lambda: NAMED,
    "columns in another order": lambda: TURNED,
    "columns of other names": lambda: OTHER,
    "columns of generators": lambda: {"x": iter([1, 2]), "y": (text for text in "ab")},
    "columns of a range": lambda: {"x": range(1, 3), "y": ("a", "b")},
    "columns of arrays": lambda: {"x": np.array([1, 2], np.int32), "y": np.array(["a", "b"])},
    "columns of pandas series": lambda: {"x": pd.Series([1, 2]), "y": pd.Series(["a", "b"])},
    "columns of polars series": lambda: {
        "x": pl.Series([1, 2]),
        "y": pl.Series(["a", "b"], dtype=pl.Categorical),
    },
    "columns of Arrow arrays": lambda: {"x": pa.array([1, 2]), "y": pa.chunked_array([["a"], ["b"]])},
    "object array of two dimensions": lambda: np.array([[1, "a"], [2, "b"]], dtype=object),
    "object array of tuples": lambda: _object_array(FACTS),
    "structured array": lambda: _structured(["x", "y"]),
    "structured array in another order": lambda: _structured(["y", "x"]),
    "record array": lambda: _structured(["y", "x"]).view(np.recarray),
    "rows of a structured array": lambda: list(_structured(["y", "x"])),
    "big-endian columns": lambda: {"x": np.array([1, 2], ">i8"), "y": ["a", "b"]},
    "pandas": lambda: pd.DataFrame(NAMED),
    "pandas in another order": lambda: pd.DataFrame(TURNED),
    "pandas of other names": lambda: pd.DataFrame(OTHER),
    "pandas of names in capitals": lambda: pd.DataFrame({"X": [1, 2], "Y": ["a", "b"]}),
    "pandas with numbered columns": lambda: pd.DataFrame(FACTS),
    "pandas with another index": lambda: pd.DataFrame(NAMED, index=[7, 7]),
    "pandas Int64": lambda: pd.DataFrame(NAMED).astype({"x": "Int64", "y": "string"}),
    "pandas Arrow types": lambda: pd.DataFrame(NAMED).astype({"x": "int64[pyarrow]", "y": "string[pyarrow]"}),
    "pandas categories": lambda: pd.DataFrame(NAMED).astype("category"),
    "pandas sparse": lambda: pd.DataFrame({"x": pd.arrays.SparseArray([1, 2]), "y": ["a", "b"]}),
    "pandas small integers": lambda: pd.DataFrame(NAMED).astype({"x": "uint8"}),
    "pandas series of tuples": lambda: pd.Series(FACTS),
    "polars": lambda: pl.DataFrame(NAMED),
    "polars in another order": lambda: pl.DataFrame(TURNED),
    "polars of other names": lambda: pl.DataFrame(OTHER),
    "polars lazy": lambda: pl.LazyFrame(TURNED),
    "polars categories": lambda: pl.DataFrame(NAMED, schema_overrides={"y": pl.Categorical}),
    "polars enum": lambda: pl.DataFrame(NAMED, schema_overrides={"y": pl.Enum(["b", "a"])}),
    "polars structs": lambda: pl.Series(ROWS),
    "Spark": SparkFrame,
    "Arrow table": lambda: pa.table(NAMED),
    "Arrow table in another order": lambda: pa.table(TURNED),
    "Arrow batch": lambda: pa.record_batch(TURNED),
    "Arrow reader": lambda: pa.table(TURNED).to_reader(),
    "Arrow structs": lambda: pa.array(ROWS),
    "Arrow chunks of structs": lambda: pa.chunked_array([pa.array([{"y": y, "x": x}]) for x, y in FACTS]),
    "Arrow views": lambda: pa.table({"x": [1, 2], "y": pa.array(["a", "b"], pa.string_view())}),
    "Arrow dictionary": lambda: pa.table(
        {"x": pa.array([1, 2]).dictionary_encode(), "y": pa.array(["a", "b"]).dictionary_encode()}
    ),
}

# Data without facts, whatever its type.
EMPTY: dict[str, Callable[[], object]] = {
    "list": list,
    "mapping": dict,
    "generator": lambda: iter(()),
    "columns": lambda: {"x": [], "y": []},
    "array": lambda: np.array([]),
    "array of two dimensions": lambda: np.empty((0, 2)),
    "pandas": pd.DataFrame,
    "pandas with columns": lambda: pd.DataFrame(columns=["x", "y"]),
    "pandas floats": lambda: pd.DataFrame({"x": [], "y": []}),
    "pandas after a filter": lambda: pd.DataFrame(NAMED).query("x > 5"),
    "pandas dates": lambda: pd.DataFrame({"x": pd.to_datetime([]), "y": pd.to_datetime([])}),
    "pandas series": lambda: pd.Series([], dtype=float),
    "polars": pl.DataFrame,
    "polars with columns": lambda: pl.DataFrame({"x": [], "y": []}),
    "polars floats": lambda: pl.DataFrame({"x": [], "y": []}, schema={"x": pl.Float64, "y": pl.Date}),
    "polars series": lambda: pl.Series([]),
    "Arrow table": lambda: pa.table({}),
    "Arrow floats": lambda: pa.table({"x": pa.array([], pa.float64()), "y": pa.array([], pa.null())}),
    "Arrow array": lambda: pa.array([]),
}

DAY = dt.date(2026, 1, 2)
MOMENT = dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC)
X_NUMBER = "column `x` of type `number`"

# Data that is wrong: the code of the diagnostic, and words of its message or hint.
WRONG: dict[str, tuple[Callable[[], object], str, tuple[str, ...]]] = {
    "None": (lambda: None, "wrong-value-type", ("NoneType",)),
    "a number": (lambda: 5, "wrong-value-type", ("int",)),
    "bytes": (lambda: b"shop", "wrong-value-type", ("bytes",)),
    "an open file": (lambda: StringIO("1,a"), "wrong-value-type", ("StringIO", "a path")),
    "columns that match but for case": (
        lambda: {"Y": ["a"], "X": [1]},
        "column-names",
        ("`Y` is in the place of `x`, and differs from `y` in case only",),
    ),
    "array of texts": (lambda: np.array(FACTS), "wrong-value-type", ("dtype=object",)),
    "numbers that do not fit": (
        lambda: pd.DataFrame({"x": np.array([1, 2**63], np.uint64), "y": ["a", "b"]}),
        "wrong-value-type",
        ("in row 2, 9223372036854775808 does not fit number",),
    ),
    "a class": (lambda: Edge, "wrong-value-type", ("give tuples",)),
    "a text": (lambda: "shop", "missing-fact-file", ("`shop`", "a text is the path of a file")),
    "a text of lines": (lambda: "1\ta\n2\tb", "missing-fact-file", ("a text is the path of a file",)),
    "a text with NUL": (lambda: "a\0b", "missing-fact-file", ("a text is the path of a file",)),
    "a long text": (lambda: "x" * 5000, "unreadable-file", ()),
    "a missing path": (lambda: Path("missing.csv"), "missing-fact-file", ("missing.csv",)),
    "texts": (lambda: ["edge(1, 2)"], "wrong-value-type", ("row 1", "insert=[...]")),
    "a tuple too short": (lambda: [(1, "a"), (1,)], "wrong-column-count", ("row 2 has 1 value",)),
    "a tuple too long": (lambda: [(1, "a", 2)], "wrong-column-count", ("row 1 has 3 values", "give x, y")),
    "values": (lambda: [1, 2], "wrong-value-type", ("row 1 is not a tuple but 1",)),
    "dicts that miss a key": (lambda: [{"x": 1}], "column-names", ("row 1 has no `y`", "'x', 'y'")),
    "dicts with an unknown key": (
        lambda: [ROWS[0], {"x": 1, "y": "a", "z": 1}],
        "column-names",
        ("row 2 has 'z', which is not a column",),
    ),
    "dicts of other keys": (lambda: [{"from": 1, "to": "a"}], "column-names", ("has no `x`", "'from'")),
    "data classes that match in part": (
        lambda: [Part(1, "a")],
        "column-names",
        ("`z` is not", "`y` is missing"),
    ),
    "named tuples that match in part": (lambda: [PartTuple("a", 1)], "column-names", ("`z` is not",)),
    "a column that is a text": (
        lambda: {"x": [1], "y": "shop"},
        "wrong-value-type",
        ("column `y` is 'shop', which is one value", "{'y': ['shop']}"),
    ),
    "a column of bytes": (lambda: {"x": [1], "y": b"shop"}, "wrong-value-type", ("{'y': [b'shop']}",)),
    "a column that is a number": (lambda: {"x": 1, "y": ["a"]}, "wrong-value-type", ("column `x` is int",)),
    "a column that is None": (lambda: {"x": [1], "y": None}, "wrong-value-type", ("column `y` is None",)),
    "a column that is a mapping": (lambda: {"x": {1: 2}, "y": ["a"]}, "wrong-value-type", ("a mapping",)),
    "a column that is a set": (lambda: {"x": {1, 2}, "y": ["a", "b"]}, "wrong-value-type", ("has no order",)),
    "a column of two dimensions": (
        lambda: {"x": np.zeros((2, 2), int), "y": ["a", "b"]},
        "wrong-value-type",
        ("2 dimensions",),
    ),
    "columns of different lengths": (
        lambda: {"x": [1], "y": ["a", "b"]},
        "wrong-value-type",
        ("different lengths: 1, 2",),
    ),
    "one column": (lambda: {"x": [1]}, "wrong-column-count", ("1 column (x)", "give x, y")),
    "columns that match in part": (
        lambda: PART,
        "column-names",
        ("`x` is a column of the relation, `z` is not, `y` is missing", "name the columns x, y"),
    ),
    "pandas that matches in part": (lambda: pd.DataFrame(PART), "column-names", ("`z` is not",)),
    "polars that matches in part": (lambda: pl.DataFrame(PART), "column-names", ("`z` is not",)),
    "polars lazy that matches in part": (lambda: pl.LazyFrame(PART), "column-names", ("`z` is not",)),
    "Arrow that matches in part": (lambda: pa.table(PART), "column-names", ("`z` is not",)),
    "structured array that matches in part": (
        lambda: _structured(["x", "z"]),
        "column-names",
        ("`z` is not",),
    ),
    "pandas with a name twice": (
        lambda: pd.DataFrame([[1, "a"]], columns=["x", "x"]),
        "column-names",
        ("`x` occurs twice",),
    ),
    "pandas with too many columns": (
        lambda: pd.DataFrame({**NAMED, "z": [0, 0]}),
        "wrong-column-count",
        ("3 columns (x, y, z) where 2 columns (x, y)",),
    ),
    "pandas with a column as its index": (
        lambda: pd.DataFrame(NAMED).set_index("x"),
        "wrong-column-count",
        ("reset_index()",),
    ),
    "array of three dimensions": (lambda: np.zeros((1, 1, 1)), "wrong-value-type", ("3 dimensions",)),
    "array of no dimension": (lambda: np.array(5), "wrong-value-type", ("0 dimensions",)),
    "array of three columns": (lambda: np.zeros((2, 3)), "wrong-column-count", ("3 columns",)),
    "pandas series": (lambda: pd.Series([1, 2]), "wrong-column-count", ("1 column where 2",)),
    "polars series": (lambda: pl.Series([1, 2]), "wrong-column-count", ("1 column where 2",)),
    "Arrow array": (lambda: pa.array([1, 2]), "wrong-column-count", ("1 column where 2",)),
    "Arrow chunks": (lambda: pa.chunked_array([[1, 2]]), "wrong-column-count", ("1 column where 2",)),
    "Arrow structs that match in part": (
        lambda: pa.array([{"x": 1, "z": 2}]),
        "column-names",
        ("`z` is not",),
    ),
    "Arrow that is not UTF-8": (
        lambda: pa.table({"x": [1], "y": pa.array([b"\xff"]).view(pa.string())}),
        "wrong-value-type",
        ("column `y`", "UTF8"),
    ),
    "complex numbers": (lambda: {"x": np.array([1j]), "y": ["a"]}, "wrong-value-type", ("column `x`",)),
    "polars objects": (
        lambda: pl.DataFrame({"x": pl.Series([object()], dtype=pl.Object), "y": ["a"]}),
        "wrong-value-type",
        ("column `x`",),
    ),
    "a list with None": (
        lambda: [(1, "a"), (2, None)],
        "wrong-value-type",
        ("row 2, column `y`", "only a record can be null"),
    ),
    "a column with None": (lambda: {"x": [1, None], "y": ["a", "b"]}, "wrong-value-type", ("row 2",)),
    "a masked array": (
        lambda: {"x": np.ma.array([1, 2], mask=[False, True]), "y": ["a", "b"]},
        "wrong-value-type",
        ("row 2 is null",),
    ),
}


def _object_array(values: list[object]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _frames(
    column: list[object] | pd.Series, pandas_type: str | None = None
) -> dict[str, Callable[[], object]]:
    """Return frames of each library whose column `x` has these values."""
    size = len(column)
    values = list(column)
    return {
        "pandas": lambda: pd.DataFrame({"x": pd.Series(values, dtype=pandas_type), "y": ["a"] * size}),
        "polars": lambda: pl.DataFrame({"x": values, "y": ["a"] * size}),
        "pyarrow": lambda: pa.table({"x": values, "y": ["a"] * size}),
    }


# Columns `x` of frames that are not numbers, with the type that a hint converts them to.
CONVERTED: dict[str, dict[str, Callable[[], object]]] = {
    "bool": _frames([True, False]),
    "float": _frames([1.0, 2.0]),
    "text": _frames(["1", "2"]),
    "moment": _frames([dt.datetime(2026, 1, 2), dt.datetime(2026, 1, 3)]),  # noqa: DTZ001 - what frames have
    "moment with a zone": _frames([MOMENT]),
    "duration": _frames([dt.timedelta(days=1)]),
    "decimal": _frames([Decimal(1)]),
    "day": _frames([DAY]),
}

# Columns `x` of frames with a value that is missing, in the second row.
MISSING: dict[str, dict[str, Callable[[], object]]] = {
    "null": {**_frames([1, None]), "pandas": _frames([1, None], "Int64")["pandas"]},
    "null of pandas with Arrow": {"pandas": _frames([1, None], "int64[pyarrow]")["pandas"]},
    "NaN": {"pandas": _frames([1.0, None])["pandas"]},
    "all null": {"polars": _frames([None, None])["polars"], "pyarrow": _frames([None, None])["pyarrow"]},
    "not a time": {"pandas": _frames([pd.Timestamp(2026, 1, 2), pd.NaT])["pandas"]},
}
