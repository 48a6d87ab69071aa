"""Kills of every sort, one after the other: how many end with a wrong answer, and how many never end.

Executors and workers are killed, and workers are frozen, in evaluations and in epochs of resident partners,
on a cluster in processes; drivers are killed in pipelines. Each attempt has processes of its own. One that
does not end in time is hung.
"""

import argparse
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import psutil

from benchmarks.measure import FIND_US

_PROGRAM: Final = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z).
"""
_JOB: Final = """
[job]
program = "p.dl"
state = "state"

[spark]
master = "local[2]"
conf = { "spark.ui.enabled" = "false", "spark.driver.host" = "127.0.0.1" }

[[source]]
relation = "edge"
format = "json"
path = "edges"
changes = "op"
order = "at"
options = { maxFilesPerTrigger = "1" }

[[output]]
relation = "path"
"""
_CHAIN: Final = 20
# Kills come so late after the work began, at most; a driver has to start first.
_LATEST_SECONDS: Final = 6.0
_DRIVER_SECONDS: Final = 30.0
_SILENCE_SECONDS: Final = 10.0
_LOOK_AGAIN_SECONDS: Final = 0.1


class Outcome(StrEnum):
    """How an attempt ended."""

    RIGHT = "right"
    WRONG = "wrong"
    HUNG = "hung"


@dataclass(frozen=True)
class Attempt:
    """Work that something was killed in; `failure` says what was raised, if anything was."""

    work: str
    lost: str
    outcome: Outcome
    seconds: float
    failure: str = ""


# What is killed in which work, in turn.
TURNS: Final = (
    ("batch", "executor"),
    ("epochs", "executor"),
    ("pipeline", "driver"),
    ("batch", "worker"),
    ("epochs", "worker"),
    ("pipeline", "driver"),
    ("batch", "frozen worker"),
    ("epochs", "frozen worker"),
    ("pipeline", "driver"),
)


def run_kills(options: argparse.Namespace) -> int:
    """Print each attempt and how many were wrong or hung; return 1 if any was."""
    found = []
    for attempt in attempts(options.kills, (options.rows or [210_000])[0], options.hang_seconds):
        found.append(attempt)
        print(json.dumps(asdict(attempt)), flush=True)
        if options.json is not None:
            options.json.write_text(json.dumps([asdict(each) for each in found], indent=1), "utf-8")
    print(summary(found))
    return 0 if all(each.outcome is Outcome.RIGHT for each in found) else 1


def attempts(kills: int, facts: int, hang_seconds: float) -> Iterator[Attempt]:
    """Yield what became of each kill, in work on about so many facts."""
    chosen = random.Random(1)  # noqa: S311 - the same moments every time
    for number in range(kills):
        work, lost = TURNS[number % len(TURNS)]
        begun = time.perf_counter()
        moment = chosen.random()
        outcome, failure = attempted(_WORK[work], (lost, moment, facts), hang_seconds)
        yield Attempt(work, lost, outcome, round(time.perf_counter() - begun, 1), failure)


def attempted(
    task: Callable[..., bool], inputs: tuple[object, ...], hang_seconds: float
) -> tuple[Outcome, str]:
    """Return how a task ended that says whether its answers were right, and what it raised, if anything.

    Whatever it started is killed.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_report, args=(sender, task, inputs))
    process.start()
    sender.close()
    assert process.pid is not None
    try:
        if not receiver.poll(hang_seconds):
            return Outcome.HUNG, ""
        failure = receiver.recv()
    except EOFError:
        failure = "its process ended"
    finally:
        _kill_session(process.pid)
        process.join()
    return (Outcome.WRONG if failure else Outcome.RIGHT), failure


def summary(found: list[Attempt]) -> str:
    """Return how many attempts ended how, as a line."""
    counts = Counter(each.outcome for each in found)
    return f"{len(found)} kills: {counts[Outcome.WRONG]} wrong, {counts[Outcome.HUNG]} hung"


def _report(sender: Connection, task: Callable[..., bool], inputs: tuple[object, ...]) -> None:
    """Send what went wrong with a task, or an empty text; whatever it starts is in this process's session."""
    os.setsid()
    try:
        failure = "" if task(*inputs) else "another answer than expected"
    except Exception as cause:  # noqa: BLE001 - whatever it is, it is no answer, and is told
        failure = f"{type(cause).__name__}: {cause}"[:500]
    sender.send(failure)


def _kill_session(session: int) -> None:
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError, PermissionError):
            if os.getsid(process.pid) == session:
                process.kill()


# --- work ------------------------------------------------------------------------------------------


