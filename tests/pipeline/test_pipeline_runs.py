"""Pipelines from sources to published tables, run after run."""

import shutil
import threading
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from support.pipelines import (
    JOB,
    PROGRAM,
    feed_of,
    published,
    report_of,
    sum_of_feed,
    write_grants,
    write_job,
    write_members,
)
from tidelog.errors import TidelogError
from tidelog.pipeline import (
    Changes,
    Job,
    JobSource,
    Output,
    Pipeline,
    SourceFormat,
    Trigger,
    TriggerKind,
    read_job,
)
from tidelog.pipeline.epochs import JobEpochs


@pytest.fixture(scope="module")
def ran_once(spark, tmp_path_factory):
    """Return a folder with a job that ran once, three members and two grants, and a copy of it."""
    folder, copy = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("copies") / "first"
    path = write_job(folder)
    write_members(folder, [("ann", "staff"), ("staff", "all"), ("bob", "all")])
    write_grants(folder, "1", ["+,all,wiki,1", "+,staff,payroll,2", "+,all,secret,0"])
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


FIRST = {("ann", "wiki"), ("ann", "payroll"), ("bob", "wiki"), ("staff", "wiki")}


def test_a_load_and_changes_are_published(spark, folder):
    """A snapshot and a folder of changes become facts; each run publishes the exact difference."""
    assert published(folder) == FIRST

    write_members(folder, [("ann", "all"), ("staff", "all"), ("bob", "all"), ("eve", "staff")])
    write_grants(folder, "2", ["-,all,wiki,1"])
    report = Pipeline.read(folder / "job.toml", spark=spark).run()

    assert published(folder) == {("eve", "payroll")} == sum_of_feed(folder)
    assert {row[:2] for row in feed_of(folder)} == {(1, "+"), (2, "+"), (2, "-"), (3, "-")}
    assert [(row.epoch, row.cause, row.batch) for row in report.epochs] == [
        (2, "load", None),
        (3, "stream grant", 1),
    ]
    assert [(each.relation, each.inserted, each.deleted) for each in report.epochs[0].inputs] == [
        ("member", 2, 1)
    ]
    assert {each.strategy for row in report.epochs for each in row.strata} & {"update", "auto"}


def test_workers_derive_what_is_published(spark, tmp_path):
    """With the engine `spark` a load and changes publish the same, from state that workers keep."""
    job = read_job(write_job(tmp_path))
    job = replace(job, engine="spark", spark_options={"driver_facts": 0, "partners": 2})
    write_members(tmp_path, [("ann", "staff"), ("staff", "all"), ("bob", "all")])
    write_grants(tmp_path, "1", ["+,all,wiki,1", "+,staff,payroll,2", "+,all,secret,0"])
    Pipeline(job, spark=spark).run()
    assert published(tmp_path) == FIRST == sum_of_feed(tmp_path)

    write_grants(tmp_path, "2", ["-,all,wiki,1"])
    Pipeline(job, spark=spark).run()

    assert published(tmp_path) == {("ann", "payroll")} == sum_of_feed(tmp_path)


def test_a_run_without_news_makes_no_epoch(spark, folder):
    """When no source has changed there is nothing to commit, and the report says so."""
    report = Pipeline.read(folder / "job.toml", spark=spark).run()

    assert report.epoch_count == 0
    assert Pipeline.read(folder / "job.toml").epoch == 1
    assert published(folder) == FIRST


def test_a_micro_batch_delivered_again_is_left_out(spark, folder):
    """Epochs are made once for each micro-batch, though Structured Streaming promises at least once."""
    checkpoint = folder / "state" / "checkpoints" / "grant"
    write_grants(folder, "2", ["-,all,wiki,1"])
    Pipeline.read(folder / "job.toml", spark=spark).run()
    before = feed_of(folder)

    # Spark forgets that it delivered the last micro-batch, as after a crash before its own commit.
    (checkpoint / "commits" / "1").unlink()
    (checkpoint / "commits" / ".1.crc").unlink(missing_ok=True)
    report = Pipeline.read(folder / "job.toml", spark=spark).run()

    assert (report.skipped, report.epoch_count) == (1, 0)
    assert feed_of(folder) == before
    assert published(folder) == sum_of_feed(folder)


def test_a_lost_checkpoint_is_told(spark, folder):
    """Without its checkpoint a stream would begin again: that is refused, and a new name allows it."""
    checkpoints = folder / "state" / "checkpoints"
    checkpoints.rename(folder / "elsewhere")

    with pytest.raises(TidelogError) as caught:
        Pipeline.read(folder / "job.toml", spark=spark).run()

    assert [each.code for each in caught.value.diagnostics] == ["lost-checkpoint"]
    assert "lost-checkpoint" in str(report_of(folder)["failure"])
    assert published(folder) == FIRST


