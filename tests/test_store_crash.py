"""A store under a process that is killed."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


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
