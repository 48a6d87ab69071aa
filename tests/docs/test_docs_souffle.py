"""docs/souffle-manual.md: every construct of Soufflé's manual has a test, or a difference with its reason."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "souffle-manual.md").read_text(encoding="utf-8")
CASES = ROOT / "tests" / "conformance" / "cases"
# Cells are separated by ` | `; a bar inside a cell is written `\|`.
ROWS = [
    tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| construct ")
]
TESTS = sorted({name for row in ROWS for name in re.findall("`([^`]+)`", row[1])})


def test_every_construct_has_a_test_or_a_difference() -> None:
    """A row has three cells; without a test the third says what is different and why."""
    assert len(ROWS) > 150
    for row in ROWS:
        assert len(row) == 3, row
        assert re.fullmatch(r"`[^`]+`", row[1]) or (row[1] == "—" and row[2]), row


def test_every_section_has_a_table() -> None:
    """No heading stands alone."""
    sections = PAGE.split("\n## ")[1:]

    assert all("\n| construct | test | difference |\n|---|---|---|\n| " in section for section in sections)


@pytest.mark.parametrize("name", TESTS)
def test_every_test_exists(name: str) -> None:
    """It is a conformance case, or a function of a test file."""
    file, _, function = name.partition("::")
    if not function:
        assert (CASES / f"{name}.dl").is_file()
        return
    text = (ROOT / "tests" / file).read_text(encoding="utf-8")
    assert f"\ndef {function}(" in text
