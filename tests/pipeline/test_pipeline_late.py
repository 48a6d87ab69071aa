"""Rows that come late, behind a newer change of the same fact in an earlier epoch."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.order_rows import Change, Epochs, Folded
from support.pipelines import JOB, published, report_of, sum_of_feed, write_job, write_members
from tidelog.errors import TidelogError
from tidelog.pipeline import Changes, Job, JobSource, Output, Pipeline, SourceFormat
from tidelog.pipeline.checking import check_marked, mark_rows
from tidelog.pipeline.few_rows import settle_few
from tidelog.pipeline.past import read_output

ORDERED = JOB.replace('changes = "op"', 'changes = "op"\norder = "at"')
NAN = float("nan")


def settle(spark, epochs: Epochs, changes: list[Change], kind: str, *, is_few: bool) -> int:
    """Make an epoch of changes in the driver or on Spark, and return how many rows are late."""
    rows = [("+" if each.sign == 1 else "-", *each.fact, each.order) for each in changes]
    frame = spark.createDataFrame(rows, f"op string, s string, x double, at {kind}").coalesce(1)
    marked = mark_rows(frame, epochs.source, epochs.bound)
    orders = epochs.orders.fit(frame.schema)
    if is_few:
        found = settle_few([marked.toArrow()], epochs.source, epochs.bound, orders=orders)
        epochs.apply(found.facts().to_pylist(), found.facts(is_insert=False).to_pylist())
    else:
        found = check_marked(marked, epochs.source, epochs.bound, orders=orders)
        sides = (found.facts(is_insert=is_insert).collect() for is_insert in (True, False))
        epochs.apply(*([row.asDict() for row in side] for side in sides))
    epochs.keep(found, spark)
    found.release()
    return found.late


@pytest.mark.parametrize("few_facts", [0, 3, 1 << 13])
def test_epochs_in_the_driver_and_on_spark(spark, tmp_path, monkeypatch, few_facts):
    """Wherever an epoch is settled, looked up and merged, it goes on from what the others kept."""
    monkeypatch.setattr("tidelog.pipeline.orders.FEW_FACTS", few_facts)
    monkeypatch.setattr("tidelog.pipeline.orders.FEW_MERGED", 2 * few_facts)
    chosen = random.Random(few_facts)  # noqa: S311 - the same rows every time
    facts = [(name, x) for name in ("a", "b c") for x in (0.0, NAN, 1.5)]
    epochs, folded = Epochs(tmp_path), Folded()
    for number in range(8):
        changes = [
            Change(chosen.choice(facts), chosen.choice([1, -1]), chosen.randrange(12))
            for _ in range(chosen.randrange(1, 7))
        ]
        expected = folded.take(changes)
        # Any zero is the same fact, and so is any NaN.
        sent = [
            each._replace(
                fact=(each.fact[0], chosen.choice([-0.0, 0.0]) if not each.fact[1] else each.fact[1])
            )
            for each in changes
        ]

        late = settle(spark, epochs, sent, "int", is_few=number % 3 == 0)

        assert late == expected
        assert same(epochs.facts) == same(folded.facts)


def same(facts):
    """Return facts such that NaN equals NaN, and every zero the other."""
    return {(name, "NaN" if x != x else x + 0.0) for name, x in facts}  # noqa: PLR0124 - so NaN is found


# An hour that comes twice in New York: the second half past one is later, though the clock says the same.
FOLD = [datetime(2024, 11, 3, 5, 50, tzinfo=UTC), datetime(2024, 11, 3, 6, 30, tzinfo=UTC)]


@pytest.mark.parametrize(
    ("kind", "older", "newer"),
    [
        ("tinyint", -3, 7),
        ("bigint", 2**62, 2**62 + 1),
        ("decimal(38,18)", Decimal("9.000000000000000001"), Decimal("10.000000000000000000")),
        ("double", 0.1, 0.1 + 2**-54),
        ("float", -1.5, 1.5),
        ("date", date(2024, 3, 30), date(2024, 3, 31)),
        ("timestamp", *FOLD),
        ("timestamp_ntz", datetime(2024, 3, 10, 2, 10), datetime(2024, 3, 10, 2, 50)),  # noqa: DTZ001
        ("string", "Z", "a"),
        ("binary", b"\x00\x7f", b"\x00\x80"),
    ],
)
def test_orders_are_typed(spark, tmp_path, kind, older, newer):
    """Orders are kept exactly, and compared as what they are, whatever the session's time zone is later."""
    before = spark.conf.get("spark.sql.session.timeZone")
    epochs, fact = Epochs(tmp_path), ("a", 1.5)
    try:
        spark.conf.set("spark.sql.session.timeZone", "America/New_York")
        for is_few in (True, False):
            together = [Change((f"{is_few}", 0.0), 1, newer), Change((f"{is_few}", 0.0), -1, older)]
            assert settle(spark, epochs, together, kind, is_few=is_few) == 0
        settle(spark, epochs, [Change(fact, 1, newer)], kind, is_few=True)
        spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        late = [settle(spark, epochs, [Change(fact, -1, older)], kind, is_few=few) for few in (True, False)]
        late.append(settle(spark, epochs, [Change(fact, 1, newer)], kind, is_few=False))
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)

    assert late == [1, 1, 1]
    assert epochs.facts == {fact, ("True", 0.0), ("False", 0.0)}


