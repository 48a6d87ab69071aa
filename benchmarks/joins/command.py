"""`python -m benchmarks joins`: cyclic joins, index structures, and following traces.

python -m benchmarks joins --json joins.json --pictures FOLDER
python -m benchmarks joins --experiments growth,trace
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from benchmarks.joins.graphs import Arcs
    from benchmarks.joins.shapes import Found, Shape

Row = dict[str, Any]
_EXPERIMENTS: Final = ("growth", "shapes", "structures", "trace", "switch")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--experiments", default=",".join(_EXPERIMENTS), help=f"some of {','.join(_EXPERIMENTS)}"
    )
    parser.add_argument("--arcs", type=int, default=100_000, help="size of the largest graphs")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a peer may take for one join")
    peers = "duckdb,duckdb-stores,nemo"
    parser.add_argument("--peers", default=peers, help=f"some of {peers}")
    parser.add_argument("--repeat", type=int, default=3, help="how often shapes are measured; medians count")
    parser.add_argument("--json", type=Path, help="write the measurements here")
    parser.add_argument("--pictures", type=Path, help="draw trace.png into this folder")


def run_joins(options: argparse.Namespace) -> int:
    """Measure, print, and keep what was asked for; return the exit status."""
    _warm_up()
    rows: list[Row] = []
    measure: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
        "growth": _growth, "shapes": _shapes, "structures": _structures, "trace": _trace, "switch": _switch,
    }  # fmt: skip
    try:
        for name in options.experiments.split(","):
            for row in measure[name](options):
                rows.append({"experiment": name, **row})
                print("  ".join(f"{key} {_shown(value)}" for key, value in rows[-1].items()), flush=True)
    finally:
        if options.json is not None:
            options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    if options.pictures is not None:
        from benchmarks.joins.picture import draw  # noqa: PLC0415 - matplotlib only for pictures

        draw(rows, options.pictures)
    return 0


def _shown(value: object) -> str:
    return (
        f"{value:.3g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
    )


def _warm_up() -> None:
    """Compile everything that is measured."""
    from benchmarks.joins.graphs import full  # noqa: PLC0415 - the engine is loaded where it is measured
    from benchmarks.joins.shapes import PLANS, SHAPES, join  # noqa: PLC0415 - likewise
    from benchmarks.joins.traces import follow  # noqa: PLC0415 - likewise

    for shape in SHAPES:
        for how in PLANS:
            join(shape, full(2_500), how)
    list(follow(full(100), [1, 3], ["trace", "update"]))


def _growth(options: argparse.Namespace) -> Iterator[Row]:
    """Triangles of growing worst cases, with the exponents of growth."""
    from benchmarks.joins.graphs import GRAPHS  # noqa: PLC0415 - the engine is loaded where it is measured
    from benchmarks.joins.shapes import TRIANGLE, join  # noqa: PLC0415 - likewise
    from benchmarks.joins.traces import slope  # noqa: PLC0415 - likewise

    for graph in ("full", "star"):
        for how in ("leapfrog", "pairs"):
            sizes, seconds = [], []
            for arcs in (
                options.arcs // 16,
                options.arcs // 8,
                options.arcs // 4,
                options.arcs // 2,
                options.arcs,
            ):
                found = join(TRIANGLE, GRAPHS[graph](arcs), how)
                sizes.append(float(arcs))
                seconds.append(found.seconds)
                yield {
                    "graph": graph,
                    "join": how,
                    "arcs": arcs,
                    "facts": found.facts,
                    "seconds": found.seconds,
                }
            exponent = slope(sizes[1:], seconds[1:])
            yield {"graph": graph, "join": how, "exponent": exponent}


def _shapes(options: argparse.Namespace) -> Iterator[Row]:
    """Every shape on every graph, with the peers beside it."""
    from benchmarks.joins.graphs import GRAPHS  # noqa: PLC0415 - the engine is loaded where it is measured
    from benchmarks.joins.shapes import CLIQUE, SQUARE, TRIANGLE, join  # noqa: PLC0415 - likewise

    cases: list[tuple[Shape, str, int]] = [
        (TRIANGLE, "star", options.arcs // 4),
        (TRIANGLE, "rmat", options.arcs),
        (TRIANGLE, "rmat", 4 * options.arcs),
        (CLIQUE, "star", options.arcs // 4),
        (CLIQUE, "rmat", options.arcs // 4),
        (SQUARE, "star", options.arcs // 40),
        (SQUARE, "rmat", options.arcs // 10),
    ]
    for shape, graph, size in cases:
        arcs = GRAPHS[graph](size)
        case = {"shape": shape.name, "graph": graph, "arcs": len(arcs)}
        rounds = [
            [
                *(_row(f"tidelog {how}", join(shape, arcs, how)) for how in ("leapfrog", "pairs", "auto")),
                *_peer_rows(shape, arcs, options),
            ]
            for _ in range(options.repeat)
        ]
        yield from ({**case, **_median(rows)} for rows in zip(*rounds, strict=True))


def _row(engine: str, found: "Found") -> Row:
    return {"engine": engine, "facts": found.facts, "seconds": found.seconds}


def _median(rows: Sequence[Row]) -> Row:
    """Return the row whose seconds are in the middle; those over the limit count as most."""

    def order(row: Row) -> float:
        return math.inf if isinstance(row["seconds"], str) else row["seconds"]

    return sorted(rows, key=order)[len(rows) // 2]


def _peer_rows(shape: "Shape", arcs: "Arcs", options: argparse.Namespace) -> Iterator[Row]:
    from benchmarks.joins.peers import ask, is_installed  # noqa: PLC0415 - likewise

    for peer in options.peers.split(",") if options.peers else []:
        if not is_installed(peer):
            print(f"{peer}: not installed; run bin/set-up bench")
            continue
        found = ask(peer, shape, arcs, options.limit)
        if found is None:
            yield {"engine": peer, "facts": None, "seconds": f"over {options.limit:g}"}
        else:
            yield _row(peer, found)


def _structures(options: argparse.Namespace) -> Iterator[Row]:
    """Index structures on the same joins."""
    from benchmarks.joins.graphs import GRAPHS  # noqa: PLC0415 - the engine is loaded where it is measured
    from benchmarks.joins.structures import STRUCTURES  # noqa: PLC0415 - likewise

    for graph, size in (("rmat", options.arcs), ("star", options.arcs // 10)):
        arcs = GRAPHS[graph](size)
        for name, count in STRUCTURES.items():
            found = count(arcs)
            yield {
                "graph": graph, "arcs": len(arcs), "structure": name, "facts": found.facts,
                "seconds": found.seconds,
            }  # fmt: skip


def _trace(options: argparse.Namespace) -> Iterator[Row]:
    """Follow a trace, and compare the cost with how much the trace differs before and after a change."""
    from benchmarks.joins.graphs import skewed  # noqa: PLC0415 - the engine is loaded where it is measured
    from benchmarks.joins.traces import follow, slope  # noqa: PLC0415 - likewise

    sizes = [size for size in (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000) if size < options.arcs // 4]
    epochs = list(follow(skewed(options.arcs), sizes, ["trace"]))
    for epoch in epochs:
        yield {
            "facts": epoch.facts, "distance": epoch.distance, "edits": epoch.edits, "steps": epoch.steps,
            "seconds": epoch.seconds,
        }  # fmt: skip
    distances = [float(epoch.distance) for epoch in epochs]
    large = [epoch for epoch in epochs if epoch.facts >= 100]
    yield {
        "slope of steps": slope(distances, [float(epoch.steps) for epoch in epochs]),
        "slope of seconds from 100 facts on": slope(
            [float(epoch.distance) for epoch in large], [epoch.seconds for epoch in large]
        ),
        "distance from": int(min(distances)), "distance to": int(max(distances)),
    }  # fmt: skip


def _switch(options: argparse.Namespace) -> Iterator[Row]:
    """Change facts that many combinations of others could use and few do: trace against update."""
    from statistics import median  # noqa: PLC0415 - likewise

    from benchmarks.joins.traces import switch  # noqa: PLC0415 - the engine is loaded where it is measured

    for strategy in ("trace", "update", "auto"):
        epochs = list(switch(5 * options.arcs, [strategy]))[4:]
        yield {
            "strategy": strategy, "used": "/".join(sorted({epoch.strategy for epoch in epochs})),
            "median steps": float(median(epoch.steps for epoch in epochs)),
            "median seconds": median(epoch.seconds for epoch in epochs),
            "total seconds": sum(epoch.seconds for epoch in epochs),
        }  # fmt: skip
