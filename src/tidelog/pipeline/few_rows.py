"""Checked rows in the memory of the driver: a few are settled there sooner than Spark plans a shuffle."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidelog.dataclass import dataclass
from tidelog.pipeline.bind import CheckedJob
from tidelog.pipeline.bookmarks import Bookmark
from tidelog.pipeline.checking import (
    DETAIL,
    OP,
    ORDER,
    REASON,
    ROW,
    BadFile,
    CheckedRows,
    conflict_words,
    fact_column,
)
from tidelog.pipeline.facts import HOLDS
from tidelog.pipeline.job import Changes, JobSource
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

    def facts(self, *, is_insert: bool = True) -> pa.Table:
        """Return the facts to insert or to delete, perhaps more than once."""
        return self.inserted if is_insert else self.deleted

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


def settle_few(
    marked: Sequence[pa.Table], source: JobSource, bound: CheckedJob, bad_files: Sequence[BadFile] = ()
) -> FewRows:
    """Return marked rows with one op for each fact, as `check_marked` has them on Spark."""
    columns = tuple(column.name for column in bound.relation(source.relation).columns)
    rows = pa.concat_tables(marked, promote_options="permissive") if marked else None
    if rows is None:
        empty = pa.table({name: pa.array([], pa.null()) for name in columns or (HOLDS,)})
        return FewRows(source, columns, empty, empty, *_quarantine(None, [], bad_files))
    reasons, late = _settled(rows, source, len(columns))
    is_good = [reason is None and counts for reason, counts in zip(reasons, late, strict=True)]
    signs = rows[OP].to_pylist()
    sides = [
        _facts(
            rows.filter(pa.array([good and sign == side for good, sign in zip(is_good, signs, strict=True)])),
            columns,
        )
        for side in (1, -1)
    ]
    bad = rows.set_column(rows.schema.get_field_index(REASON), REASON, pa.array(reasons, pa.string()))
    if Reason.CONFLICT.value in reasons:
        details = [
            conflict_words(source) if reason == Reason.CONFLICT.value else detail
            for reason, detail in zip(reasons, rows[DETAIL].to_pylist(), strict=True)
        ]
        bad = bad.set_column(bad.schema.get_field_index(DETAIL), DETAIL, pa.array(details, pa.string()))
    bad = bad.filter(pc.is_valid(bad[REASON])).select([REASON, DETAIL, ROW, FILE]).rename_columns(_BAD.names)
    table, good, counts, files = _quarantine(bad, is_good, bad_files)
    return FewRows(source, columns, sides[0], sides[1], table, good, counts, files)


def _quarantine(
    bad: pa.Table | None, is_good: Sequence[bool], bad_files: Sequence[BadFile]
) -> tuple[pa.Table, int, dict[str, int], tuple[BadFile, ...]]:
    """Return bad files and rows as one table, the number of good rows, and that of bad ones by reason."""
    rows = [dict(zip(_BAD.names, file.row(), strict=True)) for file in bad_files]
    tables = [pa.Table.from_pylist(rows, _BAD), *([] if bad is None else [bad.cast(_BAD)])]
    table = pa.concat_tables(tables)
    return table, sum(is_good), dict(Counter(table["reason"].to_pylist())), tuple(bad_files)


def _settled(rows: pa.Table, source: JobSource, arity: int) -> tuple[list[str | None], list[bool]]:
    """Return what is wrong with each row, and whether no later change of its fact makes it void."""
    reasons: list[str | None] = rows[REASON].to_pylist()
    late = [True] * rows.num_rows
    if source.changes is not Changes.OP:
        return reasons, late
    keys = list(zip(*(map(_key, rows[fact_column(i)].to_pylist()) for i in range(arity)), strict=True))
    facts: dict[tuple[object, ...], list[int]] = {}
    for place, reason in enumerate(reasons):
        if reason is None:
            facts.setdefault(keys[place] if arity else (), []).append(place)
    orders, signs = rows[ORDER].to_pylist(), rows[OP].to_pylist()
    for places in facts.values():
        last = max(_order(orders[place]) for place in places)
        lasting = [place for place in places if _order(orders[place]) == last]
        for place in set(places) - set(lasting):
            late[place] = False
        if len({signs[place] for place in lasting}) > 1:
            for place in lasting:
                reasons[place] = Reason.CONFLICT.value
    return reasons, late


def _key(value: object) -> object:
    """Return a value such that equal ones are those that Spark groups together."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def _order(value: object) -> tuple[bool, object]:
    """Return a value that orders as Spark does: NaN is the greatest."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan, 0.0 if is_nan else value


def _facts(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    if not columns:
        return pa.table({HOLDS: pa.array([True] * rows.num_rows, pa.bool_())})
    return rows.select([fact_column(place) for place in range(len(columns))]).rename_columns(list(columns))
