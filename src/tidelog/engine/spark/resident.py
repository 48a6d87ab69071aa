"""Resident partners: one long stage, run from a thread, that takes requests from the driver.

When partners are lost, Spark starts their tasks again elsewhere. The new tasks call the driver; the others
undo what the driver has not confirmed, and all connect anew. What the lost ones kept in memory is lost.
"""

import json
import secrets
import select
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tidelog.engine.spark.failures import is_failure, raise_failure, unfit_worker
from tidelog.engine.spark.greeting import Access
from tidelog.engine.spark.heart import expect_beats
from tidelog.engine.spark.job import BarrierJob, LostError, collect_residents, driver_address, new_access
from tidelog.engine.spark.meeting import Caller, Meeting, introduce
from tidelog.engine.spark.message import Message
from tidelog.engine.spark.signed import sign
from tidelog.engine.spark.sockets import receive, receive_or_beat, send
from tidelog.engine.spark.wire import PartnerLostError
from tidelog.errors import TidelogError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What a partner replies that lost another one.
LOST: Final = "lost"
# Requests that every resident understands: to connect anew, and to keep what the last request did.
MEET: Final = Message(text=json.dumps({"do": "meet"}))
CONFIRM: Final = Message(text=json.dumps({"do": "confirm"}))
# How long partners may take to end when they are told to.
_GOODBYE_SECONDS: Final = 10.0


