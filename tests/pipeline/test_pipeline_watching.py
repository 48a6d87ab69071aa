"""What people see of a pipeline: its steps, its numbers, and its jobs on Spark's pages."""

import json
import re
from dataclasses import replace
from typing import Any

import duckdb
import pytest
from typer.testing import CliRunner

from support.pipelines import JOB, PROGRAM, write_grants, write_job, write_members
from tidelog.cli.app import app
from tidelog.errors import TidelogError
from tidelog.pipeline import Output, Pipeline, read_job
from tidelog.pipeline.merging import merge_statement
from tidelog.pipeline.metrics import metrics_json, metrics_text
from tidelog.pipeline.report import EpochRow, RelationRows, Report, SourceRows

SAMPLE = re.compile(r'^(tidelog_\w+)\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\} (-?[0-9.e+-]+)$')


def test_the_steps_of_a_job(tmp_path):
    """`pipeline check` says what each step reads and where it runs, without Spark."""
    path = write_job(tmp_path)

    shown = CliRunner().invoke(app, ["pipeline", "check", str(path)])

    assert shown.exit_code == 0
    lines = [re.split(r" {2,}", line.strip()) for line in shown.stdout.splitlines()[:-1]]
    assert [" | ".join(line) for line in lines] == [
        "step | makes | reads | runs in",
        "read | member | parquet files of member: all rows, compared with the last load | Spark",
        "read | grant | csv files of grant: new files | Spark; the driver settles a few rows",
        "derive | inside | member; itself, until nothing is new | the driver, on the local engine",
        "derive | can | inside, grant | the driver, on the local engine",
        "publish | published/can | can: all facts | the driver",
        "publish | published/can_feed | can: its changes | the driver",
    ]


def test_the_steps_of_a_job_on_workers(tmp_path):
    """Strata of the engine `spark` are shown with their place."""
    table = 'table = "can"\nformat = "delta"'
    job = JOB.replace("[job]", '[job]\nengine = "spark"').replace('path = "published/can"', table)
    steps = Pipeline(read_job(write_job(tmp_path, job))).steps()

    runs = {step.makes: step.runs for step in steps}

    assert runs["inside"] == "partners in Spark's workers"
    assert runs["can"] == "Spark, by MERGE"
    assert runs["published/can_feed"] == "Spark's workers; the driver if there are at most 100,000 facts"


def test_the_steps_of_a_job_whose_facts_are_decided_together(tmp_path):
    """Workers divide a choice by its column, and an equivalence, which rules close; the step says why."""
    laws = """
    .decl first(user: symbol, group: symbol) choice-domain user
    first(u, g) :- member(u, g).
    .decl same(user: symbol, other: symbol) eqrel
    same(u, v) :- member(u, g), member(v, g).
    """
    job = JOB.replace("[job]", '[job]\nengine = "spark"')
    steps = Pipeline(read_job(write_job(tmp_path, job, PROGRAM + laws))).steps()

    runs = {step.makes: step.runs for step in steps}

    assert runs["first"] == (
        "partners in Spark's workers, or one of them if few facts are read: `first` has a choice-domain"
    )
    assert runs["same"] == (
        "partners in Spark's workers, or one of them if few facts are read: `same` is an equivalence relation"
    )


def report() -> Report:
    """Return the report of a run with two epochs."""
    made = Report('a "job"', "local", "now")
    for epoch in (3, 4):
        sources = (SourceRows("in", "p", 5, {"null": 1}),)
        outputs = (RelationRows("p", 2, 1, 10 + epoch),)
        made.add(EpochRow(epoch, "load", None, sources, (), (), outputs, {"read": 0.25, "write": 0.1}))
    return made


