"""Pipelines from sources to published tables."""

from pathlib import Path

from pipelines import (
    feed_of,
    published,
    report_of,
    sum_of_feed,
    write_grants,
    write_job,
    write_members,
)
from tidelog.pipeline import Pipeline


def test_a_load_and_changes_are_published(spark, tmp_path: Path):
    """A snapshot and a folder of changes become facts; each run publishes the exact difference."""
    job = write_job(tmp_path)
    write_members(tmp_path, [("ann", "staff"), ("staff", "all"), ("bob", "all")])
    write_grants(tmp_path, "1", ["+,all,wiki,1", "+,staff,payroll,2"])

    Pipeline.read(job, spark=spark).run()

    assert published(tmp_path) == {("ann", "wiki"), ("ann", "payroll"), ("bob", "wiki"), ("staff", "wiki")}

    write_members(tmp_path, [("ann", "all"), ("staff", "all"), ("bob", "all"), ("eve", "staff")])
    write_grants(tmp_path, "2", ["-,all,wiki,1"])
    Pipeline.read(job, spark=spark).run()

    assert published(tmp_path) == {("eve", "payroll")}
    assert sum_of_feed(tmp_path) == published(tmp_path)
    assert {row[:2] for row in feed_of(tmp_path)} == {(1, "+"), (2, "+"), (2, "-"), (3, "-")}
    assert report_of(tmp_path)["epoch_count"] == 2
