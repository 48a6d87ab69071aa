"""Tables that take changes: an epoch's feed is merged, and the rest of the table stays as it is."""

from collections.abc import Sequence
from typing import Final

# Formats whose tables Spark changes with MERGE.
MERGED: Final = ("delta", "iceberg")


def merge_statement(table: str, feed: str, columns: Sequence[str], op: str) -> str:
    """Return the statement that brings a table from the epoch before a feed to the feed's own.

    Doing it again changes nothing: what was deleted no longer matches, and what was inserted does.
    """
    same = " AND ".join(f"t.{_quoted(name)} = f.{_quoted(name)}" for name in columns)
    names = ", ".join(map(_quoted, columns))
    values = ", ".join(f"f.{_quoted(name)}" for name in columns)
    return (
        f"MERGE INTO {table} AS t USING {feed} AS f ON {same}"  # noqa: S608 - names of the user's own job
        f" WHEN MATCHED AND f.{_quoted(op)} = '-' THEN DELETE"
        f" WHEN NOT MATCHED AND f.{_quoted(op)} = '+' THEN INSERT ({names}) VALUES ({values})"
    )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
