"""Committed epochs in the places that others read: folders and tables.

A place never holds a part of an epoch, and doing it again does no harm: after a crash the next run
publishes what is behind.
"""

import ctypes
import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tidelog.engine.spark.java_errors import java_diagnostic, java_errors, java_reason, quiet_queries
from tidelog.errors import Diagnostic, TidelogError
from tidelog.pipeline.bind import CheckedJob
from tidelog.pipeline.facts import feed_names, parquet_files
from tidelog.pipeline.folder import JobFolder, JobManifest
from tidelog.pipeline.job import Output, is_remote
from tidelog.pipeline.merging import MERGED, merge_statement
from tidelog.pipeline.remote_publish import publish_all, publish_feed
from tidelog.store.sync import replace_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NOTE: Final = "published.json"
_VIEW: Final = "tidelog_feed_of_an_epoch"
# Of Linux: paths are relative to the current folder; two names are exchanged.
_HERE: Final = -100
_RENAME_EXCHANGE: Final = 2


class Publisher:
    """Brings the places of a job's outputs to the last committed epoch."""

    def __init__(self, spark: "SparkSession", bound: CheckedJob, folder: JobFolder) -> None:
        self._spark = spark
        self._bound = bound
        self._folder = folder
        note = folder.path / _NOTE
        # For each place the last epoch that was published there.
        self._done: dict[str, int] = json.loads(note.read_text()) if note.exists() else {}

    def publish(self, manifest: JobManifest) -> None:
        """Publish the manifest's epoch, and epochs before it whose changes a feed lacks."""
        before = dict(self._done)
        for output in self._bound.job.outputs:
            base = manifest.outputs[output.relation].base
            if output.path is not None:
                self._once(f"path {output.path}", base, partial(self._path, output, base))
            if output.table is not None:
                if not self._spark.catalog.tableExists(output.table):
                    # A catalog in memory forgets its tables with the session.
                    self._done.pop(f"table {output.table}", None)
                if output.format in MERGED:
                    self._merge(output, manifest)
                else:
                    self._once(f"table {output.table}", base, partial(self._table, output, base))
            if output.feed is not None:
                self._all(f"feed {output.feed}", manifest.epoch, partial(self._feed, output))
            if output.feed_table is not None:
                self._all(
                    f"feed_table {output.feed_table}", manifest.epoch, partial(self._feed_table, output)
                )
        if self._done != before:
            replace_file(self._folder.path / _NOTE, json.dumps(self._done).encode())

    def _once(self, place: str, epoch: int, work: Callable[[], None]) -> None:
        if self._done.get(place, -1) < epoch:
            work()
            self._done[place] = epoch

    def _all(self, place: str, last: int, work: Callable[[int], None]) -> None:
        for epoch in range(self._done.get(place, -1) + 1, last + 1):
            self._once(place, epoch, partial(work, epoch))

    def _path(self, output: Output, epoch: int) -> None:
        """Put a folder with all facts in the place of the one before."""
        assert output.path is not None
        if is_remote(output.path):
            publish_all(parquet_files(self._folder.base(output.relation, epoch)), output.path, epoch)
            return
        place = self._bound.job.place(output.path)
        _swap(self._linked(self._folder.base(output.relation, epoch), place, epoch), place)

    def _feed(self, output: Output, epoch: int) -> None:
        """Add a folder `epoch=N` with the changes of an epoch."""
        assert output.feed is not None
        files = self._folder.feed(output.relation, epoch)
        if not files.exists():
            return
        columns = self._folder.read(epoch).outputs[output.relation].columns
        part = f"{feed_names(columns)[1]}={epoch}"
        if is_remote(output.feed):
            publish_feed(parquet_files(files), output.feed, part)
            return
        place = self._bound.job.place(output.feed) / part
        _swap(self._linked(files, place, epoch), place)

    def _linked(self, files: Path, place: Path, epoch: int) -> Path:
        """Return a new folder beside the place, with the same files; no reader looks at its name."""
        beside = place.with_name(f"_{place.name}.{epoch}.new")
        try:
            self._folder.fresh(beside).mkdir()
            for file in parquet_files(files):
                _link(file, beside / file.name)
        except OSError as cause:
            raise TidelogError([_unpublished(place, cause.strerror or str(cause))]) from cause
        return beside

    def _table(self, output: Output, epoch: int) -> None:
        """Let a table of the catalog hold all facts."""
        assert output.table is not None
        files = self._folder.base(output.relation, epoch).resolve()
        try:
            if output.format != "parquet":
                frame = self._spark.read.parquet(str(files))
                frame.write.format(output.format).mode("overwrite").saveAsTable(output.table)
            elif self._spark.catalog.tableExists(output.table):
                # One step of the catalog: whoever reads the table sees the old facts or the new ones.
                self._spark.sql(f"ALTER TABLE {output.table} SET LOCATION '{files.as_uri()}'")
                self._spark.catalog.refreshTable(output.table)
            else:
                self._spark.catalog.createTable(output.table, path=str(files), source="parquet")
        except java_errors() as cause:
            raise TidelogError([_failed(output, output.table, cause)]) from cause

    def _merge(self, output: Output, manifest: JobManifest) -> None:
        """Merge the changes of every epoch that a table lacks; a new one begins with all facts."""
        place = f"table {output.table}"
        base = manifest.outputs[output.relation].base
        if place not in self._done:
            self._once(place, base, partial(self._table, output, base))
        self._all(place, manifest.epoch, partial(self._merge_epoch, output))

    def _merge_epoch(self, output: Output, epoch: int) -> None:
        assert output.table is not None
        files = self._folder.feed(output.relation, epoch)
        if not files.exists():
            return
        columns = self._folder.read(epoch).outputs[output.relation].columns
        names = [name for name, _ in columns]
        try:
            with quiet_queries():
                self._spark.read.parquet(str(files)).createOrReplaceTempView(_VIEW)
                self._spark.sql(merge_statement(output.table, _VIEW, names, feed_names(columns)[0]))
                self._spark.catalog.dropTempView(_VIEW)
        except java_errors() as cause:
            raise TidelogError([_failed(output, output.table, cause)]) from cause

    def _feed_table(self, output: Output, epoch: int) -> None:
        """Put the changes of an epoch into a table that is partitioned by epoch, in place of themselves."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - as everybody calls it

        assert output.feed_table is not None
        files = self._folder.feed(output.relation, epoch)
        if not files.exists():
            return
        columns = self._folder.read(epoch).outputs[output.relation].columns
        op, name = feed_names(columns)
        frame = self._spark.read.parquet(str(files))
        try:
            if not self._spark.catalog.tableExists(output.feed_table):
                empty = frame.limit(0).withColumn(name, F.lit(epoch).cast("bigint"))
                empty.write.partitionBy(name).saveAsTable(output.feed_table)
            frame.createOrReplaceTempView(_VIEW)
            own = ", ".join(f"`{column}`" for column in (op, *(column for column, _ in columns)))
            self._spark.sql(
                f"INSERT OVERWRITE TABLE {output.feed_table} PARTITION (`{name}` = {epoch})"  # noqa: S608 - names of the user's own job
                f" SELECT {own} FROM {_VIEW}"
            )
            self._spark.catalog.dropTempView(_VIEW)
        except java_errors() as cause:
            raise TidelogError([_failed(output, output.feed_table, cause)]) from cause


def _link(file: Path, target: Path) -> None:
    try:
        os.link(file, target)
    except OSError:
        # Another file system, or one without links.
        shutil.copyfile(file, target)


def _swap(new: Path, place: Path) -> None:
    """Put a folder in the place of another, in one step where the system has one."""
    if place.exists() and _exchange(new, place):
        shutil.rmtree(new)
        return
    old = place.with_name(f"_{place.name}.old")
    if old.exists():
        shutil.rmtree(old)
    if place.exists():
        place.rename(old)
    new.rename(place)
    if old.exists():
        shutil.rmtree(old)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders at once, so that both names always lead to one; False if the system cannot."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _RENAME_EXCHANGE) == 0)


def _failed(output: Output, place: str, cause: Exception) -> Diagnostic:
    """Return why a table could not be brought to an epoch; a missing package is told as such."""
    words = f"the epoch is committed, but `{place}` could not be brought there"
    found = java_diagnostic(cause, words, output.at("format"))
    return found if found.code != "spark-failed" else _unpublished(place, java_reason(cause))


def _unpublished(place: object, words: str) -> Diagnostic:
    return Diagnostic(
        code="unpublished-output",
        message=f"the epoch is committed, but `{place}` could not be written: {words}",
        hint="run the job again when it can be written: that publishes what is missing",
    )
