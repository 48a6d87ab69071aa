"""CPU seconds of the threads of an evaluation: those that they share, and those in which one runs alone.

    python -m benchmarks.threads.clocks PROGRAM FACTS JOBS

prints them as JSON. CPU seconds do not depend on what else runs on the machine, as wall seconds do.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import tidelog
from tidelog.engine.local import engine
from tidelog.engine.local.emit import SharedInsertion
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.workers import Workers
from tidelog.engine.recorder import SessionRecorder
from tidelog.session.once import evaluate_once
from tidelog.session.prepare import Request, prepare
from tidelog.source import Source

if TYPE_CHECKING:
    from concurrent.futures import Future


@dataclass
class Clocks:
    """CPU seconds of an evaluation."""

    # The thread that plans, and that runs what is too little to share.
    calling: float = 0.0
    # Threads that enlarge a table while the others wait, without what these help with.
    alone: float = 0.0
    # What threads do side by side, and how much of it the busiest had more than the mean.
    together: float = 0.0
    uneven: float = 0.0
    wall_seconds: float = 0.0
    # What the tasks of each region took that threads share.
    regions: list[list[float]] = field(default_factory=list)

    def add_up(self, jobs: int) -> None:
        """Compute what regions took together."""
        for tasks in self.regions:
            self.together += sum(tasks)
            self.uneven += max(max(tasks) - sum(tasks) / jobs, 0.0) if tasks else 0.0
        self.together -= self.alone


def measured(program: Path, facts: Path, jobs: int) -> Clocks:
    """Return the clocks of an evaluation."""
    clocks = Clocks()

    class TimedWorkers(Workers):
        """Threads whose tasks are timed."""

        def _start(self, tasks: Sequence[Callable[[], object]]) -> "list[Future[object]]":
            taken: list[float] = []
            clocks.regions.append(taken)
            return super()._start([_timed(task, taken.append) for task in tasks])

    class TimedInsertion(SharedInsertion):
        """An insertion that times what a thread does with exclusive access."""

        def _alone(self, action: Callable[[], None]) -> None:
            super()._alone(_timed(action, self._add))

        def _share(self, task: Callable[[int, int], None], count: int) -> None:
            begun = time.thread_time()
            super()._share(task, count)
            self._add(begun - time.thread_time())

        def _add(self, seconds: float) -> None:
            clocks.alone += seconds

    evaluate = LocalEngine.evaluate

    def timed_evaluate(*arguments: Any) -> Any:
        wall, cpu = time.perf_counter(), time.thread_time()
        result = evaluate(*arguments)
        clocks.calling += time.thread_time() - cpu
        clocks.wall_seconds += time.perf_counter() - wall
        return result

    with (
        mock.patch.object(engine, "Workers", TimedWorkers),
        mock.patch("tidelog.engine.local.stratum.SharedInsertion", TimedInsertion),
        mock.patch.object(LocalEngine, "evaluate", timed_evaluate),
    ):
        _evaluate(program, facts, jobs)
    clocks.add_up(jobs)
    return clocks


def _evaluate(program: Path, facts: Path, jobs: int) -> None:
    """Evaluate a program once; nothing is written."""
    options = tidelog.OpenOptions(facts=facts, jobs=jobs)
    source = Source(str(program), program.read_text(encoding="utf-8"))
    evaluate_once(prepare(Request(source, options), SessionRecorder()), SessionRecorder())


def _timed(task: Callable[[], object], add: Callable[[float], None]) -> Callable[[], None]:
    """Return a task that adds the CPU seconds it takes."""

    def run() -> None:
        begun = time.thread_time()
        task()
        add(time.thread_time() - begun)

    return run


def main() -> None:
    """Print the clocks of the evaluation that the command line names."""
    program, facts, jobs = sys.argv[1:]
    clocks = asdict(measured(Path(program), Path(facts), int(jobs)))
    del clocks["regions"]
    print(json.dumps(clocks))


if __name__ == "__main__":
    main()
