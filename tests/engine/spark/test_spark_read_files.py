"""Fact files that workers read: the facts and the mistakes are those that the driver would find."""

import gzip
import json
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.fact_folders import NAMES, PROGRAM, folders, write_folder
from support.programs import build
from support.threaded_spark import run_in_threads
from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.job import BarrierJob
from tidelog.errors import TidelogError
from tidelog.io import csv_pieces, csv_read, shares
from tidelog.io.arrow import codes_from_arrow
from tidelog.session import load, worker_files
from tidelog.values import Codec


class _Driver:
    """Keeps the values of facts."""

    def __init__(self, program: Any, codec: Codec) -> None:
        self._program = program
        self._codec = codec
        self.facts: dict[str, set[tuple[object, ...]]] = {}

    def insert(self, relation: str, columns: Sequence[Any]) -> None:
        """Insert what the driver read."""
        types = [column.type for column in self._program.relations[relation].columns]
        values = [self._codec.decode_column(codes, each) for codes, each in zip(columns, types, strict=True)]
        rows = set(zip(*values, strict=True)) if values else {()}
        self.facts.setdefault(relation, set()).update(map(_shown, rows))


class _Workers(_Driver):
    """Lets threads read files, in many shares, and notes which relations they read."""

    most_driver_facts = 0
    most_shares = 4

    def __init__(self, program: Any, codec: Codec, folder: str) -> None:
        super().__init__(program, codec)
        self.folder_uri = folder
        self.read: set[str] = set()
        self.parts: list[int] = []

    def work_apart(self, module: str, function: str, payload: object, parts: int) -> list[str]:
        """Run the work in threads."""
        self.parts.append(parts)
        return [each.text for each in run_in_threads(None, BarrierJob(module, function, payload, parts))]

    def insert_files(self, relation: str, files: Sequence[str]) -> None:
        """Insert what threads read."""
        self.read.add(relation)
        columns = self._program.relations[relation].columns
        for file in files:
            table = Folder(self.folder_uri).read_table(file, [f"c{place}" for place in range(len(columns))])
            codes = [
                codes_from_arrow(column, each.type, self._codec)
                if pa.types.is_string(column.type)
                else column.to_numpy()
                for column, each in zip(table.columns, columns, strict=True)
            ]
            self.insert(relation, codes)


def _shown(row: tuple[object, ...]) -> tuple[object, ...]:
    """Return a row that equals itself if it has NaN."""
    return tuple(repr(value) for value in row)


def _driver(text: str, facts: Any) -> tuple[dict[str, Any], list[str]]:
    program = build(text)
    codec = Codec(program.types)
    engine = _Driver(program, codec)
    return engine.facts, _mistakes(program, facts, codec, engine)


def _workers(text: str, facts: Any) -> tuple[dict[str, Any], list[str], _Workers, Codec]:
    program = build(text)
    codec = Codec(program.types)
    with tempfile.TemporaryDirectory() as folder:
        engine = _Workers(program, codec, folder)
        mistakes = _mistakes(program, facts, codec, engine)
    return engine.facts, mistakes, engine, codec


def _mistakes(program: Any, facts: Any, codec: Codec, engine: Any) -> list[str]:
    try:
        load.load_facts(program, facts, codec, engine, jobs=2)
    except TidelogError as error:
        return [repr(each) for each in error.diagnostics]
    return []


@pytest.fixture(autouse=True)
def _small_shares(monkeypatch):
    """Cut few lines as many are cut."""
    monkeypatch.setattr(shares, "SHARE_BYTES", 8)
    monkeypatch.setattr(csv_pieces, "WINDOW_BYTES", 60)
    monkeypatch.setattr(csv_pieces, "PIECE_BYTES", 16)


@given(
    content=folders,
    few=st.sampled_from([-1, 20, 1000]),
    is_packed=st.booleans(),
    ends_with_line=st.booleans(),
)
@example({"edge": "1\ta\n" * 30 + "x\tb\n" * 30 + "2\tb\n" * 9}, -1, False, True)
@example({"more": "n\ty\n" + "1\ta\n" * 30 + "b\t1\n"}, -1, False, True)
@example({"more": "y\tz\n" + "1\ta\n" * 30}, -1, True, True)
@example({"name": "\ufeffa\n\ufeffa\n" * 9}, -1, False, False)
def test_workers_find_what_the_driver_finds(tmp_path_factory, content, few, is_packed, ends_with_line):
    """Facts, and mistakes with their lines, are the same however a file is cut."""
    folder = tmp_path_factory.mktemp("facts")
    write_folder(folder, content, is_packed=is_packed, ends_with_line=ends_with_line)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_read, "FEW_BYTES", few)
        expected = _driver(PROGRAM, folder)
        facts, mistakes, engine, _ = _workers(PROGRAM, folder)

    assert mistakes == expected[1]
    if not mistakes:
        assert {name: rows for name, rows in facts.items() if rows} == {
            name: rows for name, rows in expected[0].items() if rows
        }
        texts = {name: (folder / f"{name}.facts").read_bytes() for name in NAMES if name != "flag"}
        unpacked = {name: gzip.decompress(text) if is_packed else text for name, text in texts.items()}
        assert engine.read == {name for name, text in unpacked.items() if b"\n" in text}


