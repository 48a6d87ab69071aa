"""Sessions on Spark: from its session and frames to an engine, and back to frames."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.engine.epoch import MaintainedEngine
from tidelog.engine.protocol import Engine, Settings, UserFunctions
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.nodes import Program
from tidelog.session.engines import EngineKind
from tidelog.values import Codec

if TYPE_CHECKING:
    from tidelog.session.session import Session
    from tidelog.views import Delta

_MISSING = "the engine `spark` needs PySpark, which is not installed"


def choose_options(spark: object, chosen: Mapping[str, object] | None) -> object:
    """Return the checked `SparkOptions` of a session."""
    _require_pyspark()
    from tidelog.engine.spark.cluster import check_session  # noqa: PLC0415 - only with Spark
    from tidelog.engine.spark.options import SparkOptions  # noqa: PLC0415 - as above

    check_session(spark)
    known = [field.name for field in fields(SparkOptions) if field.name != "spark"]
    unknown = [name for name in chosen or {} if name not in known]
    if unknown:
        raise TidelogError(
            [
                Diagnostic(
                    code="spark-bad-option",
                    message=f"there is no Spark option `{name}`",
                    hint=f"the options are {', '.join(known)}",
                )
                for name in unknown
            ]
        )
    options = SparkOptions(spark, **(chosen or {}))  # type: ignore[arg-type]
    options.check()
    return options


def _require_pyspark() -> None:
    try:
        import pyspark  # noqa: F401, PLC0415 - only asked for
    except ImportError as error:
        raise TidelogError(
            [Diagnostic(code="spark-missing", message=_MISSING, hint="pip install 'tidelog[spark]'")]
        ) from error


@contextmanager
def spark_for_command(master: str | None) -> Iterator[object]:
    """Yield the options of a Spark session made for one command, and stop it afterwards.

    Without a master it is what Spark's own configuration says, or all cores of this machine.
    """
    from tidelog.engine.spark.starting import interruptible, start_session  # noqa: PLC0415 - only with Spark

    spark = start_session("tidelog", master, {})
    spark.sparkContext.setLogLevel("ERROR")
    with interruptible():
        try:
            yield choose_options(spark, None)
        finally:
            spark.stop()


def gather_frames(
    facts: Path | str | Mapping[str, object] | None,
) -> Path | str | Mapping[str, object] | None:
    """Return facts with every Spark frame as an Arrow table."""
    if not isinstance(facts, Mapping):
        return facts
    from tidelog.engine.spark.gathering import gather  # noqa: PLC0415 - only with Spark

    frames: dict[str, Any] = dict(facts)
    return {name: gather(data) if hasattr(data, "toArrow") else data for name, data in frames.items()}


def spark_engine(options: object) -> EngineKind:
    """Return the sort of engine that runs on the given Spark session."""
    from tidelog.engine.spark.engine import SparkEngine  # noqa: PLC0415 - only with Spark
    from tidelog.engine.spark.options import SparkOptions  # noqa: PLC0415 - as above
    from tidelog.plan.passes import run_passes  # noqa: PLC0415 - as above

    if options is None:
        choose_options(None, None)
    assert isinstance(options, SparkOptions)

    def evaluate(program: Program, codec: Codec, settings: Settings, functions: UserFunctions) -> Engine:
        return SparkEngine(program, codec, settings, functions, options)

    def maintain(
        program: Program, codec: Codec, settings: Settings, functions: UserFunctions
    ) -> MaintainedEngine:
        from tidelog.maintain.spark import SparkMaintainedEngine  # noqa: PLC0415 - not needed by one run

        return SparkMaintainedEngine(program, codec, settings, functions, options)

    return EngineKind("spark", run_passes, maintain, evaluate)


def resume(engine: object) -> int | None:
    """Return the epoch an engine can go on from, None for one that has to evaluate."""
    found = getattr(engine, "resume", None)
    return None if found is None else found()


def apply_once(session: "Session", batch: str, **changes: Any) -> "Delta | None":
    """Return the delta of a transaction; None if one of this id was committed before, and nothing is done.

    Whoever delivers at least once, as streams do, gives each transaction the same id every time:

        apply_once(db, "stream-17", insert={"edge": rows})
    """
    engine = session.snapshot.engine
    begin = getattr(engine, "begin", None)
    if begin is None:
        message = "only sessions on Spark know transactions by an id"
        raise TidelogError([Diagnostic(code="spark-no-session", message=message)])
    with session.snapshot.lock:
        if not begin(batch):
            return None
        try:
            return session.apply(**changes)
        finally:
            begin(None)
