"""Checked rows in the memory of the driver: a few are settled there sooner than Spark plans a shuffle."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidelog.dataclass import dataclass
from tidelog.pipeline.bind import CheckedJob
from tidelog.pipeline.bookmarks import Bookmark
from tidelog.pipeline.checking import (
    DETAIL,
    LATE,
    OP,
    ORDER,
    REASON,
    ROW,
    SUPERSEDED,
    BadFile,
    CheckedRows,
    conflict_words,
    fact_column,
)
from tidelog.pipeline.facts import HOLDS
from tidelog.pipeline.job import Changes, JobSource
from tidelog.pipeline.order_files import HASH
from tidelog.pipeline.orders import LastOrders
from tidelog.pipeline.sources import FILE
from tidelog.pipeline.spark_types import Reason

_BAD: Final = pa.schema([(name, pa.string()) for name in ("reason", "detail", "row", "file")])


@dataclass(frozen=True, slots=True)
class FewRows:
    """The rows of a source after the check; means what `CheckedRows` means, which is on Spark."""

    source: JobSource
    columns: tuple[str, ...]
    inserted: pa.Table
    deleted: pa.Table
    bad_rows: pa.Table
    good: int
    bad: Mapping[str, int]
    bad_files: tuple[BadFile, ...] = ()
    bookmark: Bookmark | None = None
    bad_digest: str | None = None
    late: int = 0
    orders: LastOrders | None = None
    newest: pa.Table | None = None

    def facts(self, *, is_insert: bool = True) -> pa.Table:
        """Return the facts to insert or to delete, perhaps more than once."""
        return self.inserted if is_insert else self.deleted

    @property
    def most_news(self) -> int:
        """Return how many rows `news` has."""
        return 0 if self.newest is None else self.newest.num_rows

    def news(self) -> pa.Table:
        """Return the facts whose last order these rows move on, with their orders and what they were."""
        assert self.newest is not None
        return self.newest

    def write_bad(self, place: Path) -> None:
        """Write the rows of the quarantine to a Parquet file in a new folder."""
        place.mkdir(parents=True)
        pq.write_table(self.bad_rows, place / "part-0.parquet")

    def samples(self, count: int) -> list[tuple[str, str, str]]:
        """Return reason, detail and row of some bad rows."""
        rows = self.bad_rows.slice(0, count).to_pylist()
        return [(row["reason"], row["detail"], row["row"]) for row in rows]

    def release(self) -> None:
        """Drop the rows; the memory is Python's own."""


# Checked rows, wherever they are.
Rows: TypeAlias = CheckedRows | FewRows


@dataclass(frozen=True, slots=True)
class _Last:
    """The last change of a fact; its sign is 0 if changes of that order contradict each other."""

    order: Any
    sign: int


@dataclass(frozen=True, slots=True)
class _Settled:
    """What is wrong with each row or makes it void, and what is new: last changes, by a row of their fact."""

    reasons: list[str | None]
    news: Mapping[int, _Last]


def settle_few(
    marked: Sequence[pa.Table],
    source: JobSource,
    bound: CheckedJob,
    bad_files: Sequence[BadFile] = (),
    orders: LastOrders | None = None,
) -> FewRows:
    """Return marked rows with one op for each fact, as `check_marked` has them on Spark."""
    columns = tuple(column.name for column in bound.relation(source.relation).columns)
    rows = pa.concat_tables(marked, promote_options="permissive") if marked else None
    if rows is None:
        empty = pa.table({name: pa.array([], pa.null()) for name in columns or (HOLDS,)})
        table, counts = _quarantine(None, bad_files)
        return FewRows(source, columns, empty, empty, table, 0, counts, tuple(bad_files), orders=orders)
    settled = _settle(rows, source, len(columns), _known(rows, orders))
    reasons, signs = settled.reasons, rows[OP].to_pylist()
    counting = [sign if reason is None else 0 for reason, sign in zip(reasons, signs, strict=True)]
    sides = [
        _facts(rows.filter(pa.array([sign == side for sign in counting], pa.bool_())), columns)
        for side in (1, -1)
    ]
    table, counts = _quarantine(_bad_rows(rows, reasons, source), bad_files)
    return FewRows(
        source,
        columns,
        sides[0],
        sides[1],
        table,
        reasons.count(None),
        counts,
        tuple(bad_files),
        late=reasons.count(LATE),
        orders=orders,
        newest=None if orders is None else _newest(rows, settled.news, orders),
    )


