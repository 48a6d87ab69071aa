"""Files read in shares: each part of a file by one partner, which sends the rows to those that keep them.

Every partner would otherwise read all files and drop most of their rows. Relations that every partner keeps
are still read by all, since sending them would move as many bytes.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from tidelog.engine.spark.files import Annotated, Folder
from tidelog.engine.spark.message import Message, Rows
from tidelog.engine.spark.ownership import parts_by_keeper
from tidelog.engine.spark.routes import RelationRoute
from tidelog.engine.spark.wire import Wire

# Files are read in parts unless each partner gets at least this many whole ones.
_WHOLE_FILES = 4
_ROWS = "rows"


def read_shared(
    folder: Folder, files: Sequence[str], arity: int, route: RelationRoute | None, wire: Wire
) -> Iterator[Annotated]:
    """Yield the rows of files that this partner keeps, in the order of the files.

    All partners must call this with the same files and read to the end. Without a route they keep all rows.
    """
    if route is None or route.is_everywhere or wire.partners == 1:
        for file in files:
            yield folder.read_rows(file, arity)
        return
    units = units_of(folder, files, wire.partners)
    for first in range(0, len(units), wire.partners):
        tables: list[list[Rows]] = [[] for _ in range(wire.partners)]
        if first + wire.me < len(units):
            file, group = units[first + wire.me]
            read = folder.read_rows(file, arity, group=group)
            packed = _packed(read)
            for partner, positions in parts_by_keeper(read.rows, route, wire.partners):
                # The name says whether annotations follow the columns.
                name = _ROWS if read.levels is None else f"annotated {_ROWS}"
                tables[partner].append(Rows(name, packed[positions]))
        for message in wire.exchange([Message((), tuple(each)) for each in tables]):
            for table in message.tables:
                yield _unpacked(table, arity)


def units_of(folder: Folder, files: Sequence[str], partners: int) -> list[tuple[str, int | None]]:
    """Return what is read at once, in order: files, or their groups of rows if there are few files."""
    if len(files) >= _WHOLE_FILES * partners:
        return [(file, None) for file in files]
    return [(file, group) for file in files for group in range(folder.count_groups(file))]


def _packed(content: Annotated) -> np.ndarray:
    if content.levels is None or content.counts is None:
        return content.rows
    return np.column_stack([content.rows, content.levels, content.counts]).astype(
        content.rows.dtype if content.rows.shape[1] else np.int32, copy=False
    )


def _unpacked(table: Rows, arity: int) -> Annotated:
    if table.name == _ROWS:
        return Annotated(table.rows)
    rows = np.ascontiguousarray(table.rows[:, :arity])
    levels, counts = (table.rows[:, place].astype(np.int32) for place in (arity, arity + 1))
    return Annotated(rows, levels, counts)
