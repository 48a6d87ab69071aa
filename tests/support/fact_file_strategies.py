"""Random facts, formats and fact files, whole and broken: what tests of reading and writing share.

`relations_with_facts` and `FORMATS` are for round trips, `broken_files` for readers that must not
fall over. Nothing here depends on pytest, so that other machines can draw from it too.
"""

import datetime as dt
import gzip
import io
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet
from hypothesis import strategies as st

from support.fact_files import relation_of
from support.value_types import floats, lists, numbers, unsigneds
from tidelog.program.nodes import Relation
from tidelog.values import Branch, Fact, Value

# Characters that separate, quote, end lines or are white space somewhere.
MARKS = (
    "\t\n\r\0 ,;|\"'\\[](){}$:=#%u0\x0b\x0c\x1b\x1c\x1f\x7f\x85\xa0\u2028\u2029\u200b\ufeff\ufffd\U0001f600"
)
# Whole texts that mean something somewhere.
WORDS = [
    "",
    " ",
    "nil",
    "()",
    "x",
    "y",
    '"',
    '""',
    "null",
    "nan",
    "-1",
    "[1, a]",
    "$Empty",
    "\ufeff",
    "\r",
    "a\r\n",
]

symbols = (
    st.text(MARKS + "ab", max_size=5)
    | st.sampled_from(WORDS)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)
pairs = st.none() | st.tuples(numbers, symbols)
trees = st.recursive(
    st.just(Branch("Empty")) | st.builds(lambda pair, size: Branch("Leaf", (pair, size)), pairs, unsigneds),
    lambda inner: st.builds(lambda left, right: Branch("Node", (left, right)), inner, inner),
    max_leaves=4,
)
values: dict[str, st.SearchStrategy[Value]] = {
    "number": numbers,
    "unsigned": unsigneds,
    "float": floats,
    "symbol": symbols,
    "Pair": pairs,
    "List": lists,
    "Tree": trees,
}


@st.composite
def relations_with_facts(draw: st.DrawFn) -> tuple[Relation, list[Fact]]:
    """Return a relation of some columns and different facts of it; mostly symbols, which are hard."""
    types = draw(st.lists(st.sampled_from([*values, "symbol", "symbol"]), max_size=4))
    relation = relation_of("r", **dict(zip("xyzw", types, strict=False)))
    if not types:
        return relation, draw(st.sampled_from([[], [()]]))
    facts = draw(st.lists(st.tuples(*(values[kind] for kind in types)), max_size=6, unique_by=repr))
    return relation, facts


# Ways to write facts, and to read them back: the parameters of `.output` and of `.input` alike.
PLAIN_FORMATS: dict[str, dict[str, str]] = {
    "lines": {},
    "lines with a header": {"headers": "true"},
    "packed lines": {"compress": "true"},
    "commas": {"delimiter": ","},
    "commas and spaces": {"delimiter": ", "},
    "bars": {"delimiter": "||"},
    "spaces": {"delimiter": " "},
    "digits": {"delimiter": "1"},
    "names": {"delimiter": "x", "headers": "true"},
}
SAFE_FORMATS: dict[str, dict[str, str]] = {
    "quotes": {"rfc4180": "true"},
    "csv": {"IO": "csv", "headers": "true"},
    "quotes with another delimiter": {"rfc4180": "true", "delimiter": ";", "headers": "true"},
    "quotes with a long delimiter": {"rfc4180": "true", "delimiter": "||"},
    "quotes with digits between": {"rfc4180": "true", "delimiter": "1", "headers": "true"},
    "quotes with names between": {"rfc4180": "true", "delimiter": "x", "headers": "true"},
    "packed quotes": {"rfc4180": "true", "compress": "true"},
    "JSON lists": {"IO": "jsonfile"},
    "JSON objects": {"IO": "jsonfile", "format": "object"},
    "SQLite": {"IO": "sqlite"},
    "Parquet": {"IO": "parquet"},
}
FORMATS = {**PLAIN_FORMATS, **SAFE_FORMATS}

# Parameters of a directive, right and wrong.
PARAMETER_VALUES = {
    "IO": ["file", "csv", "json", "jsonfile", "sqlite", "parquet", "stdout", "stdin", "what"],
    "filename": ["r.facts", "", ".", "/", "\0", "é/🦉", "x" * 300, "no/such/file"],
    "name": ["r", "", "\0", '"', "../r"],
    "delimiter": [",", "\t", "\\t", "", '"', "\n", "\r", "ab", "1", "é", "🦉", "\0"],
    "headers": ["true", "false", "", "perhaps"],
    "rfc4180": ["true", "false", "perhaps"],
    "columns": ["", "0", "1:0", "0:0", "9" * 20, "a:b", "-1", ":", "0:1:2", "²"],
    "compress": ["true", "false", "perhaps"],
    "format": ["list", "object", "what"],
    "dbname": ["r.facts", "\0"],
}
parameters = st.fixed_dictionaries(
    {}, optional={key: st.sampled_from(options) for key, options in PARAMETER_VALUES.items()}
)

