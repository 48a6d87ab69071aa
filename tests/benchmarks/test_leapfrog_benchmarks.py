"""The benchmark of joins on graphs small enough to check by other means."""

import json

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.joins.graphs import full, skewed, star


def test_graphs_are_what_they_say():
    """A star has no triangles, a full graph as many as its arcs allow, a skewed one few popular vertices."""
    _, degrees = np.unique(skewed(2_000)[:, 0], return_counts=True)

    assert len(star(100)) == 100
    assert len(full(100)) == 100
    assert max(degrees) > 5 * degrees.mean()


def test_joins_are_measured_and_agree(tmp_path, capsys):
    """Every way to join and every structure finds the same; a trace costs more the more it changes."""
    pytest.importorskip("matplotlib", reason="pictures need the 'bench' extra")
    path = tmp_path / "joins.json"
    arguments = ["joins", "--arcs", "400", "--peers", "", "--experiments", "growth,structures,trace"]

    status = main([*arguments, "--json", str(path), "--pictures", str(tmp_path)])

    rows = json.loads(path.read_text(encoding="utf-8"))
    assert status == 0
    assert "exponent" in capsys.readouterr().out
    by_case: dict[tuple[str, int], set[int]] = {}
    for row in rows:
        if "facts" in row and "graph" in row:
            by_case.setdefault((row["graph"], row["arcs"]), set()).add(row["facts"])
    assert by_case["full", 400] == {8_000}
    assert all(len(facts) == 1 for facts in by_case.values())
    epochs = [row for row in rows if row["experiment"] == "trace" and "distance" in row]
    assert epochs[-1]["distance"] > epochs[0]["distance"] > 0
    assert epochs[-1]["steps"] > epochs[0]["steps"]
    assert (tmp_path / "trace.png").exists()
