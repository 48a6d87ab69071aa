"""One engine in a process of its own: seconds, sizes, and the memory of all processes that it needs."""

import multiprocessing
import os
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from benchmarks.spark.tree_memory import TreeMemory

ENGINES: Final = ("local", "spark", "loop")


@dataclass(frozen=True)
class Alone:
    """An engine's first and second evaluation of a workload; the memory is the most of both.

    `cpu` is of the second one. A loop of data frames is evaluated once; its sizes are None if it was given
    up.
    """

    first: float
    warm: float
    cpu: float
    sizes: Mapping[str, int] | None
    where: str = ""
    peak_bytes: int = 0


@dataclass(frozen=True)
class Place:
    """Where an engine runs: partners, or threads of the local engine, and Spark's master."""

    partners: int
    master: str | None = None
    loop_seconds: float = 0.0


def measure_alone(engine: str, name: str, folder: Path, place: Place) -> Alone | None:
    """Return what an engine takes for a workload; None if its process was killed, for lack of memory say."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        process = pool.submit(os.getpid).result()
        with TreeMemory(process) as memory:
            try:
                found = pool.submit(_evaluate, engine, name, folder, place).result()
            except BrokenProcessPool:
                return None
    return replace(found, peak_bytes=memory.peak_bytes)


def _evaluate(engine: str, name: str, folder: Path, place: Place) -> Alone:
    from benchmarks.spark.cpu import CpuMeter  # noqa: PLC0415 - in the engine's own process
    from benchmarks.spark.subject import Subject, session  # noqa: PLC0415 - as above

    subject = Subject.read(name, folder)
    if engine == "local":
        first, _ = subject.local(place.partners)
        with CpuMeter() as meter:
            warm, sizes = subject.local(place.partners)
        return Alone(first, warm, meter.seconds, dict(sizes))
    with session(place.partners, place.master) as spark:
        if engine == "loop":
            with CpuMeter() as meter:
                seconds, reached = subject.loop(spark, place.loop_seconds)
            return Alone(seconds, seconds, meter.seconds, None if reached is None else dict(reached))
        # Once to compile and to start workers, then once more.
        first, _, _ = subject.spark(spark, place.partners)
        with CpuMeter() as meter:
            warm, sizes, where = subject.spark(spark, place.partners)
        return Alone(first, warm, meter.seconds, dict(sizes), where)
