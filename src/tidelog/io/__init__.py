"""Facts in and out: CSV, JSON, SQLite, Parquet, Arrow, and Python data."""

from tidelog.io.python_data import columns_from
from tidelog.io.read import read_file, read_relation
from tidelog.io.staging import Staging
from tidelog.io.write import write_relation

__all__ = ["Staging", "columns_from", "read_file", "read_relation", "write_relation"]
