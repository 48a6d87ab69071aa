"""Whatever bytes a fact file holds, reading ends with facts or with diagnostics."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fact_files import read_text, relation_of
from tidelog import io
from tidelog.errors import TidelogError
from tidelog.io.csv_careful import Window, read_carefully
from tidelog.io.mistakes import Mistakes
from tidelog.io.places import CsvLayout
from tidelog.values import Codec
from value_types import TYPES

RELATIONS = [
    relation_of("r", x="number", y="symbol"),
    relation_of("r", s="symbol"),
    relation_of("r", u="unsigned", f="float"),
    relation_of("r", p="Pair", t="Tree"),
    relation_of("r"),
]
LAYOUTS = [
    {},
    {"delimiter": ","},
    {"rfc4180": "true"},
    {"headers": "true"},
    {"columns": "1:0"},
    {"IO": "jsonfile", "filename": "r.facts"},
    {"IO": "sqlite", "filename": "r.facts"},
    {"IO": "parquet", "filename": "r.facts"},
]

# Pieces that fact files are made of, so that random files come close to real ones.
NUMBERS = [b"1", b"-7", b"0x1F", b"1.5", b"nan", b"99999999999999999999"]
TEXTS = [b"a", b"\xc3\xa9", b"\xff", b"\0", b" ", b"\xef\xbb\xbf", b"\x1f\x8b", b"PAR1", b"SQLite format 3\0"]
NESTED = [
    b"[",
    b"]",
    b"[1, a]",
    b"nil",
    b"$Empty",
    b"$Leaf(nil, 1)",
    b"(",
    b")",
    b"{",
    b"}",
    b"[[",
    b"]]",
    b":",
]
MARKS = [b'"', b'""', b",", b"|", b"\t", b"\n", b"\r", b"\r\n"]
PIECES = NUMBERS + TEXTS + NESTED + MARKS

contents = st.binary(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join)


@pytest.mark.parametrize("parameters", LAYOUTS, ids=str)
@given(relation=st.sampled_from(RELATIONS), content=contents)
def test_random_files(tmp_path_factory, parameters, relation, content):
    """No exception but `TidelogError` comes out, and its text can be shown."""
    folder = tmp_path_factory.getbasetemp()

    try:
        read_text(folder, relation, content, **parameters)
    except TidelogError as error:
        str(error).encode()


@given(
    relation=st.sampled_from(RELATIONS[:3]),
    rows=st.lists(st.lists(st.sampled_from(PIECES), max_size=6).map(b"".join), max_size=6),
    layout=st.sampled_from([CsvLayout(), CsvLayout("|"), CsvLayout(",", is_quoted=True)]),
)
def test_the_quick_and_the_careful_reader_agree(tmp_path_factory, relation, rows, layout):
    """What Arrow accepts has the facts that the careful reader finds."""
    folder = tmp_path_factory.getbasetemp()
    data = b"\n".join(rows)
    parameters = {"delimiter": layout.delimiter, "rfc4180": str(layout.is_quoted).lower()}
    codec, mistakes = Codec(TYPES), Mistakes("r")
    clean = data.removeprefix(b"\xef\xbb\xbf")
    careful = read_carefully(Window(clean, 0), relation, layout, codec, mistakes)

    quick = None
    with suppress(TidelogError):
        quick = read_text(folder, relation, data, **parameters)

    assert (quick is None) == bool(mistakes.count)
    if quick is not None:
        decoded = [codec.decode_column(c, k.type) for c, k in zip(careful, relation.columns, strict=True)]
        assert repr(quick) == repr(list(zip(*decoded, strict=True)))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("xyspt"), inner, max_size=3),
    max_leaves=10,
)


@given(relation=st.sampled_from(RELATIONS), facts=json_values)
def test_random_json(tmp_path_factory, relation, facts):
    """Well-formed JSON of any shape gives facts or diagnostics."""
    folder = tmp_path_factory.getbasetemp()

    with suppress(TidelogError):
        read_text(folder, relation, json.dumps(facts), IO="jsonfile", filename="r.facts")


@given(
    relation=st.sampled_from(RELATIONS),
    data=json_values | st.lists(st.tuples(json_values, json_values), max_size=4),
)
def test_random_python_data(relation, data):
    """Any Python data gives facts or diagnostics."""
    if isinstance(data, str):
        return
    with suppress(TidelogError):
        io.columns_from(data, relation, Codec(TYPES))
