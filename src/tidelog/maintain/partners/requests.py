"""What a request of the driver says about an epoch: the changes, and how to go about them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tidelog.engine.epoch import MaintenanceSettings, Strategy
from tidelog.engine.spark.files import Annotated
from tidelog.engine.spark.message import Message
from tidelog.maintain.partners.differences import split_difference
from tidelog.maintain.partners.engine import CodeDelta
from tidelog.program.nodes import Program

# What reads a relation's rows from files.
Read = Callable[[str, Sequence[str]], Iterable[Annotated]]


def changes_of(
    request: Mapping[str, Any], message: Message, program: Program, read: Read
) -> dict[str, CodeDelta]:
    """Return the changes of a request: rows that it has, and those in files that partners wrote."""
    tables = {table.name: table.rows for table in message.tables}
    changes = {}
    for name in request["changed"]:
        nothing = np.empty((0, program.relations[name].arity), np.int64)
        sides = [tables.get(f"{sign}{name}", nothing) for sign in "+-"]
        files, *filed = request["filed"].get(name, ((), 0, 0))
        parts = split_difference(read(name, files)) if files else ([], [])
        inserted, deleted = (np.concatenate([rows, *more]) for rows, more in zip(sides, parts, strict=True))
        sizes = (len(sides[0]) + filed[0], len(sides[1]) + filed[1])
        changes[name] = CodeDelta(inserted, deleted, sizes)
    return changes


def settings_of(request: Mapping[str, Any]) -> MaintenanceSettings:
    """Return what the user chose about the epoch."""
    return MaintenanceSettings(Strategy(request["strategy"]), request["switch"])