def test_another_program_or_engine_is_refused(spark, folder):
    """A state folder belongs to one program and one engine."""
    job = read_job(folder / "job.toml")
    (folder / "access.dl").write_text(PROGRAM.replace("n > 0", "n > 1"), encoding="utf-8")

    with pytest.raises(TidelogError) as other_program:
        Pipeline(job, spark=spark).run()
    (folder / "access.dl").write_text(PROGRAM, encoding="utf-8")
    with pytest.raises(TidelogError) as other_engine:
        Pipeline(replace(job, engine="spark"), spark=spark).run()

    for caught in (other_program, other_engine):
        assert [each.code for each in caught.value.diagnostics] == ["pipeline-differs"]


def test_snapshots_of_one_relation_are_united(spark, tmp_path):
    """A fact that leaves one snapshot stays while another has it; several sources make one epoch."""
    (tmp_path / "p.dl").write_text(".decl a(n: number)\n.decl b(n: number)\nb(n + 1) :- a(n).\n")
    for name, rows in (("x", "1\n2\n"), ("y", "2\n3\n")):
        (tmp_path / f"{name}.csv").write_text(f"n\n{rows}")
    sources = tuple(JobSource("a", SourceFormat.CSV, name, path=f"{name}.csv") for name in ("x", "y"))
    job = Job("p.dl", "state", sources, (Output("b", path="b", table="pipeline_b"),), folder=tmp_path)
    pipeline = Pipeline(job, spark=spark)

    pipeline.run()
    first = {row.n for row in spark.table("pipeline_b").collect()}
    (tmp_path / "x.csv").write_text("n\n1\n")
    (tmp_path / "y.csv").write_text("n\n2\n")
    pipeline.run()

    assert first == {2, 3, 4}
    assert {row.n for row in spark.table("pipeline_b").collect()} == {2, 3}
    assert pq.ParquetFile(tmp_path / "b" / "part-0.parquet").read().to_pylist() == [{"n": 2}, {"n": 3}]
    spark.sql("DROP TABLE pipeline_b")


def test_new_rows_of_a_table_are_found_by_a_bookmark(spark, tmp_path):
    """Changes read from a catalog table go on after the greatest value seen; the feed can be a table."""
    (tmp_path / "p.dl").write_text(".decl a(n: number)\n.decl b(n: number)\nb(n) :- a(n).\n")
    source = JobSource(
        "a", SourceFormat.TABLE, table="pipeline_log", changes=Changes.OP, bookmark="seq", order="seq"
    )
    output = Output("b", feed_table="pipeline_feed", table="pipeline_orc", format="orc")
    job = Job("p.dl", "state", (source,), (output,), folder=tmp_path)
    rows = [(1, "+", 1), (2, "+", 2), (3, "-", 1)]

    def run(count):
        frame = spark.createDataFrame(rows[:count], "seq int, op string, n int")
        frame.createOrReplaceTempView("pipeline_log")
        return Pipeline(job, spark=spark).run()

    reports = [run(count) for count in (2, 2, 3)]

    assert [report.rows for report in reports] == [2, 0, 1]
    assert [report.epoch_count for report in reports] == [1, 0, 1]
    feed = spark.table("pipeline_feed").orderBy("epoch", "n").collect()
    assert [(row.epoch, row.op, row.n) for row in feed] == [(0, "+", 1), (0, "+", 2), (1, "-", 1)]
    assert [row.n for row in spark.table("pipeline_orc").collect()] == [2]
    spark.sql("DROP TABLE pipeline_feed")
    spark.sql("DROP TABLE pipeline_orc")


def test_an_interval_goes_round(spark, folder):
    """Every round reads what is new."""
    job = replace(read_job(folder / "job.toml"), trigger=Trigger(TriggerKind.INTERVAL, 0.01))
    pipeline = Pipeline(job, spark=spark)

    def add_grant(_row):
        write_grants(folder, "3", ["+,all,map,1"])

    write_grants(folder, "2", ["-,all,wiki,1"])
    report = pipeline.run(rounds=2, on_epoch=add_grant)

    assert report.epoch_count == 2
    assert published(folder) == {("ann", "payroll"), ("ann", "map"), ("bob", "map"), ("staff", "map")}


def test_streaming_follows_until_it_is_stopped(spark, folder):
    """A streaming run makes epochs of files as they come, and ends after an epoch when it is told to."""
    job = replace(read_job(folder / "job.toml"), trigger=Trigger(TriggerKind.STREAMING))
    pipeline = Pipeline(job, spark=spark)
    epochs = []
    seen = threading.Event()

    def on_epoch(row):
        epochs.append(row.epoch)
        if len(epochs) == 1:
            write_grants(folder, "3", ["+,all,map,1"])
        else:
            seen.set()
            pipeline.stop()

    write_grants(folder, "2", ["-,all,wiki,1"])
    report = pipeline.run(on_epoch=on_epoch)

    assert seen.is_set()
    assert epochs == [2, 3]
    assert report.failure is None
    assert published(folder) == sum_of_feed(folder)
    assert ("bob", "map") in published(folder)