def test_orders_of_other_types_are_refused(spark, tmp_path):
    """Numbers may widen from epoch to epoch; a column that becomes a text has another order."""
    epochs, fact = Epochs(tmp_path), ("a", 1.5)
    settle(spark, epochs, [Change(fact, 1, 5)], "int", is_few=True)

    late = settle(spark, epochs, [Change(fact, -1, Decimal("4.5"))], "decimal(9,1)", is_few=False)
    with pytest.raises(TidelogError, match="is a string, which does not compare with a decimal"):
        settle(spark, epochs, [Change(fact, -1, "6")], "string", is_few=True)
    with pytest.raises(TidelogError, match="the order `at` of the source `in` is a boolean"):
        settle(spark, Epochs(tmp_path), [Change(fact, -1, True)], "boolean", is_few=True)

    assert late == 1
    assert settle(spark, epochs, [Change(fact, -1, 6)], "int", is_few=True) == 0
    assert epochs.facts == set()


def test_batches_of_spark_are_read_in_parts(spark, tmp_path):
    """What Spark writes is sorted, in groups of rows that are small enough to look up a few."""
    epochs = Epochs(tmp_path)
    changes = [Change((f"{number}", 0.0), 1, number) for number in range(20_000)]
    settle(spark, epochs, changes, "int", is_few=False)

    (batch,) = epochs.state.orders
    files = sorted(epochs.folder.orders("in", batch.epoch).glob("*.parquet"))
    groups = [
        (found.statistics.min, found.statistics.max, found.num_values)
        for file in files
        for parts in [pq.read_metadata(file)]
        for found in (parts.row_group(place).column(0) for place in range(parts.num_row_groups))
    ]

    assert batch.rows == sum(rows for _, _, rows in groups) == 20_000
    assert max(rows for _, _, rows in groups) <= 4096
    assert all(last < first for (_, last, _), (first, _, _) in pairwise(groups))
    assert settle(spark, epochs, [Change(("77", 0.0), -1, 3)], "int", is_few=True) == 1


# --- pipelines -------------------------------------------------------------------------------------


@pytest.fixture(params=["driver", "spark"])
def place(request, monkeypatch):
    """Have rows of files settled in the driver, or on Spark."""
    if request.param == "spark":
        monkeypatch.setattr("tidelog.pipeline.file_batches.FEW_BYTES", -1)
        monkeypatch.setattr("tidelog.pipeline.orders.FEW_FACTS", 0)
    return request.param


def write_ordered(folder: Path, name: str, lines: list[str]) -> None:
    """Write a file of changes of grants with their orders."""
    text = "\n".join(["op,group,resource,rights,at", *lines, ""])
    (folder / "grant" / f"{name}.csv").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def ran_once(spark, tmp_path_factory):
    """Return a folder with a job that ran once, two members and three grants, and a copy of it."""
    folder, copy = tmp_path_factory.mktemp("late"), tmp_path_factory.mktemp("copies") / "late"
    path = write_job(folder, ORDERED)
    write_members(folder, [("ann", "staff"), ("bob", "all")])
    write_ordered(folder, "1", ["+,all,wiki,1,10", "+,staff,door,1,10", "+,all,map,1,10", "-,all,map,1,20"])
    Pipeline.read(path, spark=spark).run()
    shutil.copytree(folder, copy)
    return folder, copy


@pytest.fixture
def folder(ran_once):
    """Return the folder as it was after the first run, in its place, which checkpoints name."""
    folder, copy = ran_once
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
    return folder