_NUMBERS = [
    b"1",
    b"-7",
    b"0x1F",
    b"0b2",
    b"1.5",
    b"1e400",
    b"nan",
    b"9" * 20,
    b"9" * 5000,
    b"+-1",
    b"1_000",
    b"\xd9\xa1",
]
_TEXTS = [
    b"a",
    b"\xc3\xa9",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\0",
    b" ",
    b"\xef\xbb\xbf",
    b"x",
    b"y",
]
_STARTS = [b"\x1f\x8b", b"\x1f\x8b\x08\0\0\0\0\0\0\xff", b"PAR1", b"SQLite format 3\0", b"ARROW1"]
_NESTED = [
    b"[",
    b"]",
    b"[1, a]",
    b"nil",
    b"$Empty",
    b"$Leaf(nil, 1)",
    b"$",
    b"(",
    b")",
    b"[[",
    b"]]",
    b'[1, "a]"]',
]
_JSON = [
    b"{",
    b"}",
    b":",
    b'{"x": 1}',
    b'"x"',
    b"null",
    b"true",
    b"1e999",
    b"\\ud800",
    b'"\\u0000"',
    b"// x",
    b"[" * 3000,
]
_MARKS = [
    b'"',
    b'""',
    b",",
    b"|",
    b"\t",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\r",
    b"\xe2\x80\xa8",
    b"\xc2\x85",
    b"\x1a",
    b";",
]
PIECES = _NUMBERS + _TEXTS + _STARTS + _NESTED + _JSON + _MARKS

contents = st.binary(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join)


def _gzip_of(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def _json_of(content: bytes) -> bytes:
    return json.dumps([[1, content.decode("latin-1")], {"x": 2, "y": "b"}]).encode()


def _parquet_of(content: bytes) -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"x": [1], "y": [content.decode("latin-1")]}), sink)
    return sink.getvalue()


def _sqlite_of(content: bytes) -> bytes:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE r (x, y)")
        database.execute("INSERT INTO r VALUES (1, ?)", [content])
        database.commit()
        return database.serialize()


_WRAPPED: list[Callable[[bytes], bytes]] = [_gzip_of, _json_of, _parquet_of, _sqlite_of]


@st.composite
def broken_files(draw: st.DrawFn) -> bytes:
    """Return the bytes of a fact file: right, nearly right, cut off, damaged, or nothing of the kind."""
    content = draw(contents)
    if draw(st.booleans()):
        content = draw(st.sampled_from(_WRAPPED))(content)
    for _ in range(draw(st.integers(0, 2))):
        content = draw(st.sampled_from([_cut, _damage, _repeat]))(draw, content)
    return content


def _cut(draw: st.DrawFn, content: bytes) -> bytes:
    return content[: draw(st.integers(0, len(content)))]


def _damage(draw: st.DrawFn, content: bytes) -> bytes:
    at = draw(st.integers(0, max(0, len(content) - 1)))
    return content[:at] + draw(st.binary(min_size=1, max_size=3)) + content[at + 1 :]


def _repeat(draw: st.DrawFn, content: bytes) -> bytes:
    """Return a long line, or many of them."""
    return content[:50] * draw(st.integers(1, 300))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("xyspt"), inner, max_size=3),
    max_leaves=10,
)

_ARROW_VALUES: dict[pa.DataType, st.SearchStrategy[object]] = {
    pa.int8(): st.integers(-128, 127),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.bool_(): st.booleans(),
    pa.string(): symbols,
    pa.large_string(): symbols,
    pa.string_view(): symbols,
    pa.dictionary(pa.int32(), pa.string()): symbols,
    pa.dictionary(pa.int8(), pa.int64()): st.integers(-5, 5),
    pa.binary(): st.binary(max_size=4),
    pa.date32(): st.dates(),
    pa.time64("us"): st.times(),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("ns", "UTC"): st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)),  # noqa: DTZ001
    pa.duration("us"): st.timedeltas(dt.timedelta(-9999), dt.timedelta(9999)),
    pa.decimal128(9, 2): st.decimals(-9999, 9999, places=2),
    pa.list_(pa.int64()): st.lists(st.integers(0, 9), max_size=3),
    pa.struct({"right": pa.string(), "left": pa.int64()}): st.fixed_dictionaries(
        {"left": st.integers(-9, 9), "right": symbols}
    ),
    pa.null(): st.none(),
}


@st.composite
def arrow_columns(draw: st.DrawFn) -> pa.Array:
    """Return an Arrow column of any type, mostly without nulls."""
    kind = draw(st.sampled_from(list(_ARROW_VALUES)))
    cells = _ARROW_VALUES[kind]
    if draw(st.integers(0, 3)) == 0:
        cells = st.none() | cells
    return pa.array(draw(st.lists(cells, min_size=1, max_size=4)), type=kind)
