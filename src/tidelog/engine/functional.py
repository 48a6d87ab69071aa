"""What is reported when a relation with `keys` gets two facts for one key."""

from collections.abc import Sequence

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic
from tidelog.program.nodes import Relation
from tidelog.source import Span


@dataclass(frozen=True, slots=True)
class Claim:
    """A fact, written out, and the rules that derive it; without rules it is an input fact."""

    fact: str
    rules: tuple[Span, ...]

    @property
    def origin(self) -> str:
        """Return where the fact comes from, in words."""
        return "is derived here" if self.rules else "is an input fact"


def two_values(relation: Relation, claims: Sequence[Claim]) -> Diagnostic:
    """Return the diagnostic for two facts that agree on the key.

    It points at a rule of the second fact and lists all others as related.
    """
    first, second = sorted(claims, key=lambda claim: (bool(claim.rules), claim.fact))
    key = ", ".join(f"`{relation.columns[place].name}`" for place in relation.keys)
    inputs = [claim.fact for claim in (first, second) if not claim.rules]
    note = f"; {' and '.join(f'`{fact}`' for fact in inputs)} {'is' if len(inputs) == 1 else 'are'} input"
    places = [(f"`{claim.fact}` is derived here", span) for claim in (second, first) for span in claim.rules]
    return Diagnostic(
        code="two-values",
        message=f"`{first.fact}` and `{second.fact}` agree on the key {key} of `{relation.name}`"
        + (note if inputs else ""),
        span=places[0][1] if places else relation.span,
        hint="a relation with `keys` has one fact for each key; delete one of the two, or what derives it",
        related=tuple(places[1:]),
    )
