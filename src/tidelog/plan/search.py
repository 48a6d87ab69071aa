"""Tries orders of atoms behind the first operators of a chain."""

from tidelog.plan.body import OperatorChain, Work
from tidelog.plan.chain import ChainBuilder

# Up to this many atoms there are few enough orders to try them all.
EXHAUSTIVE_ATOMS = 4


class OrderSearch:
    """Tries orders and drops those that already do as much as the best one; the first of equals wins."""

    def __init__(self) -> None:
        self._best: ChainBuilder | None = None
        self._least = Work(0, 0.0)

    def chain(self) -> OperatorChain:
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
            connected = [number for number in left if is_connected(start, number)]
            best = min(connected or left, key=lambda number: start.expect(number)[1])
            start.join(best)
            left = tuple(number for number in left if number != best)
        start.settle()
        if not self._is_hopeless(start.work):
            self._best, self._least = start, start.work

    def _is_hopeless(self, work: Work) -> bool:
        return self._best is not None and work >= self._least


def is_connected(start: ChainBuilder, number: int) -> bool:
    """Say whether an atom has a variable that is bound, or a constant."""
    body = start.body
    return not body.variables[number].isdisjoint(start.bound) or number in body.with_constants
