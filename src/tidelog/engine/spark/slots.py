"""How many tasks a cluster runs at once."""

import re
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WAIT_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 0.1


def slots(spark: "SparkSession") -> int:
    """Return how many tasks the cluster can run at once, now."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - Spark is loaded when it is used

    context = spark.sparkContext
    try:
        scala = context._jsc.sc()  # noqa: SLF001 - Spark tells it nowhere else
        profile = scala.resourceProfileManager().defaultResourceProfile()
        return max(1, int(scala.maxNumConcurrentTasks(profile)))
    except (AttributeError, Py4JError):
        return max(1, int(context.defaultParallelism))


def settled_slots(spark: "SparkSession", wanted: int | None = None) -> int:
    """Return the slots once all requested executors have registered, or after a minute.

    `wanted` slots are enough. Executors register one by one after a session has started.
    """
    enough = wanted or _expected(spark)
    until = time.monotonic() + _WAIT_SECONDS
    while (found := slots(spark)) < enough and time.monotonic() < until:
        time.sleep(_LOOK_AGAIN_SECONDS)
    return found


def _expected(spark: "SparkSession") -> int:
    """Return how many slots the session's settings request, 1 if they do not say."""
    cluster = re.fullmatch(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,.*\]", str(spark.sparkContext.master))
    if cluster is not None:
        return int(cluster[1]) * int(cluster[2])
    instances = str(spark.conf.get("spark.executor.instances", "1"))
    cores = str(spark.conf.get("spark.executor.cores", "1"))
    return int(instances) * int(cores) if instances.isdigit() and cores.isdigit() else 1
