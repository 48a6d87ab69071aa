"""One reasoner on one subject, in a process of its own: what it took, as a line of JSON."""

import json
import random
import sys
import time
from pathlib import Path

import pyarrow as pa

import tidelog
from benchmarks.reasoners.table import REASONERS, Reasoner


def run(  # noqa: PLR0913 - what to run, and on what
    reasoner: Reasoner, program: Path, facts: Path, changed: str, *, sizes: list[int], jobs: int
) -> object:
    """Return the CPU seconds of evaluation, of deletions and of insertions by size, and the sizes found."""
    if reasoner.engine == "algebra":
        return _by_algebra(program, facts)
    threads = jobs if reasoner.is_parallel else 1
    # What is loaded once, and kernels that are mapped, are no part of what a reasoner takes.
    tidelog.open(program, facts={}, engine="reference" if reasoner.engine == "reference" else "local").close()
    started = time.process_time()
    if reasoner.engine == "reference":
        db = tidelog.open(program, facts=facts, engine="reference")
    else:
        db = tidelog.open(program, facts=facts, jobs=threads)
    taken = {"evaluate": time.process_time() - started}
    found = {name: len(db[name]) for name in db.relations}
    inputs = _inputs(facts, changed, db)
    chosen = random.Random(1)  # noqa: S311 - the same facts in every run
    for size in sizes:
        if size > len(inputs):
            continue
        part = chosen.sample(inputs, size)
        for direction in ("delete", "insert"):
            started = time.process_time()
            change = {changed: part}
            if direction == "delete":
                db.apply(delete=change, strategy=reasoner.strategy)
            else:
                db.apply(insert=change, strategy=reasoner.strategy)
            taken[f"{direction} {size}"] = time.process_time() - started
    assert {name: len(db[name]) for name in db.relations} == found, "insertions undo the deletions"
    return {"taken": taken, "found": found}


def _inputs(facts: Path, changed: str, db: tidelog.Session) -> list[tuple[object, ...]]:
    """Return the facts of the file of a relation."""
    kinds = [db.program.kind_of(type_name).value for type_name in db.schema[changed].values()]
    lines = facts.joinpath(f"{changed}.facts").read_text(encoding="utf-8").splitlines()
    rows = (zip(line.split("\t"), kinds, strict=True) for line in dict.fromkeys(lines))
    return [tuple(int(field) if kind == "number" else field for field, kind in row) for row in rows]


def _by_algebra(program: Path, facts: Path) -> object:
    db = tidelog.open(program, facts={})
    algebra = db.program.algebra()
    started = time.process_time()
    tables = {}
    for name in algebra.inputs:
        columns = zip(*_inputs(facts, name, db), strict=True)
        schema = db[name].to_arrow().schema
        tables[name] = pa.table([pa.array(column) for column in columns], names=schema.names).cast(schema)
    relations = algebra.evaluate(tables)
    taken = time.process_time() - started
    return {"taken": {"evaluate": taken}, "found": {name: len(table) for name, table in relations.items()}}


def main() -> None:
    """Run the reasoner that the arguments name."""
    number, program, facts, changed, sizes, jobs = sys.argv[1:]
    listed = [int(size) for size in sizes.split(",")]
    reasoner = REASONERS[int(number)]
    found = run(reasoner, Path(program), Path(facts), changed, sizes=listed, jobs=int(jobs))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
