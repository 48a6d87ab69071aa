"""Pipelines on Spark's workers: what is large goes past the driver, and the outputs are the same."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from support.driver_rows import few_rows_in_driver
from tidelog.engine.spark import texts
from tidelog.engine.spark.texts import FiledDictionary
from tidelog.pipeline import Changes, Job, JobSource, Output, Pipeline, SourceFormat, derive_on_workers

PROGRAM = """
.decl item(name: symbol, n: number, size: unsigned, price: float)
.decl hidden(n: number)
.decl shown(name: symbol, n: number, size: unsigned, price: float)
shown(a, n, s, p) :- item(a, n, s, p), !hidden(n).
.decl linked(a: symbol, b: symbol)
linked(a, b) :- shown(a, n, _, _), shown(b, m, _, _), m = n + 1.
linked(a, c) :- linked(a, b), linked(b, c).
"""
OUTPUTS = ("shown", "linked")
SCHEMA = pa.schema(
    [("name", pa.string()), ("n", pa.int64()), ("size", pa.decimal128(20, 0)), ("price", pa.float64())]
)


def job_of(folder: Path, engine: str = "spark", **options: object) -> Job:
    """Return a job with a snapshot of items and a folder of changes of what is hidden."""
    folder.mkdir(exist_ok=True)
    (folder / "hidden").mkdir(exist_ok=True)
    (folder / "p.dl").write_text(PROGRAM)
    sources = (
        JobSource("item", SourceFormat.PARQUET, path="items.parquet", max_deleted_share=1.0),
        JobSource("hidden", SourceFormat.CSV, path="hidden", changes=Changes.OP),
    )
    outputs = tuple(Output(name, path=f"out/{name}", feed=f"feed/{name}") for name in OUTPUTS)
    job = Job("p.dl", "state", sources, outputs, engine=engine, folder=folder)
    return job if engine == "local" else replace(job, spark_options={"partners": 2, **options})


def write_items(folder: Path, items) -> None:
    """Write the snapshot of all items."""
    columns = list(zip(*items, strict=True)) if items else [()] * len(SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    pq.write_table(pa.table(arrays, schema=SCHEMA), folder / "items.parquet")


def write_hidden(folder: Path, name: str, changes) -> None:
    """Write a file of changes of what is hidden."""
    lines = "".join(f"{op},{n}\n" for op, n in changes)
    (folder / "hidden" / f"{name}.csv").write_text(f"op,n\n{lines}")


def outputs_of(folder: Path) -> dict[str, list[str]]:
    """Return what a job has published: facts and feeds, each in order; NaN and -0.0 as their words."""
    found = {}
    for name in OUTPUTS:
        table = ds.dataset(folder / "out" / name).to_table()
        found[name] = sorted(map(str, table.to_pylist()))
        found[f"{name} types"] = [str(table.schema)]
        if (folder / "feed" / name).exists():
            feed = ds.dataset(folder / "feed" / name, partitioning="hive").to_table()
            found[f"{name} feed"] = sorted(map(str, feed.to_pylist()))
            found[f"{name} types"].append(str(feed.schema))
        assert len(found[name]) == len(set(found[name]))
    return found


def many_items(count: int):
    """Return so many items, in chains of four."""
    return [(f"item {n}", n + n // 4, Decimal(2**64 - 1 - n), n / 2) for n in range(count)]


@pytest.fixture
def local(spark):
    """Return a function that does to a second job, on the local engine, what was done to one on Spark."""

    def run(folder: Path, other: Path) -> None:
        job = job_of(other, "local")
        (other / "items.parquet").write_bytes((folder / "items.parquet").read_bytes())
        for file in (folder / "hidden").iterdir():
            (other / "hidden" / file.name).write_bytes(file.read_bytes())
        Pipeline(job, spark=spark).run()

    return run


@pytest.fixture
def several_parts(spark):
    """Let Spark keep the parts of a shuffle, however few rows they have."""
    name = "spark.sql.adaptive.coalescePartitions.enabled"
    spark.conf.set(name, "false")
    yield
    spark.conf.unset(name)


@pytest.mark.usefixtures("several_parts")
def test_a_load_goes_past_the_driver(spark, tmp_path, local):
    """However many rows a load and its outputs have, the driver sees no more than it may (issue 18)."""
    folder = tmp_path / "workers"
    job = job_of(folder, driver_facts=100)
    write_items(folder, many_items(3000))
    write_hidden(folder, "1", [("+", 7), ("+", 9)])

    with few_rows_in_driver(300) as seen:
        report = Pipeline(job, spark=spark).run()

    assert seen
    assert report.epochs[0].inputs[0].inserted == 3000
    assert len(list((folder / "out" / "shown").iterdir())) > 1
    local(folder, tmp_path / "here")
    assert outputs_of(folder) == outputs_of(tmp_path / "here")


def test_a_nightly_load_goes_past_the_driver(spark, tmp_path, local):
    """A night that replaces most facts is compared, derived and published by workers; small days follow."""
    folder, here = tmp_path / "workers", tmp_path / "here"
    job = job_of(folder, driver_facts=100)
    nights = [many_items(3000), [(f"new {n}", *rest) for n, (_, *rest) in enumerate(many_items(2500))][400:]]
    for night, items in enumerate(nights):
        write_items(folder, items)
        write_hidden(folder, str(night), [("+", 7 + night), ("-", 900)])
        with few_rows_in_driver(300) as seen:
            report = Pipeline(job, spark=spark).run()
        assert seen
        local(folder, here)

    load = report.epochs[0]
    assert [(each.relation, each.inserted, each.deleted) for each in load.inputs] == [("item", 2100, 3000)]
    assert {each.action for each in load.strata} == {"recomputed"}
    assert load.outputs[0].deleted > 2000
    assert outputs_of(folder) == outputs_of(here)


def test_texts_of_a_small_change_stay_with_workers(spark, tmp_path, local, monkeypatch):
    """A change with more texts than the driver looks up is encoded and decoded by workers."""
    monkeypatch.setattr(FiledDictionary, "_read", lambda _: pytest.fail("the driver read all texts"))
    for module in (texts, derive_on_workers):
        monkeypatch.setattr(module, "FEW_TEXTS", 300)
    folder, here = tmp_path / "workers", tmp_path / "here"
    job = job_of(folder, driver_facts=400)
    items = many_items(900)
    for night in (items, [*items[350:], *((f"new {n}", n, Decimal(0), 0.5) for n in range(0, 960, 3))]):
        write_items(folder, night)
        report = Pipeline(job, spark=spark).run()
        local(folder, here)

    assert [(each.inserted, each.deleted) for each in report.epochs[0].inputs] == [(320, 350)]
    assert not any("if its rules changed" in each.reason for each in report.epochs[0].strata)
    assert outputs_of(folder) == outputs_of(here)


NAMES = st.sampled_from(["ann", "bob", "", "né", "a'b"])
ITEMS = st.tuples(
    NAMES,
    st.integers(0, 4),
    st.sampled_from([Decimal(0), Decimal(7), Decimal(2**64 - 1)]),
    st.sampled_from([0.0, -0.0, 1.5, float("inf")]),
)
# Some rows are not facts.
BAD = st.tuples(st.none(), st.integers(0, 4), st.just(Decimal(-1)), st.just(0.0))
HIDDEN = st.tuples(st.sampled_from(["+", "+", "-", "maybe"]), st.integers(0, 5))
NIGHTS = st.lists(
    st.tuples(st.lists(ITEMS | BAD, max_size=8), st.lists(HIDDEN, max_size=3)), min_size=3, max_size=3
)


# A run takes seconds: a failing case is shown as it is, not shrunk.
@pytest.mark.timeout(900)
@settings(
    max_examples=2,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@example(nights=[([], []), ([("ann", 1, Decimal(0), -0.0)], [("+", 1)]), ([], [])], most=0)
@given(nights=NIGHTS, most=st.sampled_from([0, 2]))
def test_both_engines_publish_the_same(spark, tmp_path_factory, local, nights, most):
    """Nightly loads, changes and bad rows give the same facts, feeds and counts, epoch by epoch."""
    folder, here = tmp_path_factory.mktemp("workers"), tmp_path_factory.mktemp("here")
    job = job_of(folder, driver_facts=most)
    for night, (items, hidden) in enumerate(nights):
        write_items(folder, items)
        write_hidden(folder, str(night), hidden)
        report = Pipeline(job, spark=spark).run()
        local(folder, here)

        assert outputs_of(folder) == outputs_of(here)
        other = Pipeline(job_of(here, "local")).folder.last()
        assert Pipeline(job).folder.last().quarantined == other.quarantined
        assert report.epoch_count == len(report.epochs)


POINTS = (
    "tidelog.pipeline.derive_on_workers.apply_frames",
    "tidelog.pipeline.epochs.JobEpochs._finish",
    "tidelog.pipeline.derive_on_workers.write_signed",
    "tidelog.pipeline.framed_facts.FramedFacts.write",
    "tidelog.pipeline.folder.JobFolder.commit",
    "tidelog.pipeline.publish.Publisher._path",
)


@pytest.mark.timeout(900)
def test_a_large_change_that_breaks_off_is_continued(spark, tmp_path, local, monkeypatch):
    """Wherever a night ends, the next run finishes it: nothing is lost or published twice."""
    folder, here = tmp_path / "workers", tmp_path / "here"
    job = job_of(folder, driver_facts=0)
    for night, point in enumerate([None, *POINTS]):
        write_items(folder, [(f"{night} {n}", n + n // 4, Decimal(n), -0.0) for n in range(20)])
        if point is not None:
            with monkeypatch.context() as patched:
                patched.setattr(point, lambda *_: (_ for _ in ()).throw(InterruptedError()))
                with pytest.raises(InterruptedError):
                    Pipeline(job, spark=spark).run()
        report = Pipeline(job, spark=spark).run()
        local(folder, here)

        causes = [row.cause for row in report.epochs]
        late = {None: ["load"], POINTS[0]: ["load"], POINTS[-1]: []}
        assert causes == late.get(point, ["recovered"]), point
        assert outputs_of(folder) == outputs_of(here), point
