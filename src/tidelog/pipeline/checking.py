"""Rows of a source, told apart into changes of facts and bad rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StructType

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.pipeline.bind import CheckedJob
from tidelog.pipeline.bookmarks import Bookmark, bookmark_text
from tidelog.pipeline.facts import HOLDS
from tidelog.pipeline.job import Changes, JobSource
from tidelog.pipeline.sources import FILE, MALFORMED
from tidelog.pipeline.spark_types import Reason, accepts, check_value

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    # A reason, null where nothing is wrong, and the words for it.
    _Check = tuple[Column, Column]

# The mark of a change that a later one of the same fact makes void.
_SUPERSEDED: Final = "superseded"
REASON: Final = "_tidelog_reason"
DETAIL: Final = "_tidelog_detail"
ROW: Final = "_tidelog_row"
OP: Final = "_tidelog_op"
ORDER: Final = "_tidelog_order"
_BOOKMARK: Final = "_tidelog_bookmark"
BAD_SCHEMA: Final = "reason string, detail string, row string, file string"


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """The rows of a source after the check, on Spark; `frame` is kept until `release`.

    `good` is the number of rows that are facts or changes of facts, `bad` counts the others by the
    code of what is wrong with them, and `bad_digest` tells those from others. `bookmark` is the greatest
    value of the bookmark column.
    """

    source: JobSource
    frame: "DataFrame"
    columns: tuple[str, ...]
    good: int
    bad: Mapping[str, int]
    bookmark: Bookmark | None = None
    bad_digest: str | None = None
    bad_files: tuple["BadFile", ...] = ()

    def facts(self, *, is_insert: bool = True) -> "DataFrame":
        """Return the facts to insert or to delete, perhaps more than once."""
        sign = F.lit(1 if is_insert else -1)
        kept = self.frame.where(F.col(REASON).isNull() & (F.col(OP) == sign))
        if not self.columns:
            return kept.select(F.lit(True).alias(HOLDS))
        return kept.select(*(F.col(fact_column(i)).alias(name) for i, name in enumerate(self.columns)))

    def bad_rows(self) -> "DataFrame":
        """Return the rows of the quarantine: the code and words of what is wrong, the row, its file."""
        return self.frame.where(F.col(REASON) != _SUPERSEDED).select(
            F.col(REASON).alias("reason"),
            F.col(DETAIL).alias("detail"),
            F.col(ROW).alias("row"),
            F.col(FILE).alias("file"),
        )

    def write_bad(self, place: Path) -> None:
        """Write the rows of the quarantine to Parquet files in a new folder."""
        rows = self.bad_rows()
        if self.bad_files:
            files = [file.row() for file in self.bad_files]
            rows = rows.union(rows.sparkSession.createDataFrame(files, BAD_SCHEMA))
        rows.coalesce(1).write.parquet(str(place))

    def samples(self, count: int) -> list[tuple[str, str, str]]:
        """Return reason, detail and row of some bad rows; files that cannot be read come first."""
        files = [file.row()[:3] for file in self.bad_files[:count]]
        rows = self.bad_rows().limit(count - len(files)).collect() if len(files) < count else []
        return [*files, *((row["reason"], row["detail"], row["row"]) for row in rows)]

    def release(self) -> None:
        """Let Spark forget the rows."""
        self.frame.unpersist()


@dataclass(frozen=True, slots=True)
class BadFile:
    """A file that cannot be read at all, with what is wrong with it."""

    path: str
    diagnostic: Diagnostic

    def row(self) -> tuple[str, str, str, str]:
        """Return the file as a row of the quarantine."""
        return (Reason.UNREADABLE_FILE.value, self.diagnostic.message, "", self.path)


def check_rows(rows: "DataFrame", source: JobSource, bound: CheckedJob) -> CheckedRows:
    """Return the rows of a source with what is wrong with each.

    Raises `TidelogError` if a column's type can hold no value of the relation's type.
    """
    return check_marked(mark_rows(rows, source, bound), source, bound)


def check_marked(
    marked: "DataFrame", source: JobSource, bound: CheckedJob, bad_files: Sequence[BadFile] = ()
) -> CheckedRows:
    """Return marked rows with one op for each fact, counted."""
    frame = _settle(marked, source, bound).persist()
    counts = {row[0]: row[1] for row in frame.groupBy(REASON).agg(F.count("*")).collect()}
    good = counts.pop(None, 0)
    # Such changes are neither facts nor bad.
    counts.pop(_SUPERSEDED, None)
    names = tuple(column.name for column in bound.relation(source.relation).columns)
    checked = CheckedRows(source, frame, names, good, counts, _last_bookmark(frame, source))
    if counts:
        checked = replace(checked, bad_digest=_digest(checked.bad_rows()))
    if not bad_files:
        return checked
    counts = {**counts, Reason.UNREADABLE_FILE.value: len(bad_files)}
    return replace(checked, bad=counts, bad_files=tuple(bad_files))


def _digest(bad: "DataFrame") -> str:
    """Return a text that differs for other bad rows, whatever their order."""
    parts = [F.coalesce(F.col(name), F.lit("")) for name in ("reason", "detail", "row")]
    found = bad.agg(F.sum(F.xxhash64(*parts).cast("decimal(38,0)"))).collect()[0][0]
    return str(found)


def _last_bookmark(frame: "DataFrame", source: JobSource) -> Bookmark | None:
    if source.bookmark is None:
        return None
    found = frame.schema[_BOOKMARK].dataType
    text = frame.agg(bookmark_text(F.col(_BOOKMARK), found)).collect()[0][0]
    return None if text is None else Bookmark(text, found.simpleString())


def check_types(schema: StructType, source: JobSource, bound: CheckedJob) -> None:
    """Raise `TidelogError` if a column's type can hold no value of the relation's type."""
    if source.format.is_text:
        return
    mistakes = []
    relation = bound.relation(source.relation)
    for column, kind in zip(relation.columns, bound.kinds(source.relation), strict=True):
        name = source.column_of(column.name)
        found = schema[name].dataType
        if not accepts(kind, found):
            mistakes.append(
                Diagnostic(
                    code="source-type",
                    message=f"column `{name}` of the source `{source.id}` has the type"
                    f" {found.simpleString()}, but `{relation.name}.{column.name}` is a {column.type}",
                    span=source.at(f"columns.{column.name}") or source.at("relation"),
                    hint=f"a {kind.value} is read from {_wanted(kind.value)}",
                )
            )
    if mistakes:
        raise TidelogError(mistakes)


def _wanted(kind: str) -> str:
    return {
        "number": "integers",
        "unsigned": "integers, or decimals without fraction",
        "float": "floats, doubles, integers or decimals",
    }.get(kind, "strings")


def mark_rows(rows: "DataFrame", source: JobSource, bound: CheckedJob) -> "DataFrame":
    """Return the rows with typed columns, and the first thing that is wrong with each.

    Raises `TidelogError` if a column's type can hold no value of the relation's type.
    """
    return rows.select(*marking(rows.schema, source, bound))


def marking(schema: StructType, source: JobSource, bound: CheckedJob) -> "list[Column]":
    """Return the columns of marked rows, for any rows of a schema.

    Raises `TidelogError` if a column's type can hold no value of the relation's type.
    """
    check_types(schema, source, bound)
    checks: list[_Check] = []
    if MALFORMED in schema.names:
        is_malformed = F.col(MALFORMED).isNotNull()
        words = F.lit(f"the row is malformed {source.format.value}")
        checks.append((F.when(is_malformed, F.lit(Reason.MALFORMED.value)), words))
    column_checks, values = _check_columns(schema, source, bound)
    checks += column_checks
    op, order = _op(source), F.lit(0)
    if source.changes is Changes.OP:
        checks.append(_check_op(source, op))
        if source.order is not None:
            order = F.col(_quoted(source.order))
            if source.format.is_text:
                order = order.try_cast("decimal(38,9)")
            words = F.lit(f"column `{source.order}` orders the changes, and it is null or no number")
            checks.append((F.when(order.isNull(), F.lit(Reason.NULL.value)), words))
    mistake = _first_mistake(checks)
    nothing = F.lit(None).cast("string")
    return [
        mistake.getField("code").alias(REASON),
        mistake.getField("words").alias(DETAIL),
        _as_found(schema.names).alias(ROW),
        (F.col(FILE) if FILE in schema.names else nothing).alias(FILE),
        op.alias(OP),
        order.alias(ORDER),
        (nothing if source.bookmark is None else F.col(_quoted(source.bookmark))).alias(_BOOKMARK),
        *values,
    ]


def _check_columns(
    schema: StructType, source: JobSource, bound: CheckedJob
) -> "tuple[list[_Check], list[Column]]":
    """Return what is wrong with each column of the relation, and its value."""
    checks: list[_Check] = []
    values: list[Column] = []
    for place, column in enumerate(bound.relation(source.relation).columns):
        name = source.column_of(column.name)
        checked = check_value(
            F.col(_quoted(name)),
            name,
            column.type,
            bound.program.types,
            is_text=source.format.is_text,
            found=schema[name].dataType,
        )
        checks.append((checked.reason, checked.detail))
        values.append(checked.value.alias(fact_column(place)))
    return checks, values


def _first_mistake(checks: "Sequence[_Check]") -> "Column":
    """Return the code and the words of the first check that gives a reason, null if none does."""
    if not checks:
        return F.lit(None).cast("struct<code:string,words:string>")
    return F.coalesce(
        *(
            F.when(reason.isNotNull(), F.struct(reason.alias("code"), words.alias("words")))
            for reason, words in checks
        )
    )


def _as_found(names: Sequence[str]) -> "Column":
    """Return each row as JSON, or as its text where it could not be read."""
    own = [name for name in names if name not in (FILE, MALFORMED)]
    raw = F.to_json(F.struct(*(F.col(_quoted(name)) for name in own))) if own else F.lit("{}")
    return F.coalesce(F.col(MALFORMED), raw) if MALFORMED in names else raw


def _op(source: JobSource) -> "Column":
    if source.changes is not Changes.OP:
        return F.lit(1)
    op = F.trim(F.col(_quoted(source.op)).cast("string"))
    return F.when(op.isin(*source.inserts), F.lit(1)).when(op.isin(*source.deletes), F.lit(-1))


def _check_op(source: JobSource, op: "Column") -> tuple["Column", "Column"]:
    known = ", ".join(f"`{word}`" for word in (*source.inserts, *source.deletes))
    found = F.coalesce(F.col(_quoted(source.op)).cast("string"), F.lit("null"))
    words = F.concat(
        F.lit(f"column `{source.op}` holds `"),
        F.substring(found, 1, 60),
        F.lit(f"`, which is none of {known}"),
    )
    return F.when(op.isNull(), F.lit(Reason.UNKNOWN_OP.value)), words


def _settle(marked: "DataFrame", source: JobSource, bound: CheckedJob) -> "DataFrame":
    """Return the rows with one op for each fact: the last by order, else no two may differ."""
    if source.changes is not Changes.OP:
        return marked
    columns = [F.col(fact_column(i)) for i in range(bound.relation(source.relation).arity)]
    is_good = F.col(REASON).isNull()
    facts = Window.partitionBy(is_good, *columns)
    is_late = F.col(ORDER) == F.max(ORDER).over(facts)
    late_op = F.when(is_late, F.col(OP))
    differs = F.min(late_op).over(facts) != F.max(late_op).over(facts)
    reason = (
        F.when(~is_good, F.col(REASON))
        .when(~is_late, F.lit(_SUPERSEDED))
        .when(differs, F.lit(Reason.CONFLICT.value))
    )
    detail = F.when(differs & is_late & is_good, F.lit(conflict_words(source))).otherwise(F.col(DETAIL))
    return marked.select(
        reason.alias(REASON),
        detail.alias(DETAIL),
        *(F.col(name) for name in marked.columns if name not in (REASON, DETAIL)),
    )


def conflict_words(source: JobSource) -> str:
    """Return what is wrong with changes that contradict each other."""
    words = "the fact is inserted and deleted at once"
    return (
        words if source.order is not None else f"{words}; name an `order` column that tells which comes last"
    )


def fact_column(place: int) -> str:
    """Return the name under which marked rows have a column of the relation."""
    return f"_tidelog_{place}"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
