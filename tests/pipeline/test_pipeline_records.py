"""Pipelines whose relations have records and algebraic values, on Spark's workers."""

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from support.driver_rows import few_rows_in_driver
from tidelog.engine.spark.value_records import FiledRecords
from tidelog.pipeline import Job, JobSource, Output, Pipeline, SourceFormat

PROGRAM = """
.type Spot = [x: number, name: symbol]
.type Way = Here {} | To {spot: Spot, way: Way}
.decl at(n: number, s: Spot, w: Way)
.decl next(a: Spot, w: Way)
next(a, w) :- at(n, a, _), at(n + 1, b, w).
.decl ends(s: Spot)
ends(s) :- next(_, $To(_, $To(s, $Here()))).
"""
OUTPUTS = ("next", "ends")


def run(folder: Path, spark, engine: str, rows) -> object:
    """Run the pipeline over a snapshot of these rows and return its report."""
    folder.mkdir(exist_ok=True)
    (folder / "p.dl").write_text(PROGRAM)
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    pq.write_table(pa.table(columns, names=["n", "s", "w"]), folder / "at.parquet")
    source = JobSource("at", SourceFormat.PARQUET, path="at.parquet", max_deleted_share=1.0)
    outputs = tuple(Output(name, path=f"out/{name}", feed=f"feed/{name}") for name in OUTPUTS)
    options = {"spark_options": {"partners": 2, "driver_facts": 100}} if engine == "spark" else {}
    job = Job("p.dl", "state", (source,), outputs, engine=engine, folder=folder, **options)
    return Pipeline(job, spark=spark).run()


def published(folder: Path) -> dict[str, list[str]]:
    """Return the facts and feeds of all outputs, in order."""
    found = {}
    for name in OUTPUTS:
        found[name] = sorted(map(str, ds.dataset(folder / "out" / name).to_table().to_pylist()))
        feed = ds.dataset(folder / "feed" / name, partitioning="hive").to_table()
        found[f"{name} feed"] = sorted(map(str, feed.to_pylist()))
    return found


def places(numbers: range) -> list[tuple[int, str, str]]:
    """Return one row for each number; not all texts are as Tidelog writes them."""
    way = "$To([{}, a], $To([{}, e], $Here()))"
    return [(n, f"[ {n % 400},spot {n % 7}]", way.format(n, n % 500)) for n in numbers]


def test_records_go_past_the_driver(spark, tmp_path, monkeypatch):
    """A load, a night that changes much and one that changes little publish what the local engine does."""
    monkeypatch.setattr(FiledRecords, "_read", lambda _: pytest.fail("the driver read all records"))
    nights = [places(range(1500)), places(range(600, 2200)), places(range(600, 2190))]
    for night in nights:
        with few_rows_in_driver(300) as seen:
            run(tmp_path / "workers", spark, "spark", night)
        assert seen
        run(tmp_path / "here", spark, "local", night)

    assert published(tmp_path / "workers") == published(tmp_path / "here")
