"""Sessions from files to frames: workers read facts and decode them after epochs."""

import gzip
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelog
from tidelog import TidelogError
from tidelog.engine.spark.texts import FiledDictionary
from tidelog.io import shares
from tidelog.maintain.partners.groups import PartnerGroup
from tidelog.maintain.partners.session_inputs import SessionInput
from tidelog.maintain.spark import SparkMaintainedEngine
from tidelog.session import load

PROGRAM = """
.decl sale(who: symbol, price: float, code: unsigned, n: number)
.input sale(headers=true, delimiter=",")
.decl follows(x: symbol, y: symbol)
.input follows
.input follows(filename="more.csv", rfc4180=true)
.input follows(filename="rows.parquet", IO=parquet)
.decl reach(x: symbol, y: symbol)
.output reach
reach(x, y) :- follows(x, y).
reach(x, z) :- reach(x, y), follows(y, z).
.decl cost(who: symbol, price: float, code: unsigned, n: number)
.output cost
cost(w, p, c, n) :- sale(w, p, c, n), reach(w, _).
"""
EVERYWHERE = {"driver_facts": 0, "partners": 2}
NAMES = ["ann", "bob", "é", "x y", *(f"node {n}" for n in range(30))]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder of facts in lines, packed lines, quoted lines and Parquet; few bytes are cut, too."""
    monkeypatch.setattr(shares, "SHARE_BYTES", 64)
    draw = random.Random(11)  # noqa: S311 - the same facts each time
    facts = tmp_path / "facts"
    facts.mkdir()
    sales = [
        f"{draw.choice([0, 7, 2**63, 2**64 - 1])},{draw.choice(NAMES)},{draw.choice([-5, 0, 9, -(2**40)])},"
        f"{draw.choice(['1.5', '-0.0', 'inf', '-2.25'])}\n"
        for _ in range(200)
    ]
    (facts / "sale.facts").write_text("code,who,n,price\n" + "".join(sales))
    edges = [f"{draw.choice(NAMES)}\t{draw.choice(NAMES)}\n" for _ in range(25)]
    (facts / "follows.facts.gz").write_bytes(gzip.compress("".join(edges).encode()))
    (facts / "more.csv").write_text('"ann","a ""b"""\n"a ""b""",bob\n')
    pairs = {"x": ["bob", "bob", "é"], "y": ["node 1", "node 2", "node 3"]}
    pq.write_table(pa.table(pairs), facts / "rows.parquet", row_group_size=2)
    return facts


def forbid_the_driver(monkeypatch):
    """Let no fact come to the driver: not from files, and not to decode it."""
    monkeypatch.setattr(load.io, "read_relation", lambda *_: pytest.fail("the driver reads a file"))
    monkeypatch.setattr(load.io, "begin_relation", lambda *_: pytest.fail("the driver reads ahead"))
    monkeypatch.setattr(FiledDictionary, "_read", lambda _: pytest.fail("the driver read all texts"))
    monkeypatch.setattr(SparkMaintainedEngine, "facts", lambda *_: pytest.fail("the driver decodes facts"))
    monkeypatch.setattr(PartnerGroup, "stored", lambda *_: pytest.fail("the driver reads partners' files"))
    monkeypatch.setattr(SessionInput, "rows", lambda *_: pytest.fail("the driver reads input facts"))


def rows_of(frame):
    """Return the rows of a frame in an order of their own."""
    return sorted(map(repr, map(tuple, frame.collect())))


