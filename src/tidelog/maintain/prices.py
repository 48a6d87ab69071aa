"""What a unit of work costs a stratum in seconds, and what an update may therefore take.

Work is counted (`maintain.work`), so it says nothing about time: a derivation of an update costs from half
to four times one of an evaluation, depending on the program. Both prices are learned, stratum by stratum,
from what evaluations and epochs took. Facts never depend on them; only the choice of a strategy does.
"""

import time
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass

Float64s = npt.NDArray[np.float64]

# What a derivation of an update costs relative to one of an evaluation as long as one of the prices is
# unknown, and the range in which a measured one is believed.
DEFAULT_RATIO = 2.5
_RATIOS = 0.25, 10.0
# Less work than this is never worth a prediction, and takes too little time to be measured.
FREE_WORK = 20_000
# How much of the past remains when a run of the same size is added.
_KEPT = 0.5
# A price that a later run falls below by this factor was measured while kernels were compiled or the
# machine was busy.
_FAR_TOO_HIGH = 2.0
# A pause of the machine must not end an update that has done less than this part of the work it may do.
_PAUSED_PART = 0.25
# What is left of an update when its first sweep is done may take so many times what is expected.
_MARGIN = 1.5


@dataclass(frozen=True, slots=True)
class Price:
    """Seconds per unit of work, over past runs; later and larger ones count most."""

    work: float = 0.0
    seconds: float = 0.0

    @property
    def is_known(self) -> bool:
        """Say whether any run was large enough to be measured."""
        return self.work > 0.0

    @property
    def per_unit(self) -> float:
        """Return the price, 0 if it is unknown."""
        return self.seconds / self.work if self.work else 0.0

    def after(self, work: float, seconds: float) -> "Price":
        """Return the price after another run; one that is too small to be measured changes nothing."""
        if work <= 0.0 or work < FREE_WORK or seconds <= 0.0:
            return self
        kept = 0.0 if seconds / work * _FAR_TOO_HIGH < self.per_unit else _KEPT
        return Price(kept * self.work + work, kept * self.seconds + seconds)


UNKNOWN: Final = Price()


class Stopwatch:
    """Measures what a price is learned from: time in which this process worked.

    Waiting for a processor that others use, or for a kernel to be compiled, must not make an update or a
    recompute expensive; threads side by side must not either.
    """

    def __init__(self) -> None:
        self._wall, self._processor = time.perf_counter(), time.process_time()

    @property
    def wall(self) -> float:
        """Return the seconds since the beginning."""
        return time.perf_counter() - self._wall

    @property
    def seconds(self) -> float:
        """Return the seconds worked since the beginning."""
        return min(self.wall, time.process_time() - self._processor)

    @property
    def share(self) -> float:
        """Return the part of the time in which this process worked."""
        return self.seconds / max(self.wall, 1e-9)


class Budget(NamedTuple):
    """What an update may take: `seconds` where prices are known (otherwise 0), and `work` where not."""

    work: float = float("inf")
    seconds: float = 0.0

    def is_spent(self, work: float, seconds: float) -> bool:
        """Say whether an update that has done this work in this time is to be given up."""
        if not self.seconds:
            return work > self.work
        return seconds > self.seconds and work > max(_PAUSED_PART * self.work, FREE_WORK)

    def extended(self, work: float, seconds: float, rest: float) -> "Budget":
        """Return what an update may take that has done this and has about `rest` times as much left."""
        factor = 1.0 + _MARGIN * rest
        if self.seconds:
            return Budget(max(self.work, factor * work), max(self.seconds, factor * seconds))
        return Budget(max(self.work, factor * work))


def update_budget(switch: float, recompute_work: float, recompute: Price, update: Price) -> Budget:
    """Return what an update may take; `switch` is the share of a recompute that it may cost."""
    work = switch * recompute_work / price_ratio(recompute, update)
    return Budget(max(work, float(FREE_WORK)), switch * recompute_work * recompute.per_unit)


def work_budgets(switch: float, units: Float64s) -> Float64s:
    """Return the work that updates of several strata may do; `units` is what recomputes of them cost."""
    return np.maximum(switch * units, float(FREE_WORK))


def price_ratio(recompute: Price, update: Price) -> float:
    """Return what a unit of an update costs, in units of a recompute."""
    if not (recompute.is_known and update.is_known):
        return DEFAULT_RATIO
    least, most = _RATIOS
    return min(max(update.per_unit / recompute.per_unit, least), most)