def _bad_rows(rows: pa.Table, reasons: Sequence[str | None], source: JobSource) -> pa.Table:
    """Return the rows of the quarantine."""
    bad = rows.set_column(rows.schema.get_field_index(REASON), REASON, pa.array(reasons, pa.string()))
    if Reason.CONFLICT.value in reasons:
        details = [
            conflict_words(source) if reason == Reason.CONFLICT.value else detail
            for reason, detail in zip(reasons, rows[DETAIL].to_pylist(), strict=True)
        ]
        bad = bad.set_column(bad.schema.get_field_index(DETAIL), DETAIL, pa.array(details, pa.string()))
    is_bad = [reason not in {None, SUPERSEDED, LATE} for reason in reasons]
    return (
        bad.filter(pa.array(is_bad, pa.bool_()))
        .select([REASON, DETAIL, ROW, FILE])
        .rename_columns(_BAD.names)
    )


def _quarantine(bad: pa.Table | None, bad_files: Sequence[BadFile]) -> tuple[pa.Table, dict[str, int]]:
    """Return bad files and rows as one table, and their number by reason."""
    rows = [dict(zip(_BAD.names, file.row(), strict=True)) for file in bad_files]
    tables = [pa.Table.from_pylist(rows, _BAD), *([] if bad is None else [bad.cast(_BAD)])]
    table = pa.concat_tables(tables)
    return table, dict(Counter(table["reason"].to_pylist()))


def _settle(
    rows: pa.Table, source: JobSource, arity: int, known: Mapping[tuple[object, ...], _Last]
) -> _Settled:
    """Return what is wrong with each row, or makes it void, and what is new of the orders of facts."""
    reasons: list[str | None] = rows[REASON].to_pylist()
    if source.changes is not Changes.OP:
        return _Settled(reasons, {})
    facts: dict[tuple[object, ...], list[int]] = {}
    for place, (reason, key) in enumerate(zip(reasons, _keys(rows, arity), strict=True)):
        if reason is None:
            facts.setdefault(key, []).append(place)
    orders, signs = rows[ORDER].to_pylist(), rows[OP].to_pylist()
    news = {}
    for key, places in facts.items():
        before = known.get(key)
        order = max(orders[place] for place in places)
        lasting = {signs[place] for place in places if orders[place] == order}
        last = _Last(order, lasting.pop() if len(lasting) == 1 else 0)
        for place in places:
            reasons[place] = _void(_Last(orders[place], signs[place]), last, before)
        if before is None or order > before.order:
            news[places[0]] = last
    return _Settled(reasons, news)


def _void(change: _Last, last: _Last, before: _Last | None) -> str | None:
    """Return why a change does not count; `last` is the last one of its fact here, `before` until now."""
    if before is not None and (change.order < before.order or change == before):
        return LATE
    if change.order != last.order:
        return SUPERSEDED
    is_contradicted = not last.sign or (before is not None and change.order == before.order)
    return Reason.CONFLICT.value if is_contradicted else None


def _known(rows: pa.Table, orders: LastOrders | None) -> dict[tuple[object, ...], _Last]:
    """Return the last changes of facts in rows that earlier epochs know of."""
    if orders is None:
        return {}
    found = orders.find(rows.filter(pc.is_null(rows[REASON]))[HASH].to_numpy())
    if found is None:
        return {}
    changes = map(_Last, found[ORDER].to_pylist(), found[OP].to_pylist())
    return dict(zip(_keys(found, len(orders.facts)), changes, strict=True))


def _newest(rows: pa.Table, news: Mapping[int, _Last], orders: LastOrders) -> pa.Table:
    """Return the last changes that rows bring, as they are kept."""
    schema = orders.schema
    facts = rows.take(pa.array(news, pa.int64())).select([HASH, *orders.facts])
    changes = {ORDER: [last.order for last in news.values()], OP: [last.sign for last in news.values()]}
    for name, values in changes.items():
        facts = facts.append_column(name, pa.array(values, schema.field(name).type))
    return facts.cast(schema)


def _keys(rows: pa.Table, arity: int) -> list[tuple[object, ...]]:
    """Return the fact of each row, such that equal ones are those that Spark groups together."""
    if not arity:
        return [()] * rows.num_rows
    return list(
        zip(*(map(_key, rows[fact_column(place)].to_pylist()) for place in range(arity)), strict=True)
    )


def _key(value: object) -> object:
    """Return a value that is equal for all zeros, and for all NaN."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def _facts(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    if not columns:
        return pa.table({HOLDS: pa.array([True] * rows.num_rows, pa.bool_())})
    return rows.select([fact_column(place) for place in range(len(columns))]).rename_columns(list(columns))
