"""The order in which the atoms of a body are joined.

For small bodies every order that starts where it must is tried; larger bodies are ordered greedily. An
order is judged by the bindings it is expected to touch; a cross product is chosen only if nothing else is
possible.
"""

from dataclasses import replace

from tidelog.plan.alternatives import with_alternatives
from tidelog.plan.body import Body, OperatorChain, Work
from tidelog.plan.chain import ChainBuilder, build_chain
from tidelog.plan.leapfrog import choose_leapfrog, delta_first
from tidelog.plan.operators import View
from tidelog.plan.search import EXHAUSTIVE_ATOMS, OrderSearch, is_connected


def best_chain(body: Body, fixed: tuple[int, ...] | None = None) -> OperatorChain:
    """Return the cheapest chain, or the one of the `fixed` order.

    The chain has a leapfrog join of several atoms if that is requested or expected to be cheaper than joins
    in pairs.
    """
    if fixed is not None:
        return build_chain(body, fixed, best_chain)
    return _or_leapfrog(body, best_chain_in_pairs(body))


def best_choosing_chain(body: Body) -> OperatorChain:
    """Return the cheapest chain, in which bindings may choose what they are joined with next."""
    pairs = best_chain_in_pairs(body)
    return _or_leapfrog(body, with_alternatives(pairs, *_behind_start(body, pairs)))


def _or_leapfrog(body: Body, pairs: OperatorChain) -> OperatorChain:
    """Return this chain, or one with a leapfrog join if that is requested or expected to be cheaper."""
    choice = choose_leapfrog(body, pairs)
    if body.scans_delta:
        choice = delta_first(body, choice)
    if choice.parts is None:
        work = pairs.work if choice.work is None else pairs.work._replace(bindings=choice.work)
        return replace(pairs, work=work, reason=choice.reason)
    leaping = build_chain(body, choice.parts, best_chain)
    return replace(leaping, work=Work(0, leaping.cost + (choice.work or 0.0)), reason=choice.reason)


def best_chain_in_pairs(body: Body) -> OperatorChain:
    """Return the cheapest chain that joins one atom after the other.

    The atom that reads the delta comes first: it is the smallest, and every derivation of this
    iteration goes through it.
    """
    start, rest = _behind_delta(body)
    search = OrderSearch()
    if len(rest) <= EXHAUSTIVE_ATOMS:
        search.try_all(start, rest)
    elif len(rest) < len(body.views):
        search.try_greedily(start, rest)
    else:
        # Atoms without a bound variable are tried last: most of these orders are dropped at once.
        for number in sorted(rest, key=lambda number: not is_connected(start, number)):
            left = tuple(other for other in rest if other != number)
            search.try_greedily(start.extended(number), left)
    return search.chain()


def _behind_delta(body: Body) -> tuple[ChainBuilder, tuple[int, ...]]:
    """Return a builder that has scanned the atom which reads the delta, if one does, and the other atoms."""
    delta = [number for number, view in enumerate(body.views) if view is View.DELTA]
    start = ChainBuilder(body, best_chain)
    for number in delta:
        start = start.extended(number)
    return start, tuple(number for number in range(len(body.views)) if number not in delta)


def _behind_start(body: Body, chain: OperatorChain) -> tuple[ChainBuilder, tuple[int, ...]]:
    """Return a builder that has scanned what the chain begins with, if it scans, and the other atoms."""
    start, atoms = _behind_delta(body)
    for number in () if start.operators else atoms:
        scanned = start.extended(number)
        if scanned.operators[0] == replace(chain.operators[0], outputs=()):
            return scanned, tuple(other for other in atoms if other != number)
    return start, atoms


def chains_by_first_atom(body: Body) -> list[OperatorChain]:
    """Return, for each atom that shares an outer variable, the cheapest chain that joins it first.

    If one row has a few matches and another has millions, the best first join is known only once the row
    is known.
    """
    atoms = tuple(range(len(body.views)))
    if len(atoms) > EXHAUSTIVE_ATOMS:
        return []
    start = ChainBuilder(body, best_chain)
    chains = []
    for first in (number for number in atoms if is_connected(start, number)):
        search = OrderSearch()
        search.try_all(start.extended(first), tuple(x for x in atoms if x != first))
        chains.append(search.chain())
    return chains
