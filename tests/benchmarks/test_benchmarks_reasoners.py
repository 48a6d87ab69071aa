"""`python -m benchmarks reasoners`."""

from pathlib import Path

import pytest

from benchmarks.reasoners.command import Cell, table
from benchmarks.reasoners.one import run
from benchmarks.reasoners.table import REASONERS, Reasoner, subjects


@pytest.mark.parametrize("reasoner", REASONERS, ids=[reasoner.name for reasoner in REASONERS])
def test_every_reasoner_finds_the_same(reasoner: Reasoner, tmp_path: Path) -> None:
    """Each evaluates the closure of a small graph, and follows a deletion and an insertion if it can."""
    tmp_path.joinpath("arc.facts").write_text("1\t2\n2\t3\n3\t1\n3\t4\n", encoding="utf-8")
    closure = subjects(is_small=True)[0]

    found = run(reasoner, closure.path, tmp_path, closure.changed, sizes=[1, 2, 9], jobs=2)

    assert isinstance(found, dict)
    assert found["found"]["tc"] == 12
    changes = set() if reasoner.no_changes else {"delete 1", "insert 1", "delete 2", "insert 2"}
    assert found["taken"].keys() == {"evaluate", *changes}


def test_a_table_has_a_number_or_a_reason_in_every_cell() -> None:
    """COST is against the best reasoner with one thread; what was not measured says why."""
    cells = [
        Cell("paths", "naive substitution", {}, reason="over 60 s"),
        Cell("paths", "relational algebra", {"evaluate": 4.0}, 3 << 20, reason="keeps no state"),
        Cell("paths", "semi-naive", {"evaluate": 2.0, "delete 1": 0.5}, 2 << 20),
        Cell("paths", "semi-naive, threads", {"evaluate": 1.0, "delete 1": 0.25}, 2 << 20),
    ]

    assert table(cells).splitlines() == [
        "| paths | evaluate | COST | delete 1 | MiB |",
        "|---|---|---|---|---|",
        "| naive substitution | over 60 s | over 60 s | over 60 s | over 60 s |",
        "| relational algebra | 4.000 | 2.00 | keeps no state | 3 |",
        "| semi-naive | 2.000 | 1.00 | 0.5000 | 2 |",
        "| semi-naive, threads | 1.000 | 0.50 | 0.2500 | 2 |",
    ]
