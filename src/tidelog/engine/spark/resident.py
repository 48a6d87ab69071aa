"""Resident partners: one long barrier stage, run from a thread, that takes requests from the driver."""

import secrets
import threading
import time
from typing import TYPE_CHECKING

from tidelog.engine.spark.failures import is_failure, raise_failure
from tidelog.engine.spark.greeting import Access
from tidelog.engine.spark.heart import expect_beats
from tidelog.engine.spark.job import BarrierJob, LostError, collect_stage, driver_address, new_access
from tidelog.engine.spark.meeting import Meeting
from tidelog.engine.spark.message import Message
from tidelog.engine.spark.sockets import receive, send
from tidelog.engine.spark.wire import PartnerLostError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOK_AGAIN_SECONDS = 0.05
# How long partners may take to end when they are told to.
_GOODBYE_SECONDS = 10.0


class ResidentJob:
    """A running job and the connections to its partners."""

    def __init__(self, spark: "SparkSession", job: BarrierJob) -> None:
        access = new_access(spark, job.safety)
        driver = driver_address(spark)
        self._meeting = Meeting(driver, job.partners, access)
        self._job = job
        self._failure: Exception | None = None
        self._context = spark.sparkContext
        self._group = f"tidelog residents {secrets.token_hex(8)}"
        self._thread = threading.Thread(
            target=self._run, args=(spark, access, driver), name="tidelog-residents", daemon=True
        )
        self._thread.start()
        self._wait_for_partners(access.wait_seconds)
        for connection in self._meeting.connections.values():
            expect_beats(connection, access.silence_seconds)

    def _run(self, spark: "SparkSession", access: Access, driver: str) -> None:
        self._context.setJobGroup(self._group, "resident partners of Tidelog", interruptOnCancel=True)
        try:
            replies = collect_stage(spark, self._job, access, driver, self._meeting.place)
            for reply in replies:
                raise_failure(reply.text)
        except Exception as error:  # noqa: BLE001 - raised again in the thread that waits for a reply
            self._failure = error

    def _wait_for_partners(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._meeting.is_complete.wait(_LOOK_AGAIN_SECONDS):
            if not self._thread.is_alive() or time.monotonic() > until:
                self.stop()
                raise self._failure or LostError("resident partners did not start: are there free slots?")

    def call(self, request: Message) -> list[Message]:
        """Send a request to all partners and return their replies; raise if one of them is lost."""
        connections = [self._meeting.connections[partner] for partner in range(self._job.partners)]
        try:
            for connection in connections:
                send(connection, request)
            replies = [receive(connection) for connection in connections]
        except (OSError, PartnerLostError) as error:
            self.stop()
            raise LostError(f"resident partners are gone: {self._failure or error}") from error
        for reply in replies:
            if is_failure(reply.text):
                self.stop()
                raise_failure(reply.text)
        return replies

    def stop(self) -> None:
        """Release the partners."""
        for connection in self._meeting.connections.values():
            try:
                send(connection, Message())
            except OSError:
                continue  # gone already
        self._meeting.close()
        self._thread.join(_GOODBYE_SECONDS)
        if self._thread.is_alive():
            # A partner that hangs ends with the stage, and its slot is free again.
            self._context.cancelJobGroup(self._group)
            self._thread.join(30)
