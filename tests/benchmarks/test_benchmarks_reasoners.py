"""`python -m benchmarks reasoners`."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchmarks.__main__ import main
from benchmarks.reasoners.cell import Cell, draw, table
from benchmarks.reasoners.command import is_named
from benchmarks.reasoners.indexes import INDEXES
from benchmarks.reasoners.one import run
from benchmarks.reasoners.table import INDEX_KINDS, REASONERS, Reasoner, subjects


@pytest.mark.parametrize("reasoner", REASONERS, ids=[reasoner.name for reasoner in REASONERS])
def test_every_reasoner_finds_the_same(reasoner: Reasoner, tmp_path: Path) -> None:
    """Each evaluates the closure of a small graph, and follows a deletion and an insertion if it can."""
    tmp_path.joinpath("arc.facts").write_text("1\t2\n2\t3\n3\t1\n3\t4\n", encoding="utf-8")
    closure = subjects(is_small=True)[0]

    *_, found = run(reasoner, closure.path, tmp_path, closure.changed, sizes=[1, 2, 9], jobs=2)

    assert found["found"]["tc"] == 12
    changes = set() if reasoner.no_changes else {"delete 1", "insert 1", "delete 2", "insert 2"}
    assert found["taken"].keys() == {"evaluate", "wall", *changes}


def test_a_table_has_a_number_or_a_reason_in_every_cell() -> None:
    """COST is against the best reasoner with one thread; what was not measured says why."""
    cells = [
        Cell("paths", "naive substitution", {}, reason="over 60 s"),
        Cell("paths", "relational algebra", {"evaluate": 4.0, "wall": 4.0}, 3 << 20, reason="keeps no state"),
        Cell("paths", "semi-naive", {"evaluate": 2.0, "wall": 2.0, "delete 1": 0.5}, 2 << 20),
        Cell("paths", "semi-naive, threads", {"evaluate": 3.0, "wall": 1.0, "delete 1": 0.25}, 2 << 20),
    ]

    assert table(cells).splitlines() == [
        "| paths | CPU s | wall s | COST | delete 1 | MiB |",
        "|---|---:|---:|---:|---:|---:|",
        "| naive substitution | over 60 s | over 60 s | over 60 s | over 60 s | over 60 s |",
        "| relational algebra | 4.000 | 4.000 | 2.00 | keeps no state | 3 |",
        "| semi-naive | 2.000 | 2.000 | 1.00 | 0.5000 | 2 |",
        "| semi-naive, threads | 3.000 | 1.000 | 0.50 | 0.2500 | 2 |",
    ]


def test_every_index_structure_has_a_reasoner() -> None:
    """The names that the command knows are those of the structures there are."""
    assert list(INDEX_KINDS) == list(INDEXES)
    assert [each.index for each in REASONERS if each.index and not each.is_parallel] == list(INDEXES)


def test_reasoners_and_subjects_are_chosen_by_name_or_by_words() -> None:
    """A whole name means itself alone; words mean all that have them, as whole words."""
    names = ["DRed", "DRed with counters", "RDFS, LUBM 1", "RDFS, LUBM 10"]

    def chosen(words: str) -> list[str]:
        return [name for name in names if is_named(name, words, names)]

    assert chosen("DRed") == ["DRed"]
    assert chosen("with counters,LUBM 1") == ["DRed with counters", "RDFS, LUBM 1"]
    assert chosen("") == names


def test_pictures_are_well_formed(tmp_path: Path) -> None:
    """Evaluation, memory and changes of each reasoner are drawn."""
    seconds = {"evaluate": 2.0, "wall": 2.0, "delete 1": 0.5, "insert 1": 0.25, "delete 10": 1.0}

    draw([Cell("paths", "semi-naive", seconds, 2 << 20), Cell("paths", "auto", {}, 0, "over 3 s")], tmp_path)

    for name in ("changes", "evaluation", "memory"):
        text = tmp_path.joinpath(f"reasoners_{name}.svg").read_text("utf-8")
        ET.fromstring(text)  # noqa: S314 - our own
        assert "semi-naive" in text


def test_the_command_writes_measurements_and_a_section(tmp_path: Path) -> None:
    """With one index structure and one strategy on a small grid; reading the measurements gives the same."""
    page, measured = tmp_path / "page.md", tmp_path / "out.json"
    chosen = ["--subjects", "closure", "--reasoners", "substitution with,update", "--index", "trie"]
    kept = ["--cache", str(tmp_path / "cache"), "--json", str(measured), "--results", str(page)]

    assert main(["reasoners", "--small", "--sizes", "1", *chosen, *kept]) == 0

    written = page.read_text("utf-8")
    assert "| substitution with DRed, trie |" in written
    assert "| substitution with DRed, btree |" not in written
    assert main(["reasoners", "--read", str(measured), "--results", str(page)]) == 0
    assert page.read_text("utf-8") == written
