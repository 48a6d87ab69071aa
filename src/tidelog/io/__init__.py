"""Facts in and out: CSV, JSON, SQLite, Parquet, Arrow, and Python data."""

from typing import TYPE_CHECKING

from tidelog.lazily import lazily

if TYPE_CHECKING:
    from tidelog.io.python_data import columns_from
    from tidelog.io.read import begin_file, begin_relation, read_file, read_relation
    from tidelog.io.staging import Staging
    from tidelog.io.write import write_relation

__all__ = [
    "Staging",
    "begin_file",
    "begin_relation",
    "columns_from",
    "read_file",
    "read_relation",
    "write_relation",
]

# Reading files and writing them take less than Python data.
__getattr__ = lazily(
    __name__,
    {
        "Staging": "tidelog.io.staging",
        "begin_file": "tidelog.io.read",
        "begin_relation": "tidelog.io.read",
        "columns_from": "tidelog.io.python_data",
        "read_file": "tidelog.io.read",
        "read_relation": "tidelog.io.read",
        "write_relation": "tidelog.io.write",
    },
)
