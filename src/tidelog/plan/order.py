"""The order in which the atoms of a body are joined.

Small bodies are tried in every order that starts where it must; larger ones greedily. An order
is judged by the bindings it is expected to touch; a cross product is chosen only where nothing
else is possible.
"""

from dataclasses import replace

from tidelog.plan.body import Body, Chain, Work
from tidelog.plan.chain import ChainBuilder, build_chain
from tidelog.plan.leapfrog import choose_leapfrog, delta_first
from tidelog.plan.operators import View

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
    rest = tuple(number for number in range(len(body.views)) if number not in delta)
    start = ChainBuilder(body, best_chain)
    for number in delta:
        start = start.extended(number)
    search = _Search()
    if len(rest) <= _EXHAUSTIVE_ATOMS:
        search.try_all(start, rest)
    elif delta:
        search.try_greedily(start, rest)
    else:
        # What nothing leads to is tried last: most of it is given up at once.
        for number in sorted(rest, key=lambda number: not _is_connected(start, number)):
            left = tuple(other for other in rest if other != number)
            search.try_greedily(start.extended(number), left)
    return search.chain()


def chains_by_first_atom(body: Body) -> list[Chain]:
    """Return for each atom that the given variables lead to the cheapest chain that joins it first.

    Where one row has a few partners and another has millions, the best first join is known only when
    the row is.
    """
    atoms = tuple(range(len(body.views)))
    if len(atoms) > _EXHAUSTIVE_ATOMS:
        return []
    chains = []
    start = ChainBuilder(body, best_chain)
    for first in [number for number in atoms if _is_connected(start, number)]:
        search = _Search()
        search.try_all(start.extended(first), tuple(x for x in atoms if x != first))
        chains.append(search.chain())
    return chains


class _Search:
    """Tries orders, giving up those that already do as much as the best one; of equals the first is kept."""

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
        """Join again and again the atom that does least, of those that something leads to if any is."""
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