FIRST = {("ann", "door"), ("bob", "wiki")}
LATE = ["-,all,wiki,1,9", "+,all,map,1,19", "-,staff,door,1,11"]


@pytest.mark.usefixtures("place")
def test_late_rows_have_no_effect(spark, folder):
    """A late deletion leaves a fact, a late insertion does not revive one, and both are counted."""
    assert published(folder) == FIRST

    write_ordered(folder, "2", LATE)
    report = Pipeline.read(folder / "job.toml", spark=spark).run()

    assert published(folder) == sum_of_feed(folder) == {("bob", "wiki")}
    assert (report.rows, report.late, report.late_count) == (1, {"grant": 2}, 2)
    assert report.quarantined_count == 0
    assert report_of(folder)["late"] == {"grant": 2}
    metrics = (folder / "state" / "reports" / "metrics.prom").read_text()
    assert 'tidelog_late_total{job="job",source="grant"} 2' in metrics
    assert '"late"' in (folder / "state" / "reports" / "report.json").read_text()
    last = Pipeline.read(folder / "job.toml").folder.last()
    assert last is not None
    assert [batch.rows for batch in last.sources["grant"].orders] == [3, 1]


def test_a_load_has_no_order(spark, tmp_path):
    """What a snapshot changes counts when it is loaded, and leaves the orders of other sources alone."""
    job = (
        ORDERED
        + """
[[source]]
name = "nightly"
relation = "grant"
format = "parquet"
path = "nightly"
"""
    )
    path = write_job(tmp_path, job)
    write_members(tmp_path, [("ann", "all")])
    (tmp_path / "nightly").mkdir()

    def load(*resources: str) -> None:
        rows = {"group": ["all"] * len(resources), "resource": list(resources), "level": [1] * len(resources)}
        table = pa.table(
            rows, schema=pa.schema([("group", "string"), ("resource", "string"), ("level", "int64")])
        )
        pq.write_table(table, tmp_path / "nightly" / "all.parquet")

    def run() -> set[str]:
        Pipeline.read(path, spark=spark).run()
        return {resource for _, resource in published(tmp_path)}

    load("wiki", "map")
    write_ordered(tmp_path, "1", ["-,all,map,1,10"])
    seen = [run()]
    load("wiki", "map", "door")
    write_ordered(tmp_path, "2", ["+,all,map,1,9"])
    seen.append(run())
    load("wiki", "door")
    write_ordered(tmp_path, "3", ["-,all,door,1,1", "+,all,map,1,11"])
    seen.append(run())

    assert seen == [{"wiki"}, {"wiki", "door"}, {"wiki", "map"}]


POINTS = [
    "before the note",
    "before the engine",
    "after the engine",
    "before the manifest",
    "before the rest",
]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.usefixtures("place")
def test_orders_survive_a_run_that_breaks_off(point, spark, folder, monkeypatch):
    """Wherever a run ends, orders are those of the epochs that happened, and no file is left over."""

    class Broken(Exception):  # noqa: N818 - it stands for the end of the process
        pass

    def broken(*_args, **_kwargs):
        raise Broken

    where = {
        "before the note": "tidelog.pipeline.folder.JobFolder.begin",
        "before the engine": "tidelog.pipeline.derive.SessionDeriver.apply",
        "after the engine": "tidelog.pipeline.writing.Writer.write",
        "before the manifest": "tidelog.pipeline.folder.JobFolder.commit",
        "before the rest": "tidelog.pipeline.publish.Publisher._path",
    }
    write_ordered(folder, "2", ["-,all,wiki,1,30", "+,all,map,1,30"])
    with monkeypatch.context() as patched:
        patched.setattr(where[point], broken)
        with pytest.raises(Broken):
            Pipeline.read(folder / "job.toml", spark=spark).run()

    write_ordered(folder, "3", ["+,all,wiki,1,29", "-,all,map,1,29", "-,staff,door,1,11"])
    Pipeline.read(folder / "job.toml", spark=spark).run()

    assert published(folder) == sum_of_feed(folder) == {("bob", "map")}
    last = Pipeline.read(folder / "job.toml").folder.last()
    assert last is not None
    orders = last.sources["grant"].orders
    assert sum(batch.rows for batch in orders) <= 6
    there = {each.name for each in (folder / "state" / "orders" / "grant").iterdir()}
    assert there == {f"epoch-{batch.epoch}" for batch in orders}


