"""Files of streams that differ, or cannot be read at all: a stream goes on, and the quarantine has them."""

import random
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from support.pipelines import write_job
from tidelog.errors import TidelogError
from tidelog.pipeline import Changes, Job, JobSource, Output, Pipeline, SourceFormat
from tidelog.pipeline.bind import bind_job
from tidelog.pipeline.checking import check_marked, mark_rows
from tidelog.pipeline.few_rows import settle_few
from tidelog.pipeline.file_batches import FileBatches, NewFile
from tidelog.pipeline.past import read_output

PROGRAM = """
.decl event(who: symbol, n: number)
.decl seen(who: symbol)
.decl measured(who: symbol, x: float, n: number)
"""


def make_job(folder: Path, source: JobSource) -> Job:
    """Return a job that publishes what one source has."""
    (folder / "events.dl").write_text(PROGRAM, encoding="utf-8")
    (folder / "in").mkdir(exist_ok=True)
    return Job("events.dl", "state", (source,), (Output(source.relation),), folder=folder)


def csv_source(**others: object) -> JobSource:
    """Return a stream of CSV files."""
    return JobSource("event", SourceFormat.CSV, path="in", changes=Changes.INSERT, **others)


def facts(pipeline: Pipeline, name: str = "event") -> set[tuple[object, ...]]:
    """Return the facts of an output."""
    return {tuple(row.values()) for row in read_output(pipeline.folder, name).to_pylist()}


def quarantine(folder: Path) -> list[tuple[str, str, str]]:
    """Return reason, detail and the name of the file of everything in the quarantine."""
    rows = [
        row
        for file in (folder / "state" / "quarantine").rglob("*.parquet")
        for row in pq.ParquetFile(file).read().to_pylist()
    ]
    return sorted((row["reason"], row["detail"], row["file"].rpartition("/")[2]) for row in rows)


def test_files_that_differ_and_files_that_are_damaged(spark, tmp_path):
    """CSV files may have their columns in another order; one without a column is kept aside by its name."""
    pipeline = Pipeline(make_job(tmp_path, csv_source()), spark=spark)
    files = {
        "1.csv": "who,n\nann,1\nbad,x\n",
        "2.csv": "n,who\n2,bob\n",
        "3.csv": "who,other\neve,3\n",
        "4 [a]*{b}.csv": "n,more,who\n4,x,dan\n",
        "5.csv": "",
        "6.csv.gz": "this is not gzip",
    }
    for name, text in files.items():
        (tmp_path / "in" / name).write_text(text, encoding="utf-8")

    report = pipeline.run()

    assert facts(pipeline) == {("ann", 1), ("bob", 2), ("dan", 4)}
    assert report.quarantined == {"event": {"wrong-type": 1, "unreadable-file": 2}}
    found = quarantine(tmp_path)
    assert [(reason, file) for reason, _, file in found] == [
        ("unreadable-file", "6.csv.gz"),
        ("unreadable-file", "3.csv"),
        ("wrong-type", "1.csv"),
    ]
    assert found[1][1] == "the source `event` has no column `n`"
    assert "gzip" in found[0][1]


def test_types_may_become_wider(spark, tmp_path, monkeypatch):
    """Parquet files with narrow and wide types are read side by side, on Spark or in the driver."""
    source = JobSource("measured", SourceFormat.PARQUET, path="in", changes=Changes.INSERT)
    pipeline = Pipeline(make_job(tmp_path, source), spark=spark)
    kinds = [(pa.float32(), pa.int8()), (pa.int32(), pa.int64()), (pa.decimal128(9, 2), pa.decimal128(9, 0))]

    def write(first: int) -> None:
        for number, (x, n) in enumerate(kinds, first):
            exact = Decimal(number) if pa.types.is_decimal(n) else number
            table = {"who": pa.array([f"w{number}"]), "x": pa.array([exact], x), "n": pa.array([exact], n)}
            pq.write_table(pa.table(table), tmp_path / "in" / f"{number}.parquet")
        (tmp_path / "in" / f"{first}-damaged.parquet").write_bytes(b"PAR1, once")
        other = pa.table({"who": ["x"], "x": ["text"], "n": [1]})
        pq.write_table(other, tmp_path / "in" / f"{first}-x.parquet")

    write(0)
    pipeline.run()
    monkeypatch.setattr("tidelog.pipeline.file_batches.FEW_BYTES", 0)
    write(10)
    report = pipeline.run()

    assert facts(pipeline, "measured") == {(f"w{n}", float(n), n) for n in (0, 1, 2, 10, 11, 12)}
    assert report.quarantined == {"measured": {"unreadable-file": 2}}
    found = quarantine(tmp_path)
    assert [file for _, _, file in found if "damaged" in file] == ["0-damaged.parquet", "10-damaged.parquet"]
    assert [detail for _, detail, file in found if "-x" in file] == [
        "column `x` of the source `measured` has the type string, but `measured.x` is a float"
    ] * 2


