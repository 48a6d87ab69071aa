"""The same shapes in DuckDB and Nemo, each in a process of its own that may be stopped."""

import importlib.util
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from benchmarks.joins.graphs import Arcs
from benchmarks.joins.shapes import Found, Shape


def _duckdb(shape: Shape, arcs: Arcs, *, stores: bool = False) -> Found:
    import duckdb  # noqa: PLC0415 - only where it is measured

    connection = duckdb.connect(config={"threads": 1})
    e = {"x": arcs[:, 0], "y": arcs[:, 1]}  # noqa: F841 - DuckDB finds it by its name
    connection.execute("set enable_progress_bar = false")
    connection.execute("create table e as select x, y from e")
    tables = ", ".join(f"e as e{number}" for number in range(len(shape.arcs)))
    places: dict[str, str] = {}
    equal = []
    for number, arc in enumerate(shape.arcs):
        for column, vertex in zip("xy", arc, strict=True):
            name = f"e{number}.{column}"
            if vertex in places:
                equal.append(f"{places[vertex]} = {name}")
            places.setdefault(vertex, name)
    joined = f"from {tables} where {' and '.join(equal)}"
    start = time.process_time()
    if stores:
        columns = ", ".join(f"{places[vertex]} as {vertex}" for vertex in shape.vertices)
        connection.execute(f"create table found as select {columns} {joined}")
        joined = "from found"
    row = connection.execute(f"select count(*) {joined}").fetchone()
    assert row is not None
    return Found(int(row[0]), time.process_time() - start)


def _nemo(shape: Shape, arcs: Arcs) -> Found:
    import nmo_python  # noqa: PLC0415 - only where it is measured

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "e.tsv")
        np.savetxt(path, arcs, fmt="%d", delimiter="\t")
        head = ", ".join(f"?{vertex}" for vertex in shape.vertices)
        body = ", ".join(f"e(?{arc[0]}, ?{arc[1]})" for arc in shape.arcs)
        source = f'@import e :- tsv{{resource = "{path}", format = (int, int)}} .'
        text = f"{source}\nfound({head}) :- {body} .\n@output found ."
        engine = nmo_python.NemoEngine(nmo_python.load_string(text))
        start = time.process_time()
        engine.reason()
        seconds = time.process_time() - start
        return Found(sum(1 for _ in engine.result("found")), seconds)


PEERS: Mapping[str, tuple[str, Callable[[Shape, Arcs], Found]]] = {
    "duckdb": ("duckdb", _duckdb),
    "duckdb-stores": ("duckdb", partial(_duckdb, stores=True)),
    "nemo": ("nmo_python", _nemo),
}


def is_installed(peer: str) -> bool:
    """Say whether a peer can be measured here."""
    return importlib.util.find_spec(PEERS[peer][0]) is not None


def ask(peer: str, shape: Shape, arcs: Arcs, limit_seconds: float) -> Found | None:
    """Return what a peer found, None if it took longer than the limit."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(peer, shape, arcs, theirs))
    process.start()
    try:
        return ours.recv() if ours.poll(limit_seconds) else None
    finally:
        process.kill()
        process.join()


def _answer(peer: str, shape: Shape, arcs: Arcs, to: Connection) -> None:
    to.send(PEERS[peer][1](shape, arcs))
