"""Time and memory against the number of facts: three programs over graphs of growing size.

    python -m benchmarks scale --largest 100000000 --json scale.json --pictures FOLDER

Each size is a process of its own. Time is what evaluating takes, without starting and loading; memory is the
peak of the process.
"""

import argparse
import json
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks.data import default_cache
from benchmarks.generators import gnp, grid, write_arcs
from benchmarks.runner import How, run_tidelog
from benchmarks.workload import Generated, Workload

_Arcs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Growing:
    """A program, and the graph for which it finds about so many facts."""

    name: str
    program: str
    arcs: Callable[[float], _Arcs]


GROWING: Final = (
    # A grid of s columns has s⁴ / 4 pairs of vertices of which one leads to the other.
    Growing("closure of grids", "tc.dl", lambda facts: grid(round((4 * facts) ** 0.25) - 1)),
    # With ten arcs for each vertex almost all pairs are connected.
    Growing(
        "closure of random graphs", "tc.dl", lambda facts: gnp(round(facts**0.5), 10 / facts**0.5, seed=1)
    ),
    # In a grid of s columns, diagonals have two thirds of s³ pairs.
    Growing(
        "same generation in grids", "same_generation.dl", lambda facts: grid(round((1.5 * facts) ** (1 / 3)))
    ),
)


@dataclass(frozen=True, slots=True)
class Point:
    """What one program took for one size."""

    program: str
    facts: int
    seconds: float
    peak_bytes: int


def sizes(smallest: float, largest: float) -> list[float]:
    """Return two sizes for each power of ten between two numbers of facts, both included."""
    steps = round(2 * math.log10(largest / smallest))
    return [smallest * 10 ** (step / 2) for step in range(steps + 1)]


def measure(growing: Growing, facts: float, jobs: int) -> Point:
    """Return what a program takes to find about so many facts."""
    with tempfile.TemporaryDirectory(prefix="tidelog-scale-") as name:
        folder = Path(name)
        write_arcs(growing.arcs(facts), folder / "arc.facts")
        workload = Workload(
            f"scale_{growing.program}", growing.program, Generated(lambda _: None), growing.name
        )
        run = run_tidelog(workload, folder, default_cache(), How(jobs=jobs))
    if not run.is_good:
        raise RuntimeError(run.message)
    seconds = run.statistics["seconds"]
    assert isinstance(seconds, dict)
    return Point(growing.name, sum(run.sizes.values()), float(seconds["evaluate"]), run.peak_bytes)


def slope(points: Sequence[Point], value: Callable[[Point], float]) -> float:
    """Return by which power of the facts a value grows, from the middle of the sizes to their end."""
    last, middle = points[-1], points[len(points) // 2]
    return math.log(value(last) / value(middle)) / math.log(last.facts / middle.facts)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--smallest", type=float, default=1e4, help="about how many facts to begin with")
    parser.add_argument("--largest", type=float, default=1e7, help="about how many facts to end with")
    parser.add_argument("--jobs", type=int, default=1, help="threads")
    parser.add_argument("--json", type=Path, help="write what was measured to this file")
    parser.add_argument("--pictures", type=Path, help="draw `scale.png` in this folder")


def run_scale(options: argparse.Namespace) -> int:
    """Measure all programs, print a line for each size and return 0."""
    points = list(_measured(options))
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(point) for point in points], indent=2) + "\n", "utf-8")
    if options.pictures is not None:
        draw(points, options.pictures)
    return 0


def _measured(options: argparse.Namespace) -> Iterator[Point]:
    for growing in GROWING:
        points = []
        for facts in sizes(options.smallest, options.largest):
            point = measure(growing, facts, options.jobs)
            points.append(point)
            each = point.seconds / max(point.facts, 1) * 1e9
            print(
                f"{point.program}: {point.facts:,} facts, {point.seconds:.3f} s ({each:.0f} ns a fact), "
                f"{point.peak_bytes / 2**20:,.0f} MiB",
                flush=True,
            )
            yield point
        if len(points) > 2:
            print(
                f"{growing.name}: time grows with the facts to the power of "
                f"{slope(points, lambda point: max(point.seconds, 1e-4)):.2f}"
            )


def draw(points: Sequence[Point], folder: Path) -> Path:
    """Write `scale.png`: seconds and memory against facts, both scales logarithmic; return the file."""
    import matplotlib as mpl  # noqa: PLC0415 - slow to import, and only pictures need it

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the choice of backend

    folder.mkdir(parents=True, exist_ok=True)
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    titles = ("evaluation, seconds", "peak memory, MiB")
    for panel, title in zip(panels, titles, strict=True):
        for colour, program in zip(("#0072b2", "#e69f00", "#009e73"), _programs(points), strict=False):
            own = [point for point in points if point.program == program]
            values = [x.seconds if title.startswith("evaluation") else x.peak_bytes / 2**20 for x in own]
            panel.loglog([x.facts for x in own], values, "o-", color=colour, markersize=4, label=program)
        panel.set_xlabel("facts")
        panel.set_ylabel(title)
        panel.grid(visible=True, which="major", alpha=0.3)
    last = max(points, key=lambda point: point.facts)
    ends = [point.facts for point in (min(points, key=lambda point: point.facts), last)]
    panels[0].loglog(
        ends, [last.seconds / last.facts * end for end in ends], "--", color="#999999", label="slope 1"
    )
    panels[0].legend(fontsize="small")
    path = folder / "scale.png"
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path


def _programs(points: Sequence[Point]) -> list[str]:
    return list(dict.fromkeys(point.program for point in points))
