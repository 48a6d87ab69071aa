"""Rows, membership and indexes over codes; knows no rules."""

from tidelog.storage.index import Index
from tidelog.storage.relation import StoredRelation

__all__ = ["Index", "StoredRelation"]