# The process ends, as by `kill -9`, at a commit point of epoch 2: orders are written, what follows is not.
DRIVER = """
import os, signal, sys
from tidelog.pipeline import Pipeline, derive, file_batches, folder, orders

if sys.argv[3] == "spark":
    file_batches.FEW_BYTES, orders.FEW_FACTS = -1, 0
owner = {"begin": folder.JobFolder, "apply": derive.SessionDeriver, "commit": folder.JobFolder}[sys.argv[2]]

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

setattr(owner, sys.argv[2], die)
Pipeline.read(sys.argv[1]).run()
"""


@pytest.mark.parametrize("point", ["begin", "commit"])
def test_orders_survive_a_killed_driver(point, spark, folder, place):
    """After `kill -9` the next run goes on from the orders of the epochs that happened."""
    write_ordered(folder, "2", ["-,all,wiki,1,30", "+,all,map,1,30"])

    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(folder / "job.toml"), point, place],
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )
    write_ordered(folder, "3", ["+,all,wiki,1,29", "-,all,map,1,29", "-,staff,door,1,11"])
    report = Pipeline.read(folder / "job.toml", spark=spark).run()

    assert done.returncode == -signal.SIGKILL, done.stderr
    assert published(folder) == sum_of_feed(folder) == {("bob", "map")}
    assert report.late_count == 2


def test_a_state_without_orders_goes_on(spark, folder):
    """A state of an earlier version knows no orders: rows count as they come, and from then on in order."""
    for manifest in (folder / "state" / "manifests").iterdir():
        content = json.loads(manifest.read_text())
        for source in content["sources"].values():
            for key in ("order", "order_type", "orders"):
                del source[key]
        manifest.write_text(json.dumps(content))
    shutil.rmtree(folder / "state" / "orders")
    write_ordered(folder, "2", ["+,all,map,1,5"])
    pipeline = Pipeline.read(folder / "job.toml", spark=spark)

    first = pipeline.run()
    write_ordered(folder, "3", ["-,all,map,1,4", "-,all,wiki,1,4"])
    second = pipeline.run()

    assert (first.late_count, second.late_count) == (0, 1)
    assert published(folder) == sum_of_feed(folder) == {("ann", "door"), ("bob", "map")}


def test_another_order_column_begins_anew(spark, folder):
    """What is known of the orders of one column says nothing about another one."""
    (folder / "grant" / "2.csv").write_text(
        "op,group,resource,rights,seq\n-,all,wiki,1,1\n", encoding="utf-8"
    )
    text = ORDERED.replace('order = "at"', 'order = "seq"')
    (folder / "job.toml").write_text(text, encoding="utf-8")

    report = Pipeline.read(folder / "job.toml", spark=spark).run()

    assert report.late_count == 0
    assert published(folder) == {("ann", "door")}


def test_a_table_whose_rows_come_late(spark, tmp_path):
    """Rows after the bookmark may be behind others in order; a run with late ones only still moves on."""
    (tmp_path / "p.dl").write_text(".decl a(n: number)\n.decl b(n: number)\nb(n) :- a(n).\n")
    source = JobSource(
        "a", SourceFormat.TABLE, table="late_log", changes=Changes.OP, bookmark="seq", order="at"
    )
    job = Job("p.dl", "state", (source,), (Output("b"),), folder=tmp_path)
    rows = [(1, FOLD[1], "+", 1), (2, FOLD[0], "-", 1), (3, FOLD[0], "+", 2), (4, FOLD[1], "-", 2)]

    def run(count):
        frame = spark.createDataFrame(rows[:count], "seq int, at timestamp, op string, n int")
        frame.createOrReplaceTempView("late_log")
        pipeline = Pipeline(job, spark=spark)
        report = pipeline.run()
        facts = read_output(pipeline.folder, "b").column(0).to_pylist()
        return report.epoch_count, report.rows, report.late_count, facts

    seen = [run(count) for count in (1, 2, 2, 3, 4)]

    assert seen == [(1, 1, 0, [1]), (1, 0, 1, [1]), (0, 0, 0, [1]), (1, 1, 0, [1, 2]), (1, 1, 0, [1])]


@pytest.mark.usefixtures("place")
def test_a_file_without_rows(spark, folder):
    """A micro-batch whose files hold only a header is an epoch without changes."""
    write_ordered(folder, "2", [])

    report = Pipeline.read(folder / "job.toml", spark=spark).run()

    assert (report.epoch_count, report.rows, report.late_count) == (1, 0, 0)
    assert published(folder) == FIRST
