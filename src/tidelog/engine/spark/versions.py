"""The versions of Spark and Java that Tidelog works with."""

import re
from collections.abc import Iterator
from typing import Final

from tidelog.errors import Diagnostic

OLDEST_JAVA: Final = 17
TESTED_JAVA: Final = (17, 21)
_OLDEST_SPARK: Final = (4, 0)
_NEWEST_SPARK: Final = (5, 0)
_HINT: Final = "pip install 'pyspark>=4.0,<5'; the cluster must have the same version"


def against_spark(version: str, what: str = "PySpark") -> Iterator[Diagnostic]:
    """Yield a diagnostic if a version of Spark is not one from 4.0 up to, but not including, 5.0."""
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None or not _OLDEST_SPARK <= (int(found[1]), int(found[2])) < _NEWEST_SPARK:
        yield Diagnostic(
            code="spark-version",
            message=f"{what} is version {version}, and Tidelog needs Spark 4.0 or newer, below 5",
            hint=_HINT,
        )


def against_session(spark: object) -> Iterator[Diagnostic]:
    """Yield a diagnostic if a session's Spark is of a version that does not fit.

    SPARK_HOME may lead to another Spark than the one PySpark was made for.
    """
    import pyspark  # noqa: PLC0415 - an optional package

    there, here = str(getattr(spark, "version", pyspark.__version__)), str(pyspark.__version__)
    yield from against_spark(there, "the Spark of this session")
    if _minor(there) != _minor(here):
        yield Diagnostic(
            code="spark-version",
            message=f"the Spark of this session is version {there}, and PySpark here is {here}",
            hint=f"pip install 'pyspark=={there}', or unset SPARK_HOME",
        )


def java_remark(version: int | None) -> str:
    """Return a remark for a failure to start, if Java is of a version that Spark is not tested with."""
    if version is None or version in TESTED_JAVA:
        return ""
    tested = " and ".join(map(str, TESTED_JAVA))
    return f"; this is Java {version}, and Spark 4 is made for Java {tested}"


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])
