"""A fact with the name of its relation, as proofs speak of it."""

from tidelog.dataclass import dataclass
from tidelog.values import Fact
from tidelog.views.fact_text import write_fact


@dataclass(frozen=True, slots=True)
class GroundAtom:
    """`edge("a", "b")`: a relation applied to values; whether it holds is another question."""

    relation: str
    fact: Fact

    def __str__(self) -> str:
        return write_fact(self.relation, self.fact)
