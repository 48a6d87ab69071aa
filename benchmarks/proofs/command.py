"""`python -m benchmarks proofs`: measure what proofs cost.

python -m benchmarks proofs galen cspa100k doop --data DIR --json out.json
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Final

from benchmarks.data import default_cache, facts_folder
from benchmarks.measure import FIND_US, measure
from benchmarks.workload import WORKLOADS, Workload

_DEFAULT: Final = ("galen", "cspa100k", "doop")
_NODES: Final = 10_000
Measured = dict[str, float]


def add_proof_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    data = os.environ.get("TIDELOG_DATA")
    parser.add_argument("names", nargs="*", default=list(_DEFAULT), help="workloads")
    parser.add_argument(
        "--data", type=Path, default=Path(data) if data else None, help="folder of the data sets"
    )
    parser.add_argument(
        "--cache", type=Path, default=default_cache(), help="folder for unpacked and generated facts"
    )
    parser.add_argument("--nodes", type=int, default=_NODES, help="proof nodes to find")
    parser.add_argument("--modes", default="plain,height", help="some of plain,height")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for one process")
    parser.add_argument("--json", type=Path, help="write the measurements here")


def run_proofs(options: argparse.Namespace) -> int:
    """Return the exit status: 1 if a process failed."""
    by_name = {workload.name: workload for workload in WORKLOADS}
    unknown = [name for name in options.names if name not in by_name]
    if unknown:
        print(f"error: no workload is called {', '.join(unknown)}", file=sys.stderr)
        return 2
    found: dict[str, dict[str, Measured]] = {}
    failed = False
    for name in options.names:
        facts = facts_folder(by_name[name], options.data, options.cache)
        if facts is None:
            print(f"{name:<12}  skipped: its data set was not found; see benchmarks/README.md")
            continue
        modes: dict[str, Measured] = {}
        for mode in options.modes.split(","):
            measured = _run(by_name[name], facts, mode, options)
            failed |= measured is None
            if measured is not None:
                modes[mode] = measured
                print(_line(name, mode, measured), flush=True)
        if {"plain", "height"} <= modes.keys():
            print(_ratios(name, modes["plain"], modes["height"]), flush=True)
        found[name] = modes
        if options.json is not None:
            options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


def _run(workload: Workload, facts: Path, mode: str, options: argparse.Namespace) -> Measured | None:
    """Return what one process measured of itself, None if it failed."""
    command = [sys.executable, "-m", "benchmarks.proofs.subject", str(workload.path), str(facts), mode]
    done = measure([*command, str(options.nodes)], timeout_seconds=options.timeout, environment=FIND_US)
    if done.status:
        print(f"{workload.name:<12}  {mode}: failed\n{done.errors[-2000:]}", file=sys.stderr)
        return None
    measured: Measured = json.loads(done.output.splitlines()[-1])
    return measured


def _line(name: str, mode: str, measured: Measured) -> str:
    parts = [
        f"{name:<12}  {mode:<6}  {measured['facts']:>12,} facts",
        f"evaluate {measured['evaluate_seconds']:.2f} s CPU, {measured['cpu_seconds']:.1f} s in all",
        f"{measured['peak_bytes'] / 2**20:,.0f} MiB",
    ]
    if "node_seconds" in measured:
        overhead = measured["prepare_seconds"] / measured["evaluate_seconds"]
        parts += [
            f"proofs ready after {measured['prepare_seconds'] * 1000:.1f} ms ({overhead:.2%})",
            f"first answer {measured['first_answer_seconds'] * 1000:.1f} ms",
            f"median {measured['answer_seconds'] * 1000:.2f} ms",
            f"slowest {measured['slowest_answer_seconds'] * 1000:.1f} ms",
            f"{measured['nodes']:,} nodes at {measured['node_seconds'] * 1000:.3f} ms",
            f"largest proof {measured['largest_tree']:,} distinct nodes",
            _tree(measured),
            f"code loaded once in {measured['load_seconds'] * 1000:.0f} ms",
        ]
    return "; ".join(parts)


def _tree(measured: Measured) -> str:
    nodes, size = measured["unfolded_nodes"], measured["unfolded_size"]
    return f"{nodes:,} of {size:,} nodes drawn as a tree at {measured['unfolded_node_seconds'] * 1000:.3f} ms"


def _ratios(name: str, plain: Measured, height: Measured) -> str:
    time_ratio = height["evaluate_seconds"] / plain["evaluate_seconds"]
    whole_ratio = height["cpu_seconds"] / plain["cpu_seconds"]
    memory_ratio = height["peak_bytes"] / plain["peak_bytes"]
    return (
        f"{name:<12}  height against plain: evaluation {time_ratio:.2f}, whole process {whole_ratio:.2f}, "
        f"memory {memory_ratio:.2f}"
    )
