"""The switch by the clock: an update of all strata that takes too long is given up for a recompute.

`auto` counts work and decides stratum by stratum, most often before it starts. The clock knows nothing of
the change: the update of the whole program may take a share of the time of the last evaluation, and when
that time is over, the epoch is undone and every stratum that the change reaches is recomputed.
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.maintain.learned import Learned
from tidelog.maintain.prices import Stopwatch


class OutOfTime(Exception):  # noqa: N818 - a decision, not an error
    """The update of the epoch took longer than it may."""


@dataclass(frozen=True)
class Deadline:
    """How many seconds an update may take from now on, and what they are a share of.

    Seconds are those in which this process worked, as everywhere in `maintain.prices`.
    """

    allowed: float = float("inf")
    share: float = 0.0
    evaluation: float = 0.0

    watch: Stopwatch = field(default_factory=Stopwatch)

    def check(self) -> None:
        """Raise `OutOfTime` if the time is over."""
        # Without a limit the clock is not read: that can take longer than a small batch of derivations.
        if self.allowed != float("inf") and self.watch.seconds >= self.allowed:
            raise OutOfTime

    def __str__(self) -> str:
        if self.allowed == float("inf"):
            return "the clock sets no limit before an evaluation was measured"
        of = f"{self.share:g} of the {self.evaluation:.3f} s of an evaluation"
        return f"the clock allows {self.allowed:.3f} s, {of}"


NO_DEADLINE: Final = Deadline()


def deadline_after(share: float, learned: Sequence[Learned]) -> Deadline:
    """Return the deadline of an update that starts now."""
    evaluation = sum(each.recompute_seconds for each in learned)
    return Deadline(share * evaluation, share, evaluation) if evaluation else Deadline()