_NUMBERED = ".decl edge(x: number, y: symbol)\n"


def test_lines_are_cut_into_shares(tmp_path):
    """Several workers read a file; together they find each line once."""
    (tmp_path / "edge.facts").write_text("".join(f"{n}\ttext {n}\n" for n in range(100)))

    facts, mistakes, engine, _ = _workers(_NUMBERED + ".input edge", tmp_path)

    assert mistakes == []
    assert engine.parts == [4]
    assert facts["edge"] == {(repr(n), repr(f"text {n}")) for n in range(100)}


def test_the_driver_reads_no_large_file(tmp_path, monkeypatch):
    """Neither its reader nor the threads that read ahead see a file of which workers have shares."""
    (tmp_path / "edge.facts").write_text("1\ta\n" * 100)
    monkeypatch.setattr(load.io, "read_relation", lambda *_: pytest.fail("the driver reads a file"))
    monkeypatch.setattr(load.io, "begin_relation", lambda *_: pytest.fail("the driver reads ahead"))

    assert _workers(_NUMBERED + ".input edge", tmp_path)[0] == {"edge": {("1", "'a'")}}


def test_files_with_few_facts_are_read_by_the_driver(tmp_path, monkeypatch):
    """A file with no more facts than `driver_facts` is not worth a job."""
    (tmp_path / "edge.facts").write_text("1\ta\n" * 100)
    monkeypatch.setattr(_Workers, "most_driver_facts", 100)

    facts, _, engine, _ = _workers(_NUMBERED + ".input edge", tmp_path)

    assert facts == {"edge": {("1", "'a'")}}
    assert engine.read == set()


def test_a_file_given_by_its_path_is_read_by_workers(tmp_path):
    """Facts in a mapping can be files; their first line and suffix say how they are read."""
    (tmp_path / "edge.csv").write_text("y,x\n" + "".join(f"t{n},{n}\n" for n in range(50)))
    facts = {"edge": tmp_path / "edge.csv"}

    found, mistakes, engine, _ = _workers(_NUMBERED, facts)

    assert (found, mistakes) == _driver(_NUMBERED, facts)
    assert engine.read == {"edge"}


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([1, 2, 3, 4, 5], ["a", "b", "a", "c", "d"]),
        ([1, None, 3, 4, 5], ["a", "b", "a", None, "d"]),
        ([1.5, 2.5, 3.0, 4.0, 5.0], ["a", "b", "a", "c", "d"]),
        (pa.array([1, 2, 3, 2**63, 5], pa.uint64()), ["a", "b", "a", "c", "d"]),
    ],
)
def test_groups_of_rows_are_shared(tmp_path, x, y):
    """A Parquet file is read group by group; a mistake is told with its row in the whole file."""
    pa.parquet.write_table(pa.table({"y": y, "x": x}), tmp_path / "edge.parquet", row_group_size=2)
    facts = {"edge": tmp_path / "edge.parquet"}

    found, mistakes, engine, _ = _workers(_NUMBERED, facts)

    expected, expected_mistakes = _driver(_NUMBERED, facts)
    assert mistakes == expected_mistakes
    assert found == expected
    assert engine.parts == ([3, 1] if mistakes else [3])


@pytest.mark.parametrize("rows", [[[1, "a"], [2, "b"]], [[1, "a"], ["b", 2]], {"x": 1}])
def test_json_is_read_by_one_worker(tmp_path, rows):
    """What can only be read from its start is not divided, and does not go through the driver."""
    (tmp_path / "edge.json").write_text(json.dumps(rows))
    program = _NUMBERED + ".input edge(IO=jsonfile)"

    found, mistakes, engine, _ = _workers(program, tmp_path)

    assert (found, mistakes) == _driver(program, tmp_path)
    assert engine.parts == [1]


