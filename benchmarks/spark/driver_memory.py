"""The memory of the driver while rows and texts go through Spark: it should not grow with them.

Each size runs in a process of its own, on executors in other processes (`local-cluster`), so that what is
measured is the driver alone: its Python process and its Java process. With `--files` the command line reads
a file of lines and writes files.
"""

import argparse
import json
import multiprocessing
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

import psutil

_SIZES: Final = (100_000, 1_000_000, 10_000_000)
_PROGRAM: Final = """
.decl edge(x: symbol, y: symbol)
.decl reach(x: symbol, y: symbol)
.output reach
reach(x, y) :- edge(x, y).
reach(x, z) :- reach(x, y), edge(y, z).
.decl first(x: symbol)
.output first
first(x) :- edge(x, _), !reach(_, x).
"""
# Edges lie in chains of this many, so that the facts that they reach are few more.
_CHAIN: Final = 3


def run_driver_memory(options: argparse.Namespace) -> int:
    """Print the peak memory of the driver for each number of rows; return 1 if a size was wrong."""
    found = []
    for rows in options.rows or _SIZES:
        # A fresh process: memory that was freed may stay with a process.
        context = multiprocessing.get_context("spawn")
        with context.Pool(1) as pool:
            measure = _measure_files if options.files else _measure
            found.append(pool.apply(measure, (rows,)))
        print(json.dumps(found[-1]), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1), "utf-8")
    return 0 if all(each["is exact"] for each in found) else 1


def _measure(rows: int) -> dict[str, object]:
    from pyspark.sql import functions as f  # noqa: PLC0415 - only with Spark

    from benchmarks.spark.subject import session  # noqa: PLC0415 - as above
    from tidelog.spark import evaluate  # noqa: PLC0415 - as above

    rows -= rows % _CHAIN
    chains = rows // _CHAIN
    with tempfile.TemporaryDirectory() as folder, session(2, "local-cluster[2,1,3072]") as spark:
        # The chain is in the text, so no two chains meet.
        name = f.concat(f.lit("node "), (f.col("id") / _CHAIN).cast("long").cast("string"), f.lit("/"))
        place = f.col("id") % _CHAIN
        edges = spark.range(rows).select(
            f.concat(name, place.cast("string")).alias("x"),
            f.concat(name, (place + 1).cast("string")).alias("y"),
        )
        with _MemoryMeter() as meter:
            begun = time.perf_counter()
            found = evaluate(_PROGRAM, {"edge": edges}, spark_options={"storage": f"{folder}/state"})
            for each, frame in found.items():
                frame.write.parquet(f"{folder}/{each}")
            seconds = time.perf_counter() - begun
        sizes = {each: spark.read.parquet(f"{folder}/{each}").count() for each in found}
        expected = {"reach": chains * _CHAIN * (_CHAIN + 1) // 2, "first": chains}
        texts = spark.read.parquet(f"{folder}/first").where("x like 'node %/0'").count()
    return {
        "rows": rows, "texts": chains * (_CHAIN + 1), "sizes": sizes,
        "is exact": sizes == expected and texts == chains,
        "python MiB": meter.python >> 20, "java MiB": meter.java >> 20, "seconds": round(seconds, 1),
    }  # fmt: skip


def _measure_files(rows: int) -> dict[str, object]:
    from tidelog.cli.main import main  # noqa: PLC0415 - as in a command

    rows -= rows % _CHAIN
    chains = rows // _CHAIN
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "p.dl").write_text(_PROGRAM + ".input edge\n")
        with (folder / "edge.facts").open("w") as file:
            for row in range(rows):
                chain, place = divmod(row, _CHAIN)
                file.write(f"node {chain}/{place}\tnode {chain}/{place + 1}\n")
        master = ("--engine", "spark", "--master", "local-cluster[2,1,3072]")
        sys.argv = ["tidelog", "run", f"{folder}/p.dl", "-D", f"{folder}/out", *master]
        with _MemoryMeter() as meter:
            begun = time.perf_counter()
            with suppress(SystemExit):
                main()
            seconds = time.perf_counter() - begun
        sizes = {}
        for output in sorted((folder / "out").glob("*.csv")):
            with output.open("rb") as lines:
                sizes[output.stem] = sum(1 for _ in lines)
    expected = {"first": chains, "reach": chains * _CHAIN * (_CHAIN + 1) // 2}
    return {
        "lines": rows, "texts": chains * (_CHAIN + 1), "sizes": sizes, "is exact": sizes == expected,
        "python MiB": meter.python >> 20, "java MiB": meter.java >> 20, "seconds": round(seconds, 1),
    }  # fmt: skip


class _MemoryMeter:
    """Notes the most memory that this process and the Java process of its driver have had."""

    def __init__(self) -> None:
        self.python = self.java = 0
        self._done = threading.Event()
        self._watching = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._watching.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watching.join()

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._done.wait(0.1):
            self.python = max(self.python, me.memory_info().rss)
            # Executors are children of the driver's Java process, not of this one.
            for child in me.children():
                if child.name() == "java":
                    self.java = max(self.java, child.memory_info().rss)