def test_a_damaged_orc_file(spark, tmp_path):
    """A file in another format than its name says does not end a stream."""
    source = JobSource("seen", SourceFormat.ORC, path="in", changes=Changes.INSERT)
    pipeline = Pipeline(make_job(tmp_path, source), spark=spark)
    pyarrow.orc.write_table(pa.table({"who": ["ann"]}), str(tmp_path / "in" / "1.orc"))
    (tmp_path / "in" / "2.orc").write_bytes(b"ORC, but not quite")

    pipeline.run()

    assert facts(pipeline, "seen") == {("ann",)}
    assert [file for _, _, file in quarantine(tmp_path)] == ["2.orc"]


def test_a_job_that_fits_no_file_is_wrong(spark, tmp_path):
    """If none of the first files has the columns, the job is told to be wrong, and nothing is kept aside."""
    pipeline = Pipeline(make_job(tmp_path, csv_source(columns={"n": "number"})), spark=spark)
    (tmp_path / "in" / "1.csv").write_text("who,n\nann,1\n", encoding="utf-8")

    with pytest.raises(TidelogError, match="the source `event` has no column `number`"):
        pipeline.run()

    assert not (tmp_path / "state" / "quarantine").exists()


def test_folders_that_are_columns(spark, tmp_path):
    """Columns may be in the names of folders, as in `n=1`."""
    source = JobSource("event", SourceFormat.JSON, path="in", changes=Changes.INSERT)
    pipeline = Pipeline(make_job(tmp_path, source), spark=spark)
    (tmp_path / "in" / "n=1").mkdir()
    (tmp_path / "in" / "n=1" / "a b.json").write_text('{"who": "ann"}\n', encoding="utf-8")

    pipeline.run()

    assert facts(pipeline) == {("ann", 1)}


def test_snapshots_are_read_whole_or_not_at_all(spark, tmp_path):
    """A damaged file of a snapshot would delete its facts: it is a diagnostic, and nothing changes."""
    path = write_job(tmp_path)
    (tmp_path / "member" / "1.parquet").write_bytes(b"PAR1, once")

    with pytest.raises(TidelogError, match="Spark cannot read the source `member`") as raised:
        Pipeline.read(path, spark=spark).run()

    assert "\tat " not in str(raised.value)


@pytest.mark.parametrize("order", [None, "at"])
def test_the_driver_settles_as_spark_does(spark, tmp_path, order):
    """Rows that are settled in the driver give the facts, bad rows and reasons that Spark's window gives."""
    chosen = random.Random(3)  # noqa: S311 - the same rows every time
    source = JobSource("measured", SourceFormat.PARQUET, path="in", changes=Changes.OP, order=order)
    bound = bind_job(make_job(tmp_path, source))
    rows = [
        (
            chosen.choice("++--?"),
            chosen.choice(["a", "b", None]),
            chosen.choice([0.0, -0.0, float("nan"), 1.5]),
            chosen.randrange(2),
            chosen.choice([1.0, 2.0, 3.0, float("nan"), None]),
        )
        for _ in range(300)
    ]
    frame = spark.createDataFrame(rows, "op string, who string, x double, n int, at double")
    marked = mark_rows(frame, source, bound).persist()

    there = check_marked(marked, source, bound)
    here = settle_few([marked.toArrow()], source, bound)

    assert (here.good, here.bad) == (there.good, there.bad)
    for is_insert in (True, False):
        ours = here.facts(is_insert=is_insert).to_pylist()
        spark_rows = [row.asDict() for row in there.facts(is_insert=is_insert).collect()]
        assert sorted(map(repr, ours)) == sorted(map(repr, spark_rows))
    bad = [row.asDict() for row in there.bad_rows().collect()]
    assert sorted(map(repr, here.bad_rows.to_pylist())) == sorted(map(repr, bad))
    there.release()
    marked.unpersist()


def test_failures_of_machines_are_not_those_of_files(spark, tmp_path, monkeypatch):
    """A file is kept aside because of what it holds, never because Spark lacks memory or executors."""
    job = make_job(tmp_path, csv_source())
    (tmp_path / "in" / "1.csv").write_text("who,n\nann,1\n", encoding="utf-8")
    batches = FileBatches(spark, bind_job(job), job.sources[0])

    def fail(_: object) -> None:
        from py4j.protocol import Py4JError  # noqa: PLC0415 - as Spark

        raise Py4JError("java.lang.OutOfMemoryError: Java heap space")

    monkeypatch.setattr(batches, "_marked", fail)

    with pytest.raises(TidelogError, match="Java heap space") as raised:
        batches.read([NewFile(str(tmp_path / "in" / "1.csv"), 10)])

    assert [each.code for each in raised.value.diagnostics] == ["spark-out-of-memory"]


def test_a_file_without_rows_changes_nothing(spark, tmp_path):
    """A header alone is an epoch of no changes, where it was a failure of Arrow."""
    pipeline = Pipeline(make_job(tmp_path, csv_source()), spark=spark)
    (tmp_path / "in" / "1.csv").write_text("who,n\n")
    pipeline.run()
    (tmp_path / "in" / "2.csv").write_text("who,n\nann,1\n")

    pipeline.run()

    assert facts(pipeline) == {("ann", 1)}
    assert quarantine(tmp_path) == []
