"""When iterations are so small that they run row by row, and what they come to then."""

import sys
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple

from tidelog.engine.local.state import LocalState
from tidelog.program.nodes import Stratum

if TYPE_CHECKING:
    from tidelog.engine.local.runnable_rules import RunContext

# An iteration of so few rows is small.
_FEW_ROWS = 64
# So many small iterations there must be, one after the other, before more of them are expected.
_FEWEST_ITERATIONS = 128
# The tables of the kernel must be worth their time: in batches, an iteration of few rows takes as long as
# entering so many rows into them.
_ROWS_PER_ITERATION = 512


class SmallRun(NamedTuple):
    """Iterations that ran row by row: the last one, whether it found nothing new, and their derivations."""

    iteration: int
    is_finished: bool
    derivations: int


class SmallIterations:
    """Counts the small iterations of a stratum, and runs the following ones in one kernel once they are many.

    `names` are the relations that its rules read or derive.
    """

    def __init__(self, stratum: Stratum, names: AbstractSet[str]) -> None:
        self._stratum = stratum
        self._names = names
        # How many there were one after the other, and how many there must be.
        self._count = 0
        self._needed = _FEWEST_ITERATIONS

    def takes(self, new: int, state: LocalState, *, has_settlers: bool) -> bool:
        """Say whether the iterations after one of so many new facts run row by row."""
        self._count = self._count + 1 if 0 < new <= _FEW_ROWS else 0
        if self._count < self._needed or not self._stratum.is_recursive:
            return False
        rows = sum(state.relations[name].count for name in self._names)
        self._needed = max(self._needed, _FEWEST_ITERATIONS + rows // _ROWS_PER_ITERATION)
        return self._count >= self._needed and not has_settlers and self._only_inserts(state)

    def _only_inserts(self, state: LocalState) -> bool:
        relations = (
            (state.program.relations[name], state.relations[name]) for name in self._stratum.relations
        )
        is_plain = not any(each.size_limit or stored.alive.size for each, stored in relations)
        return is_plain and not self._stratum.subsumptions

    def run(
        self, iteration: int, context: "RunContext", finished: Callable[[int, int, int], None]
    ) -> SmallRun | None:
        """Run iterations after number `iteration` while they are small; None if the kernel has not run.

        Afterwards relations have other indexes.
        """
        from tidelog.engine.local.by_row.evaluate import make_row_iterations  # noqa: PLC0415 - few need it

        state, limit = context.state, context.settings.iteration_limit
        # The next time, more of them must show that it is worth it again.
        self._count, self._needed = 0, 2 * self._needed
        by_row = make_row_iterations(self._stratum, state, context.expressions)
        if by_row is None:
            self._needed = sys.maxsize
            return None
        while True:
            before = state.size()
            progress = by_row.run(iteration, sys.maxsize if limit is None else limit)
            iteration, size = progress.iteration, state.size()
            finished(iteration, size - before, size)
            context.check_memory()
            if progress.is_finished or progress.is_left:
                return SmallRun(iteration, progress.is_finished, by_row.derivations)
