"""What a user looks at: relations, and answers to queries."""

from tidelog.views.facts import FactSet
from tidelog.views.query import answer_query
from tidelog.views.relation import Answer, RelationView
from tidelog.views.snapshot import Snapshot

__all__ = ["Answer", "FactSet", "RelationView", "Snapshot", "answer_query"]
