"""Sessions of Spark Connect: frames go in and out, but there are no workers to evaluate on."""

from tidelog.errors import Diagnostic


def is_connect(spark: object) -> bool:
    """Say whether a session, or a frame, is one of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def against_connect() -> Diagnostic:
    """Return the diagnostic for the engine `spark` on a session of Spark Connect."""
    return Diagnostic(
        code="spark-connect",
        message="the engine `spark` starts partners in Spark's workers, and Spark Connect cannot do that",
        hint="tidelog.spark.evaluate and the engine `local` take and return frames of Spark Connect; "
        "or pass a session that has a master",
    )
