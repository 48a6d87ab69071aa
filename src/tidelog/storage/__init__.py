"""Rows, membership and indexes over codes; it knows nothing about rules."""

from tidelog.storage.index import Index
from tidelog.storage.relation import StoredRelation

__all__ = ["Index", "StoredRelation"]
