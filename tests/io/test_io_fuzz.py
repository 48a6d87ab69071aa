"""Whatever bytes a fact file holds, reading ends with facts or with diagnostics."""

import json
from contextlib import closing, suppress

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fact_file_strategies import (
    PIECES,
    arrow_columns,
    broken_files,
    contents,
    json_values,
    parameters,
    relations_with_facts,
)
from support.fact_files import facts_of, read_text, relation_of
from support.value_types import TYPES
from tidelog import io
from tidelog.errors import TidelogError
from tidelog.io import csv_read
from tidelog.io.csv_careful import LineWindow, read_carefully
from tidelog.io.mistakes import Mistakes
from tidelog.io.places import CsvLayout
from tidelog.program.nodes import Directive
from tidelog.values import Branch, Codec

RELATIONS = [
    relation_of("r", x="number", y="symbol"),
    relation_of("r", x="symbol", y="symbol"),
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
    {"headers": "true", "rfc4180": "true"},
    {"columns": "1:0"},
    {"IO": "jsonfile", "filename": "r.facts"},
    {"IO": "sqlite", "filename": "r.facts"},
    {"IO": "parquet", "filename": "r.facts"},
]
SUFFIXES = [
    "",
    ".csv",
    ".tsv",
    ".facts",
    ".json",
    ".jsonl",
    ".ndjson",
    ".parquet",
    ".sqlite",
    ".db",
    ".csv.gz",
    ".txt",
]


