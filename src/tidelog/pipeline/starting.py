"""A Spark session for a job, or a clear word why there is none."""

import os
import shutil
import sys
from typing import TYPE_CHECKING

from tidelog.errors import Diagnostic, TidelogError
from tidelog.pipeline.job import Job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def start_spark(job: Job) -> "SparkSession":
    """Return the Spark session of this process, or a new one as the job's `[spark]` says."""
    try:
        from pyspark.errors import PySparkException  # noqa: PLC0415 - an optional package
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an optional package
    except ImportError as cause:
        raise TidelogError([_no_pyspark()]) from cause
    java = os.environ.get("JAVA_HOME")
    has_java = shutil.which("java") is not None or (
        java is not None and shutil.which("java", path=f"{java}/bin")
    )
    if SparkSession.getActiveSession() is None and not has_java:
        raise TidelogError([_no_java()])
    builder = SparkSession.builder.appName(job.name)
    if job.master is not None:
        builder = builder.master(job.master)
    settings = {
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.pyspark.python": sys.executable,
        **_fewer_partitions(job),
        **job.conf,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, RuntimeError) as cause:
        raise TidelogError([_no_session(job, cause)]) from cause


def _fewer_partitions(job: Job) -> dict[str, str]:
    """Return a setting for one machine: two hundred partitions for a few rows take longer than the rows."""
    is_local = job.master is None or job.master.startswith("local")
    return {"spark.sql.shuffle.partitions": str(os.cpu_count() or 1)} if is_local else {}


def _no_pyspark() -> Diagnostic:
    return Diagnostic(
        code="spark-missing",
        message="a pipeline needs the package pyspark, which is not installed",
        hint="pip install 'tidelog[spark]'",
    )


def _no_java() -> Diagnostic:
    return Diagnostic(
        code="spark-no-session",
        message="Spark needs Java 17 or newer, and there is no `java` on PATH or in JAVA_HOME",
        hint="on Debian: apt install openjdk-17-jre-headless",
    )


def _no_session(job: Job, cause: Exception) -> Diagnostic:
    return Diagnostic(
        code="spark-no-session",
        message=f"Spark does not start: {str(cause).splitlines()[0]}",
        span=job.at("master"),
        hint="look at `master` and `conf` under `[spark]`, and at SPARK_HOME and JAVA_HOME",
    )
