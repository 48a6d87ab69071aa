"""Loads of snapshots that look wrong, and how published folders take each other's place."""

from dataclasses import replace
from pathlib import Path

import pytest

from tidelog.errors import TidelogError
from tidelog.pipeline import Job, JobSource, Output, Pipeline, SourceFormat, publish
from tidelog.pipeline.folder import JobFolder
from tidelog.pipeline.job_read import parse_job

SOURCE = JobSource("a", SourceFormat.CSV, path="a.csv")


def job_of(tmp_path, source=SOURCE):
    """Return a job that publishes a copy of a snapshot."""
    (tmp_path / "p.dl").write_text(".decl a(n: number)\n.decl b(n: number)\nb(n) :- a(n).\n")
    return Job("p.dl", "state", (source,), (Output("b", path="b"),), folder=tmp_path)


def load(spark, tmp_path, rows, source=SOURCE):
    """Run the job over a file with these rows, and return its report."""
    (tmp_path / "a.csv").write_text("n\n" + "".join(f"{row}\n" for row in rows))
    return Pipeline(job_of(tmp_path, source), spark=spark).run()


def test_an_empty_snapshot_does_not_delete_everything(spark, tmp_path):
    """It is refused with what to do, nothing is changed, and the user may let it pass (issue 18)."""
    load(spark, tmp_path, [1, 2, 3])

    with pytest.raises(TidelogError) as caught:
        load(spark, tmp_path, [])
    refused = {file.name for file in (tmp_path / "b").iterdir()}
    after = load(spark, tmp_path, [1, 2, 3])
    lifted = load(spark, tmp_path, [], replace(SOURCE, max_deleted_share=1.0))

    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "too-many-deleted"
    assert diagnostic.message.startswith("this load would delete 3 of the 3 facts of `a`, more than 50%")
    assert "max_deleted_share = 1.0" in diagnostic.hint
    assert refused
    assert (after.epoch_count, lifted.epoch_count) == (0, 1)


def test_half_of_the_facts_may_go_and_all_may_be_replaced(spark, tmp_path):
    """A load that deletes as much as it may passes; facts that others replace are not lost."""
    load(spark, tmp_path, [1, 2, 3, 4])

    reports = [load(spark, tmp_path, rows) for rows in ([1, 2], [8, 9])]

    assert [report.epoch_count for report in reports] == [1, 1]


def test_a_bad_row_in_the_place_of_another_is_quarantined(spark, tmp_path):
    """As many bad rows for the same reasons are not the same bad rows (issue 18)."""
    reports = [load(spark, tmp_path, rows) for rows in ([1, "x"], [1, "x"], [1, "y"])]

    assert [report.epoch_count for report in reports] == [1, 0, 1]
    folder = JobFolder(tmp_path / "state")
    bad = [spark.read.parquet(str(folder.quarantine("a", epoch))).collect() for epoch in (0, 1)]
    assert [[row.row for row in rows] for rows in bad] == [['{"n":"x"}'], ['{"n":"y"}']]


@pytest.mark.parametrize("value", ["2", "-0.1", '"half"', "true"])
def test_a_share_is_between_0_and_1(value):
    """Any other value is a mistake in the job."""
    head = '[job]\nprogram = "p.dl"\nstate = "s"\n[[source]]\nrelation = "a"\nformat = "csv"\npath = "p"\n'
    text = f"{head}max_deleted_share = {value}\n"

    with pytest.raises(TidelogError, match="`max_deleted_share` is a number from 0 to 1"):
        parse_job(text)


def folders(tmp_path):
    """Return a published folder and the one that is to take its place."""
    place, new = tmp_path / "place", tmp_path / "_place.1.new"
    for folder, content in ((place, "old"), (new, "new")):
        folder.mkdir()
        (folder / "part").write_text(content)
    return place, new


def test_folders_are_exchanged_in_one_step(tmp_path, monkeypatch):
    """No moment is without a published folder, so nothing can happen between two renames (issue 18)."""
    place, new = folders(tmp_path)
    monkeypatch.setattr(Path, "rename", lambda *_: pytest.fail("one rename after the other"))

    publish._swap(new, place)

    assert (place / "part").read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["place"]


def test_folders_are_renamed_where_they_cannot_be_exchanged(tmp_path, monkeypatch):
    """Other systems and file systems take two steps."""
    place, new = folders(tmp_path)
    monkeypatch.setattr(publish, "_exchange", lambda *_: False)

    publish._swap(new, place)

    assert (place / "part").read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["place"]
