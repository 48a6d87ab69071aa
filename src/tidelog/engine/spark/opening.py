"""From a Spark session and its frames to the options and facts of an engine."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

from tidelog.errors import Diagnostic, TidelogError

_MISSING = "the engine `spark` needs PySpark, which is not installed"


def choose_options(spark: object, chosen: Mapping[str, object] | None) -> object:
    """Return the checked `SparkOptions` of a session."""
    require_pyspark()
    from tidelog.engine.spark.cluster import check_session, check_settings  # noqa: PLC0415 - only with Spark
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
    check_settings(options)
    return options


def require_pyspark() -> None:
    """Raise a diagnostic where PySpark is not installed."""
    try:
        import pyspark  # noqa: F401, PLC0415 - only asked for
    except ImportError as error:
        raise TidelogError(
            [Diagnostic(code="spark-missing", message=_MISSING, hint="pip install 'tidelog[spark]'")]
        ) from error


@contextmanager
def spark_for_command(master: str | None, chosen: Mapping[str, object] | None = None) -> Iterator[object]:
    """Yield the checked options of a Spark session made for one command, and stop it afterwards.

    Without a master it is what Spark's own configuration says, or all cores of this machine.
    """
    from tidelog.engine.spark.starting import interruptible, start_session  # noqa: PLC0415 - only with Spark

    spark = start_session("tidelog", master, {})
    spark.sparkContext.setLogLevel("ERROR")
    with interruptible():
        try:
            yield choose_options(spark, chosen)
        finally:
            spark.stop()


Facts = Path | str | Mapping[str, object] | None


def name_stored_facts(facts: Facts, options: object) -> Facts:
    """Return facts, with the relations that a state on shared storage has facts of.

    A state on shared storage has its facts: its relations are named, so that the program is the same.
    """
    from tidelog.engine.spark.cluster import open_storage  # noqa: PLC0415 - only with Spark
    from tidelog.engine.spark.files import MANIFEST  # noqa: PLC0415 - as above
    from tidelog.engine.spark.options import SparkOptions  # noqa: PLC0415 - as above

    assert isinstance(options, SparkOptions)
    if options.storage is None or not (facts is None or isinstance(facts, Mapping)):
        return facts
    stored = open_storage(options).read_json(MANIFEST) or {}
    named: dict[str, object] = dict.fromkeys(stored.get("named", ()), ())
    return {**named, **(facts or {})} if named else facts
