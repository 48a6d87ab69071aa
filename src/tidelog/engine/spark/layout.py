"""Which partners have a connection, and by which of them a message travels.

Partners on one executor are connected with each other. Executors are connected by one connection between
their leads, the partners with the lowest numbers, which pass on what the others send and receive:

    executor a: 0, 1     0 - 1, 2 - 3, and 0 - 2 between the executors;
    executor b: 2, 3     1 sends to 3 by way of 0 and 2
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from tidelog.dataclass import dataclass


@dataclass(frozen=True)
class Layout:
    """The connections of partner `me`, where `executors` has the executor of each partner.

    Sets of partners are integers in which the bit of each partner is set.
    """

    me: int
    executors: Sequence[str]

    @property
    def partners(self) -> int:
        """Return how many partners there are."""
        return len(self.executors)

    @cached_property
    def _leads(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for partner, executor in enumerate(self.executors):
            found.setdefault(executor, partner)
        return found

    def lead_of(self, partner: int) -> int:
        """Return the partner that connects the executor of a partner with others."""
        return self._leads[self.executors[partner]]

    def is_near(self, partner: int) -> bool:
        """Say whether a partner is on the same executor."""
        return self.executors[partner] == self.executors[self.me]

    @cached_property
    def behind(self) -> dict[int, int]:
        """Return the partners that are reached by each connection, which is named by its other end."""
        found: dict[int, int] = {}
        for partner in self._others():
            if self.is_near(partner):
                peer = partner
            else:
                peer = self.lead_of(partner if self.lead_of(self.me) == self.me else self.me)
            found[peer] = found.get(peer, 0) | 1 << partner
        return found

    @cached_property
    def others(self) -> int:
        """Return all partners but this one."""
        return (1 << self.partners) - 1 & ~(1 << self.me)

    def _others(self) -> Iterator[int]:
        return (partner for partner in range(self.partners) if partner != self.me)
