"""Workloads on the engine `cuda`, beside the local engine with several numbers of threads.

    python -m benchmarks.gpu tc_sf_cedge galen --data DIR --repeat 5 --jobs 1,16

Wall seconds of one process, medians: of evaluation, the transfers to and from the GPU included, and of the
whole run from the program's text on, reading facts included. Kernels are compiled before anything counts.
Sizes are compared with what independent programs found.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from benchmarks.data import default_cache, facts_folder
from benchmarks.gpu_picture import draw_timings
from benchmarks.workload import WORKLOADS, Workload

if TYPE_CHECKING:
    from tidelog.options import EngineName


@dataclass(frozen=True, slots=True)
class Timing:
    """What the runs of a workload took."""

    workload: str
    engine: str
    verdict: str
    sizes: dict[str, int]
    evaluate: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    strata: list[str] = field(default_factory=list)

    def line(self) -> str:
        """Return it as a line of a table."""
        facts = sum(self.sizes.values())
        evaluate, whole = (statistics.median(x) if x else float("nan") for x in (self.evaluate, self.whole))
        return (
            f"| {self.workload} | {self.engine} | {facts:,} | {evaluate:.4f} | {whole:.4f} | {self.verdict} |"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each workload and engine; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="+")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument(
        "--jobs", default="", help="numbers of threads of the local engine, 1,4,16 for example"
    )
    parser.add_argument("--only-local", action="store_true", help="leave out the GPU")
    parser.add_argument("--output", type=Path, help="where to write all timings as JSON")
    parser.add_argument("--picture", type=Path, help="where to draw them, as SVG")
    options = parser.parse_args(arguments)
    known = {each.name: each for each in WORKLOADS}
    engines = [] if options.only_local else [("cuda", 1)]
    engines += [("local", int(jobs)) for jobs in options.jobs.split(",") if jobs]
    timings = []
    sys.stdout.write(
        "| workload | engine | facts | evaluation s | whole s | sizes |\n|---|---|---:|---:|---:|---|\n"
    )
    for name in options.workloads:
        facts = facts_folder(known[name], options.data, options.cache) if name in known else None
        if facts is None:
            sys.stdout.write(f"{name}: no such workload, or no data\n")
            continue
        for engine, jobs in engines:
            timing = measure_workload(known[name], facts, engine, jobs, options.repeat)
            timings.append(timing)
            sys.stdout.write(timing.line() + "\n")
            sys.stdout.flush()
    if options.output is not None:
        options.output.write_text(json.dumps([asdict(timing) for timing in timings], indent=1), "utf-8")
    if options.picture is not None:
        medians: dict[str, dict[str, float]] = {}
        for timing in timings:
            medians.setdefault(timing.workload, {})[timing.engine] = statistics.median(timing.evaluate)
        draw_timings(list(medians.items()), options.picture)
    return 0


def measure_workload(workload: Workload, facts: Path, engine: str, jobs: int, repeat: int) -> Timing:
    """Return what repeated runs of a workload took, after one that compiles."""
    title = engine if engine == "cuda" else f"{engine}, {jobs} threads"
    timing = Timing(workload.name, title, "", {})
    for number in range(repeat + 1):
        begun = time.perf_counter()
        evaluate, sizes, strata = run_once(workload, facts, engine, jobs)
        whole = time.perf_counter() - begun
        is_right = all(sizes[name] == size for name, size in workload.expected.items())
        verdict = ("exact" if workload.expected else "unchecked") if is_right else f"wrong: {sizes}"
        timing = replace(
            timing, verdict=verdict, strata=strata, sizes={n: sizes[n] for n in workload.expected or sizes}
        )
        if number:
            timing.evaluate.append(evaluate)
            timing.whole.append(whole)
        if not is_right:
            break
    return timing


def run_once(
    workload: Workload, facts: Path, engine: str, jobs: int
) -> tuple[float, dict[str, int], list[str]]:
    """Return the seconds of an evaluation, the sizes of all relations, and where strata ran."""
    from tidelog.cli.programs import read_program  # noqa: PLC0415 - what is measured is loaded by its first run
    from tidelog.engine.recorder import SessionRecorder  # noqa: PLC0415 - as above
    from tidelog.options import OpenOptions  # noqa: PLC0415 - as above
    from tidelog.plan.dead import needed_relations, wanted_relations  # noqa: PLC0415 - as above
    from tidelog.plan.passes import keep_wanted  # noqa: PLC0415 - as above
    from tidelog.session.once import evaluate_once  # noqa: PLC0415 - as above
    from tidelog.session.prepare import Request, prepare  # noqa: PLC0415 - as above

    recorder = SessionRecorder()
    options = OpenOptions(facts=facts, engine=cast("EngineName", engine), jobs=jobs)
    prepared = prepare(Request(read_program(workload.path), options), recorder)
    needed = needed_relations(prepared.program, wanted_relations(prepared.program))
    prepared = replace(prepared, program=keep_wanted(prepared.program))
    snapshot, _ = evaluate_once(prepared, recorder, needed)
    sizes = {name: snapshot.engine.size(name) for name in snapshot.program.relations}
    placements = getattr(snapshot.engine, "placements", ())
    strata = [f"{', '.join(p.relations)}: {p.where} {p.reason}" for p in placements]
    return recorder.statistics().seconds["evaluate"], sizes, strata


if __name__ == "__main__":
    raise SystemExit(main())
