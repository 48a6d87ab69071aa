"""The benchmark of threads: what they share, and what one does alone."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.threads.clocks import Clocks, Piece, Region, measured
from benchmarks.threads.schedule import divided_seconds, shared_seconds
from tidelog.io import read_ahead

PROGRAM = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


def _region(*seconds: float, interpreter: float = 0.0) -> Region:
    return Region(tasks=[Piece(each, interpreter) for each in seconds])


def test_regions_are_added_up():
    """What takes longer than its share is uneven."""
    clocks = Clocks(calling=1.0, regions=[_region(3.0, 1.0), _region(2.0, 2.0), _region()])

    clocks.add_up(2)

    assert clocks.together == pytest.approx(8.0)
    assert clocks.uneven == pytest.approx(1.0)


def test_the_interpreter_serves_one_thread_at_a_time():
    """A region takes no less than its pieces need the interpreter for."""
    clocks = Clocks(regions=[_region(*[1.0] * 8, interpreter=0.5)])

    clocks.add_up(8)

    assert clocks.uneven == pytest.approx(4.0 - 1.0)


def test_whoever_is_done_takes_the_next_piece():
    """One long piece at the beginning leaves the others to the other threads; divided, it does not."""
    pieces = [6.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]

    assert shared_seconds(pieces, 2) == pytest.approx(7.0)
    assert divided_seconds(pieces, 2) == pytest.approx(9.0)
    assert shared_seconds(pieces, 32) == pytest.approx(6.0)


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
    assert clocks.loading.calling > 0


def test_what_any_thread_can_load_is_measured_apart(tmp_path, monkeypatch):
    """The pieces of files are what any thread can do, whichever does it."""
    monkeypatch.setattr(read_ahead, "_BYTES_FOR_THREADS", 0)
    (tmp_path / "path.dl").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "edge.facts").write_text("".join(f"{x}\t1\n" for x in range(20_000)), encoding="utf-8")

    one, two = (measured(tmp_path / "path.dl", tmp_path, jobs).loading for jobs in (1, 2))

    assert one.together == 0
    assert one.calling > 0
    assert two.together > 0
    assert two.calling > 0


def test_the_command_prints_and_writes_what_it_measures(tmp_path, capsys):
    """A row for each workload; one that does not exist is an error."""
    target = tmp_path / "threads.json"

    status = main(
        [
            "threads",
            "tc_grid50",
            "--repeat",
            "1",
            "--cores",
            "4",
            "--cache",
            str(tmp_path / "cache"),
            "--json",
            str(target),
        ]
    )
    rows = json.loads(Path(target).read_text(encoding="utf-8"))

    assert status == 0
    assert [row["workload"] for row in rows] == ["tc_grid50"]
    assert "only one can run for" in capsys.readouterr().out
    assert main(["threads", "nothing"]) == 2
