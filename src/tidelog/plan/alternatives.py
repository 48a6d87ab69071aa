"""Chains that choose the next join for each binding, once its matches can be counted.

In a triangle such as

    p(x, z) :- c(y, w, z), p(x, w), p(x, y).

a new fact p(x, w) leads to all c(_, w, _) or to all p(x, _), and what the one has too many of the other
has few of, for some facts this way round and for others that way. No order of the atoms is right for all
of them. So the chain is split behind the delta: one alternative for each atom that comes next, and every
binding goes where it matches the fewest facts; where it matches none in one of them, it ends.
"""

from collections.abc import Sequence
from dataclasses import replace

from tidelog.plan.body import Chain
from tidelog.plan.operators import Choose, Join, Operator

# Many atoms that could come next have many orders behind each; beyond this the best one has to do.
MOST_ALTERNATIVES = 4


def merge_alternatives(best: Chain, others: Sequence[Chain]) -> Chain:
    """Return the best chain with the others as alternatives to it behind what they have in common.

    The best one is returned as it is unless all of them go on with a join there.
    """
    chains = [best, *(chain for chain in others if chain.operators != best.operators)]
    common = _common_length([chain.operators for chain in chains])
    rests = tuple(chain.operators[common:] for chain in chains)
    if len(rests) < 2 or not common or not all(_begins_with_join(rest) for rest in rests):
        return best
    outputs = best.operators[-1].outputs
    return replace(best, operators=(*best.operators[:common], Choose(rests, outputs)))


def _begins_with_join(operators: Sequence[Operator]) -> bool:
    first = operators[0] if operators else None
    return isinstance(first, Join) and bool(first.key) and first.ordered is None


def _common_length(chains: Sequence[Sequence[Operator]]) -> int:
    """Return how many operators all chains begin with."""
    length = 0
    for operators in zip(*chains, strict=False):
        if any(operator != operators[0] for operator in operators):
            break
        length += 1
    return length
