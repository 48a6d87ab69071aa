"""How many tasks a cluster runs at once."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def slots(spark: "SparkSession") -> int:
    """Return how many tasks the cluster runs at once."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - Spark is loaded when it is used

    context = spark.sparkContext
    try:
        scala = context._jsc.sc()  # noqa: SLF001 - Spark tells it nowhere else
        profile = scala.resourceProfileManager().defaultResourceProfile()
        return max(1, int(scala.maxNumConcurrentTasks(profile)))
    except (AttributeError, Py4JError):
        return max(1, int(context.defaultParallelism))
