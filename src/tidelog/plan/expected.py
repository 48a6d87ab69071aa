"""What joining an atom is expected to cost."""

from typing import NamedTuple

from tidelog.plan.body import Body
from tidelog.plan.statistics import JoinName, matches_per_key

# By what factor a relation of the stratum is assumed to grow beyond its present size.
_EXPECTED_GROWTH = 8.0
# Changes are followed through indexes of whole relations. Another index costs memory permanently, so it
# must save one binding for this many facts.
_FACTS_PER_BINDING = 20_000
# Up to this many facts may be paired with every binding, if that is expected to pay off.
_FEW_FACTS = 64


class ExpectedMatches(NamedTuple):
    """The facts that one key matches, what its index costs, and whether every binding meets all facts."""

    facts: float
    index_cost: float
    is_cross_product: bool


def expected_matches(body: Body, number: int, key: tuple[int, ...]) -> ExpectedMatches:
    """Return what to expect of an atom joined by a key, wherever it is in an order."""
    relation = body.atoms[number].relation
    arity = len(body.operands[number])
    size = body.statistics.size(relation)
    facts = _seen_matches(body, number, key)
    if facts is None:
        facts = matches_per_key(body.statistics, relation, arity, key)
    if relation in body.growing and len(key) < arity:
        facts *= _EXPECTED_GROWTH
    index_cost = 0.0
    if body.numbered and 0 < len(key) < arity and not body.statistics.is_indexed(relation, key):
        index_cost = (size or 0.0) / _FACTS_PER_BINDING
    stays_small = size is not None and size <= _FEW_FACTS and relation not in body.growing
    return ExpectedMatches(facts, index_cost, not key and arity > 0 and not stays_small)


def _seen_matches(body: Body, number: int, key: tuple[int, ...]) -> float | None:
    """Return how many facts of an atom a binding matched before, or a new fact would match now.

    What is in a delta may be far from typical of its relation, or of the one that it is joined with.
    """
    operands, relation = body.operands[number], body.atoms[number].relation
    named = tuple(operand for operand in (operands[column] for column in key) if operand is not None)
    if body.delta is None or number == body.delta or not 0 < len(key) < len(operands):
        return None
    if body.rule is not None:
        found = body.statistics.measured(JoinName(body.rule, body.delta, relation, key, named))
        if found is not None:
            return found
    new = body.operands[body.delta]
    if not all(isinstance(operand, str) and operand in new for operand in named):
        return None
    columns = tuple(new.index(operand) for operand in named)
    return body.statistics.fan_out((body.atoms[body.delta].relation, columns), (relation, key))
