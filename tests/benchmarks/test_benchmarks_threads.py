"""The benchmark of threads: what they share, and what one does alone."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.threads.clocks import Clocks, measured

PROGRAM = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


def test_regions_are_added_up():
    """What the busiest thread has more than the mean is uneven; what a thread does alone is not shared."""
    clocks = Clocks(calling=1.0, alone=0.5, regions=[[3.0, 1.0], [2.0, 2.0], []])

    clocks.add_up(2)

    assert clocks.together == pytest.approx(7.5)
    assert clocks.uneven == pytest.approx(1.0)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_evaluation_is_measured(tmp_path, jobs):
    """With one thread all is done by the one that calls; with two there are regions that they share."""
    program = tmp_path / "path.dl"
    program.write_text(PROGRAM, encoding="utf-8")
    # Many short paths, so that threads are worth starting.
    lines = [f"{x}\t{x + 1}" for x in range(60_000) if x % 4]
    (tmp_path / "edge.facts").write_text("\n".join(lines) + "\n", encoding="utf-8")

    clocks = measured(program, tmp_path, jobs)

    assert clocks.calling > 0
    assert bool(clocks.regions) == (jobs > 1)
    assert (clocks.together > 0) == (jobs > 1)


def test_the_command_prints_and_writes_what_it_measures(tmp_path, capsys):
    """A row for each workload; one that does not exist is an error."""
    target = tmp_path / "threads.json"

    status = main(
        ["threads", "tc_grid50", "--repeat", "1", "--cache", str(tmp_path / "cache"), "--json", str(target)]
    )
    rows = json.loads(Path(target).read_text(encoding="utf-8"))

    assert status == 0
    assert [row["workload"] for row in rows] == ["tc_grid50"]
    assert "only one can run for" in capsys.readouterr().out
    assert main(["threads", "nothing"]) == 2
