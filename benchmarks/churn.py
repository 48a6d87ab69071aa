"""Facts that come and go by the thousand over a few that stay.

    python -m benchmarks.churn --rounds 400
    python -m benchmarks.churn --rounds 400 --store FOLDER
    python -m benchmarks.churn --rounds 240 --strategy trace

Every round inserts facts in one epoch and deletes them in the next, so that it ends where it began. Time and
memory of the last rounds are compared with those around round 20, and with the strategy `trace` the steps it
took to follow the deletion.
"""

import argparse
import gc
import random
import re
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import psutil

import tidelog

PROGRAM: Final = """
.decl edge(x: number, y: number)
.input edge
.decl triangle(x: number, y: number, z: number)
triangle(x, y, z) :- edge(x, y), edge(y, z), edge(z, x).
"""
RECURSION: Final = """
.decl reached(x: number, y: number)
reached(x, y) :- edge(x, y), x < 50.
reached(x, z) :- reached(x, y), edge(y, z), z < 200.
.decl degree(x: number, n: number)
degree(x, n) :- edge(x, _), n = count : { edge(x, _) }.
"""
_EARLY: Final = 20
_AROUND: Final = 5
_STEPS: Final = re.compile(r"in ([0-9,]+) steps")


class Round(NamedTuple):
    """What one round took."""

    cpu: float
    memory: float
    steps: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how time and memory develop; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.churn", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--live", type=int, default=50, help="facts that stay")
    parser.add_argument("--facts", type=int, default=2_000, help="facts that come and go in a round")
    parser.add_argument("--strategy", default="auto")
    parser.add_argument("--store", type=Path, help="a new folder to keep the state in")
    options = parser.parse_args(arguments)
    if options.rounds < _EARLY + 2 * _AROUND:
        parser.error(f"--rounds must be at least {_EARLY + 2 * _AROUND}")
    program = PROGRAM if options.strategy == "trace" else PROGRAM + RECURSION
    stay = [(number, (number + 1) % options.live) for number in range(options.live)]
    db = tidelog.open(program, facts={"edge": stay}, jobs=1, store=options.store, strategy=options.strategy)
    rounds = [_round(db, options.live, options.facts, number) for number in range(options.rounds)]
    db.close()
    early = rounds[_EARLY - _AROUND : _EARLY + _AROUND]
    late = rounds[-2 * _AROUND :]
    for name, part in ((f"round {_EARLY}", early), (f"round {options.rounds}", late)):
        print(
            f"{name:>10}: {_median(part, 0) * 1e3:8.1f} CPU ms, {_median(part, 1):7.1f} MiB, "
            f"{_median(part, 2):,.0f} steps"
        )
    ratios = [_median(late, place) / max(_median(early, place), 1e-9) for place in range(3)]
    print(f"against round {_EARLY}: time {ratios[0]:.2f}, memory {ratios[1]:.2f}", end="")
    print(f", steps {ratios[2]:.2f}" if options.strategy == "trace" else "")
    return 0


def _round(db: tidelog.Session, live: int, facts: int, number: int) -> Round:
    """Insert facts and delete them again; return what that took."""
    draw = random.Random(number)  # noqa: S311 - chance is not a secret in a benchmark
    passing = {(draw.randrange(live, 40 * live), draw.randrange(4 * live)) for _ in range(facts)}
    begun = time.process_time()
    db.apply(insert={"edge": passing})
    delta = db.apply(delete={"edge": passing})
    cpu = time.process_time() - begun
    found = [_STEPS.search(report.reason) for report in delta.strata]
    steps = sum(int(each[1].replace(",", "")) for each in found if each is not None)
    gc.collect()
    return Round(cpu, psutil.Process().memory_info().rss / 2**20, steps)


def _median(rounds: Sequence[Round], place: int) -> float:
    return statistics.median(float(each[place]) for each in rounds)


if __name__ == "__main__":
    raise SystemExit(main())
