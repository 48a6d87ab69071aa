"""Rows of a source, told apart into changes of facts and bad rows."""

from collections.abc import Iterator, Mapping, Sequence
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
from tidelog.pipeline.order_files import HASH
from tidelog.pipeline.order_types import order_type, order_value
from tidelog.pipeline.sources import FILE, MALFORMED
from tidelog.pipeline.spark_types import Reason, accepts, check_value
from tidelog.values import Kind

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from tidelog.pipeline.orders import LastOrders

    # A reason, null where nothing is wrong, and the words for it.
    _Check = tuple[Column, Column]

# The marks of changes that are neither facts nor bad: one that a later one of the same fact in the same epoch
# makes void, and one that is not newer than what earlier epochs know of its fact.
SUPERSEDED: Final = "superseded"
LATE: Final = "late"
REASON: Final = "_tidelog_reason"
DETAIL: Final = "_tidelog_detail"
ROW: Final = "_tidelog_row"
OP: Final = "_tidelog_op"
ORDER: Final = "_tidelog_order"
KNOWN_ORDER: Final = "_tidelog_known_order"
KNOWN_OP: Final = "_tidelog_known_op"
_BOOKMARK: Final = "_tidelog_bookmark"
BAD_SCHEMA: Final = "reason string, detail string, row string, file string"


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """The rows of a source after the check, on Spark; `frame` is kept until `release`.

    `good` is the number of rows that are facts or changes of facts, `bad` counts the others by the
    code of what is wrong with them, and `bad_digest` tells those from others. `bookmark` is the greatest
    value of the bookmark column. `late` counts the rows that are not newer than what `orders` know of their
    facts.
    """

    source: JobSource
    frame: "DataFrame"
    columns: tuple[str, ...]
    good: int
    bad: Mapping[str, int]
    bookmark: Bookmark | None = None
    bad_digest: str | None = None
    bad_files: tuple["BadFile", ...] = ()
    late: int = 0
    orders: "LastOrders | None" = None

    def facts(self, *, is_insert: bool = True) -> "DataFrame":
        """Return the facts to insert or to delete, perhaps more than once."""
        sign = F.lit(1 if is_insert else -1)
        kept = self.frame.where(F.col(REASON).isNull() & (F.col(OP) == sign))
        if not self.columns:
            return kept.select(F.lit(True).alias(HOLDS))
        return kept.select(*(F.col(fact_column(i)).alias(name) for i, name in enumerate(self.columns)))

    @property
    def most_news(self) -> int:
        """Return a number that `news` does not exceed."""
        return self.good + self.bad.get(Reason.CONFLICT.value, 0)

    def news(self) -> "DataFrame":
        """Return the facts whose last order these rows move on, with their orders and what they were."""
        is_newer = F.col(KNOWN_ORDER).isNull() | (F.col(ORDER) > F.col(KNOWN_ORDER))
        is_news = F.col(REASON).isNull() | ((F.col(REASON) == Reason.CONFLICT.value) & is_newer)
        facts = [fact_column(place) for place in range(len(self.columns))]
        op = F.when(F.min(OP) == F.max(OP), F.min(OP)).otherwise(F.lit(0))
        newest = self.frame.where(is_news).groupBy(HASH, *facts)
        return newest.agg(F.max(ORDER).alias(ORDER), op.alias(OP))

    def bad_rows(self) -> "DataFrame":
        """Return the rows of the quarantine: the code and words of what is wrong, the row, its file."""
        return self.frame.where(~F.col(REASON).isin(SUPERSEDED, LATE)).select(
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


def check_rows(
    rows: "DataFrame", source: JobSource, bound: CheckedJob, orders: "LastOrders | None" = None
) -> CheckedRows:
    """Return the rows of a source with what is wrong with each.

    Raises `TidelogError` if a column's type can hold no value of the relation's type, or its orders do not
    compare with those that are known.
    """
    marked = mark_rows(rows, source, bound)
    return check_marked(marked, source, bound, orders=None if orders is None else orders.fit(rows.schema))


def check_marked(
    marked: "DataFrame",
    source: JobSource,
    bound: CheckedJob,
    bad_files: Sequence[BadFile] = (),
    orders: "LastOrders | None" = None,
) -> CheckedRows:
    """Return marked rows with one op for each fact, counted; `orders` are those that epochs before left."""
    known = None
    if orders is not None:
        marked = marked.withColumn(ORDER, F.col(ORDER).cast(orders.spark_type))
        if not orders.are_few:
            marked = marked.persist()
        known = orders.beside(marked)
    frame = _settle(marked, source, bound, known).persist()
    counts = {row[0]: row[1] for row in frame.groupBy(REASON).agg(F.count("*")).collect()}
    if orders is not None and not orders.are_few:
        marked.unpersist()
    good, late = counts.pop(None, 0), counts.pop(LATE, 0)
    counts.pop(SUPERSEDED, None)
    names = tuple(column.name for column in bound.relation(source.relation).columns)
    bookmark = _last_bookmark(frame, source)
    checked = CheckedRows(source, frame, names, good, counts, bookmark, late=late, orders=orders)
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
    mistakes = [*_check_order_type(schema, source)]
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


def _check_order_type(schema: StructType, source: JobSource) -> Iterator[Diagnostic]:
    if source.changes is not Changes.OP or source.order is None:
        return
    found = schema[source.order].dataType
    if order_type(found, source) is None:
        yield Diagnostic(
            code="source-type",
            message=f"the order `{source.order}` of the source `{source.id}` is a {found.simpleString()}",
            span=source.at("order"),
            hint="name a column of numbers, dates, times, texts or binary values",
        )


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
            found = schema[source.order].dataType
            order = order_value(F.col(_quoted(source.order)), found, source)
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
        *([] if source.order is None else [_hash(values, bound.kinds(source.relation)).alias(HASH)]),
        (nothing if source.bookmark is None else F.col(_quoted(source.bookmark))).alias(_BOOKMARK),
        *(value.alias(fact_column(place)) for place, value in enumerate(values)),
    ]


