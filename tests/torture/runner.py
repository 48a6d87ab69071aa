"""Running kinds side by side: worker processes, a watch on those that hang, and a count of what was done.

Every worker takes the kinds in turn, each for a slice of time, and reports every seed it begins. A
worker that reports nothing for too long, or dies, is replaced, and the seed it was at is a failure.
"""

import multiprocessing
import os
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Final

from torture.kind import Failure, KindUnavailableError
from torture.kinds import find_kind

# Shrinking may take minutes without a new seed; a case that hangs takes for ever.
_SILENCE_SECONDS: Final = 400.0
_LONGEST_SLICE_SECONDS: Final = 60.0
_SHORTEST_SLICE_SECONDS: Final = 3.0
# Far apart, so that runs with neighbouring seeds share no case.
_SEEDS_APART: Final = 10_000_019


@dataclass
class Outcome:
    """What was checked, by kind, and what failed."""

    checked: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    # Why kinds were left out.
    skipped: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Skipped:
    kind: str
    reason: str


@dataclass(frozen=True)
class _Begun:
    kind: str
    seed: int


@dataclass(frozen=True)
class _Checked:
    kind: str
    units: int
    seconds: float


@dataclass
class _Worker:
    number: int
    process: multiprocessing.process.BaseProcess
    connection: Connection
    heard: float
    begun: _Begun | None = None


@dataclass
class Runner:
    """Takes kinds through seeds until the time is over; `tell` hears of failures and progress."""

    kinds: Sequence[str]
    seed: int
    seconds: float
    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    most_failures: int = 20
    tell: Callable[[Outcome, Failure | None], None] = lambda _outcome, _failure: None

    def run(self) -> Outcome:
        """Return what was found."""
        outcome = Outcome()
        deadline = time.monotonic() + self.seconds
        workers = [self._start(number, deadline, 0) for number in range(self.jobs)]
        restarts = 0
        while workers and len(outcome.failures) < self.most_failures:
            ready = wait([worker.connection for worker in workers], timeout=1.0)
            for worker in list(workers):
                if worker.connection in ready and not self._hear(worker, outcome):
                    workers.remove(worker)
                    if worker.process.exitcode != 0:
                        restarts += 1
                        self._lost(worker, outcome, f"the process ended with {worker.process.exitcode}")
                        workers.append(self._start(worker.number, deadline, restarts))
                elif time.monotonic() - worker.heard > _SILENCE_SECONDS:
                    worker.process.kill()
                    worker.process.join()
                    workers.remove(worker)
                    restarts += 1
                    self._lost(worker, outcome, f"no answer within {_SILENCE_SECONDS:.0f} s")
                    workers.append(self._start(worker.number, deadline, restarts))
            self.tell(outcome, None)
        for worker in workers:
            worker.process.kill()
            worker.process.join()
        return outcome

    def _start(self, number: int, deadline: float, restarts: int) -> _Worker:
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        # A restarted worker goes on with seeds that none has tried.
        first = self.seed * _SEEDS_APART + number + restarts * 100_003 * self.jobs
        process = context.Process(
            target=_work, args=(theirs, list(self.kinds), first, self.jobs, deadline), daemon=False
        )
        process.start()
        theirs.close()
        return _Worker(number, process, ours, time.monotonic())

    def _hear(self, worker: _Worker, outcome: Outcome) -> bool:
        """Take one message; say whether the worker lives on."""
        try:
            message = worker.connection.recv()
        except EOFError:
            worker.process.join()
            return False
        worker.heard = time.monotonic()
        match message:
            case _Begun():
                worker.begun = message
            case _Checked():
                outcome.checked[message.kind] += message.units
                outcome.seconds[message.kind] += message.seconds
            case _Skipped():
                outcome.skipped[message.kind] = message.reason
            case Failure():
                outcome.failures.append(message)
                self.tell(outcome, message)
        return True

    def _lost(self, worker: _Worker, outcome: Outcome, reason: str) -> None:
        if worker.begun is None:
            raise RuntimeError(f"a worker could not start: {reason}")
        kind, seed = worker.begun.kind, worker.begun.seed
        script = f"# {reason}\nfrom torture.runner import try_seed\n\ntry_seed({kind!r}, {seed})\n"
        failure = Failure(kind, seed, reason, script)
        outcome.failures.append(failure)
        self.tell(outcome, failure)


def try_seed(kind: str, seed: int) -> list[Failure]:
    """Return what fails for one seed, in this process."""
    found = find_kind(kind).run(iter([seed]), time.monotonic() + 3600)
    return [each for each in found if isinstance(each, Failure)]


def _work(connection: Connection, kinds: Sequence[str], first: int, stride: int, deadline: float) -> None:
    # One input of many may ask for too much; it must fail, not the machine.
    limit = 6 << 30
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    found = {name: find_kind(name) for name in kinds}
    next_seed = dict.fromkeys(kinds, first)
    left = max(0.0, deadline - time.monotonic())
    # Each kind has several turns, so that a short run too sees every kind.
    slice_seconds = min(_LONGEST_SLICE_SECONDS, max(_SHORTEST_SLICE_SECONDS, left / (3 * len(kinds))))

    def seeds(name: str) -> Iterator[int]:
        while True:
            seed = next_seed[name]
            next_seed[name] += stride
            connection.send(_Begun(name, seed))
            yield seed

    while found and time.monotonic() < deadline:
        for name, kind in list(found.items()):
            end = min(deadline, time.monotonic() + slice_seconds)
            try:
                for each in _timed(name, kind.run(seeds(name), end)):
                    connection.send(each)
            except KindUnavailableError as error:
                connection.send(_Skipped(name, str(error)))
                del found[name]
    connection.close()


def _timed(name: str, found: Iterator[int | Failure]) -> Iterator[_Checked | Failure]:
    """Yield what a kind found, counts with the CPU time they took, that of its children included."""
    spent = _cpu_seconds()
    for each in found:
        if isinstance(each, Failure):
            yield each
        else:
            now = _cpu_seconds()
            yield _Checked(name, each, now - spent)
            spent = now


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
