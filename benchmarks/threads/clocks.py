"""CPU seconds of the threads of an evaluation: those that they share, and those in which one runs alone.

    python -m benchmarks.threads.clocks PROGRAM FACTS JOBS

prints them as JSON. CPU seconds do not depend on what else runs on the machine, as wall seconds do; nor does
the schedule that is computed from those of the pieces, which may be one for more cores than there are.
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

import tidelog
from benchmarks.threads.loading import LoadClocks, timed_loading
from benchmarks.threads.schedule import divided_seconds, shared_seconds
from tidelog.engine.local import engine
from tidelog.engine.local.emit import SharedInsertion
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.morsels import Morsels
from tidelog.engine.local.workers import Workers
from tidelog.engine.recorder import SessionRecorder
from tidelog.kernels.decorators import _Kernel
from tidelog.session.once import evaluate_once
from tidelog.session.prepare import Request, prepare
from tidelog.source import Source
from tidelog.storage.sharing import Task

if TYPE_CHECKING:
    from concurrent.futures import Future


class Piece(NamedTuple):
    """CPU seconds of what one thread does, and those of them outside kernels."""

    seconds: float
    interpreter: float


@dataclass
class Region:
    """What threads do side by side: morsels, or tasks that are not in morsels."""

    tasks: list[Piece] = field(default_factory=list)
    morsels: list[Piece] = field(default_factory=list)

    @property
    def seconds(self) -> list[float]:
        """Return what each piece took."""
        return [piece.seconds for piece in self.morsels or self.tasks]

    @property
    def interpreter(self) -> float:
        """Return how long threads needed the interpreter, which serves one at a time."""
        return sum(piece.interpreter for piece in self.morsels or self.tasks)


@dataclass
class Clocks:
    """CPU seconds of an evaluation."""

    # The thread that plans, and that runs what is too little to share.
    calling: float = 0.0
    # Threads that enlarge a table while the others wait, without what these help with.
    alone: float = 0.0
    # What threads do side by side, and what of it is outside kernels.
    together: float = 0.0
    interpreter: float = 0.0
    # How much more than their share of that threads with a core each would take: if whoever is done takes the
    # next piece, and if each had its pieces from the beginning.
    uneven: float = 0.0
    uneven_divided: float = 0.0
    wall_seconds: float = 0.0
    loading: LoadClocks = field(default_factory=LoadClocks)
    regions: list[Region] = field(default_factory=list)

    def add_up(self, jobs: int) -> None:
        """Compute what regions took together."""
        for region in self.regions:
            share = sum(region.seconds) / jobs
            self.together += sum(region.seconds)
            self.interpreter += region.interpreter
            self.uneven += max(shared_seconds(region.seconds, jobs), region.interpreter) - share
            self.uneven_divided += max(divided_seconds(region.seconds, jobs), region.interpreter) - share


class _OwnClocks(threading.local):
    """CPU seconds that the present thread has spent in kernels, and while it made others wait."""

    kernels = 0.0
    alone = 0.0


_OWN = _OwnClocks()


def measured(program: Path, facts: Path, jobs: int) -> Clocks:
    """Return the clocks of an evaluation."""
    clocks = Clocks()

    class TimedMorsels(Morsels):
        """Morsels that are timed one by one."""

        def run(self, task: Task) -> None:
            add = clocks.regions[-1].morsels.append
            super().run(lambda first, last: _timed_piece(partial(task, first, last), add)())

    class TimedWorkers(Workers):
        """Threads whose tasks are timed."""

        def _start(self, tasks: Sequence[Callable[[], object]]) -> "list[Future[object]]":
            region = Region()
            clocks.regions.append(region)
            return super()._start([_timed_piece(task, region.tasks.append) for task in tasks])

    class TimedInsertion(SharedInsertion):
        """An insertion that times what a thread does with exclusive access."""

        def _alone(self, action: Callable[[], None]) -> None:
            def timed() -> None:
                begun = time.thread_time()
                action()
                self._add(time.thread_time() - begun)

            super()._alone(timed)

        def _share(self, task: Callable[[int, int], None], count: int) -> None:
            begun = time.thread_time()
            super()._share(task, count)
            self._add(begun - time.thread_time())

        def _add(self, seconds: float) -> None:
            clocks.alone += seconds
            _OWN.alone += seconds

    evaluate = LocalEngine.evaluate

    def timed_evaluate(*arguments: Any) -> Any:
        wall, cpu = time.perf_counter(), time.thread_time()
        result = evaluate(*arguments)
        clocks.calling += time.thread_time() - cpu
        clocks.wall_seconds += time.perf_counter() - wall
        return result

    with (
        timed_loading(clocks.loading),
        mock.patch.object(_Kernel, "__call__", _timed_call),
        mock.patch.object(engine, "Workers", TimedWorkers),
        mock.patch("tidelog.engine.local.workers.Morsels", TimedMorsels),
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


def _timed_piece(task: Callable[[], object], add: Callable[[Piece], None]) -> Callable[[], None]:
    """Return a task that adds the CPU seconds it takes beside those in which it makes others wait."""

    def run() -> None:
        begun, kernels, alone = time.thread_time(), _OWN.kernels, _OWN.alone
        task()
        taken = time.thread_time() - begun - (_OWN.alone - alone)
        add(Piece(taken, max(taken - (_OWN.kernels - kernels), 0.0)))

    return run


def _timed_call(kernel: Any, *arguments: Any) -> Any:
    """Call a kernel, and add the CPU seconds it takes to those of the thread."""
    begun = time.thread_time()
    found = kernel._entry(*arguments)  # noqa: SLF001 - what the method does that this stands in for
    _OWN.kernels += time.thread_time() - begun
    return found


def main() -> None:
    """Print the clocks of the evaluation that the command line names."""
    program, facts, jobs = sys.argv[1:]
    clocks = asdict(measured(Path(program), Path(facts), int(jobs)))
    del clocks["regions"]
    print(json.dumps(clocks))


if __name__ == "__main__":
    main()
