"""`python -m benchmarks past`: what old epochs cost, in memory and when they are read.

python -m benchmarks past --data DIR --epochs 1000 --facts 10

Two processes apply the same epochs to cspa100k, one keeping them all and one keeping the last alone. Each
says what it holds afterwards; the first then reads old epochs, and compares one with an evaluation.
"""

import argparse
import gc
import json
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.data import default_cache, facts_folder
from benchmarks.measure import FIND_US, measure
from benchmarks.workload import WORKLOADS

if TYPE_CHECKING:
    import tidelog
    from tidelog.values import Fact

_GOAL = 1.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--data", type=Path, default=None, help="folder of the published data sets")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where data sets are unpacked")
    parser.add_argument("--epochs", type=int, default=1000, help="how many epochs are kept")
    parser.add_argument("--facts", type=int, default=10, help="how many facts each epoch changes")


def run_past(options: argparse.Namespace) -> int:
    """Measure and print; return the exit status: 1 if the goal was missed or a process failed."""
    workload = next(each for each in WORKLOADS if each.name == "cspa100k")
    folder = facts_folder(workload, options.data, options.cache)
    if folder is None:
        print("cspa100k is not in the data folder; name it with --data", file=sys.stderr)
        return 1
    held = {}
    for kept in (1, options.epochs):
        numbers = [str(each) for each in (kept, options.epochs, options.facts)]
        command = [sys.executable, "-m", "benchmarks.past", str(folder), *numbers]
        taken = measure(command, timeout_seconds=1800, environment=FIND_US)
        if taken.status != 0:
            print(taken.errors[-2000:], file=sys.stderr)
            return 1
        found = json.loads(taken.output)
        held[kept] = found["bytes"]
        print(f"keeping {kept:,} epochs: {found['bytes'] / 1e6:,.0f} MB", flush=True)
        for line in found["lines"]:
            print(f"  {line}", flush=True)
    ratio = held[options.epochs] / held[1]
    print(f"{ratio:.3f} times the memory of the last epoch alone; the goal is {_GOAL}")
    return 0 if ratio <= _GOAL else 1


def _follow(folder: Path, kept: int, epochs: int, size: int) -> dict[str, object]:
    """Return the bytes that a session holds after the epochs, and what reading old ones took."""
    import tidelog  # noqa: PLC0415 - the parent stays small

    program = Path(__file__).parent / "workloads" / "cspa.dl"
    with tidelog.open(program, facts=folder, keep_epochs=kept) as db:
        chance = random.Random(1)  # noqa: S311 - the same epochs every time
        held = {name: list(db[name]) for name in db.inputs}
        out: list[tuple[str, list[Fact]]] = []
        changed = 0
        for number in range(epochs):
            if number % 2 == 0:
                name = chance.choice(db.inputs)
                facts = [held[name].pop(chance.randrange(len(held[name]))) for _ in range(size)]
                out.append((name, facts))
                delta = db.apply(delete={name: facts})
            else:
                name, facts = out.pop(chance.randrange(len(out)))
                held[name] += facts
                delta = db.apply(insert={name: facts})
            changed += delta.inserted_count + delta.deleted_count
        del held, out, delta
        gc.collect()
        taken = _resident_bytes()
        lines = [f"{changed:,} facts changed in {epochs:,} epochs"]
        if kept == epochs:
            lines += [_read(db, epoch) for epoch in (epochs - 1, epochs // 2, 0)]
            with tidelog.open(program, facts=folder) as fresh:
                is_same = all(_rows(db.at(0)[name]) == _rows(fresh[name]) for name in fresh)
                assert is_same, "the first epoch is not what it was"
    return {"bytes": taken, "lines": lines}


def _read(db: "tidelog.Session", epoch: int) -> str:
    steps = []
    view = db.at(epoch)
    for words, work in (
        ("sizes", lambda: [len(view[name]) for name in view]),
        ("a query", lambda: len(view.query("ValueFlow(1, x)"))),
        ("all of ValueAlias", view["ValueAlias"].codes),
    ):
        begun = time.process_time()
        work()
        steps.append(f"{words} {(time.process_time() - begun) * 1000:,.1f} ms")
    return f"epoch {epoch}: {', '.join(steps)} (CPU)"


def _rows(facts: "tidelog.RelationView") -> list[bytes]:
    """Return the facts as bytes in value order; numbers are their own codes in every session."""
    return [codes.tobytes() for codes in facts.codes()]


def _resident_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the system does not say how much memory is resident")


if __name__ == "__main__":
    print(json.dumps(_follow(Path(sys.argv[1]), *map(int, sys.argv[2:]))))
