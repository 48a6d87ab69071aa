"""The runner of the pages notices what is wrong on a page."""

from pathlib import Path

import pytest

from support.doc_pages import Outcome, run_page

PROGRAM = '.decl a(x: number)\na(1).\na(2).\n.decl b(x: symbol)\nb("x").\n'


def run_text(folder: Path, text: str) -> Outcome:
    """Return what running a page with this text showed."""
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    (folder / "run").mkdir()
    return run_page(page, folder / "run")


@pytest.fixture(autouse=True)
def _without_update(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare even where other pages are being updated."""
    monkeypatch.delenv("UPDATE_GOLDEN", raising=False)


@pytest.mark.parametrize("facts", ["a(1). a(2).", 'a(2).\na(1).\nb("x").', 'b("x").'])
def test_right_facts_are_accepted(tmp_path: Path, facts: str) -> None:
    """The layout and the order of facts are free, and relations may be left out."""
    outcome = run_text(tmp_path, f"```datalog\n{PROGRAM}```\n\n```facts\n{facts}\n```\n")

    assert outcome.mistakes == []


@pytest.mark.parametrize("facts", ["a(1).", "a(1). a(2). a(3).", "a: no facts", 'a(1). a(2). b("y").'])
def test_wrong_facts_are_noticed(tmp_path: Path, facts: str) -> None:
    """A fact too few, too many or another one is a mistake, on each engine."""
    outcome = run_text(tmp_path, f"```datalog\n{PROGRAM}```\n\n```facts\n{facts}\n```\n")

    assert len(outcome.mistakes) == 2


def test_a_program_that_is_not_right_is_noticed(tmp_path: Path) -> None:
    """A program without a block of diagnostics must have none."""
    outcome = run_text(tmp_path, "```datalog\na(1).\n```\n")

    assert "undeclared-relation" in outcome.mistakes[0]


def test_wrong_output_of_python_is_noticed(tmp_path: Path) -> None:
    """Every example that gives something else is named; names live on from block to block."""
    outcome = run_text(
        tmp_path, "```python\n>>> x = 1\n```\n\n```python\n>>> x\n1\n>>> x + 1\n3\n>>> y\n4\n```\n"
    )

    assert [mistake.split(":")[0] for mistake in outcome.mistakes] == ["line 5, y", "line 5, x + 1"]


def test_wrong_output_of_a_command_is_noticed(tmp_path: Path) -> None:
    """Commands see the files of the page, and all that they print is compared."""
    page = "```text a.txt\nhello\n```\n\n```console\n$ cat a.txt\n{}\n$ echo took 3 ms\ntook 17 ms\n```\n"

    (tmp_path / "right").mkdir()
    (tmp_path / "wrong").mkdir()

    assert run_text(tmp_path / "right", page.format("hello")).mistakes == []
    assert len(run_text(tmp_path / "wrong", page.format("goodbye")).mistakes) == 1
