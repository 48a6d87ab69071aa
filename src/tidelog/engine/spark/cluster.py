"""What a Spark session offers: slots, barrier stages, storage that all workers see."""

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tidelog.engine.spark.connect import against_connect, is_connect
from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.options import SparkOptions
from tidelog.engine.spark.slots import settled_slots, slots
from tidelog.engine.spark.versions import against_session
from tidelog.errors import Diagnostic, TidelogError, raise_if_any


def reason_against_barrier(options: SparkOptions, partners: int) -> str | None:
    """Return why partners cannot run as one barrier stage, or None if they can."""
    if options.exchange == "shuffle":
        return "the shuffle was asked for"
    if allocates_dynamically(options.spark):
        return "Spark refuses barrier stages under dynamic allocation"
    if options.exchange == "sockets":
        # The user asked for it: Spark itself waits for slots, and reports if they do not become free.
        return None
    available = slots(options.spark)
    if available < partners and not str(options.spark.sparkContext.master).startswith("local["):
        available = settled_slots(options.spark, partners)
    if available < partners:
        return f"{partners} partners need as many slots at once, and there are {available}"
    return None


def allocates_dynamically(spark: object) -> bool:
    """Say whether Spark requests and releases executors as tasks come and go."""
    conf: Any = spark.conf  # type: ignore[attr-defined]
    return str(conf.get("spark.dynamicAllocation.enabled", "false")).lower() == "true"


def check_settings(options: SparkOptions) -> None:
    """Raise a diagnostic if the session's settings rule out what the options insist on.

    Speculation is no such case: Spark never runs a task of a barrier stage twice, a resident that is started
    twice waits until it is needed, and the files of other tasks have names of their own. An executor that is
    decommissioned is one that is lost. Under dynamic allocation, slots appear when tasks wait for them.
    """
    if allocates_dynamically(options.spark):
        raise_if_any(_against_dynamic_allocation(options))


def _against_dynamic_allocation(options: SparkOptions) -> Iterator[Diagnostic]:
    if options.exchange == "sockets" and not options.resident:
        yield Diagnostic(
            code="spark-dynamic-allocation",
            message="exchange='sockets' needs barrier stages, which Spark refuses under dynamic allocation",
            hint="set spark.dynamicAllocation.enabled=false, or leave the option out",
        )
    most = _most_slots(options.spark)
    if options.resident and options.partners is None:
        yield Diagnostic(
            code="spark-dynamic-allocation",
            message="resident=True needs a number of partners, because slots change under dynamic allocation",
            hint="write partners=4, or set spark.dynamicAllocation.enabled=false",
        )
    elif options.resident and options.partners is not None and most is not None and options.partners > most:
        yield Diagnostic(
            code="spark-dynamic-allocation",
            message=f"{options.partners} resident partners never get a slot each: Spark may request {most}",
            hint="give fewer partners, or raise spark.dynamicAllocation.maxExecutors",
        )


def _most_slots(spark: object) -> int | None:
    """Return how many slots dynamic allocation may request, or None if there is no limit."""
    conf: Any = spark.conf  # type: ignore[attr-defined]
    most, cores, each = (
        str(conf.get(f"spark.{name}", default))
        for name, default in (
            ("dynamicAllocation.maxExecutors", ""),
            ("executor.cores", "1"),
            ("task.cpus", "1"),
        )
    )
    if not (most.isdigit() and cores.isdigit() and each.isdigit()):
        return None
    return int(most) * (int(cores) // max(1, int(each)))


def open_storage(options: SparkOptions) -> Folder:
    """Return the folder for the state; a temporary one is deleted when nobody holds it any more."""
    if options.storage is not None:
        uri = options.storage
        return Folder(uri if "://" in uri else Path(uri).absolute().as_posix())
    master = str(options.spark.sparkContext.master)
    if not master.startswith("local"):
        message = f"workers of `{master}` need a folder that they share with the driver"
        hint = "give storage='hdfs://...' or another path that all of them see"
        raise TidelogError([Diagnostic(code="spark-no-storage", message=message, hint=hint)])
    path = tempfile.mkdtemp(prefix="tidelog-spark-")
    folder = Folder(path)
    weakref.finalize(folder, shutil.rmtree, path, ignore_errors=True)
    return folder


def check_session(spark: object) -> None:
    """Raise a diagnostic unless this is a Spark session of the classic kind, of a version that fits."""
    if is_connect(spark):
        raise TidelogError([against_connect()])
    if spark is None:
        message, hint = "the engine `spark` needs a Spark session", "pass spark=SparkSession..."
    elif not hasattr(spark, "sparkContext") or not hasattr(spark, "range"):
        message, hint = f"{type(spark).__name__} is not a Spark session", "pass spark=SparkSession..."
    else:
        try:
            _ = spark.sparkContext
        except Exception as error:  # noqa: BLE001 - Spark says so in ways of its own
            message = f"this Spark session has no context: {error}"
            hint = "pass a session that has a master"
        else:
            raise_if_any(against_session(spark))
            return
    raise TidelogError([Diagnostic(code="spark-no-session", message=message, hint=hint)])
