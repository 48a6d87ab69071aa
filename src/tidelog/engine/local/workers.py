"""Threads that share the work of one rule or of one iteration's index building.

Kernels release the interpreter lock, so threads run side by side as long as batches are large.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tidelog.engine.local.chains import StepChain
from tidelog.engine.local.emit import CandidatesAside, SharedEmitStep, SharedInsertion
from tidelog.engine.local.morsels import Morsels
from tidelog.plan.operators import (
    Check,
    Choose,
    Compute,
    Filter,
    Find,
    IndexJoin,
    Operator,
    Rearrange,
    ScanView,
    Start,
    Unpack,
    all_operators,
)
from tidelog.program.nodes import Application, Constant, Term, Variable
from tidelog.storage.sharing import Share, Task, by_one_thread

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_ROWS_FOR_THREADS = 1 << 14
# So many rows each thread must have of an index that all of them extend.
_ROWS_PER_THREAD = 1 << 14
# A thread takes facts with at least so many matches and derivations at a time for each of the threads: small
# morsels keep all of them busy to the end, but between two morsels a thread needs the interpreter, which
# serves one at a time.
_WORK_PER_THREAD = 1 << 9


class Workers:
    """A pool of threads, made when there is enough to do; with one job all runs in the calling thread."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._pool: ThreadPoolExecutor | None = None

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _threads(self) -> "ThreadPoolExecutor":
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - small programs need no threads

        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.jobs, thread_name_prefix="tidelog")
        return self._pool

    def _start(self, tasks: Sequence[Callable[[], object]]) -> "list[Future[object]]":
        """Begin to run tasks side by side."""
        pool = self._threads()
        return [pool.submit(task) for task in tasks]

    def run_all(self, tasks: Sequence[Callable[[], object]], rows: int) -> None:
        """Run independent tasks that together handle about `rows` rows."""
        if self.jobs < 2 or len(tasks) < 2 or rows < _ROWS_FOR_THREADS:
            for task in tasks:
                task()
            return
        for future in self._start(tasks):
            future.result()

    def run_chains(
        self,
        chains: Sequence[tuple[StepChain, SharedEmitStep]],
        insertion: SharedInsertion | CandidatesAside,
        rows: tuple[int, int],
        work_per_fact: int,
    ) -> None:
        """Run one rule over a range of rows, each thread with a chain of its own."""
        for _, end in chains:
            end.insertion = insertion
        first, last = rows
        # A key stands for several facts.
        work = work_per_fact * max(chains[0][0].facts(), last - first)
        smallest = max(chains[0][0].least_rows, self._smallest_morsel * (last - first) // work)
        shared = Morsels(first, last, smallest, self.jobs)

        def halt() -> None:
            insertion.halted = True

        try:
            self._share([partial(shared.run, chain.run) for chain, _ in chains], shared, halt)
        finally:
            insertion.close()

    def run_morsels(self, tasks: Sequence[Callable[[int, int], None]], count: int) -> None:
        """Run tasks over ranges of `count` items, each task in a thread of its own."""
        shared = Morsels(0, count, self._smallest_morsel, self.jobs)
        self._share([partial(shared.run, task) for task in tasks], shared, lambda: None)

    def share(self, task: Task, count: int) -> None:
        """Run a task over ranges of `count` items, each of which is worth a thread's while."""
        shared = Morsels(0, count, 1, self.jobs)
        self._share([partial(shared.run, task)] * self.jobs, shared, lambda: None)

    def sharing(self, rows: int) -> Share:
        """Return what shares the work on so many rows: all threads, or the present one if they are few."""
        return self.share if self.jobs > 1 and rows >= _ROWS_PER_THREAD * self.jobs else by_one_thread

    @property
    def work_for_all(self) -> int:
        """Return how many matches and derivations keep all threads busy."""
        return self._smallest_morsel * self.jobs

    @property
    def _smallest_morsel(self) -> int:
        """Return how many matches and derivations a thread takes at least."""
        return _WORK_PER_THREAD * self.jobs

    def _share(self, tasks: Sequence[Callable[[], None]], shared: Morsels, halt: Callable[[], None]) -> None:
        """Run tasks until all morsels are done; if one fails, the others end and its error is raised."""
        futures = self._start(tasks[: shared.count])
        try:
            for future in futures:
                future.result()
        except BaseException:
            shared.halted = True
            halt()
            for future in futures:
                future.exception()
            raise


def is_safe_in_threads(operators: Sequence[Operator]) -> bool:
    """Say whether a chain neither makes new codes nor keeps counters, so that threads may share it."""
    for operator in all_operators(operators):
        match operator:
            case Start() | ScanView() | IndexJoin() | Check() | Find() | Rearrange() | Unpack() | Choose():
                continue
            case Compute(term=term) if _is_arithmetic(term):
                continue
            case Filter(constraint=c) if (
                c.kind.is_numeric and _is_arithmetic(c.left) and _is_arithmetic(c.right)
            ):
                continue
            case _:
                return False
    return True


def _is_arithmetic(term: Term) -> bool:
    match term:
        case Variable() | Constant():
            return True
        case Application():
            return term.kind.is_numeric and all(_is_arithmetic(inner) for inner in term.terms)
        case _:
            return False