@pytest.fixture(params=["few lines", "Arrow"], autouse=True, scope="module")
def _reader(request):
    """Read texts that could be read by Arrow as the few lines they are, and by Arrow."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "Arrow":
            patch.setattr(csv_read, "FEW_BYTES", -1)
        yield


def check_outcome(read, relation):
    """Assert that reading gives facts of the relation, or diagnostics that can be shown."""
    facts, failure = [], None
    try:
        facts = read()
    except TidelogError as error:
        failure = error

    assert all(len(fact) == relation.arity for fact in facts)
    assert failure is None or all(each.code and each.message for each in failure.diagnostics)
    assert failure is None or str(failure).encode()


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@given(relation=st.sampled_from(RELATIONS), content=contents | broken_files())
def test_random_files(tmp_path_factory, layout, relation, content):
    """No exception but `TidelogError` comes out, and its text can be shown."""
    folder = tmp_path_factory.getbasetemp()

    check_outcome(lambda: read_text(folder, relation, content, **layout), relation)


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(relation=st.sampled_from(RELATIONS), content=contents | broken_files())
def test_random_files_by_their_path(tmp_path_factory, suffix, relation, content):
    """A file given by its path is guessed at, and gives facts or diagnostics."""
    path = tmp_path_factory.getbasetemp() / f"some{suffix}"
    path.write_bytes(content)
    codec = Codec(TYPES)

    check_outcome(lambda: facts_of(io.columns_from(path, relation, codec), relation, codec), relation)


@given(relation=st.sampled_from(RELATIONS), given_parameters=parameters, content=contents)
def test_random_parameters_of_inputs(tmp_path_factory, relation, given_parameters, content):
    """Any parameters of `.input` give facts or diagnostics, by a directive and by a path."""
    if given_parameters.get("IO") in {"json", "stdin"}:
        return
    folder = tmp_path_factory.getbasetemp()
    directive = Directive("input", "r", given_parameters)

    codec = Codec(TYPES)

    check_outcome(lambda: read_text(folder, relation, content, **given_parameters), relation)
    check_outcome(
        lambda: facts_of(io.columns_from(folder / "r.facts", relation, codec, [directive]), relation, codec),
        relation,
    )


@given(case=relations_with_facts(), given_parameters=parameters)
def test_random_parameters_of_outputs(tmp_path_factory, case, given_parameters):
    """Any parameters of `.output` write the facts or give diagnostics."""
    relation, facts = case
    codec = Codec(TYPES)
    columns = io.columns_from(facts, relation, codec)
    folder = tmp_path_factory.getbasetemp() / "out"

    def write():
        io.write_relation(relation, Directive("output", "r", given_parameters), columns, codec, folder)
        return facts

    check_outcome(write, relation)


@given(
    relation=st.sampled_from(RELATIONS[:4]),
    rows=st.lists(st.lists(st.sampled_from(PIECES), max_size=6).map(b"".join), max_size=6),
    layout=st.sampled_from([CsvLayout(), CsvLayout("|"), CsvLayout(",", is_quoted=True)]),
)
def test_the_quick_and_the_careful_reader_agree(tmp_path_factory, relation, rows, layout):
    """What Arrow accepts has the facts that the careful reader finds."""
    folder = tmp_path_factory.getbasetemp()
    data = b"\n".join(rows)
    layout_parameters = {"delimiter": layout.delimiter, "rfc4180": str(layout.is_quoted).lower()}
    codec, mistakes = Codec(TYPES), Mistakes("r")
    clean = data.removeprefix(b"\xef\xbb\xbf")
    careful = read_carefully(LineWindow(clean, 0), relation, layout, codec, mistakes)

    quick = None
    with suppress(TidelogError):
        quick = read_text(folder, relation, data, **layout_parameters)

    if data.startswith(b"\x1f\x8b"):
        return
    assert (quick is None) == bool(mistakes.count)
    if quick is not None:
        decoded = [codec.decode_column(c, k.type) for c, k in zip(careful, relation.columns, strict=True)]
        assert repr(quick) == repr(list(zip(*decoded, strict=True)))


@given(
    relation=st.sampled_from(RELATIONS[:4]),
    rows=st.lists(st.lists(st.sampled_from(PIECES), max_size=6).map(b"".join), max_size=6),
    layout=st.sampled_from(
        [CsvLayout(), CsvLayout("|"), CsvLayout(positions=(1, 0)), CsvLayout(positions=(2, 0), width=3)]
    ),
)
def test_few_lines_get_the_codes_that_arrow_gives_them(tmp_path_factory, relation, rows, layout):
    """Texts are numbered in the same order, whichever reader reads them."""
    if (layout.positions is not None and relation.arity != 2) or b"".join(rows).startswith(b"\x1f\x8b"):
        return
    file = tmp_path_factory.getbasetemp() / "few.facts"
    file.write_bytes(b"\n".join(rows))

    def codes(few_bytes: int) -> list[list[int]] | None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(csv_read, "FEW_BYTES", few_bytes)
            reading = csv_read.CsvReading(file, file.name, relation, layout, Codec(TYPES))
            with closing(reading):
                parsed = [parse() for _, parse in reading.tasks()]
                found = reading._quick_codes(parsed) if parsed else None
        return found and [column.tolist() for column in found]

    few, arrow = codes(1000), codes(-1)

    assert arrow is None or few == arrow


@given(relation=st.sampled_from(RELATIONS), facts=json_values)
def test_random_json(tmp_path_factory, relation, facts):
    """Well-formed JSON of any shape gives facts or diagnostics."""
    folder = tmp_path_factory.getbasetemp()

    check_outcome(
        lambda: read_text(folder, relation, json.dumps(facts), IO="jsonfile", filename="r.facts"), relation
    )


@given(
    relation=st.sampled_from(RELATIONS),
    data=json_values | st.lists(st.tuples(json_values, json_values), max_size=4),
)
def test_random_python_data(relation, data):
    """Any Python data gives facts or diagnostics."""
    codec = Codec(TYPES)

    check_outcome(lambda: facts_of(io.columns_from(data, relation, codec), relation, codec), relation)


def _forms(column):
    """Return a column as each library has it, where the library can."""
    yield pa.table({"v": column})
    yield column
    with suppress(Exception):
        yield pl.DataFrame({"v": pl.Series(column)})
    with suppress(Exception):
        yield pl.Series(column)
    with suppress(Exception):
        yield pa.table({"v": column}).to_pandas()
    with suppress(Exception):
        yield pa.table({"v": column}).to_pandas(types_mapper=pd.ArrowDtype)
    with suppress(Exception):
        yield column.to_numpy(zero_copy_only=False)


@given(
    column=arrow_columns(), kind=st.sampled_from(["number", "unsigned", "float", "symbol", "Pair", "Tree"])
)
def test_columns_of_frames_keep_their_values(column, kind):
    """A column of any library and type becomes just its values, or a diagnostic with a hint."""
    relation = relation_of("r", v=kind)

    for data in _forms(column):
        codec = Codec(TYPES)
        try:
            facts = facts_of(io.columns_from(data, relation, codec), relation, codec)
        except TidelogError as error:
            assert all(diagnostic.hint for diagnostic in error.diagnostics), str(error)  # noqa: PT017 - or facts
            continue
        assert [_plain(value) for (value,) in facts] == [
            _plain(_expected(value, kind)) for value in _cells(data, column)
        ]


def _cells(data, column):
    """Return the values that a column has; in NumPy and pandas some missing ones are NaN."""
    if isinstance(data, np.ndarray):
        return data.tolist()
    if isinstance(data, pd.DataFrame) and isinstance(data["v"].dtype, np.dtype):
        return data["v"].tolist()
    return column.to_pylist()


def _expected(value, kind):
    match kind:
        case "float":
            return float(value)
        case "Pair" if isinstance(value, dict):
            return (value["left"], value["right"])
        case "Pair" if value is pd.NaT or isinstance(value, float):
            return None
        case "Pair" if isinstance(value, str):
            return Codec(TYPES).decode(Codec(TYPES).parse(value, kind), kind) if value == "nil" else (1, "a")
        case "Tree" if isinstance(value, str):
            return Branch("Empty")
    return value


def _plain(value):
    """Return a value that equals itself, also NaN, with one zero."""
    return repr(value + 0.0 if isinstance(value, float) else value)
