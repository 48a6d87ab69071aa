"""What a profile costs: runs with and without one, in pairs.

    python -m benchmarks.overhead tc_grid100 cspa100k galen --data DIR --pairs 5

The two runs of a pair follow each other, in turn the one first and the other; CPU seconds of whole
processes, on one thread. A busy machine takes more from one run than from the next, so the ratio of the
medians and of the least of all runs are printed beside the median of the pairs.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.data import default_cache, facts_folder
from benchmarks.measure import measure
from benchmarks.workload import WORKLOADS, Workload


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each workload; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.overhead", description=__doc__.splitlines()[0]
    )
    parser.add_argument("workloads", nargs="+")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args(arguments)
    known = {each.name: each for each in WORKLOADS}
    for name in options.workloads:
        facts = facts_folder(known[name], options.data, options.cache) if name in known else None
        if facts is None:
            sys.stdout.write(f"{name}: no such workload, or no data\n")
            return 1
        plain, profiled = measure_pairs(known[name], facts, options.pairs)
        sys.stdout.write(f"{name}: {summary(plain, profiled)}\n")
    return 0


def measure_pairs(workload: Workload, facts: Path, pairs: int) -> tuple[list[float], list[float]]:
    """Return the CPU seconds of runs without and with a profile, pair by pair."""
    plain: list[float] = []
    profiled: list[float] = []
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as scratch:
        common = [sys.executable, "-m", "tidelog", "run", str(workload.path), "-F", str(facts)]
        common += ["-D", scratch, "--jobs", "1"]
        extra = ["--profile", str(Path(scratch, "profile.json"))]
        # Kernels are compiled, and files read, before anything counts.
        _cpu_seconds([*common, *extra])
        for pair in range(pairs):
            turns = [(plain, common), (profiled, [*common, *extra])]
            for seconds, command in reversed(turns) if pair % 2 else turns:
                seconds.append(_cpu_seconds(command))
    return plain, profiled


def summary(plain: Sequence[float], profiled: Sequence[float]) -> str:
    """Return medians and ratios in words.

    >>> summary([1.0, 2.0, 1.0], [1.01, 2.0, 1.02])
    'without 1.00 s, with 1.02 s; ratio of medians 1.020, of the least 1.010, median of pairs 1.010'
    """
    pairs = statistics.median(other / one for one, other in zip(plain, profiled, strict=True))
    one, other = statistics.median(plain), statistics.median(profiled)
    ratios = f"ratio of medians {other / one:.3f}, of the least {min(profiled) / min(plain):.3f}"
    return f"without {one:.2f} s, with {other:.2f} s; {ratios}, median of pairs {pairs:.3f}"


def _cpu_seconds(command: Sequence[str]) -> float:
    found = measure(command, timeout_seconds=3600)
    if found.status != 0:
        raise RuntimeError(found.errors)
    return found.cpu_seconds


if __name__ == "__main__":
    sys.exit(main())
