"""A Spark session for a job, or a clear word why there is none."""

import os
import sys
from typing import TYPE_CHECKING

from tidelog.engine.spark.starting import start_session
from tidelog.pipeline.job import Job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def start_spark(job: Job) -> "SparkSession":
    """Return the Spark session of this process, or a new one as the job's `[spark]` says."""
    settings = {
        "spark.log.level": "ERROR",
        "spark.pyspark.python": sys.executable,
        **_fewer_partitions(job),
        **job.conf,
    }
    return start_session(job.name, job.master, settings, job.spans.get("master"))


def _fewer_partitions(job: Job) -> dict[str, str]:
    """Return a setting for one machine: two hundred partitions for a few rows take longer than the rows."""
    is_local = job.master is None or job.master.startswith("local")
    return {"spark.sql.shuffle.partitions": str(os.cpu_count() or 1)} if is_local else {}
