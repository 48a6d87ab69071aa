"""The end of a rule's chain: candidates become facts."""

import threading
from collections.abc import Callable
from functools import partial

from tidelog.engine.local.steps import Step
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import CodeArray, Int32s, Int64s
from tidelog.storage.relation import NO_COUNTS


class Halt(Exception):  # noqa: N818 - ends a worker whose run was given up elsewhere
    """Another thread failed or the user interrupted the run."""


class EmitStep(Step):
    """Inserts candidates from the only thread at work."""

    def __init__(self) -> None:
        self.relation: StoredRelation
        self.first_new = 0
        self.derivations = 0

    def run(self, batch: CodeArray) -> None:
        """Insert the batch."""
        self.derivations += batch.shape[0]
        self.relation.insert(batch, NO_COUNTS, self.first_new)


class SharedInsertion:
    """Lets several threads insert into one relation, and one of them enlarge it.

    Threads insert side by side; whoever finds too little room waits until nobody inserts,
    enlarges the arrays alone, and lets the others go on.
    """

    def __init__(self, relation: StoredRelation, threads: int, first_new: int) -> None:
        self.relation = relation
        self.first_new = first_new
        self._threads = threads
        self._blocks = relation.open_shared(threads)
        self._condition = threading.Condition()
        self._inserting = 0
        self._is_alone = False
        self.halted = False

    def block(self, thread: int) -> Int64s:
        """Return the row numbers a thread inserts with."""
        return self._blocks[thread]

    def insert(self, batch: CodeArray, weights: Int32s, numbers: Int64s) -> None:
        """Insert a batch from one thread."""
        while True:
            self._enter(batch.shape[0])
            try:
                handled = self.relation.insert_shared(batch, weights, self.first_new, numbers)
            finally:
                self._leave()
            if handled == batch.shape[0]:
                return
            batch = batch[handled:]
            with self._condition:
                self._alone(partial(self.relation.stop_using_pairs_shared, len(batch), self._blocks))

    def close(self) -> None:
        """Make the row numbers dense again; all threads are done."""
        self.relation.close_shared(self._blocks)

    def _enter(self, rows: int) -> None:
        with self._condition:
            while not self.relation.room_shared(rows, self._threads) or self._is_alone:
                if self.halted:
                    raise Halt
                if self._is_alone:
                    self._condition.wait()
                else:
                    self._alone(partial(self.relation.reserve_shared, rows, self._blocks))
            self._inserting += 1

    def _alone(self, action: Callable[[], None]) -> None:
        """Do something while nobody inserts; the condition is held."""
        while self._is_alone:
            self._condition.wait()
        # Nobody enters from here on, so those who insert now are the last ones.
        self._is_alone = True
        try:
            while self._inserting:
                self._condition.wait()
            action()
        finally:
            self._is_alone = False
            self._condition.notify_all()

    def _leave(self) -> None:
        with self._condition:
            self._inserting -= 1
            if not self._inserting:
                self._condition.notify_all()


class SharedEmitStep(Step):
    """Inserts candidates from one of several threads."""

    def __init__(self, thread: int) -> None:
        self._thread = thread
        self.insertion: SharedInsertion
        self.derivations = 0

    def run(self, batch: CodeArray) -> None:
        """Insert the batch."""
        self.derivations += batch.shape[0]
        self.insertion.insert(batch, NO_COUNTS, self.insertion.block(self._thread))