@pytest.mark.parametrize("resident", [False, True])
def test_a_session_reads_files_and_makes_frames_on_workers(spark, folder, monkeypatch, resident):
    """Relations are those of the local engine before and after epochs, and so are the files it writes."""
    changes = [
        {"insert": {"follows": [("bob", "new"), ("new", "ann")]}, "delete": {"follows": [("ann", 'a "b"')]}},
        {"insert": {"sale": [("new", 2.5, 2**63, 2**50)]}, "delete": {"follows": [("bob", "node 1")]}},
    ]
    names = ("sale", "follows", "reach", "cost")
    expected = []
    with tidelog.open(PROGRAM, facts=folder) as db:
        expected.append([rows_of(db[name].to_spark(spark)) for name in names])
        for change in changes:
            db.apply(**change)
            expected.append([rows_of(db[name].to_spark(spark)) for name in names])
        db.write(folder / "local")
    forbid_the_driver(monkeypatch)
    options = {**EVERYWHERE, "resident": resident}

    found = []
    with tidelog.open(PROGRAM, engine="spark", spark=spark, facts=folder, spark_options=options) as db:
        found.append([rows_of(db[name].to_spark()) for name in names])
        for change in changes:
            db.apply(**change)
            found.append([rows_of(db[name].to_spark()) for name in names])
        db.write(folder / "spark")

    assert found == expected
    for name in ("reach.csv", "cost.csv"):
        assert (folder / "spark" / name).read_bytes() == (folder / "local" / name).read_bytes(), name


def test_small_and_large_files_of_a_session_go_together(spark, folder):
    """A relation has facts of files that workers read and of one that the driver reads, each once."""
    (folder / "more.csv").write_text("ann,bob\n")
    pq.write_table(pa.table({"x": ["ann"], "y": ["bob"]}), folder / "rows.parquet")
    options = {**EVERYWHERE, "driver_facts": 10}

    with tidelog.open(PROGRAM, facts=folder) as db:
        expected = {name: set(db[name]) for name in db.relations}
    with tidelog.open(PROGRAM, engine="spark", spark=spark, facts=folder, spark_options=options) as db:
        assert {name: set(db[name]) for name in db.relations} == expected
        assert len(db["follows"]) == len(expected["follows"])


def test_mistakes_in_the_files_of_a_session_are_those_of_the_local_engine(spark, folder):
    """Each with its code, its line and its mark, and how many more there are."""
    with (folder / "sale.facts").open("a") as file:
        file.write("".join(f"{n},x,{n}.5,1\n" for n in range(30)))
    with (folder / "more.csv").open("a") as file:
        file.write('"open\n')

    told = []
    for engine in ({}, {"engine": "spark", "spark": spark, "spark_options": EVERYWHERE}):
        with pytest.raises(TidelogError) as raised:
            tidelog.open(PROGRAM, facts=folder, **engine)
        told.append([repr(each) for each in raised.value.diagnostics])

    assert told[0] == told[1]
    assert len(told[0]) > 2


def test_files_of_a_session_are_not_read_again_from_storage(spark, folder, tmp_path):
    """What workers read is in the storage: the session goes on from there when the files are gone."""
    options = {**EVERYWHERE, "storage": str(tmp_path / "state")}
    common = {"engine": "spark", "spark": spark, "spark_options": options}

    with tidelog.open(PROGRAM, facts=folder, **common) as db:
        db.apply(insert={"follows": [("ann", "zed")]}, delete={"follows": [("bob", "node 2")]})
        before = {name: set(db[name]) for name in db.relations}
    for file in folder.iterdir():
        file.unlink()
    with tidelog.open(PROGRAM, **common) as db:
        assert db.epoch == 1
        assert {name: set(db[name]) for name in db.relations} == before
        assert len(db["follows"].to_spark().collect()) == len(before["follows"])


def test_frames_of_facts_that_became_wide(spark, monkeypatch):
    """Files of 32 bits and of 64 are one frame, in which the latest file decides about each row."""
    text = ".decl n(x: number) .input n .decl m(x: number, y: number) m(x, x) :- n(x)."
    forbid_the_driver(monkeypatch)

    with tidelog.open(
        text, engine="spark", spark=spark, facts={"n": [(1,), (2,)]}, spark_options=EVERYWHERE
    ) as db:
        db.apply(insert={"n": [(2**40,)]}, delete={"n": [(1,)]})
        db.apply(insert={"n": [(1,)]}, delete={"n": [(2,)]})
        db.apply(delete={"n": [(1,)]}, insert={"n": [(2,)]})

        assert rows_of(db["m"].to_spark()) == ["(1099511627776, 1099511627776)", "(2, 2)"]
