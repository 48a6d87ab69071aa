"""Resident partners in threads, over real sockets and without Spark, which are killed at chosen moments.

What Spark does for an ordinary stage is done here: a task that ends without a reply is started again.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from tidelog.engine.spark import job, resident, sockets
from tidelog.engine.spark.message import Message
from tidelog.engine.spark.sockets import SocketWire
from tidelog.engine.spark.wire import PartnerLostError
from tidelog.version import own_version

# How often a task is started again, with much patience.
MOST_FAILURES = 40
# Where a partner can be killed: in an exchange with others, before it replies to the driver, and after that.
MOMENTS = ("exchange", "reply", "replied")


class KilledError(BaseException):
    """A task ends at once, as if its process had been killed."""


class Tasks:
    """Runs partners in threads; `kill` says which of them dies, and when."""

    def __init__(self, on_executor: int) -> None:
        self.on_executor = on_executor
        self._countdowns: dict[tuple[int, str], int] = {}
        self._lock = threading.Lock()
        self._attempts = 0
        self.kills = 0
        self.stages = 0

    def kill(self, partner: int, moment: str, after: int) -> None:
        """Let a partner die the next time but `after` that it gets to a moment."""
        self._countdowns[partner, moment] = after

    def pass_by(self, wire: SocketWire, moment: str) -> None:
        """Die here if it is time."""
        with self._lock:
            left = self._countdowns.get((wire.me, moment))
            if left is None:
                return
            if left:
                self._countdowns[wire.me, moment] = left - 1
                return
            del self._countdowns[wire.me, moment]
            self.kills += 1
        raise KilledError

    def run_stage(self, _spark, stage, access, driver, place):
        """Return what the tasks return; those that die are started again."""
        self.stages += 1
        replies = {}

        def run(partner):
            failures = 0
            while partner not in replies:
                with self._lock:
                    self._attempts += 1
                    attempt = self._attempts
                context = SimpleNamespace(
                    partitionId=lambda: partner, taskAttemptId=lambda attempt=attempt: attempt
                )
                try:
                    replies[partner] = job._work(stage, access, driver, place, own_version(), context)
                except (KilledError, PartnerLostError):
                    failures += 1
                    if failures > MOST_FAILURES:
                        replies[partner] = Message(text="given up")

        threads = [
            threading.Thread(target=run, args=(partner,), name=str(partner // self.on_executor))
            for partner in range(stage.partners)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [replies[partner] for partner in range(stage.partners)]


def no_spark(partners: int) -> SimpleNamespace:
    """Return what residents ask of a Spark session, without Spark."""
    settings = SimpleNamespace(get=lambda _, default=None: default)
    context = SimpleNamespace(
        master="local[8]", defaultParallelism=partners, getConf=lambda: settings,
        setJobGroup=lambda *_, **__: None, cancelJobGroup=lambda _: None,
    )  # fmt: skip
    return SimpleNamespace(conf=settings, sparkContext=context)


@contextmanager
def tasks_in_threads(on_executor: int = 2) -> Iterator[Tasks]:
    """Let residents run in threads, so many as if on one executor, and yield what kills them."""
    tasks = Tasks(on_executor)
    exchange, reply = SocketWire.exchange, SocketWire.reply

    def exchange_or_die(wire, messages):
        tasks.pass_by(wire, "exchange")
        return exchange(wire, messages)

    def reply_or_die(wire, message):
        tasks.pass_by(wire, "reply")
        reply(wire, message)
        tasks.pass_by(wire, "replied")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resident, "collect_residents", tasks.run_stage)
        patch.setattr(sockets, "_own_executor", lambda: threading.current_thread().name)
        patch.setattr(resident.ResidentJob, "_end_task", lambda _, caller: caller.connection.close())
        patch.setattr(SocketWire, "exchange", exchange_or_die)
        patch.setattr(SocketWire, "reply", reply_or_die)
        yield tasks
