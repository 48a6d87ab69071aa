"""States on disk that survive the end of a process at any instant."""

from tidelog.store.entries import ChangeEntry, Entry
from tidelog.store.store import Loaded, PastEpoch, Status, Store

__all__ = ["ChangeEntry", "Entry", "Loaded", "PastEpoch", "Status", "Store"]