def _chains(facts: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]], int, int]:
    """Return edges of chains, those in the middle, and the numbers of paths with and without the latter."""
    each = _CHAIN * (_CHAIN + 1) // 2
    count = max(1, facts // each)
    edges = [(c * 1000 + n, c * 1000 + n + 1) for c in range(count) for n in range(_CHAIN)]
    middle = [(c * 1000 + _CHAIN // 2, c * 1000 + _CHAIN // 2 + 1) for c in range(count)]
    # A chain has one more vertex than edges; those up to the cut do not reach those behind it.
    return edges, middle, count * each, count * (each - (_CHAIN // 2 + 1) * (_CHAIN - _CHAIN // 2))


def _in_batch(lost: str, moment: float, facts: int) -> bool:
    """Evaluate a program until something was killed meanwhile, and say whether the answers were right."""
    from benchmarks.spark.subject import session  # noqa: PLC0415 - only with Spark
    from tidelog.spark import evaluate  # noqa: PLC0415 - as above

    edges, _, size, _ = _chains(facts)
    is_right = True
    with tempfile.TemporaryDirectory() as folder, session(2, "local-cluster[2,1,3072]") as spark:
        frame = spark.createDataFrame(edges, "x long, y long")
        killer = _Killer(lost, moment * _LATEST_SECONDS)
        while killer.is_waiting:
            found = evaluate(_PROGRAM, {"edge": frame}, spark_options={"storage": folder, "partners": 2})
            is_right &= found["path"].count() == size
    return is_right


def _in_epochs(lost: str, moment: float, facts: int) -> bool:
    """Make epochs until something was killed meanwhile, and say whether the facts were right."""
    import tidelog  # noqa: PLC0415 - the engine
    from benchmarks.spark.subject import session  # noqa: PLC0415 - only with Spark

    edges, middle, size, cut = _chains(facts)
    chosen = {"partners": 2, "driver_facts": 0, "resident": True, "silence_seconds": _SILENCE_SECONDS}
    with (
        session(2, "local-cluster[2,1,3072]") as spark,
        tidelog.open(
            _PROGRAM, engine="spark", spark=spark, facts={"edge": edges}, spark_options=chosen
        ) as db,
    ):
        is_right = len(db["path"]) == size
        killer = _Killer(lost, moment * _LATEST_SECONDS)
        while killer.is_waiting:
            db.apply(delete={"edge": middle})
            is_right &= len(db["path"]) == cut
            db.apply(insert={"edge": middle})
            is_right &= len(db["path"]) == size
    return is_right


def _in_pipeline(lost: str, moment: float, facts: int) -> bool:
    """Kill a driver, run the job to its end, and say whether it published what follows from the sources."""
    from tidelog.pipeline.folder import JobFolder  # noqa: PLC0415 - brings Arrow
    from tidelog.pipeline.past import read_feed, read_output  # noqa: PLC0415 - as above

    assert lost == "driver"
    edges, middle, _, cut = _chains(facts)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "p.dl").write_text(_PROGRAM, "utf-8")
        (folder / "job.toml").write_text(_JOB, "utf-8")
        (folder / "edges").mkdir()
        # The last file is late: what it inserts was deleted by a newer change.
        for number, (op, some, at) in enumerate((("+", edges, 1), ("-", middle, 3), ("+", middle, 2))):
            lines = (json.dumps({"op": op, "x": x, "y": y, "at": at}) for x, y in some)
            (folder / "edges" / f"{number}.json").write_text("\n".join(lines) + "\n", "utf-8")
            os.utime(folder / "edges" / f"{number}.json", (number, number))
        command = [sys.executable, "-m", "tidelog", "pipeline", "run", "job.toml"]
        environment = {**os.environ, **FIND_US}
        driver = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, process_group=0
        )
        with suppress(subprocess.TimeoutExpired):
            driver.wait(moment * _DRIVER_SECONDS)
        with suppress(ProcessLookupError):
            # Java would outlive its driver by a moment.
            os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
        subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
        state = JobFolder(folder / "state")
        last = state.last()
        assert last is not None
        summed = 0
        for epoch in range(last.epoch + 1):
            feed = read_feed(state, "path", epoch, last.outputs["path"].columns)
            summed += sum(table.num_rows * (1 if op == "+" else -1) for op, table in feed.items())
        return bool(read_output(state, "path").num_rows == cut == summed)


_WORK: Final = {"batch": _in_batch, "epochs": _in_epochs, "pipeline": _in_pipeline}


class _Killer:
    """Kills or freezes a process of this one's cluster once, some time from now."""

    def __init__(self, lost: str, seconds: float) -> None:
        self._lost = lost
        self._seconds = seconds
        self._thread = threading.Thread(target=self._harm, daemon=True)
        self._thread.start()

    @property
    def is_waiting(self) -> bool:
        """Say whether it has killed nothing yet."""
        return self._thread.is_alive()

    def _harm(self) -> None:
        from benchmarks.spark.recovery import harm  # noqa: PLC0415 - only with Spark

        never = threading.Event()
        never.wait(self._seconds)
        # Workers start with the first work.
        while not harm(self._lost, 0):
            never.wait(_LOOK_AGAIN_SECONDS)
