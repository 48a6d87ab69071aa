"""What a user looks at: relations, and answers to queries."""

from tidelog.views.delta import Delta, RelationDelta
from tidelog.views.facts import FactSet
from tidelog.views.query import answer_query
from tidelog.views.relation import Answer, FixedFacts, RelationView
from tidelog.views.snapshot import Snapshot

__all__ = [
    "Answer",
    "Delta",
    "FactSet",
    "FixedFacts",
    "RelationDelta",
    "RelationView",
    "Snapshot",
    "answer_query",
]
