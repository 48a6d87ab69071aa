"""The order in which the atoms of a body are joined.

Small bodies are tried in every order that starts where it must; larger ones greedily. An order
is judged by the bindings it is expected to touch; a cross product is chosen only where nothing
else is possible.
"""

from dataclasses import replace
from itertools import permutations

from tidelog.plan.chain import Body, Chain, Work, build_chain, work_of_prefix
from tidelog.plan.flatten import variables_of
from tidelog.plan.leapfrog import choose_leapfrog, delta_first
from tidelog.plan.operators import View
from tidelog.program.nodes import Constant

# The orders of this many atoms beside the first are few enough to try them all.
_EXHAUSTIVE_ATOMS = 4


def best_chain(body: Body, fixed: tuple[int, ...] | None = None) -> Chain:
    """Return the cheapest chain, or the one of the `fixed` order.

    Where a leapfrog join of several atoms is expected to be cheaper than joins in pairs, or is asked
    for, the chain has one.
    """
    if fixed is not None:
        return build_chain(body, fixed, best_chain)
    pairs = best_chain_in_pairs(body)
    choice = choose_leapfrog(body, pairs)
    if body.scans_delta:
        choice = delta_first(body, choice)
    if choice.parts is None:
        return replace(pairs, reason=choice.reason) if choice.reason else pairs
    leaping = build_chain(body, choice.parts, best_chain)
    return replace(leaping, work=Work(0, leaping.cost + choice.steps), reason=choice.reason)


def best_chain_in_pairs(body: Body) -> Chain:
    """Return the cheapest chain that joins one atom after the other.

    The atom that reads the delta comes first: it is the smallest, and every derivation of this
    iteration goes through it.
    """
    delta = [number for number, view in enumerate(body.views) if view is View.DELTA]
    rest = [number for number in range(len(body.views)) if number not in delta]
    if len(rest) <= _EXHAUSTIVE_ATOMS:
        orders = [(*delta, *order) for order in permutations(rest)]
        if len(orders) == 1:
            return build_chain(body, orders[0], best_chain)
        best = min(orders, key=lambda order: work_of_prefix(body, order, best_chain))
        return build_chain(body, best, best_chain)
    starts = [delta] if delta else [[number] for number in rest]
    chains = (_greedy(body, start, rest) for start in starts)
    return min(chains, key=lambda chain: chain.work)


def chains_by_first_atom(body: Body) -> list[Chain]:
    """Return for each atom that the given variables lead to the cheapest chain that joins it first.

    Where one row has a few partners and another has millions, the best first join is known only when
    the row is.
    """
    atoms = range(len(body.views))
    if len(body.views) > _EXHAUSTIVE_ATOMS:
        return []
    chains = []
    for first in atoms:
        if _is_connected(body, [], first):
            orders = [(first, *order) for order in permutations([x for x in atoms if x != first])]
            best = min(orders, key=lambda order: work_of_prefix(body, order, best_chain))
            chains.append(build_chain(body, best, best_chain))
    return chains


def _greedy(body: Body, start: list[int], rest: list[int]) -> Chain:
    order = list(start)
    left = [number for number in rest if number not in order]
    while left:
        connected = [number for number in left if _is_connected(body, order, number)]
        best = min(connected or left, key=lambda number: work_of_prefix(body, (*order, number), best_chain))
        order.append(best)
        left.remove(best)
    return build_chain(body, order, best_chain)


def _is_connected(body: Body, order: list[int], number: int) -> bool:
    """Say whether an atom shares a variable with those before it, or has a constant."""
    atoms = body.atoms
    bound = set(body.given).union(*(variables_of(term) for other in order for term in atoms[other].terms))
    terms = atoms[number].terms
    return any(isinstance(term, Constant) or not bound.isdisjoint(variables_of(term)) for term in terms)
