"""Every example in README.md and in docs gives what the page says."""

import re
from pathlib import Path

import pytest

from support.doc_pages import EXECUTED, ROOT, SHOWN, blocks_of, run_page

# Pages with a runner of their own: every example of theirs is to fail in its own way.
OWN_RUNNERS = {
    "errors.md": "program/test_program_errors_page.py",
    "pipeline.md": "pipeline/test_pipeline_docs.py",
    "spark.md": "engine/spark/test_spark_docs.py",
}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN_HERE = [page for page in PAGES if page.name not in OWN_RUNNERS]


@pytest.mark.parametrize("page", RUN_HERE, ids=lambda page: page.name)
def test_examples_give_what_the_page_says(page: Path, tmp_path: Path) -> None:
    """Programs, Python and commands of a page, run in order in one folder, give what stands below."""
    outcome = run_page(page, tmp_path)

    assert not outcome.mistakes, "\n\n".join(outcome.mistakes)


@pytest.mark.parametrize("page", RUN_HERE, ids=lambda page: page.name)
def test_every_block_says_what_it_is(page: Path) -> None:
    """A fenced block is executed, or of a kind that is only shown; none is left out by a misspelt word."""
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^```", text, re.MULTILINE)
    blocks = blocks_of(text)

    assert len(fences) == 2 * len(blocks)
    assert {block.language for block in blocks} <= {*EXECUTED, *SHOWN}


def test_other_pages_have_a_runner() -> None:
    """A page that is not run here is read by the test that runs it."""
    for page, runner in OWN_RUNNERS.items():
        assert (ROOT / "docs" / page).exists()
        assert page in (ROOT / "tests" / runner).read_text(encoding="utf-8")


def test_every_page_is_listed() -> None:
    """README.md and docs/index.md lead to every page."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    names = [page.name for page in (ROOT / "docs").glob("*.md") if page.name != "index.md"]

    assert [name for name in names if f"](docs/{name})" not in readme] == []
    assert [name for name in names if f"]({name})" not in index] == []
