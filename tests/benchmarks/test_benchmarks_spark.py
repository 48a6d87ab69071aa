"""The benchmark of the engine on Spark: engines in processes of their own, and the memory of all of them."""

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from benchmarks.spark.alone import Place, measure_alone
from benchmarks.spark.command import Measured, row
from benchmarks.spark.kills import TURNS, Attempt, Outcome, attempted, summary
from benchmarks.spark.tree_memory import TreeMemory
from support.processes import started
from support.spark_session import why_not

MIB = 1 << 20
# A process that holds memory, and another one that shares it and holds more; they end with their input.
HOLDER = """
import os, sys
held = bytearray(b"x") * (64 << 20)
reading, writing = os.pipe()
if not os.fork():
    more = bytearray(b"x") * (48 << 20)
    os.write(writing, b"x")
    sys.stdin.read()
    os._exit(0)
os.read(reading, 1)
print("holding", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def arcs(tmp_path):
    """Return a folder with the facts of a small graph: a chain of four arcs."""
    (tmp_path / "arc.facts").write_text("".join(f"{n}\t{n + 1}\n" for n in range(4)), encoding="utf-8")
    return tmp_path


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere shared pages count in each process")
def test_memory_of_a_process_and_its_children():
    """What a process and those that it started hold is noted, and what they share counts once."""
    with started([sys.executable, "-c", HOLDER]) as process:
        with TreeMemory(process.pid) as memory:
            assert process.stdout is not None
            process.stdout.readline()
            memory.look()
        process.communicate("")

    assert 112 * MIB <= memory.peak_bytes < 160 * MIB
    assert TreeMemory(os.getpid()).peak_bytes == 0


def test_the_local_engine_alone(arcs):
    """An engine in a process of its own finds the closure, and memory is that of its process."""
    found = measure_alone("local", "tc_g10k", arcs, Place(2))

    assert found is not None
    assert found.sizes == {"tc": 10}
    assert found.warm > 0
    assert 16 * MIB < found.peak_bytes < 4096 * MIB


@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
def test_spark_alone(arcs):
    """With the master that is asked for Spark finds the same, and memory includes that of Java."""
    found = measure_alone("spark", "tc_g10k", arcs, Place(1, "local[1]"))

    assert found is not None
    assert found.sizes == {"tc": 10}
    assert found.where == "decomposed"
    assert found.peak_bytes > 150 * MIB


def test_a_process_that_is_killed(arcs, monkeypatch):
    """An engine whose process does not live to the end has no numbers."""

    class Killed(TreeMemory):
        def __init__(self, process: int) -> None:
            super().__init__(process)
            os.kill(process, signal.SIGKILL)

    monkeypatch.setattr("benchmarks.spark.alone.TreeMemory", Killed)

    assert measure_alone("local", "tc_g10k", arcs, Place(2)) is None


def test_a_line_for_each_workload():
    """A line has the ratio of times, the memory of each engine, and whether sizes are right."""
    measured = Measured(
        "tc", "partners", 2.0, 4.0, 9.0, 3.0, 8.0, -1.0, loop_finished=False, is_exact=True, load=(1.0, 2.0),
        local_peak_bytes=1 << 30, spark_peak_bytes=5 << 29, loop_peak_bytes=0,
    )  # fmt: skip

    line = row(measured)

    assert "exact; local 2.00 s (CPU 4.0); Spark 3.00 s warm (CPU 8.0), 9.00 s at first: 1.50x" in line
    assert "memory 1.00 GiB and 2.50 GiB; load" in line


def _right(answer: bool) -> bool:  # noqa: FBT001 - a task takes what it is given
    return answer


def _start_and_wait(pipe: str) -> bool:
    """Start a process that holds a pipe open, and never end."""
    if not os.fork():
        with Path(pipe).open("w", encoding="utf-8"):
            threading.Event().wait()
    threading.Event().wait()
    return True


def _fail() -> bool:
    raise ValueError("lost")


def test_attempts_are_counted(tmp_path):
    """Right and wrong answers, failures, deaths and what hangs are told apart; whatever hangs is killed."""
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    ends = [
        attempted(_right, (True,), 300),
        attempted(_right, (False,), 300),
        attempted(_fail, (), 300),
        attempted(os._exit, (0,), 300),
        attempted(_start_and_wait, (pipe,), 5),
    ]

    assert ends == [
        (Outcome.RIGHT, ""),
        (Outcome.WRONG, "another answer than expected"),
        (Outcome.WRONG, "ValueError: lost"),
        (Outcome.WRONG, "its process ended"),
        (Outcome.HUNG, ""),
    ]
    # This is the end of the pipe as soon as nobody holds it, and would block before.
    os.set_blocking(reading, True)
    assert os.read(reading, 1) == b""
    os.close(reading)
    found = [Attempt("batch", "executor", outcome, 1.0) for outcome, _ in ends]
    assert summary(found) == "5 kills: 3 wrong, 1 hung"


def test_kills_of_every_sort():
    """Every sort of process is killed in the work that has it, in turn."""
    assert set(TURNS[:3]) == {("batch", "executor"), ("epochs", "executor"), ("pipeline", "driver")}
    assert {lost for _, lost in TURNS} == {"executor", "worker", "frozen worker", "driver"}
