"""A session that lives long: a window slides over a stream of facts, one epoch for each that comes.

    python -m benchmarks.soak --epochs 1000000
    python -m benchmarks.soak --epochs 100000 --store FOLDER

Every epoch inserts a fact and deletes the oldest one, so that the same number of facts lives all the
time. Memory and time per epoch must stay where they are after the first hundredth, and a store must not
outgrow its state. What each twentieth of the run took is printed; the last line compares the last with
the first after the start.
"""

import argparse
import gc
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import psutil

import tidelog

PROGRAM: Final = """
.decl edge(x: number, y: number)
.input edge
.decl two(x: number, z: number)
two(x, z) :- edge(x, y), edge(y, z), x != z.
.decl degree(x: number, n: number)
degree(x, n) :- edge(x, _), n = count : { edge(x, _) }.
.decl linked(x: number, y: number)
linked(x, y) :- edge(x, y), y < 50.
linked(x, z) :- linked(x, y), edge(y, z), z < 50.
.decl alone(x: number)
alone(x) :- edge(x, _), !two(x, _).
"""
_PARTS: Final = 20


def stream_edge(number: int, live: int) -> tuple[int, int]:
    """Return a fact of the stream; no fact comes again while the window has it."""
    nodes = live // 2
    # A number's two halves in a fixed shuffle: every node has a few arcs, and arcs differ within the window.
    return number * 2_654_435_761 % nodes, (number // 3) * 40_503 % nodes + (number % (2 * live)) // nodes


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how memory and time per epoch develop; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=100_000)
    parser.add_argument("--live", type=int, default=10_000, help="facts that live at a time")
    parser.add_argument("--store", type=Path, help="a new folder to keep the state in")
    options = parser.parse_args(arguments)
    live, epochs = options.live, options.epochs
    db = tidelog.open(
        PROGRAM,
        facts={"edge": [stream_edge(number, live) for number in range(live)]},
        jobs=1,
        store=options.store,
    )
    window = [stream_edge(number, live) for number in range(live)]
    print(f"{'epoch':>10} {'µs/epoch':>9} {'slowest ms':>10} {'MiB':>7} {'facts':>8}  store MiB")
    reported: list[tuple[float, float]] = []
    for number in range(epochs // 100):
        _slide(db, window, number, live)
    begin = epochs // 100
    bounds = [begin + (epochs - begin) * part // _PARTS for part in range(_PARTS + 1)]
    for first, last in pairwise(bounds):
        cpu, slowest = time.process_time(), 0.0
        for number in range(first, last):
            start = time.perf_counter()
            _slide(db, window, number, live)
            slowest = max(slowest, time.perf_counter() - start)
        micros = (time.process_time() - cpu) / max(1, last - first) * 1e6
        gc.collect()
        memory = psutil.Process().memory_info().rss / 2**20
        facts = sum(len(db[name]) for name in db.relations)
        reported.append((micros, memory))
        kept = "" if options.store is None else f"{_folder_bytes(options.store) / 2**20:.1f}"
        print(
            f"{last:>10,} {micros:>9.0f} {slowest * 1e3:>10.1f} {memory:>7.0f} {facts:>8,}  {kept}",
            flush=True,
        )
    (first_micros, first_memory), (last_micros, last_memory) = reported[0], reported[-1]
    print(
        f"against the start: time {last_micros / first_micros:.2f}, memory {last_memory / first_memory:.2f}"
    )
    if options.store is not None:
        before = _folder_bytes(options.store)
        db.checkpoint()
        print(f"store: {before / _folder_bytes(options.store):.2f} of a fresh snapshot")
    db.close()
    return 0


def _slide(db: tidelog.Session, window: list[tuple[int, int]], number: int, live: int) -> None:
    place = number % live
    new = stream_edge(live + number, live)
    old, window[place] = window[place], new
    db.apply(insert={"edge": [new]}, delete={"edge": [old]})


def _folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    raise SystemExit(main())