_NESTED = """
.type Pair = [n: number, s: symbol]
.type List = [head: Pair, tail: List]
.type Shape = Dot {} | Box {p: Pair, f: float}
.decl r(l: List, s: Shape)
"""
_PAIRS = st.sampled_from(["nil", "[1, a]", "[ 1 ,a]", '[-2, "x, y"]', "[3,]", "[x, a]", "[1, a", "1"])
_LISTS = st.recursive(
    st.just("nil"), lambda tail: st.tuples(_PAIRS, tail).map(lambda each: f"[{each[0]}, {each[1]}]")
)
_SHAPES = st.sampled_from(["$Dot", "$Dot()", "$Box([1, a], 0.5)", "$Box(nil, -0.0)", "$Box(1)", "$Line", ""])


@given(facts=st.lists(st.tuples(_LISTS, _SHAPES).map("\t".join), max_size=20))
def test_records_are_read_by_workers(tmp_path_factory, facts):
    """Nested records and algebraic values, and what is malformed in them, are what the driver would find."""
    folder = tmp_path_factory.mktemp("facts")
    (folder / "r.facts").write_text("".join(f"{line}\n" for line in facts))
    program = _NESTED + ".input r"

    found, mistakes, engine, _ = _workers(program, folder)

    expected, expected_mistakes = _driver(program, folder)
    assert mistakes == expected_mistakes
    if not mistakes:
        assert {name: rows for name, rows in found.items() if rows} == {
            name: rows for name, rows in expected.items() if rows
        }
        assert engine.read == ({"r"} if facts else set())


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_records_in_other_formats_are_read_by_workers(tmp_path, suffix):
    """Lists and structs become the same values."""
    rows = [{"l": [[1, "a"], None], "s": "$Dot"}, {"l": None, "s": "$Box([2, b], 1.5)"}] * 3
    if suffix == "json":
        (tmp_path / "r.json").write_text(json.dumps(rows))
    else:
        lists = [{"head": {"n": 1, "s": "a"}, "tail": None}, None] * 3
        table = pa.table({"l": lists, "s": [row["s"] for row in rows]})
        pa.parquet.write_table(table, tmp_path / "r.parquet", row_group_size=2)
    facts = {"r": tmp_path / f"r.{suffix}"}

    found, mistakes, engine, _ = _workers(_NESTED, facts)

    assert (found, mistakes) == _driver(_NESTED, facts)
    assert (engine.read, mistakes) == ({"r"}, [])


def test_a_database_is_read_by_the_driver(tmp_path):
    """A warning says who reads a large one."""
    with closing(sqlite3.connect(tmp_path / "edge.sqlite")) as database:
        database.execute("CREATE TABLE edge (x INTEGER, y TEXT)")
        database.executemany("INSERT INTO edge VALUES (?, ?)", [(n, "a") for n in range(100)])
        database.commit()
    program = _NUMBERED + '.input edge(IO=sqlite, dbname="edge.sqlite")'

    found, mistakes, engine, codec = _workers(program, tmp_path)

    assert (found, mistakes) == _driver(program, tmp_path)
    assert engine.read == set()
    assert [each.code for each in codec.warnings.values()] == ["spark-driver-reads"]


@pytest.mark.parametrize(
    ("there", "reason"),
    [(None, "no such file or directory"), ("1\ta\n", "it has 4 bytes there and 400 here")],
)
def test_a_file_that_workers_do_not_have_is_told(tmp_path, monkeypatch, there, reason):
    """A path that only the driver has, or has another file, is a diagnostic and no silent other way."""
    path = tmp_path / "edge.facts"
    path.write_text("1\ta\n" * 100)
    work_apart = _Workers.work_apart

    def elsewhere(self, *work):
        path.unlink()
        if there is not None:
            path.write_text(there)
        return work_apart(self, *work)

    monkeypatch.setattr(_Workers, "work_apart", elsewhere)

    mistakes = _workers(_NUMBERED + ".input edge", tmp_path)[1]

    assert len(mistakes) == 1
    assert "spark-unshared-file" in mistakes[0]
    assert f"a worker cannot read `{path}`: {reason} (on " in mistakes[0]


def test_damaged_packed_lines_are_told_as_the_driver_tells_them(tmp_path, monkeypatch):
    """A file that cannot be unpacked is unreadable, wherever it is read."""
    monkeypatch.setattr(worker_files, "_BLOCK_BYTES", 100)
    data = gzip.compress("".join(f"{n}\ttext {n}\n" for n in range(1000)).encode())
    (tmp_path / "edge.facts").write_bytes(data[: len(data) // 2])
    program = _NUMBERED + ".input edge"

    _, mistakes, engine, _ = _workers(program, tmp_path)

    assert mistakes == _driver(program, tmp_path)[1]
    assert "unreadable-file" in mistakes[0]
    assert engine.parts == [1]
