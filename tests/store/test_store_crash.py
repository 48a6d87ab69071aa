"""A store under a process that is killed."""

import re
import subprocess
import sys
from pathlib import Path

import tidelog
from benchmarks.crash import History
from support.processes import started

ROOT = Path(__file__).parents[2]


def test_kills_lose_nothing():
    """Whenever a writing process is killed, every acknowledged epoch is there and no half one.

    `python -m benchmarks.crash --kills 500` is the long form of this test.
    """
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.crash", "--kills", "25", "--seed", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(r"25 kills, [\d,]+ epochs acknowledged, none lost, none half done\n", done.stdout)


LIVE = "import pathlib, sys, benchmarks.crash as crash; crash.live(pathlib.Path(sys.argv[1]), 3, 1)"


def test_readers_and_a_busy_writer(tmp_path):
    """While a process applies epochs and replaces snapshots, readers see whole epochs, ever later ones."""
    command = [sys.executable, "-c", LIVE, str(tmp_path / "s")]
    history = History(3)
    seen = []

    with started(command, ROOT, stderr=None) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "0\n"
        for _ in range(12):
            with tidelog.open(store=tmp_path / "s", read_only=True, jobs=1) as reader:
                assert set(reader["edge"]) == history.edges(reader.epoch)
                seen.append(reader.epoch)
        writer.kill()
        acknowledged = writer.stdout.read().split()

    assert seen == sorted(seen)
    last = int(acknowledged[-1]) if acknowledged else 0
    assert seen[-1] <= last + 1
