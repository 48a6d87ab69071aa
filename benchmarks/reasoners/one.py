"""One reasoner on one subject, in a process of its own: a line of JSON after each step."""

import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import tidelog
from benchmarks.epochs.subject import read_program
from benchmarks.reasoners.substitution.reasoner import SubstitutionReasoner, reason_against
from benchmarks.reasoners.table import REASONERS, Reasoner
from tidelog.values import Fact

# CPU seconds of evaluation and its wall seconds, then CPU seconds of changes.
EVALUATE, WALL = "evaluate", "wall"
Found = dict[str, int]


def run(  # noqa: PLR0913 - what to run, and on what
    reasoner: Reasoner, program: Path, facts: Path, changed: str, *, sizes: list[int], jobs: int
) -> Iterator[dict[str, Any]]:
    """Yield what was taken so far and the sizes found, after evaluation and after each change."""
    threads = jobs if reasoner.is_parallel else 1
    # What is loaded once, and kernels that are mapped, are no part of what a reasoner takes.
    empty = tidelog.open(program, facts={}, engine="reference" if reasoner.engine == "reference" else "local")
    inputs = _inputs(facts, changed, empty)
    evaluate = {"algebra": _algebra, "substitution": _substitution}.get(reasoner.engine, _session)
    started, wall = time.process_time(), time.perf_counter()
    found, apply = evaluate(reasoner, program, facts, changed, threads)
    taken = {EVALUATE: time.process_time() - started, WALL: time.perf_counter() - wall}
    first = found()
    yield {"taken": dict(taken), "found": first}
    chosen = random.Random(1)  # noqa: S311 - the same facts in every run
    for size in sizes:
        if size > len(inputs) or apply is None:
            continue
        part = chosen.sample(inputs, size)
        for direction in ("delete", "insert"):
            started = time.process_time()
            apply(part, direction == "insert")
            taken[f"{direction} {size}"] = time.process_time() - started
            yield {"taken": dict(taken), "found": first}
    assert found() == first, "insertions undo the deletions"


# How many facts each relation has, and what inserts or deletes facts of the changed one.
_Evaluated = tuple[Callable[[], Found], Callable[[list[Fact], bool], None] | None]


def _session(reasoner: Reasoner, program: Path, facts: Path, changed: str, threads: int) -> _Evaluated:
    if reasoner.engine == "reference":
        db = tidelog.open(program, facts=facts, engine="reference")
    else:
        db = tidelog.open(program, facts=facts, jobs=threads)

    def apply(part: list[Fact], is_inserted: bool) -> None:  # noqa: FBT001 - by place, as the others
        change = {changed: part}
        if is_inserted:
            db.apply(insert=change, strategy=reasoner.strategy)
        else:
            db.apply(delete=change, strategy=reasoner.strategy)

    return lambda: {name: len(db[name]) for name in db.relations}, apply


def _substitution(reasoner: Reasoner, program: Path, facts: Path, changed: str, threads: int) -> _Evaluated:
    subject = read_program(program, facts)
    reason = reason_against(subject.program)
    assert reason is None, reason
    made = SubstitutionReasoner(subject.program, subject.codec, reasoner.index, threads)
    inputs = {}
    for name, rows in subject.inputs.items():
        types = [column.type for column in subject.program.relations[name].columns]
        columns = [subject.codec.decode_column(rows[:, place], each) for place, each in enumerate(types)]
        inputs[name] = list(zip(*columns, strict=True))
    made.evaluate(inputs)

    def apply(part: list[Fact], is_inserted: bool) -> None:  # noqa: FBT001 - by place, as the others
        made.apply({changed: part} if is_inserted else {}, {} if is_inserted else {changed: part})

    return lambda: {name: len(made.facts[name]) for name in subject.program.relations}, apply


def _algebra(reasoner: Reasoner, program: Path, facts: Path, changed: str, threads: int) -> _Evaluated:  # noqa: ARG001 - no state
    db = tidelog.open(program, facts={})
    algebra = db.program.algebra()
    tables = {}
    for name in algebra.inputs:
        columns = zip(*_inputs(facts, name, db), strict=True)
        schema = db[name].to_arrow().schema
        tables[name] = pa.table([pa.array(column) for column in columns], names=schema.names).cast(schema)
    relations = algebra.evaluate(tables)
    return lambda: {name: len(table) for name, table in relations.items()}, None


def _inputs(facts: Path, changed: str, db: tidelog.Session) -> list[Fact]:
    """Return the facts of the file of a relation."""
    kinds = [db.program.kind_of(type_name).value for type_name in db.schema[changed].values()]
    lines = facts.joinpath(f"{changed}.facts").read_text(encoding="utf-8").splitlines()
    rows = (zip(line.split("\t"), kinds, strict=True) for line in dict.fromkeys(lines))
    return [tuple(int(field) if kind == "number" else field for field, kind in row) for row in rows]


def main() -> None:
    """Run the reasoner that the arguments name."""
    name, program, facts, changed, sizes, jobs = sys.argv[1:]
    listed = [int(size) for size in sizes.split(",")]
    reasoner = next(each for each in REASONERS if each.name == name)
    for step in run(reasoner, Path(program), Path(facts), changed, sizes=listed, jobs=int(jobs)):
        print(json.dumps(step), flush=True)


if __name__ == "__main__":
    main()
