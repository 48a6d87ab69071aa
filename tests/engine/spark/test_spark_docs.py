"""The examples of docs/spark.md and docs/spark-recursion.md run, in the one Spark session of the tests."""

from pathlib import Path

import pytest

from support.doc_pages import ROOT, run_page

PAGES = [ROOT / "docs" / name for name in ("spark.md", "spark-recursion.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.usefixtures("spark")
def test_examples_give_what_the_page_says(page: Path, tmp_path: Path) -> None:
    """What the page shows is what Spark gives; starting a session finds the one that is there."""
    outcome = run_page(page, tmp_path)

    assert not outcome.mistakes, "\n\n".join(outcome.mistakes)
    assert outcome.examples >= 4
