"""What tasks over a frame reply to the driver."""

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tidelog.engine.spark.failures import FAILED, raise_failure, unfit_worker
from tidelog.errors import TidelogError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row

    Batches = Iterator[pa.RecordBatch]


def task_of(function: Callable[["Batches", bytes], "Batches"], content: bytes) -> Callable[..., "Batches"]:
    """Return a task whose closure has nothing of tidelog but names and bytes, as in `engine.spark.job`."""
    module, name = function.__module__, function.__name__

    def task(batches: "Batches") -> "Batches":
        import importlib  # noqa: PLC0415 - in the worker

        yield from getattr(importlib.import_module(module), name)(batches, content)

    return task


def collect_replies(frame: "DataFrame", task: Callable[["Batches"], "Batches"], schema: str) -> "list[Row]":
    """Run a task over a frame and return the little that it yields; failures are raised as what they were."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - Spark is loaded when it is used
    from pyspark.errors import PySparkException  # noqa: PLC0415 - as above

    try:
        return frame.mapInArrow(task, schema).collect()
    except (PySparkException, Py4JError) as error:
        text = str(error)
        if FAILED in text:
            found, _ = json.JSONDecoder().raw_decode(text[text.index(FAILED) + len(FAILED) :])
            raise_failure(FAILED + json.dumps(found))
        if "ModuleNotFoundError" in text:
            raise TidelogError([unfit_worker(text.strip().splitlines()[-1])]) from error
        raise
