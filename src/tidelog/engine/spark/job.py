"""One stage: equal partners in Spark's Python workers, connected to each other.

It is a barrier stage, which ends if an executor dies. The driver resubmits it, at most `attempts` times in
all, and the work continues from what it wrote to shared storage before. Residents are an ordinary stage:
Spark starts the tasks of an executor that died elsewhere, and the other tasks go on.
"""

import logging
import pickle
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from tidelog.dataclass import dataclass
from tidelog.engine.spark.failures import UNFIT, failure_text, raise_failure, unfit_worker
from tidelog.engine.spark.greeting import Access, Connection, Safety, listen, own_address
from tidelog.engine.spark.java_errors import java_reason
from tidelog.engine.spark.meeting import Meeting, Place, meet_at_barrier, meet_at_driver
from tidelog.engine.spark.message import Message, decode, encode
from tidelog.engine.spark.slots import slots
from tidelog.engine.spark.sockets import connect, executors_on, own_card, places_on
from tidelog.engine.spark.wire import ApartWire, PartnerLostError, Wire
from tidelog.errors import Diagnostic, TidelogError
from tidelog.version import own_version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGER: Final = logging.getLogger("tidelog")
Work = Callable[[Any, Wire], Message]
# What Spark runs in a worker, over Arrow batches.
Task = Callable[[Iterator[Any]], Iterator[Any]]
# Executors that died are started again by the cluster, which takes a while.
_SLOTS_WAIT_SECONDS: Final = 60.0
# Settings of Spark that protect its own connections, and therefore ours.
_ENCRYPTED_BY: Final = (
    "spark.authenticate",
    "spark.network.crypto.enabled",
    "spark.ssl.enabled",
    "spark.ssl.rpc.enabled",
)


@dataclass(frozen=True, slots=True)
class BarrierJob:
    """What the partners do: `work(payload, wire)` at each of them, found by its module and name."""

    module: str
    function: str
    payload: object
    partners: int
    attempts: int = 3
    safety: Safety = Safety()
    rendezvous: str = "driver"


def run_job(
    spark: "SparkSession", job: BarrierJob, resume: Callable[[object], object] | None = None
) -> list[Message]:
    """Return what each partner's work returned.

    When partners are lost, the job is submitted again with the payload that `resume` returns.
    """
    for attempt in range(1, job.attempts + 1):
        access = new_access(spark, job.safety)
        try:
            return _submit(spark, job, access)
        except LostError as lost:
            if attempt == job.attempts:
                raise TidelogError([_lost(job, str(lost))]) from lost
            _LOGGER.warning("partners were lost (%s); attempt %d of %d", lost, attempt + 1, job.attempts)
            wait_for_slots(spark, job.partners)
            if resume is not None:
                job = replace(job, payload=resume(job.payload))
    raise AssertionError("an attempt returns or raises")


def new_access(spark: "SparkSession", safety: Safety) -> Access:
    """Return what partners of a new job need to be let in.

    Connections are encrypted if Spark's own are to be, and otherwise, unless the user says so, where
    executors may be on other machines.
    """
    settings = spark.sparkContext.getConf()
    encrypt = safety.encrypt
    if any(settings.get(name, "false") == "true" for name in _ENCRYPTED_BY):
        encrypt = True
    elif encrypt is None:
        encrypt = not str(spark.sparkContext.master).startswith("local")
    return Access(
        secrets.token_bytes(32),
        safety.tls,
        is_encrypted=encrypt,
        ports=safety.ports,
        silence_seconds=safety.silence_seconds,
    )


def driver_address(spark: "SparkSession") -> str:
    """Return the address that workers call the driver at; Spark writes those of IPv6 in brackets."""
    return str(spark.conf.get("spark.driver.host", "127.0.0.1")).strip("[]")


def wait_for_slots(spark: "SparkSession", partners: int) -> None:
    """Return once the cluster has slots for all partners again, or after a minute of waiting."""
    until = time.monotonic() + _SLOTS_WAIT_SECONDS
    while slots(spark) < partners and time.monotonic() < until:
        time.sleep(0.2)


class LostError(Exception):
    """The stage failed for a reason that may not affect another attempt.

    `partners` are those that were lost if the others are still there, None if all have to start again.
    """

    def __init__(self, reason: str, partners: frozenset[int] | None = None) -> None:
        super().__init__(reason)
        self.partners = partners


def _submit(spark: "SparkSession", job: BarrierJob, access: Access) -> list[Message]:
    driver = driver_address(spark)
    meeting = Meeting(driver, job.partners, access) if job.rendezvous == "driver" else None
    if meeting is not None:
        meeting.introduce_all()
    place = None if meeting is None else meeting.place
    try:
        replies = _collect(spark, job, _task(job, access, driver, place), is_barrier=True)
    finally:
        if meeting is not None:
            meeting.close()
    raise_failures(replies)
    return replies


def collect_residents(
    spark: "SparkSession", job: BarrierJob, access: Access, driver: str, place: Place
) -> list[Message]:
    """Run an ordinary stage and return the partners' replies, even if they report failures.

    Spark may start a task again, while others run; it calls the driver at the same place.
    """
    return _collect(spark, job, _task(job, access, driver, place), is_barrier=False)


