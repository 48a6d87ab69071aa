"""The order in which the atoms of a body are joined.

For small bodies every order that starts where it must is tried; larger bodies are ordered greedily. An
order is judged by the bindings it is expected to touch; a cross product is chosen only if nothing else is
possible.
"""

from dataclasses import replace

from tidelog.plan.alternatives import MOST_ALTERNATIVES, merge_alternatives
from tidelog.plan.body import Body, Chain, Work
from tidelog.plan.chain import ChainBuilder, build_chain
from tidelog.plan.leapfrog import choose_leapfrog, delta_first
from tidelog.plan.leapfrog_bounds import is_cyclic
from tidelog.plan.operators import Join, View

# Up to this many atoms after the first, there are few enough orders to try them all.
_EXHAUSTIVE_ATOMS = 4


def best_chain(body: Body, fixed: tuple[int, ...] | None = None) -> Chain:
    """Return the cheapest chain, or the one of the `fixed` order.

    The chain has a leapfrog join of several atoms if that is requested or expected to be cheaper than joins
    in pairs.
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


def with_alternatives(body: Body, best: Chain) -> Chain:
    """Return the best chain of a cyclic body with alternatives to the first join behind where it starts.

    In other bodies the atoms that could come next have nothing new in common: the order hardly matters.
    Chains that follow changes use the indexes there are, since one more costs memory for good.
    """
    deltas = body.views.count(View.DELTA)
    if not (deltas or body.outer) or not 2 <= len(body.views) - deltas <= MOST_ALTERNATIVES:
        return best
    if not is_cyclic([*body.variables, frozenset(body.outer)]):
        return best
    others = _chains_by_first_atom(*_behind_delta(body))
    if body.numbered:
        others = [chain for chain in others if _is_indexed(body, chain)]
    return merge_alternatives(best, others)


def _is_indexed(body: Body, chain: Chain) -> bool:
    """Say whether there are indexes for all joins of a chain."""
    joins = (operator for operator in chain.operators if isinstance(operator, Join))
    return all(body.statistics.is_indexed(join.relation, join.key) for join in joins)


def best_chain_in_pairs(body: Body) -> Chain:
    """Return the cheapest chain that joins one atom after the other.

    The atom that reads the delta comes first: it is the smallest, and every derivation of this
    iteration goes through it.
    """
    start, rest = _behind_delta(body)
    search = _Search()
    if len(rest) <= _EXHAUSTIVE_ATOMS:
        search.try_all(start, rest)
    elif len(rest) < len(body.views):
        search.try_greedily(start, rest)
    else:
        # Atoms without a bound variable are tried last: most of these orders are dropped at once.
        for number in sorted(rest, key=lambda number: not _is_connected(start, number)):
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


def chains_by_first_atom(body: Body) -> list[Chain]:
    """Return, for each atom that shares an outer variable, the cheapest chain that joins it first.

    If one row has a few matches and another has millions, the best first join is known only once the row
    is known.
    """
    atoms = tuple(range(len(body.views)))
    if len(atoms) > _EXHAUSTIVE_ATOMS:
        return []
    return _chains_by_first_atom(ChainBuilder(body, best_chain), atoms)


def _chains_by_first_atom(start: ChainBuilder, atoms: tuple[int, ...]) -> list[Chain]:
    """Return for each atom that something leads to the cheapest chain that joins it next."""
    chains = []
    for first in [number for number in atoms if _is_connected(start, number)]:
        search = _Search()
        search.try_all(start.extended(first), tuple(x for x in atoms if x != first))
        chains.append(search.chain())
    return chains


class _Search:
    """Tries orders and drops those that already do as much as the best one; the first of equals wins."""

    def __init__(self) -> None:
        self._best: ChainBuilder | None = None
        self._least = Work(0, 0.0)

    def chain(self) -> Chain:
        """Return the cheapest chain found."""
        assert self._best is not None, "there is an order of every body"
        return self._best.chain()

    def try_all(self, start: ChainBuilder, left: tuple[int, ...]) -> None:
        """Try every order of the atoms left."""
        if not left:
            self._best, self._least = start, start.work
            return
        start.settle()
        for place, number in enumerate(left):
            if not self._is_hopeless(start.expect(number)[1]):
                self.try_all(start.extended(number), left[:place] + left[place + 1 :])

    def try_greedily(self, start: ChainBuilder, left: tuple[int, ...]) -> None:
        """Repeatedly join the atom that adds the least work, preferably one that shares a bound variable."""
        while left:
            start.settle()
            if self._is_hopeless(start.work):
                return
            connected = [number for number in left if _is_connected(start, number)]
            best = min(connected or left, key=lambda number: start.expect(number)[1])
            start.join(best)
            left = tuple(number for number in left if number != best)
        start.settle()
        if not self._is_hopeless(start.work):
            self._best, self._least = start, start.work

    def _is_hopeless(self, work: Work) -> bool:
        return self._best is not None and work >= self._least


def _is_connected(start: ChainBuilder, number: int) -> bool:
    """Say whether an atom has a variable that is bound, or a constant."""
    body = start.body
    return not body.variables[number].isdisjoint(start.bound) or number in body.with_constants
