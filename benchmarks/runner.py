"""Workloads on Tidelog and its peers, one fresh process each, sizes compared with what they must be."""

import json
import sys
import tempfile
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

from benchmarks.data import first_lines
from benchmarks.measure import FIND_US, Measurement, measure
from benchmarks.peers import load_peer
from benchmarks.peers.rules import NotPlainError, read_plain_program
from benchmarks.workload import Workload

_LIBRARIES = {"duckdb": "duckdb", "nemo": "nmo_python", "clingo": "clingo", "logica": "logica"}


@dataclass(frozen=True, slots=True)
class Run:
    """One engine or peer on one workload: what came out and what it took."""

    workload: str
    engine: str
    jobs: int
    # "exact", "unchecked" (no size is known), "wrong", "failed", "timeout"
    verdict: str
    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int
    sizes: dict[str, int] = field(default_factory=dict)
    expected: dict[str, int] = field(default_factory=dict)
    message: str = ""
    # What `tidelog run --stats` wrote.
    statistics: dict[str, object] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        """Return whether nothing speaks against the run."""
        return self.verdict in {"exact", "unchecked"}


@dataclass(frozen=True, slots=True)
class How:
    """How a workload is run: threads, engine or peer, and the seconds after which it is stopped."""

    jobs: int = 1
    engine: str = "local"
    timeout_seconds: float = 3600


def run_tidelog(workload: Workload, facts: Path, cache: Path, how: How) -> Run:
    """Return what Tidelog took, start-up and loading included, compiling kernels excluded.

    Kernels are compiled once and kept on disk, so a first run over a few facts goes before.
    """
    warm = first_lines(facts, cache, workload)
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as scratch:
        stats = Path(scratch, "stats.json")

        def command(folder: Path) -> list[str]:
            run = [sys.executable, "-m", "tidelog", "run", str(workload.path), "-F", str(folder)]
            settings = ["--jobs", str(how.jobs), "--engine", how.engine, "--stats", str(stats)]
            return [*run, "-D", scratch, *settings, "--no-progress"]

        measure(command(warm), timeout_seconds=how.timeout_seconds)
        stats.unlink(missing_ok=True)
        taken = measure(command(facts), timeout_seconds=how.timeout_seconds)
        statistics = json.loads(stats.read_text(encoding="utf-8")) if stats.is_file() else {}
    run = _judge(workload, how, taken, _printed_sizes(taken.output))
    name = "tidelog" if how.engine == "local" else f"tidelog-{how.engine}"
    return replace(run, engine=name, statistics=statistics)


def run_peer(workload: Workload, facts: Path, how: How) -> Run | None:
    """Return what a peer took up to its fixpoint, or None if it cannot run the workload's program."""
    try:
        program = read_plain_program(workload.path)
    except NotPlainError:
        return None
    if not load_peer(how.engine).can_run(program):
        return None
    command = [sys.executable, "-m", "benchmarks.peers", how.engine, str(workload.path), str(facts)]
    taken = measure([*command, str(how.jobs)], timeout_seconds=how.timeout_seconds, environment=FIND_US)
    if taken.status != 0:
        return _judge(workload, how, taken, {})
    # The last line is the report; a library may have printed before it.
    report = json.loads(taken.output.strip().splitlines()[-1])
    counted = Measurement(
        status=0,
        cpu_seconds=report["cpu_seconds"],
        wall_seconds=report["wall_seconds"],
        peak_bytes=report["peak_bytes"],
        is_timeout=False,
        output=taken.output,
        errors=taken.errors,
    )
    return _judge(workload, how, counted, report["sizes"])


def is_installed(peer: str) -> bool:
    """Return whether the peer's library can be imported."""
    return find_spec(_LIBRARIES[peer]) is not None


def _judge(workload: Workload, how: How, taken: Measurement, sizes: dict[str, int]) -> Run:
    message = ""
    if taken.is_timeout:
        verdict = "timeout"
    elif taken.status != 0:
        verdict = "failed"
        message = taken.errors.strip()[-2000:] or f"exit status {taken.status}"
    elif any(sizes.get(relation) != size for relation, size in workload.expected.items()):
        verdict = "wrong"
        message = f"expected {dict(workload.expected)}, found {sizes}"
    else:
        verdict = "exact" if workload.expected else "unchecked"
    return Run(
        workload=workload.name,
        engine=how.engine,
        jobs=how.jobs,
        verdict=verdict,
        cpu_seconds=round(taken.cpu_seconds, 3),
        wall_seconds=round(taken.wall_seconds, 3),
        peak_bytes=taken.peak_bytes,
        sizes=sizes,
        expected=dict(workload.expected),
        message=message,
    )


def _printed_sizes(output: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for line in output.splitlines():
        name, tab, count = line.partition("\t")
        if tab and count.strip().isdigit():
            sizes[name] = int(count)
    return sizes
