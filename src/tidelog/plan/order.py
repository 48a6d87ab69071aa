"""The order in which the atoms of a body are joined.

Small bodies are tried in every order that starts where it must; larger ones greedily. An order
is judged by the bindings it is expected to touch, so a cross product is chosen only when
nothing else is possible.
"""

from itertools import permutations

from tidelog.plan.chain import Body, Chain, build_chain, cost_of_prefix
from tidelog.plan.operators import View

# The orders of this many atoms beside the first are few enough to try them all.
_EXHAUSTIVE_ATOMS = 4


def best_chain(body: Body, fixed: tuple[int, ...] | None = None) -> Chain:
    """Return the cheapest chain, or the one of the `fixed` order.

    The atom that reads the delta comes first: it is the smallest, and every derivation of this
    iteration goes through it.
    """
    if fixed is not None:
        return build_chain(body, fixed, best_chain)
    delta = [number for number, view in enumerate(body.views) if view is View.DELTA]
    rest = [number for number in range(len(body.views)) if number not in delta]
    if len(rest) <= _EXHAUSTIVE_ATOMS:
        orders = [(*delta, *order) for order in permutations(rest)]
        if len(orders) == 1:
            return build_chain(body, orders[0], best_chain)
        best = min(orders, key=lambda order: cost_of_prefix(body, order, best_chain))
        return build_chain(body, best, best_chain)
    starts = [delta] if delta else [[number] for number in rest]
    chains = (_greedy(body, start, rest) for start in starts)
    return min(chains, key=lambda chain: chain.cost)


def _greedy(body: Body, start: list[int], rest: list[int]) -> Chain:
    order = list(start)
    left = [number for number in rest if number not in order]
    while left:
        best = min(left, key=lambda number: cost_of_prefix(body, (*order, number), best_chain))
        order.append(best)
        left.remove(best)
    return build_chain(body, order, best_chain)
