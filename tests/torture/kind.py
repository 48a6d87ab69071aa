"""What a kind of case offers to the runner."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Failure:
    """A case that failed, shrunk.

    The kind tries it again for the same `seed`; `reproduction` is the text of a Python script that
    fails in the same way.
    """

    kind: str
    seed: int
    summary: str
    reproduction: str


class KindUnavailableError(Exception):
    """Raised by `run` where something that a kind needs is missing, such as Java."""


class Kind(Protocol):
    """Cases of one kind; each is determined by its seed alone.

    `unit` is the word for what `run` counts, such as `epochs`.
    """

    name: str
    unit: str

    def run(self, seeds: Iterator[int], deadline: float) -> Iterator[int | Failure]:
        """Try a case for each seed until `time.monotonic()` reaches the deadline.

        Yields how many units were checked since the last time, and failures as they are found.
        """