def test_facts_are_written_again_every_so_often(spark, tmp_path):
    """With `every` the folder of all facts lags behind, while the feed has every epoch."""
    path = write_job(tmp_path, JOB.replace('path = "published/can"', 'path = "published/can"\nevery = 2'))
    write_members(tmp_path, [("ann", "all")])
    pipeline = Pipeline.read(path, spark=spark)
    seen = []
    for number in range(3):
        write_grants(tmp_path, str(number), [f"+,all,r{number},1"])
        pipeline.run()
        seen.append((len(published(tmp_path)), len(sum_of_feed(tmp_path))))

    # Epoch 0, without grants, is the first one that is written.
    assert seen == [(0, 1), (2, 2), (2, 3)]


def test_a_bad_row_in_a_stream_stops_a_strict_job(spark, folder):
    """With bad_rows = "fail" the stream ends with the diagnostic, and the epoch did not happen."""
    (folder / "job.toml").write_text(JOB.replace("[job]", '[job]\nbad_rows = "fail"'), encoding="utf-8")
    write_grants(folder, "2", ["-,all,wiki,1", "+,all,map,many"])

    with pytest.raises(TidelogError) as caught:
        Pipeline.read(folder / "job.toml", spark=spark).run()

    assert [each.code for each in caught.value.diagnostics] == ["bad-rows"]
    assert published(folder) == FIRST

    write_grants(folder, "2", ["-,all,wiki,1", "+,all,map,2"])
    Pipeline.read(folder / "job.toml", spark=spark).run()
    assert published(folder) == sum_of_feed(folder)
    assert ("bob", "map") in published(folder)


POINTS = ["before the engine", "after the engine", "before the manifest", "before publishing"]


@pytest.mark.parametrize("point", POINTS)
def test_a_run_that_breaks_off_is_continued(point, spark, folder, monkeypatch):
    """Wherever a run ends, the next one gives what an undisturbed one gives, without duplicates."""

    class Broken(Exception):  # noqa: N818 - it stands for the end of the process
        pass

    def broken(*_args, **_kwargs):
        raise Broken

    write_grants(folder, "2", ["-,all,wiki,1", "+,all,map,1"])
    with monkeypatch.context() as patched:
        if point == "before the engine":
            patched.setattr("tidelog.pipeline.derive.SessionDeriver.apply", broken)
        elif point == "after the engine":
            patched.setattr("tidelog.pipeline.writing.Writer.write", broken)
        elif point == "before the manifest":
            patched.setattr("tidelog.pipeline.folder.JobFolder.commit", broken)
        else:
            patched.setattr("tidelog.pipeline.publish.Publisher._path", broken)
        with pytest.raises(Broken):
            Pipeline.read(folder / "job.toml", spark=spark).run()
    before = published(folder)

    report = Pipeline.read(folder / "job.toml", spark=spark).run()

    assert before == FIRST
    assert published(folder) == {("ann", "payroll"), ("ann", "map"), ("bob", "map"), ("staff", "map")}
    assert sum_of_feed(folder) == published(folder)
    assert max(epoch for epoch, *_ in feed_of(folder)) == 2
    causes = [row.cause for row in report.epochs]
    assert causes == {"before the engine": ["stream grant"], "before publishing": []}.get(
        point, ["recovered"]
    )


def test_the_spark_engine_derives(spark, tmp_path, monkeypatch):
    """On Spark's workers a job gives the same, epoch by epoch, also after a run that broke off."""
    head = '[spark]\nengine = { driver_facts = 0, partners = 2 }\n[job]\nengine = "spark"'
    path = write_job(tmp_path, JOB.replace("[job]", head))
    write_members(tmp_path, [("ann", "staff"), ("staff", "all"), ("bob", "all")])
    write_grants(tmp_path, "1", ["+,all,wiki,1", "+,staff,payroll,2"])
    Pipeline.read(path, spark=spark).run()
    first = published(tmp_path)

    write_grants(tmp_path, "2", ["-,all,wiki,1", "+,all,map,1"])
    with monkeypatch.context() as patched:
        patched.delattr("tidelog.pipeline.writing.Writer.write")
        with pytest.raises(AttributeError):
            Pipeline.read(path, spark=spark).run()
    report = Pipeline.read(path, spark=spark).run()

    assert first == FIRST
    assert [row.cause for row in report.epochs] == ["recovered"]
    assert published(tmp_path) == {("ann", "payroll"), ("ann", "map"), ("bob", "map"), ("staff", "map")}
    assert sum_of_feed(tmp_path) == published(tmp_path)


def test_one_run_at_a_time(spark, folder, monkeypatch):
    """A second run of the same job is refused while the first one works."""
    caught = []

    def second(*_args):
        with pytest.raises(TidelogError) as error:
            Pipeline.read(folder / "job.toml", spark=spark).run()
        caught.extend(error.value.diagnostics)

    monkeypatch.setattr(JobEpochs, "load", second)
    Pipeline.read(folder / "job.toml", spark=spark).run()

    assert [each.code for each in caught] == ["store-in-use"]
