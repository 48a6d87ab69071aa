"""Every example in README.md and in docs gives what the page says."""

import re
from pathlib import Path

import pytest

from support.doc_pages import EXECUTED, ROOT, SHOWN, blocks_of, run_page

DOCS = ROOT / "docs"
# Pages with a runner of their own: every example of theirs is to fail in its own way, or needs Spark.
OWN_RUNNERS = {
    "errors.md": "program/test_program_errors_page.py",
    "pipeline.md": "pipeline/test_pipeline_docs.py",
    "spark.md": "engine/spark/test_spark_docs.py",
    "spark-recursion.md": "engine/spark/test_spark_docs.py",
    "how-to/spark-job.md": "pipeline/test_pipeline_docs.py",
}
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
RUN_HERE = [page for page in PAGES if str(page.relative_to(ROOT)).removeprefix("docs/") not in OWN_RUNNERS]


def name_of(page: Path) -> str:
    """Return the place of a page in the repository."""
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", RUN_HERE, ids=name_of)
def test_examples_give_what_the_page_says(page: Path, tmp_path: Path) -> None:
    """Programs, Python and commands of a page, run in order in one folder, give what stands below."""
    outcome = run_page(page, tmp_path)

    assert not outcome.mistakes, "\n\n".join(outcome.mistakes)


@pytest.mark.parametrize("page", RUN_HERE, ids=name_of)
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
        assert (DOCS / page).exists()
        assert Path(page).name in (ROOT / "tests" / runner).read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation() -> None:
    """The navigation of the site has every page once, and no other."""
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^\s+- (?:[^:\n]+: )?(\S+\.md)$", site[site.index("\nnav:") :], re.MULTILINE)
    inside = [page for page in listed if not page.startswith("project/")]

    assert sorted(inside) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


@pytest.mark.parametrize("folder", [".", "how-to", "reference"])
def test_every_page_is_listed(folder: str) -> None:
    """The first page of each folder leads to all of its pages."""
    index = DOCS / folder / "index.md"
    text = index.read_text(encoding="utf-8")
    names = [page.name for page in index.parent.glob("*.md") if page != index]

    assert [name for name in names if f"]({name})" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    """A file that a page links is there; anchors are checked when the site is built."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "", text)
    targets = re.findall(r"\]\(([^()\s#]+)(?:#[^()\s]*)?\)", text)
    files = [target for target in targets if ":" not in target]

    assert [target for target in files if not (page.parent / target).exists()] == []