def run_apart(spark: "SparkSession", job: BarrierJob) -> list[Message]:
    """Return what each part's work returned; parts must not depend on each other.

    This is an ordinary stage: Spark runs parts in any order and repeats a part that was lost.
    """
    try:
        replies = _collect(spark, job, _task(job, None, "", None), is_barrier=False)
    except LostError as lost:
        raise TidelogError([_lost(job, str(lost))]) from lost
    raise_failures(replies)
    return replies


def _collect(spark: "SparkSession", job: BarrierJob, task: Task, *, is_barrier: bool) -> list[Message]:
    """Run a task at every partner and return the replies in the order of partners."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - Spark is loaded when it is used
    from pyspark.errors import PySparkException  # noqa: PLC0415 - as above

    frame = spark.range(0, job.partners, 1, job.partners)
    try:
        rows = frame.mapInArrow(task, "partner int, content binary", barrier=is_barrier).collect()
    except (PySparkException, Py4JError) as error:
        if "ModuleNotFoundError" in str(error):
            raise TidelogError([unfit_worker(_missing_module(error))]) from error
        raise LostError(java_reason(error)) from error
    return [decode(bytes(row.content)) for row in sorted(rows, key=lambda row: row.partner)]


def _task(job: BarrierJob, access: Access | None, driver: str, place: Place | None) -> Task:
    """Return what Spark runs in each worker."""
    module = "tidelog.engine.spark.job"

    # The closure of this function has nothing of tidelog but bytes: a worker without tidelog can say so.
    content = pickle.dumps((job, access, driver, place, own_version()))

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        import importlib  # noqa: PLC0415 - in the worker

        for _ in batches:
            pass
        run = importlib.import_module(module).run_partner
        yield run(content)

    return task


def run_partner(content: bytes) -> Any:
    """Do one partner's work and return its reply as a batch; called in the worker."""
    import pyarrow as pa  # noqa: PLC0415 - in the worker
    from pyspark import TaskContext  # noqa: PLC0415 - in the worker

    context = TaskContext.get()
    assert context is not None
    me = int(context.partitionId())
    # From our own driver, over Spark's channels.
    job, access, driver, place, version = pickle.loads(content)  # noqa: S301 - see above
    if access is None:
        unfit = reason_unfit(version)
        reply = Message(text=UNFIT + unfit) if unfit else _guarded(job, ApartWire(me, job.partners))
    else:
        reply = _work(job, access, driver, place, version, context)
    data = b"".join(bytes(piece) for piece in encode(reply))
    schema = pa.schema([("partner", pa.int32()), ("content", pa.binary())])
    return pa.RecordBatch.from_pydict({"partner": [me], "content": [data]}, schema)


def _work(  # noqa: PLR0913, PLR0917 - what a closure would hold, were it not sent as bytes
    job: BarrierJob, access: Access, driver: str, place: Place | None, version: str, context: Any
) -> Message:
    me = context.partitionId()
    with ExitStack() as opened:
        listener = opened.enter_context(listen(own_address(driver), access.ports))
        card = {**own_card(listener), "unfit": reason_unfit(version), "attempt": context.taskAttemptId()}
        control: Connection | None = None
        if place is None:
            cards = meet_at_barrier(context, card)
        else:
            cards, control = meet_at_driver(place, me, card, access)
            opened.callback(control.close)
        unfit = [str(each["unfit"]) for each in cards if each["unfit"]]
        if unfit:
            return Message(text=UNFIT + unfit[0])
        if not cards:
            return Message(text="not needed")
        wire = connect(listener, me, places_on(cards), access, executors_on(cards))
        opened.callback(wire.close)
        listener.close()
        wire.control = control
        reply = _guarded(job, wire)
        wire.leave()
        return reply


def _guarded(job: BarrierJob, wire: Wire) -> Message:
    """Return the work's reply; a failure is reported to all partners, which give up too."""
    from importlib import import_module  # noqa: PLC0415 - in the worker

    try:
        function: Work = getattr(import_module(job.module), job.function)
        return function(job.payload, wire)
    except PartnerLostError as lost:
        if not lost.reason:
            raise
        return Message(text="gave up")
    except Exception as error:  # noqa: BLE001 - whatever it is, the others and the driver must hear of it
        text = failure_text(error)
        wire.give_up(text)
        return Message(text=text)


def raise_failures(replies: list[Message]) -> None:
    """Raise the first failure among replies."""
    for reply in replies:
        raise_failure(reply.text)
    if any(reply.text == "gave up" for reply in replies):
        raise LostError("a partner gave up")


def reason_unfit(version: str) -> str:
    """Return why this worker cannot take part, or an empty text if it can."""
    if own_version() != version:
        return f"a worker has tidelog {own_version()}, the driver {version}"
    return "" if find_spec("numba") else "a worker has no Numba"


def _lost(job: BarrierJob, reason: str) -> Diagnostic:
    return Diagnostic(
        code="spark-lost-partners",
        message=f"the partners of a job were lost {job.attempts} times; the last time: {reason}",
        hint="see the executors' logs; the state is that of the last committed epoch",
    )


def _missing_module(error: Exception) -> str:
    """Return what a worker says that has no Tidelog; Java's words are around it."""
    lines = [line.strip() for line in str(error).splitlines()]
    return next(line for line in lines if "ModuleNotFoundError" in line)
