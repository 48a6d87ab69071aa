"""What Spark's own pages say about the jobs of a pipeline."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WORDS: Final = "spark.job.description"
_GROUP: Final = "spark.jobGroup.id"


@contextmanager
def described(spark: "SparkSession", job: str, words: str) -> Iterator[None]:
    """Give Spark's jobs of this thread a description, and the job's name as their group.

    A stream has a group of its own, by which Spark ends its jobs; it stays.
    """
    context = spark.sparkContext
    before = {name: context.getLocalProperty(name) for name in (_WORDS, _GROUP)}
    context.setLocalProperty(_WORDS, f"{job}: {words}")
    if before[_GROUP] is None:
        context.setLocalProperty(_GROUP, f"tidelog {job}")
    try:
        yield
    finally:
        for name, value in before.items():
            context.setLocalProperty(name, value)  # type: ignore[arg-type]
