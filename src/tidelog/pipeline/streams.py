"""Sources that are streams: each micro-batch of Structured Streaming is an epoch."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pyspark.errors import StreamingQueryException

from tidelog.engine.spark.java_errors import java_diagnostic
from tidelog.errors import Diagnostic, TidelogError
from tidelog.pipeline.bind import CheckedJob
from tidelog.pipeline.epochs import JobEpochs
from tidelog.pipeline.folder import JobFolder
from tidelog.pipeline.job import JobSource
from tidelog.pipeline.sources import read_stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_LOOK_SECONDS: Final = 0.2


class Streams:
    """The streaming queries of a job; epochs are made one after the other, whichever query they are of."""

    def __init__(
        self,
        spark: "SparkSession",
        bound: CheckedJob,
        folder: JobFolder,
        epochs: JobEpochs,
        after_epoch: Callable[[], None],
    ) -> None:
        self._spark = spark
        self._bound = bound
        self._folder = folder
        self._epochs = epochs
        self._after_epoch = after_epoch
        self._lock = threading.Lock()
        self._failure: BaseException | None = None

    @property
    def sources(self) -> list[JobSource]:
        """Return the sources that are streams."""
        return [source for source in self._bound.job.sources if source.is_stream]

    def run_available(self, stop: threading.Event) -> None:
        """Make epochs of all that is there now, source by source, or until someone sets `stop`."""
        for source in self.sources:
            if stop.is_set():
                return
            query = self._writer(source).trigger(availableNow=True).start()
            self._watch({source.id: query}, stop)
            self._await(query, source)

    def run_forever(self, every_seconds: float, stop: threading.Event) -> None:
        """Make epochs of what comes, until someone sets `stop` or a query fails."""
        interval = f"{every_seconds} seconds"
        queries = {
            source.id: self._writer(source).trigger(processingTime=interval).start()
            for source in self.sources
        }
        self._watch(queries, stop)
        for source in self.sources:
            self._await(queries[source.id], source)

    def _watch(self, queries: Mapping[str, "StreamingQuery"], stop: threading.Event) -> None:
        """Wait until a query ends or someone sets `stop`, and end all of them."""
        try:
            while not stop.wait(_LOOK_SECONDS):
                if not all(query.isActive for query in queries.values()):
                    break
        finally:
            # An epoch that is being made is finished first.
            with self._lock:
                for query in queries.values():
                    query.stop()

    def _writer(self, source: JobSource) -> "DataStreamWriter":
        checkpoint = self._folder.checkpoint(source.id)

        def take(rows: "DataFrame", batch: int) -> None:
            try:
                with self._lock:
                    stream = json.loads((checkpoint / "metadata").read_text())["id"]
                    if self._epochs.take(source, rows, stream, batch):
                        self._after_epoch()
            except BaseException as failure:
                # Spark wraps it in a text; whoever waits for the query gets it as it is.
                self._failure = self._failure or failure
                raise

        frame = read_stream(self._spark, self._bound, source)
        return frame.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))

    def _await(self, query: "StreamingQuery", source: JobSource) -> None:
        try:
            query.awaitTermination()
        except StreamingQueryException as cause:
            if self._failure is not None:
                raise self._failure from None
            raise TidelogError([_failed(source, cause)]) from cause
        if self._failure is not None:
            raise self._failure


def _failed(source: JobSource, cause: StreamingQueryException) -> Diagnostic:
    span = source.at("path") or source.at("format")
    found = java_diagnostic(cause, f"the stream of the source `{source.id}` ended", span)
    if found.code != "spark-failed":
        return found
    hint = "epochs that were committed stay; the next run goes on from them"
    return replace(found, code="unreadable-source", hint=hint)
