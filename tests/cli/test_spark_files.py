"""`tidelog run --engine spark`: workers read large fact files and write large outputs.

Outputs and mistakes are, byte by byte, those of the local engine.
"""

import gzip
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.command_line import Command, make_command
from tidelog.engine.spark import engine as spark_engine
from tidelog.engine.spark import opening, sorted_facts
from tidelog.engine.spark.texts import FiledDictionary
from tidelog.engine.spark.value_records import FiledRecords
from tidelog.io import shares, staging
from tidelog.session import load
from tidelog.views import write_parts

PROGRAM = """
.decl sale(who: symbol, price: float, code: unsigned, n: number)
.input sale(headers=true, delimiter=",")
.decl follows(x: symbol, y: symbol)
.input follows
.input follows(filename="more.csv", rfc4180=true)
.decl small(x: symbol)
.input small
.decl reach(x: symbol, y: symbol)
.output reach
.output reach(filename="reach.quoted", rfc4180=true, headers=true)
.output reach(filename="reach.gz", compress=true)
.output reach(IO=jsonfile, format=object)
.output reach(IO=parquet)
.output reach(IO=sqlite)
.printsize reach
reach(x, y) :- follows(x, y).
reach(x, z) :- reach(x, y), follows(y, z).
.decl cost(who: symbol, price: float, code: unsigned, n: number)
.output cost(headers=true)
cost(w, p, c, n) :- sale(w, p, c, n), reach(w, _).
.decl numbers(n: number, c: unsigned)
.output numbers
numbers(n, c) :- sale(_, _, c, n).
.decl chosen(x: symbol)
.output chosen
chosen(x) :- small(x), reach(x, _).
.decl none(x: symbol)
.output none
none(x) :- reach(x, x), x = "nobody".
.type Spot = [at: number, name: symbol]
.type Spots = [first: Spot, rest: Spots]
.type Shape = Dot {} | Box {spot: Spot, size: float}
.decl place(s: Spot, all: Spots, shape: Shape)
.input place
.decl placed(s: Spot, all: Spots, shape: Shape, n: number)
.output placed
.output placed(filename="placed.quoted", rfc4180=true)
.output placed(IO=jsonfile, format=object)
.output placed(IO=parquet)
placed(s, a, h, 0) :- place(s, a, h).
placed(s, a, $Box(f, 0.5), n) :- place(s, [f, a], _), s = [n, _].
"""
FILES = ("reach.csv", "reach.quoted", "reach.gz", "reach.json", "reach.parquet")
PLACED = ("placed.csv", "placed.quoted", "placed.json", "placed.parquet")
OUTPUTS = (*FILES, *PLACED, "cost.csv", "numbers.csv", "chosen.csv", "none.csv")
FEW = (
    PROGRAM.replace(".output reach(", "// ").replace(".output numbers", "").replace(".output placed(", "// ")
)
# A text that stands in quotes inside a record.
QUOTED = r'"[a, \"b\"]\n\0"'
EVERYWHERE = ("--engine", "spark", "--spark-option", "driver_facts=0", "--spark-option", "partners=2")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a program and facts of all kinds."""
    draw = random.Random(7)  # noqa: S311 - the same facts each time
    names = ["ann", "bob", "é", "\N{SNOWMAN}", "x y", "\U0001f600", *(f"node {n}" for n in range(40))]
    sales = [
        f"{draw.choice([0, 7, 2**63, 2**64 - 1])},{draw.choice(names)},{draw.choice([-5, 0, 9, -(2**40)])},"
        f"{draw.choice(['1.5', '-0.0', '0', 'nan', 'inf', '-2.25', '-1e-300'])}\n"
        for _ in range(300)
    ]
    facts = tmp_path / "facts"
    facts.mkdir()
    (facts / "sale.facts").write_text("code,who,n,price\n" + "".join(sales))
    edges = [f"{draw.choice(names)}\t{draw.choice(names)}\r\n" for _ in range(60)]
    (facts / "follows.facts.gz").write_bytes(gzip.compress("".join(edges).encode()))
    (facts / "more.csv").write_text('"ann","a ""b"""\n"a ""b""",bob\n')
    (facts / "small.facts").write_text("ann\nbob\nann\n")
    spots = [f"[{draw.choice([-1, 7, 2**40])}, {draw.choice([*names[:4], QUOTED])}]" for _ in range(40)]
    shapes = ["$Dot", "$Dot()", *(f"$Box({spot}, {draw.choice(['1', '-2.5', 'nan'])})" for spot in spots)]
    lists = ["nil", *(f"[{spot}, [{draw.choice(['nil', *spots])} , nil]]" for spot in spots)]
    spots.append("nil")
    places = [tuple(map(draw.choice, (spots, lists, shapes))) for _ in range(200)]
    (facts / "place.facts").write_text("".join("\t".join(each) + "\n" for each in places))
    (tmp_path / "p.dl").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tidelog(spark, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Return the command line, which uses the session of the tests and cuts small files, too."""

    @contextmanager
    def the_session(_master: object, chosen: object = None) -> Iterator[object]:
        yield opening.choose_options(spark, chosen)

    monkeypatch.setattr(opening, "spark_for_command", the_session)
    monkeypatch.setattr(shares, "SHARE_BYTES", 64)
    return make_command(monkeypatch, capfd)


def rows_of_sqlite(path: Path) -> list[tuple[object, ...]]:
    """Return the rows of a database in their order."""
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT * FROM reach").fetchall()


def test_outputs_are_those_of_the_local_engine(folder, tidelog, monkeypatch):
    """Every format has the same bytes, and what is printed is the same; the driver reads no large file."""
    local = tidelog("run", "p.dl", "-F", "facts", "-D", "local")
    monkeypatch.setattr(load.io, "read_relation", lambda *_: pytest.fail("the driver reads a file"))
    monkeypatch.setattr(load.io, "begin_relation", lambda *_: pytest.fail("the driver reads ahead"))
    monkeypatch.setattr(FiledDictionary, "_read", lambda _: pytest.fail("the driver read all texts"))
    monkeypatch.setattr(FiledRecords, "_read", lambda _: pytest.fail("the driver read all records"))
    facts = spark_engine.SparkEngine.facts

    def no_facts(self, name):
        return pytest.fail("the driver reads an output") if self.size(name) else facts(self, name)

    monkeypatch.setattr(spark_engine.SparkEngine, "facts", no_facts)

    found = tidelog("run", "p.dl", "-F", "facts", "-D", "spark", *EVERYWHERE)

    assert found == local
    assert local[0] == 0
    for name in OUTPUTS:
        assert (folder / "spark" / name).read_bytes() == (folder / "local" / name).read_bytes(), name
    assert rows_of_sqlite(folder / "spark" / "reach.sqlite") == rows_of_sqlite(
        folder / "local" / "reach.sqlite"
    )
    assert sorted(path.name for path in (folder / "spark").iterdir()) == sorted([*OUTPUTS, "reach.sqlite"])


def test_small_and_large_files_go_together(folder, tidelog):
    """A relation has facts of a file that workers read and of one that the driver reads."""
    (folder / "p.dl").write_text(FEW)
    local = tidelog("run", "p.dl", "-F", "facts", "-D", "local")
    mixed = [word.replace("driver_facts=0", "driver_facts=10") for word in EVERYWHERE]

    found = tidelog("run", "p.dl", "-F", "facts", "-D", "spark", *mixed)

    assert found == local
    for name in ("reach.csv", "cost.csv", "chosen.csv", "none.csv", "placed.csv"):
        assert (folder / "spark" / name).read_bytes() == (folder / "local" / name).read_bytes(), name


def test_many_batches_make_the_same_file(folder, tidelog, monkeypatch):
    """Rows that come in several batches, some of which cross the files of workers, are the same lines."""
    (folder / "p.dl").write_text(FEW)
    tidelog("run", "p.dl", "-F", "facts", "-D", "local")
    monkeypatch.setattr(write_parts, "BATCH_ROWS", 7)

    tidelog("run", "p.dl", "-F", "facts", "-D", "spark", *EVERYWHERE)

    for name in ("reach.csv", "cost.csv", "placed.csv"):
        assert (folder / "spark" / name).read_bytes() == (folder / "local" / name).read_bytes(), name


def test_standard_output_is_that_of_the_local_engine(folder, tidelog):
    """`-D -` frames the relations as ever."""
    (folder / "p.dl").write_text(FEW)

    assert tidelog("run", "p.dl", "-F", "facts", "-D", "-", *EVERYWHERE) == tidelog(
        "run", "p.dl", "-F", "facts", "-D", "-"
    )


def test_mistakes_are_those_of_the_local_engine(folder, tidelog):
    """Each with its code, its file, its line and its mark, and how many more there are."""
    with (folder / "facts" / "sale.facts").open("a") as file:
        file.write("".join(f"{n},x,{n}.5,1\n" for n in range(30)))
    with (folder / "facts" / "more.csv").open("a") as file:
        file.write('"open\n')
    (folder / "facts" / "small.facts").write_bytes(b"a\n\xff\nb\n")
    with (folder / "facts" / "place.facts").open("a") as file:
        file.write("[1, a]\tnil\t$Dot\n[1, a\tnil\t$Dot\n[1, a]\tnil\t$Line(1)\n[x, a]\tnil\t$Dot\n")

    local = tidelog("run", "p.dl", "-F", "facts", "-D", "local")
    found = tidelog("run", "p.dl", "-F", "facts", "-D", "spark", *EVERYWHERE)

    assert found == local
    assert local[0] == 1
    assert "sale.facts:302:" in local[2]
    assert "place.facts:202:" in local[2]
    assert "10 more mistakes like these" in local[2]
    assert not (folder / "spark").exists()


def test_lines_that_cannot_be_read_back_are_told_alike(folder, tidelog):
    """A text with a tab is written, with the same warning."""
    (folder / "p.dl").write_text(FEW)
    (folder / "facts" / "more.csv").write_text('ann,"a\tb"\n')

    local = tidelog("run", "p.dl", "-F", "facts", "-D", "local")
    found = tidelog("run", "p.dl", "-F", "facts", "-D", "spark", *EVERYWHERE)
    parts = tidelog("run", "p.dl", "-F", "facts", "-D", "parts", "--output-parts", *EVERYWHERE)

    assert "unwritable-value" in local[2]
    assert found == parts == local


def test_parts_are_the_files_that_one_would_be(folder, tidelog, spark):
    """`--output-parts`: folders whose parts, in the order of their names, have the lines in order."""
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    tidelog("run", "p.dl", "-F", "facts", "-D", "local")

    for _ in range(2):  # A second run replaces the parts of the first.
        status, _, err = tidelog("run", "p.dl", "-F", "facts", "-D", "parts", "--output-parts", *EVERYWHERE)
        assert (status, err) == (0, "")

    spark.conf.unset("spark.sql.adaptive.coalescePartitions.enabled")
    local, parts = folder / "local", folder / "parts"
    for name in ("reach.csv", "numbers.csv", "chosen.csv", "none.csv", "placed.csv", "placed.quoted"):
        assert joined(parts / name) == (local / name).read_bytes(), name
    assert gzip.decompress(joined(parts / "reach.gz")) == gzip.decompress((local / "reach.gz").read_bytes())
    found = pa.concat_tables([pq.read_table(path) for path in sorted((parts / "reach.parquet").iterdir())])
    assert found.equals(pq.read_table(local / "reach.parquet"))
    assert len(list((parts / "reach.csv").iterdir())) > 1
    assert [path.name for path in (parts / "chosen.csv").iterdir()][:1] == ["part-00000.csv"]
    # Each part of lines with a header begins with it.
    header, _, lines = (local / "cost.csv").read_bytes().partition(b"\n")
    texts = [path.read_bytes().partition(b"\n") for path in sorted((parts / "cost.csv").iterdir())]
    assert {text[0] for text in texts} == {header}
    assert b"".join(text[2] for text in texts) == lines
    # A database is one file.
    assert rows_of_sqlite(parts / "reach.sqlite") == rows_of_sqlite(local / "reach.sqlite")
    assert not list(parts.glob(".*"))


def joined(path: Path) -> bytes:
    """Return what is in the parts of a folder."""
    return b"".join(part.read_bytes() for part in sorted(path.iterdir()))


@pytest.mark.parametrize("parts", [(), ("--output-parts",)])
def test_outputs_appear_all_or_not_at_all(folder, tidelog, monkeypatch, parts):
    """A run that is stopped while it writes leaves what was there before."""
    (folder / "p.dl").write_text(FEW)
    tidelog("run", "p.dl", "-F", "facts", "-D", "out", *parts, *EVERYWHERE)
    before = {path: path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file()}
    (folder / "facts" / "small.facts").write_text("bob\n")
    calls = []

    def stopped(*rest):
        calls.append(rest)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return sort(*rest)

    sort = sorted_facts.sorted_frame
    monkeypatch.setattr(sorted_facts, "sorted_frame", stopped)

    status = tidelog("run", "p.dl", "-F", "facts", "-D", "out", *parts, *EVERYWHERE)[0]

    assert status == 130
    assert {path: path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file()} == before
    assert len(calls) == 2


def test_a_folder_with_other_files_is_not_replaced(folder, tidelog):
    """Parts replace parts, or a file, and nothing else."""
    (folder / "p.dl").write_text(FEW)
    (folder / "out" / "reach.csv").mkdir(parents=True)
    (folder / "out" / "reach.csv" / "notes.txt").write_text("mine")

    status, _, err = tidelog("run", "p.dl", "-F", "facts", "-D", "out", "--output-parts", *EVERYWHERE)

    assert status == 1
    assert "unwritable-file" in err
    assert "other files than parts" in err
    assert [path.name for path in (folder / "out").rglob("*")] == ["reach.csv", "notes.txt"]


def test_a_folder_that_workers_do_not_have_is_told(folder, tidelog, monkeypatch):
    """Workers do not make the folder: it would be on their machine alone."""
    (folder / "p.dl").write_text(FEW)
    parts_for = staging.Staging.parts_for

    def elsewhere(self, output):
        return parts_for(self, output) / "elsewhere"

    real = Path.iterdir
    monkeypatch.setattr(staging.Staging, "parts_for", elsewhere)
    monkeypatch.setattr(Path, "iterdir", lambda path: real(path) if path.exists() else iter(()))

    status, _, err = tidelog("run", "p.dl", "-F", "facts", "-D", "out", "--output-parts", *EVERYWHERE)

    assert status == 1
    assert "spark-unshared-file" in err
    assert "workers cannot write to `out/reach.csv`: there is no such folder on " in err
    assert not list((folder / "out").iterdir())
