"""What a user looks at: relations, and answers to queries."""

from typing import TYPE_CHECKING

from tidelog.lazily import lazily

if TYPE_CHECKING:
    from tidelog.views.delta import Delta, RelationDelta
    from tidelog.views.facts import FactSet, FixedFacts
    from tidelog.views.query import answer_query
    from tidelog.views.relation import Answer, RelationView
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

# A run looks at its snapshot and at nothing else.
__getattr__ = lazily(
    __name__,
    {
        "Answer": "tidelog.views.relation",
        "Delta": "tidelog.views.delta",
        "FactSet": "tidelog.views.facts",
        "FixedFacts": "tidelog.views.facts",
        "RelationDelta": "tidelog.views.delta",
        "RelationView": "tidelog.views.relation",
        "Snapshot": "tidelog.views.snapshot",
        "answer_query": "tidelog.views.query",
    },
)