def test_numbers_for_prometheus():
    """Every line of the text is a comment or a sample, and names are explained once, before their samples."""
    lines = metrics_text(report()).splitlines()

    samples = [SAMPLE.match(line) for line in lines if not line.startswith("#")]
    assert all(samples)
    assert [line.split()[2] for line in lines if line.startswith("# TYPE")] == list(
        dict.fromkeys(match[1] for match in samples)
    )
    assert 'tidelog_quarantined_total{job="a \\"job\\"",source="in",reason="null"} 2' in lines
    assert 'tidelog_output_facts{job="a \\"job\\"",relation="p"} 14' in lines
    assert 'tidelog_output_changes_total{job="a \\"job\\"",relation="p",op="insert"} 4' in lines
    assert 'tidelog_stage_seconds_total{job="a \\"job\\"",stage="read"} 0.5' in lines


def test_numbers_as_json():
    """The same numbers as JSON."""
    found = json.loads(metrics_json(report()))

    assert found["job"] == 'a "job"'
    assert {"name": "tidelog_rows_total", "value": 10, "of": {"source": "in"}} in found["metrics"]
    assert {"name": "tidelog_epoch", "value": 4, "of": {}} in found["metrics"]


def _jobs(store: Any) -> list[Any]:
    """Return the jobs that Spark's pages know."""
    jobs = store.jobsList(None)
    return [jobs.apply(place) for place in range(jobs.size())]


def test_jobs_on_the_pages_of_spark(spark, tmp_path):
    """Spark's jobs of a run have the job's name and the epoch in their descriptions."""
    path = write_job(tmp_path)
    write_members(tmp_path, [("ann", "staff")])
    write_grants(tmp_path, "1", ["+,staff,wiki,1"])
    store = spark.sparkContext._jsc.sc().statusStore()
    before = {job.jobId() for job in _jobs(store)}

    Pipeline.read(path, spark=spark).run()

    # What has happened is told to the pages a moment later, and they keep the last jobs only.
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    new = [job for job in _jobs(store) if job.jobId() not in before]
    words = [job.description().get() for job in new if job.description().isDefined()]
    assert "job: epoch 0: read (load)" in words
    assert "job: epoch 1: read (stream grant)" in words
    assert "tidelog job" in {job.jobGroup().get() for job in new if job.jobGroup().isDefined()}
    assert spark.sparkContext.getLocalProperty("spark.job.description") is None
    numbers = (tmp_path / "state" / "reports" / "metrics.prom").read_text(encoding="utf-8")
    assert 'tidelog_epochs_total{job="job"} 2' in numbers


def test_a_format_whose_package_is_missing(spark, tmp_path):
    """Delta without its package is told with what to add; the epoch is committed, and published later."""
    job = read_job(write_job(tmp_path))
    write_members(tmp_path, [("ann", "staff")])
    write_grants(tmp_path, "1", ["+,staff,wiki,1"])
    output = Output("can", table="can_delta", format="delta")
    pipeline = Pipeline(replace(job, outputs=(output,)), spark=spark)

    with pytest.raises(TidelogError) as raised:
        pipeline.run()

    (found,) = raised.value.diagnostics
    assert found.code == "spark-missing-package"
    assert "io.delta:delta-spark" in found.hint
    assert "\n" not in found.message
    assert pipeline.epoch == 0


def test_a_merge_is_exact_and_can_be_repeated(spark):
    """The statement does what a feed says, and changes nothing the second time; Spark can read it."""
    statement = merge_statement("t", "feed", ["user", "odd`name"], "op")
    spark._jsparkSession.sessionState().sqlParser().parsePlan(statement)
    other = duckdb.connect()
    other.execute('CREATE TABLE t AS SELECT * FROM (VALUES (1, 2), (3, 4)) AS x("user", "odd`name")')
    other.execute(
        "CREATE TABLE feed AS SELECT * FROM (VALUES ('-', 3, 4), ('+', 5, 6), ('-', 9, 9), ('+', 1, 2)) "
        'AS x(op, "user", "odd`name")'
    )
    text = statement.replace("`odd``name`", '"odd`name"').replace("`user`", '"user"').replace("`op`", "op")

    found = []
    for _ in range(2):
        other.execute(text)
        found.append(sorted(other.execute("SELECT * FROM t").fetchall()))

    assert found == [[(1, 2), (5, 6)]] * 2
