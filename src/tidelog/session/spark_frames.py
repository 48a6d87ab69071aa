"""Facts given as Spark data frames or as files, for an engine whose workers read them."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

from tidelog import io
from tidelog.dataclass import dataclass
from tidelog.engine.protocol import Codes
from tidelog.io.column_names import match_columns
from tidelog.program.nodes import Relation
from tidelog.values import Codec, Kind

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


class FrameEngine(Protocol):
    """An engine whose workers read data frames."""

    @property
    def most_driver_facts(self) -> int:
        """Return how many rows of a frame are better read by the driver."""

    def insert_frame(self, relation: str, frame: "DataFrame") -> None:
        """Insert the rows of a data frame with columns c0, c1, ..., and plain texts where it has records."""


class FileEngine(Protocol):
    """An engine whose workers read files."""

    @property
    def most_driver_facts(self) -> int:
        """Return how many facts of a file are better read by the driver."""

    @property
    def most_shares(self) -> int:
        """Return into how many shares a file is worth cutting."""

    @property
    def folder_uri(self) -> str:
        """Return the folder that driver and workers share."""

    def work_apart(self, module: str, function: str, payload: object, parts: int) -> list[str]:
        """Return what workers reply, each of which does one part of some work."""

    def insert_files(self, relation: str, files: Sequence[str]) -> None:
        """Insert the facts in files of the folder, with columns c0, c1, ...: codes of numbers, and texts."""


@dataclass(frozen=True, slots=True)
class WorkerFiles:
    """Facts in files of an engine's folder, which its workers wrote."""

    engine: FileEngine
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """Facts that the workers of an engine are to read, in columns c0, c1, ..."""

    engine: FrameEngine
    frame: "DataFrame"


def spark_failures(engine: str) -> AbstractContextManager[None]:
    """Return what raises failures inside Spark as diagnostics, for a session on that engine."""
    if engine != "spark":
        return nullcontext()
    from tidelog.engine.spark.opening import require_pyspark  # noqa: PLC0415 - only for Spark

    require_pyspark()
    from tidelog.engine.spark.java_errors import plain_failures  # noqa: PLC0415 - as above

    return plain_failures()


def is_spark_frame(data: object) -> bool:
    """Say whether facts are a data frame of Spark."""
    return hasattr(data, "toArrow") and hasattr(data, "mapInArrow")


def read_frame(
    frame: "DataFrame", relation: Relation, codec: Codec, engine: FrameEngine
) -> list[Codes] | WorkerFacts | None:
    """Return the codes of a small frame, or the frame for workers if it is a large one.

    Raises diagnostics if its columns are not those of the relation. What is wrong with single values of a
    large frame is found by workers.
    """
    from tidelog.engine.spark.gathering import gather  # noqa: PLC0415 - only with Spark

    if not relation.arity:
        return io.columns_from(_with_unsigned(gather(frame), relation, codec), relation, codec)
    first = _with_unsigned(gather(frame.limit(engine.most_driver_facts + 1)), relation, codec)
    if first.num_rows <= engine.most_driver_facts:
        return io.columns_from(first, relation, codec)
    # The names and types of the columns are checked as those of a small frame; nobody needs the codes.
    io.columns_from(first.slice(0, 1), relation, Codec(codec.types))
    positions = match_columns(frame.columns, [column.name for column in relation.columns])
    from tidelog.session.nested_frames import with_plain_texts  # noqa: PLC0415 - only with Spark

    names = [f"c{place}" for place in range(relation.arity)]
    renamed = frame.toDF(*(f"given{place}" for place in range(relation.arity)))
    chosen = renamed.select(*(f"given{place}" for place in positions)).toDF(*names)
    return WorkerFacts(engine, with_plain_texts(chosen, relation, codec))


def _with_unsigned(table: "pa.Table", relation: Relation, codec: Codec) -> "pa.Table":
    """Return the table with unsigned numbers as such: Spark has them as decimals, as `to_spark` returns them.

    Other decimals stay, for a diagnostic.
    """
    import pyarrow as pa  # noqa: PLC0415 - needed only with Spark

    unsigned = {each.name for each in relation.columns if codec.resolve(each.type).kind is Kind.UNSIGNED}
    for place, field in enumerate(table.schema):
        if field.name in unsigned and pa.types.is_decimal(field.type) and field.type.scale == 0:
            try:
                column = table.column(place).cast(pa.uint64())
            except pa.ArrowInvalid:
                continue
            table = table.set_column(place, field.name, column)
    return table