def _check_columns(
    schema: StructType, source: JobSource, bound: CheckedJob
) -> "tuple[list[_Check], list[Column]]":
    """Return what is wrong with each column of the relation, and its value."""
    checks: list[_Check] = []
    values: list[Column] = []
    for column in bound.relation(source.relation).columns:
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
        values.append(checked.value)
    return checks, values


def _hash(values: "Sequence[Column]", kinds: Sequence[Kind]) -> "Column":
    """Return a number that equal facts have in common, whatever zero or NaN they have."""
    alike = [
        F.when(F.isnan(value), F.lit(float("nan"))).otherwise(value + F.lit(0.0))
        if kind is Kind.FLOAT
        else value
        for value, kind in zip(values, kinds, strict=True)
    ]
    return F.xxhash64(*alike) if alike else F.lit(0).cast("bigint")


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


def _settle(
    marked: "DataFrame", source: JobSource, bound: CheckedJob, known: "DataFrame | None"
) -> "DataFrame":
    """Return the rows with one op for each fact: the last by order, else no two may differ.

    Rows that are not newer than the `known` order of their fact are late.
    """
    if source.changes is not Changes.OP:
        return marked
    names = [fact_column(place) for place in range(bound.relation(source.relation).arity)]
    marked = _with_known(marked, known, names)
    is_good = F.col(REASON).isNull()
    facts = Window.partitionBy(is_good, *names)
    is_same = F.coalesce(F.col(ORDER) == F.col(KNOWN_ORDER), F.lit(False))
    is_late = F.coalesce(F.col(ORDER) < F.col(KNOWN_ORDER), F.lit(False)) | (
        is_same & (F.col(OP) == F.col(KNOWN_OP))
    )
    is_last = F.col(ORDER) == F.max(ORDER).over(facts)
    last_op = F.when(is_last, F.col(OP))
    differs = (F.min(last_op).over(facts) != F.max(last_op).over(facts)) | is_same
    reason = (
        F.when(~is_good, F.col(REASON))
        .when(is_late, F.lit(LATE))
        .when(~is_last, F.lit(SUPERSEDED))
        .when(differs, F.lit(Reason.CONFLICT.value))
    )
    settled = marked.withColumn(REASON, reason)
    is_conflict = F.col(REASON) == Reason.CONFLICT.value
    words = F.when(is_conflict, F.lit(conflict_words(source))).otherwise(F.col(DETAIL))
    return settled.withColumn(DETAIL, words)


def _with_known(marked: "DataFrame", known: "DataFrame | None", names: Sequence[str]) -> "DataFrame":
    """Return the rows with the last order of each one's fact, and what it was; nulls for none."""
    if known is None:
        nothing = F.lit(None)
        order = marked.schema[ORDER].dataType
        return marked.withColumns({KNOWN_ORDER: nothing.cast(order), KNOWN_OP: nothing.cast("int")})
    columns = [F.col(name).alias(f"{name}_known") for name in names]
    other = known.select(*columns, F.col(ORDER).alias(KNOWN_ORDER), F.col(OP).alias(KNOWN_OP))
    same = [F.col(name) == F.col(f"{name}_known") for name in names] or [F.lit(True)]
    return marked.join(other, same, "left").drop(*(f"{name}_known" for name in names))


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
