"""`python -m benchmarks trees`: what diffing costs.

python -m benchmarks trees --nodes 2000000
"""

import argparse

_WANTED = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--nodes", type=int, default=2_000_000, help="nodes of the largest tree")
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many runs counts")


def run_trees(options: argparse.Namespace) -> int:
    """Measure and print; return the exit status: 1 if a comparison was slower than wanted."""
    from benchmarks.trees.diffing import measure_diffing  # noqa: PLC0415 - it brings NumPy

    slowest = float("inf")
    print(f"{'change':<26}{'nodes':>12}{'edits':>10}{'facts':>10}{'CPU s':>9}{'nodes/s':>13}")
    for each in measure_diffing(options.nodes, options.repeat):
        slowest = min(slowest, each.nodes_per_second)
        print(
            f"{each.change:<26}{each.nodes:>12,}{each.edits:>10,}{each.facts:>10,}"
            f"{each.cpu_seconds:>9.3f}{each.nodes_per_second:>13,.0f}",
            flush=True,
        )
    print(f"slowest: {slowest:,.0f} nodes a second; wanted: {_WANTED:,}")
    return 0 if slowest >= _WANTED else 1
