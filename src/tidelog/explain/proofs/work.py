"""How much a search may do."""

from tidelog.dataclass import dataclass


class SearchEndedError(Exception):
    """A search took more steps than it may."""


@dataclass
class SearchWork:
    """How many steps a search took, and how many it may take."""

    limit: int | None = None
    steps: int = 0

    def step(self, count: int = 1) -> None:
        """Count steps; raise at the limit."""
        self.steps += count
        if self.limit is not None and self.steps > self.limit:
            raise SearchEndedError
