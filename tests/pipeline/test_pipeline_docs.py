"""The worked examples of docs/pipeline.md and docs/how-to/spark-job.md are executed."""

import pytest

from support.doc_pages import ROOT, blocks_of, run_page

PAGE = ROOT / "docs" / "pipeline.md"


def test_the_worked_example_gives_what_the_page_says(spark, tmp_path):
    """A nightly load, changes during the day, the next night, reading back: all as shown."""
    outcome = run_page(PAGE, tmp_path)

    spark.catalog.dropTempView("changes")
    assert outcome.examples > 7
    assert not outcome.mistakes, "\n\n".join(outcome.mistakes)


@pytest.mark.usefixtures("spark")
def test_the_job_on_the_how_to_page_gives_what_it_says(tmp_path):
    """Two runs of a job from the command line, each with a Spark of its own, and what they publish."""
    outcome = run_page(ROOT / "docs" / "how-to" / "spark-job.md", tmp_path)

    assert outcome.examples > 5
    assert not outcome.mistakes, "\n\n".join(outcome.mistakes)


def test_the_page_shows_the_files_of_the_example():
    """The program and the job on the page are those in examples/pipeline."""
    shown = {block.file: block.text for block in blocks_of(PAGE.read_text(encoding="utf-8"))}

    for name in ("access.dl", "job.toml"):
        assert shown[name] == (ROOT / "examples" / "pipeline" / name).read_text(encoding="utf-8")
