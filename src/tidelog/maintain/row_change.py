"""What an epoch does to the rows of one relation."""

from dataclasses import dataclass

from tidelog.storage.kernel import Int64s


@dataclass(frozen=True)
class RowChange:
    """Rows of a relation that are no longer facts, and rows that have become facts."""

    deleted: Int64s
    inserted: Int64s
