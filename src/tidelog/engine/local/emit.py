"""The end of a rule's chain: candidates become facts."""

import threading
import time
from collections.abc import Callable
from functools import partial

from tidelog.engine.local.morsels import SharedRanges
from tidelog.engine.local.steps import ChainStep
from tidelog.plan.measured import Meter
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import CodeArray, Int32s
from tidelog.storage.lattice_table import LatticeTable
from tidelog.storage.relation import NO_COUNTS
from tidelog.storage.sharing import Task


class CandidatesAside:
    """Keeps candidates until no rule must be kept from seeing them."""

    def __init__(self) -> None:
        self.batches: list[CodeArray] = []
        self.halted = False

    def insert(self, batch: CodeArray, weights: Int32s, number: int) -> None:  # noqa: ARG002 - as relations take them
        """Keep a copy of a batch; several threads may do so at once."""
        self.batches.append(batch.copy())

    def close(self) -> None:
        """Do nothing: there are no row numbers yet."""


# What takes candidates: a relation, the table of a lattice, or nothing yet.
Candidates = StoredRelation | LatticeTable | CandidatesAside


class Halt(Exception):  # noqa: N818 - ends a worker whose run was given up elsewhere
    """Another thread failed or the user interrupted the run."""


class EmitStep(ChainStep):
    """Inserts candidates from a single thread, or appends them if they are known to be new."""

    def __init__(self) -> None:
        self.relation: Candidates
        self.first_new = 0
        self.appends = False
        self.derivations = 0

    def run(self, batch: CodeArray) -> None:
        """Insert the batch."""
        self.derivations += batch.shape[0]
        if self.appends and isinstance(self.relation, StoredRelation):
            self.relation.append(batch)
        else:
            self.relation.insert(batch, NO_COUNTS, self.first_new)


class SharedInsertion:
    """Lets several threads insert into one relation, and enlarge it together.

    Threads insert side by side; one that finds too little room waits until no other inserts, and enlarges
    the arrays with exclusive access while those that wait help it. A thread notes that it inserts before it
    checks whether another requests exclusive access, and a thread that requests it notes that before it
    checks which others insert; the interpreter runs these in some order, so one of the two sees the other.
    A thread that finds room takes no lock.
    """

    def __init__(
        self, relation: StoredRelation, threads: int, first_new: int, *, appends: bool = False
    ) -> None:
        self.relation = relation
        self.first_new = first_new
        self._appends = appends
        self._threads = threads
        self._blocks = relation.open_shared(threads)
        self._condition = threading.Condition()
        # How many rows each thread is inserting; none takes the room that another has reserved.
        self._inserts = [0] * threads
        self._is_alone = False
        # What threads that wait for another one can help it with.
        self._shared: SharedRanges | None = None
        self.halted = False

    def insert(self, batch: CodeArray, weights: Int32s, thread: int) -> None:
        """Insert a batch from one thread."""
        if self._appends:
            with self._condition:
                self.relation.append(batch)
            return
        numbers = self._blocks[thread]
        while True:
            self._enter(batch.shape[0], thread)
            try:
                handled = self.relation.insert_shared(batch, weights, self.first_new, numbers)
            finally:
                self._leave(thread)
            if handled == batch.shape[0]:
                return
            batch = batch[handled:]
            self._alone(partial(self.relation.admit_shared, batch, self._blocks, self._share))

    def close(self) -> None:
        """Make the row numbers dense again once all threads are done."""
        if not self._appends:
            self.relation.close_shared(self._blocks)

    def _enter(self, rows: int, thread: int) -> None:
        """Return once this thread may insert this many rows."""
        while True:
            self._inserts[thread] = max(rows, 1)
            if not self._is_alone and self.relation.room_shared(sum(self._inserts), self._threads):
                return
            self._leave(thread)
            if self.halted:
                raise Halt
            if self._is_alone:
                self._wait()
            else:
                self._alone(partial(self._make_room, rows))

    def _leave(self, thread: int) -> None:
        self._inserts[thread] = 0
        if self._is_alone:
            with self._condition:
                self._condition.notify_all()

    def _make_room(self, rows: int) -> None:
        """Make room for as many rows of each thread, unless another thread has just done so."""
        if not self.relation.room_shared(self._threads * rows, self._threads):
            self.relation.reserve_shared(rows, self._blocks, self._share)

    def _alone(self, action: Callable[[], None]) -> None:
        """Call a function while no thread inserts."""
        while True:
            with self._condition:
                if not self._is_alone:
                    self._is_alone = True
                    break
            self._wait()
        try:
            # No thread enters from here on, so only those that insert now remain.
            with self._condition:
                while any(self._inserts):
                    self._condition.wait()
            action()
        finally:
            with self._condition:
                self._is_alone = False
                self._condition.notify_all()

    def _share(self, task: Task, count: int) -> None:
        """Do a task with all threads that wait for this one, which has exclusive access."""
        shared = SharedRanges(task, count, self._threads)
        with self._condition:
            self._shared = shared
            self._condition.notify_all()
        shared.help()
        with self._condition:
            self._shared = None
            while shared.helping:
                self._condition.wait()
        shared.check()

    def _wait(self) -> None:
        """Wait for the thread that has exclusive access, and help it."""
        with self._condition:
            while self._is_alone and (shared := self._shared) is None:
                self._condition.wait()
            if not self._is_alone or shared is None:
                return
            shared.helping += 1
        shared.help()
        with self._condition:
            shared.helping -= 1
            self._condition.notify_all()
            # The other threads may still be at it, and there is nothing left to take.
            while self._is_alone and self._shared is shared:
                self._condition.wait()


class SharedEmitStep(ChainStep):
    """Inserts candidates from one of several threads."""

    def __init__(self, thread: int) -> None:
        self._thread = thread
        self.insertion: SharedInsertion | CandidatesAside
        self.derivations = 0

    @property
    def relation(self) -> Candidates:
        """Return what takes the candidates."""
        insertion = self.insertion
        return insertion if isinstance(insertion, CandidatesAside) else insertion.relation

    def run(self, batch: CodeArray) -> None:
        """Insert the batch."""
        self.derivations += batch.shape[0]
        self.insertion.insert(batch, NO_COUNTS, self._thread)


class MeteredEmitStep(EmitStep):
    """Inserts candidates from a single thread, and measures that."""

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    def run(self, batch: CodeArray) -> None:
        """Insert the batch."""
        _measure(super().run, batch, self._meter)


class MeteredSharedEmitStep(SharedEmitStep):
    """Inserts candidates from one of several threads, and measures that."""

    def __init__(self, thread: int, meter: Meter) -> None:
        super().__init__(thread)
        self._meter = meter

    def run(self, batch: CodeArray) -> None:
        """Insert the batch."""
        _measure(super().run, batch, self._meter)


def _measure(insert: Callable[[CodeArray], None], batch: CodeArray, meter: Meter) -> None:
    """Insert a batch, and add what that took to a meter."""
    begun = time.perf_counter()
    insert(batch)
    meter.rows += batch.shape[0]
    meter.seconds += time.perf_counter() - begun
