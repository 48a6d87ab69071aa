"""States on disk that survive the end of a process at any instant."""

from tidelog.store.entries import Entry, FactsEntry, RulesEntry
from tidelog.store.store import Loaded, PastEpoch, Status, Store

__all__ = ["Entry", "FactsEntry", "Loaded", "PastEpoch", "RulesEntry", "Status", "Store"]
