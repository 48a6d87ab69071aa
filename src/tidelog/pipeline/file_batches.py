"""The files of a micro-batch as checked rows; a file that cannot be read is kept aside like a bad row.

All files are read together. Only if that fails, halves of them are tried, down to single files: those
that still fail are bad, and the others are read in groups that fit each other. So files may differ in the
order of their columns and in the width of their types.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final, TypeVar

from tidelog.dataclass import dataclass
from tidelog.engine.spark.java_errors import java_diagnostic, java_errors, quiet_queries
from tidelog.errors import Diagnostic, TidelogError
from tidelog.pipeline.bind import CheckedJob
from tidelog.pipeline.checking import BadFile, check_marked, marking
from tidelog.pipeline.few_rows import Rows, settle_few
from tidelog.pipeline.job import JobSource
from tidelog.pipeline.sources import SourceFiles

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from tidelog.pipeline.orders import LastOrders

# Files of no more bytes than this are brought to the driver in one job of Spark.
FEW_BYTES: Final = 1 << 20
# Mistakes of a job or a file, as opposed to those of machines.
_OF_FILES: Final = ("missing-source-column", "source-type", "unreadable-source", "spark-failed")

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file of a micro-batch."""

    path: str
    length: int


class FileBatches:
    """Reads the micro-batches of one source."""

    def __init__(self, spark: "SparkSession", bound: CheckedJob, source: JobSource) -> None:
        self._bound = bound
        self._source = source
        self._files = SourceFiles(spark, bound, source)
        self._markings: dict[str, list[Column]] = {}
        self._orders: LastOrders | None = None

    def read(
        self, files: Sequence[NewFile], orders: "LastOrders | None" = None, *, is_first: bool = False
    ) -> Rows:
        """Return the checked rows of files; `orders` are those that epochs before left.

        Raises `TidelogError` if no file of the first micro-batch can be read: then the job is wrong rather
        than every file.
        """
        self._orders = orders
        paths = [file.path for file in files]
        with quiet_queries():
            is_few = sum(file.length for file in files) <= FEW_BYTES
            found = self._few(paths) if is_few else self._many(paths)
        if is_first and files and len(found.bad_files) == len(files):
            raise TidelogError([found.bad_files[0].diagnostic])
        return found

    def _few(self, paths: Sequence[str]) -> Rows:
        tables, bad = self._divide(paths, lambda some: self._marked(some).toArrow())
        return settle_few(tables, self._source, self._bound, bad, self._orders)

    def _many(self, paths: Sequence[str]) -> Rows:
        try:
            marked = self._marked(paths)
            return check_marked(marked, self._source, self._bound, orders=self._orders)
        except file_errors() as failure:
            _raise_if_of_machines(failure, self._source)
        groups, bad = self._divide(paths, self._try)
        if not groups:
            return settle_few([], self._source, self._bound, bad, self._orders)
        marked = reduce(lambda one, other: one.union(other), (self._marked(group) for group in groups))
        return check_marked(marked, self._source, self._bound, bad, self._orders)

    def _try(self, paths: Sequence[str]) -> Sequence[str]:
        """Read files and drop what they hold; return their paths if that works."""
        self._marked(paths).write.format("noop").mode("overwrite").save()
        return paths

    def _marked(self, paths: Sequence[str]) -> "DataFrame":
        rows = self._files.read(paths)
        schema = rows.schema
        name = schema.simpleString()
        if name not in self._markings:
            # Many calls into Java, which are the same for all files of a schema.
            self._markings[name] = marking(schema, self._source, self._bound)
        if self._orders is not None:
            self._orders = self._orders.fit(schema)
        return rows.select(*self._markings[name])

    def _divide(
        self, paths: Sequence[str], read: Callable[[Sequence[str]], Found]
    ) -> tuple[list[Found], list[BadFile]]:
        """Return what groups of files give that can be read together, and the files that cannot be read."""
        if not paths:
            return [], []
        try:
            return [read(paths)], []
        except file_errors() as failure:
            diagnostic = _raise_if_of_machines(failure, self._source)
        if len(paths) == 1:
            # Once more by itself: what is known of other files is forgotten, and a machine may have failed.
            self._files.forget()
            try:
                return [read(paths)], []
            except file_errors() as failure:
                diagnostic = _raise_if_of_machines(failure, self._source)
            return [], [BadFile(paths[0], diagnostic)]
        middle = len(paths) // 2
        first, bad = self._divide(paths[:middle], read)
        second, more = self._divide(paths[middle:], read)
        return first + second, bad + more


def file_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that a file may cause."""
    return (TidelogError, *java_errors())


def _raise_if_of_machines(failure: Exception, source: JobSource) -> Diagnostic:
    """Return what is wrong with a file; raise failures that have nothing to do with it."""
    if isinstance(failure, TidelogError):
        diagnostic = failure.diagnostics[0]
    else:
        doing = f"Spark cannot read a file of the source `{source.id}`"
        diagnostic = java_diagnostic(failure, doing, source.at("path"))
    if diagnostic.code not in _OF_FILES:
        raise TidelogError([diagnostic]) from failure
    return diagnostic
