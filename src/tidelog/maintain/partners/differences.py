"""How an epoch changes a relation: rows that the driver has, and rows in files that partners wrote.

A partner sends the rows that it owns with its reply if they are few. Others it writes to a file, which the
partners of the next group read in shares; the driver reads it if somebody asks for these facts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.code_rows import fact_columns, fact_rows
from tidelog.engine.epoch import EpochResult, RelationChange, StratumReport
from tidelog.engine.lazy_columns import LazyColumns
from tidelog.engine.local.state import fits_narrow
from tidelog.engine.protocol import Codes
from tidelog.engine.spark.files import Annotated, Folder, file_name
from tidelog.engine.spark.message import Message, Rows
from tidelog.maintain.partners.state_frames import difference_frame
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, eq=False)
class RelationDifference:
    """The facts of a relation that an epoch inserts and deletes.

    `filed` says how many of them are in files, and `is_filed_wide` whether a code there needs 64 bits.
    """

    inserted: CodeArray
    deleted: CodeArray
    folder: Folder
    files: tuple[str, ...] = ()
    filed: tuple[int, int] = (0, 0)
    is_filed_wide: bool = False

    @property
    def sizes(self) -> tuple[int, int]:
        """Return how many facts are inserted and deleted."""
        return len(self.inserted) + self.filed[0], len(self.deleted) + self.filed[1]

    @property
    def is_wide(self) -> bool:
        """Say whether a code needs 64 bits."""
        return self.is_filed_wide or not (fits_narrow(self.inserted) and fits_narrow(self.deleted))

    def rows(self) -> tuple[CodeArray, CodeArray]:
        """Return all rows inserted and deleted, in the driver's memory."""
        if not self.files:
            return self.inserted, self.deleted
        inserted, deleted = split_difference(
            [self.folder.read_rows(file, self.inserted.shape[1]) for file in self.files]
        )
        return np.concatenate([self.inserted, *inserted]), np.concatenate([self.deleted, *deleted])

    def columns(self, side: int, spark: "SparkSession") -> Sequence[Codes]:
        """Return the columns of the rows inserted (0) or deleted (1), read when they are asked for."""
        if not self.filed[side]:
            return fact_columns((self.inserted, self.deleted)[side])
        width = max(1, self.inserted.shape[1])
        return LazyColumns(
            self.sizes[side],
            width,
            lambda: fact_columns(self.rows()[side]),
            lambda _: self._code_frame(side, spark),
            self.folder.uri,
        )

    def _code_frame(self, side: int, spark: "SparkSession") -> "DataFrame":
        own = (self.inserted, self.deleted)[side]
        return difference_frame(spark, self.folder, self.files, own, are_deleted=bool(side))

    def as_change(self) -> RelationChange:
        """Return what an engine in the driver follows."""
        inserted, deleted = self.rows()
        return RelationChange(fact_columns(inserted), fact_columns(deleted))


def difference_of(change: RelationChange, arity: int, folder: Folder) -> RelationDifference:
    """Return a change that the driver has."""
    return RelationDifference(fact_rows(change.inserted, arity), fact_rows(change.deleted, arity), folder)


def split_difference(contents: Iterable[Annotated]) -> tuple[list[CodeArray], list[CodeArray]]:
    """Return the rows that contents of files insert, and those that they delete."""
    inserted, deleted = [], []
    for content in contents:
        assert content.levels is not None, "files of differences say what is deleted"
        is_deleted = content.levels == ABSENT
        inserted.append(content.rows[~is_deleted])
        deleted.append(content.rows[is_deleted])
    return inserted, deleted


Differences = Mapping[str, RelationDifference]


@dataclass(frozen=True, slots=True)
class GroupResult:
    """What an epoch changed in relations, and what was done to their strata."""

    differences: Differences
    strata: tuple[StratumReport, ...]

    def with_columns(self, spark: "SparkSession") -> EpochResult:
        """Return the same with columns, which are read when they are asked for."""
        inserted, deleted = (
            {name: each.columns(side, spark) for name, each in self.differences.items() if each.sizes[side]}
            for side in (0, 1)
        )
        return EpochResult(inserted, deleted, self.strata)


@dataclass
class DifferenceWriter:
    """Puts differences into a partner's reply: tables if they are few, files otherwise."""

    folder: Folder
    partner: int
    name: str
    most_rows: int

    def __post_init__(self) -> None:
        self.tables: list[Rows] = []
        self.files: dict[str, list[object]] = {}

    def put(self, relation: str, inserted: CodeArray, deleted: CodeArray) -> None:
        """Put what this partner owns of a relation's difference."""
        rows = len(inserted) + len(deleted)
        if rows <= self.most_rows or not inserted.shape[1]:
            self.tables += [Rows(f"+{relation}", inserted), Rows(f"-{relation}", deleted)]
            return
        levels = np.repeat(np.array([0, ABSENT], np.int32), [len(inserted), len(deleted)])
        content = Annotated(np.concatenate([inserted, deleted]), levels, np.ones(rows, np.int32))
        file = self.folder.write_rows(file_name(relation, self.partner, f"delta-{self.name}"), content)
        self.files[relation] = [file, len(inserted), len(deleted), not fits_narrow(content.rows)]


def collect_differences(
    messages: Sequence[Message],
    replies: Sequence[Mapping[str, Any]],
    folder: Folder,
    arities: Mapping[str, int],
) -> dict[str, RelationDifference]:
    """Return the differences that partners replied, each of what it owns."""
    found: dict[str, RelationDifference] = {}

    def of(name: str) -> RelationDifference:
        nothing = np.empty((0, arities[name]), np.int64)
        return found.setdefault(name, RelationDifference(nothing, nothing, folder))

    sides: dict[tuple[str, str], list[CodeArray]] = {}
    for message in messages:
        for table in message.tables:
            sides.setdefault((table.name[1:], table.name[0]), []).append(table.rows)
    for (name, sign), parts in sides.items():
        rows = np.concatenate(parts)
        is_insert = sign == "+"
        found[name] = replace(of(name), inserted=rows) if is_insert else replace(of(name), deleted=rows)
    for reply in replies:
        for name, (file, inserted, deleted, is_wide) in reply["differences"].items():
            before = of(name)
            found[name] = replace(
                before,
                files=(*before.files, file),
                filed=(before.filed[0] + inserted, before.filed[1] + deleted),
                is_filed_wide=before.is_filed_wide or is_wide,
            )
    return found