class ResidentJob:
    """A running job and the connections to its partners."""

    def __init__(self, spark: "SparkSession", job: BarrierJob) -> None:
        self._access = new_access(spark, job.safety)
        driver = driver_address(spark)
        self._meeting = Meeting(driver, job.partners, self._access)
        self._job = job
        self._failure: Exception | None = None
        self._context = spark.sparkContext
        self._group = f"tidelog residents {secrets.token_hex(8)}"
        self._partners: dict[int, Caller] = {}
        self._thread = threading.Thread(
            target=self._run, args=(spark, self._access, driver), name="tidelog-residents", daemon=True
        )
        self._thread.start()
        try:
            self._admit(range(job.partners), "did not start: are there free slots?")
            introduce(self._partners)
        except BaseException:
            self.stop()
            raise

    def _run(self, spark: "SparkSession", access: Access, driver: str) -> None:
        self._context.setJobGroup(self._group, "resident partners of Tidelog", interruptOnCancel=True)
        try:
            replies = collect_residents(spark, self._job, access, driver, self._meeting.place)
            for reply in replies:
                raise_failure(reply.text)
        except Exception as error:  # noqa: BLE001 - raised again in the thread that waits for a reply
            self._failure = error

    def _admit(self, partners: Iterable[int], otherwise: str) -> None:
        """Wait until a task of each of these partners has called."""
        found = self._meeting.wait_for(
            tuple(partners), lambda: not self._thread.is_alive(), self._access.wait_seconds
        )
        if found is None:
            raise self._failure or LostError(f"resident partners {otherwise}")
        for partner, caller in found.items():
            expect_beats(caller.connection, self._access.silence_seconds)
            self._partners[partner] = caller
        unfit = [str(each.card["unfit"]) for each in found.values() if each.card["unfit"]]
        if unfit:
            raise TidelogError([unfit_worker(unfit[0])])

    # --- requests ----------------------------------------------------------------------------------

    def call(self, request: Message) -> list[Message]:
        """Send a request to all partners and return their replies.

        Raises `LostError`, with the partners that are gone, if one of them is. The others may have done
        what was asked: they undo it when partners are replaced.
        """
        lost = self._send(request)
        replies = self._replies(lost)
        for reply in replies.values():
            if is_failure(reply.text):
                self.stop()
                raise_failure(reply.text)
        if lost or any(reply.text == LOST for reply in replies.values()):
            # Without a partner that is gone, two of them lost their connection: both go on.
            raise LostError(f"{_named(lost)} gone: {self._failure or 'no reply'}", frozenset(lost))
        return [replies[partner] for partner in range(self._job.partners)]

    def _replies(self, lost: set[int]) -> dict[int, Message]:
        """Return the reply of every partner; add those to `lost` that are silent for too long.

        All are listened to at once: waiting for one after the other would take the silence of one that hangs
        once more after the others have waited for it.
        """
        replies: dict[int, Message] = {}
        until = dict.fromkeys(self._partners.keys() - lost, self._silent_at())
        while until:
            poll = select.poll()
            waiting = {self._partners[partner].connection.fileno(): partner for partner in until}
            for number in waiting:
                poll.register(number, select.POLLIN)
            ready = poll.poll(max(0.0, min(until.values()) - time.monotonic()) * 1000)
            for partner in (waiting[number] for number, _ in ready):
                until[partner] = self._silent_at()
                try:
                    reply = receive_or_beat(self._partners[partner].connection)
                except PartnerLostError:
                    until[partner] = 0.0
                    continue
                if reply is not None:
                    replies[partner] = reply
            now = time.monotonic()
            lost |= {partner for partner, end in until.items() if end <= now and partner not in replies}
            until = {partner: end for partner, end in until.items() if partner not in {*replies, *lost}}
        return replies

    def _silent_at(self) -> float:
        """Return when a partner that gives a sign now is lost without another one."""
        return time.monotonic() + self._access.silence_seconds

    def signed(self, content: bytes) -> dict[str, str]:
        """Return code for partners with a signature that they accept."""
        return sign(content, self._access.secret)

    def confirm(self) -> None:
        """Let partners keep what the last request did; who is gone by now is noticed by the next one."""
        self._send(CONFIRM)

    def _send(self, request: Message) -> set[int]:
        """Send a request to all; return the partners that are gone."""
        lost = set()
        for partner, each in self._partners.items():
            try:
                send(each.connection, request)
            except OSError:
                lost.add(partner)
        return lost

    # --- losses ------------------------------------------------------------------------------------

    def replace(self, lost: Iterable[int]) -> frozenset[int]:
        """Let new tasks take the places of lost ones, and the others connect to them.

        Returns the partners that have nothing in memory now, because others may be lost meanwhile.
        Raises `LostError` if there are no new tasks: Spark gave the stage up, or has no slot.
        """
        replaced = set(lost)
        for partner, each in self._partners.items():
            if partner not in replaced and not self._invite(partner, each):
                replaced.add(partner)
        for partner in replaced:
            self._end_task(self._partners[partner])
        self._admit(replaced, f"were lost, and no others took their places ({_named(replaced)} gone)")
        introduce(self._partners)
        for partner, each in self._partners.items():
            if partner not in replaced:
                try:
                    receive(each.connection)
                except PartnerLostError:
                    continue  # the next request notices it
        return frozenset(replaced)

    def _invite(self, partner: int, caller: Caller) -> bool:
        """Ask a partner to connect anew; say whether it told where it listens."""
        try:
            send(caller.connection, MEET)
            card = json.loads(receive(caller.connection).text)
        except (OSError, PartnerLostError):
            return False
        self._partners[partner] = Caller({**card, "attempt": caller.card["attempt"]}, caller.connection)
        return True

    def _end_task(self, caller: Caller) -> None:
        """End the task of a partner that is lost: it may only hang, and then Spark starts no other."""
        from py4j.protocol import Py4JError  # noqa: PLC0415 - Spark is loaded when it is used

        caller.connection.close()
        scala = self._context._jsc.sc()  # noqa: SLF001 - Python has no method for it
        # A task that ended with its executor is unknown.
        with suppress(Py4JError):
            scala.killTaskAttempt(int(str(caller.card["attempt"])), True, "Tidelog heard nothing of it")

    def stop(self) -> None:
        """Release the partners."""
        self._send(Message())
        self._meeting.close()
        for each in self._partners.values():
            each.connection.close()
        self._thread.join(_GOODBYE_SECONDS)
        if self._thread.is_alive():
            # A partner that hangs ends with the stage, and its slot is free again.
            self._context.cancelJobGroup(self._group)
            self._thread.join(30)


def _named(partners: Iterable[int]) -> str:
    named = [str(partner) for partner in sorted(partners)]
    match named:
        case []:
            return "a connection between partners is"
        case [one]:
            return f"partner {one} is"
        case _:
            return f"partners {', '.join(named)} are"
