"""The cheapest set of suspects that meets all demands, by integer linear programming."""

from collections.abc import Iterable, Sequence
from typing import Final

import highspy
import numpy as np

from tidelog.dataclass import dataclass
from tidelog.explain.blame.block import Block, Row
from tidelog.explain.blame.suspects import Reason

_CLOSE: Final = 1e-6


@dataclass(frozen=True, slots=True)
class SuspectChoice:
    """The suspects to take back, their cost, and a cost that no choice can go below."""

    taken: frozenset[int]
    cost: float
    bound: float


class Master:
    """Chooses suspects so that every reason for a fault is broken.

    One 0/1 variable for each suspect says whether it is taken back. A reason stands as long as all
    its suspects are as they were, so at least one of them must be otherwise:

        sum of x over those left + sum of (1 - x) over those taken back  >=  1
    """

    def __init__(self, costs: Sequence[float], untouchable: Iterable[int]) -> None:
        self._costs = costs
        self._count = len(costs)
        self._solver = highspy.Highs()  # type: ignore[no-untyped-call]
        self._solver.silent()
        self._solver.setOptionValue("mip_rel_gap", 0.0)
        self._solver.setOptionValue("threads", 1)
        fixed = set(untouchable)
        for number, cost in enumerate(costs):
            self._solver.addCol(cost, 0.0, 0.0 if number in fixed else 1.0, 0, [], [])
        numbers = np.arange(self._count, dtype=np.int32)
        kinds = np.full(self._count, highspy.HighsVarType.kInteger)
        self._solver.changeColsIntegrality(self._count, numbers, kinds)
        self._reasons: set[Reason] = set()

    def forbid(self, reason: Reason) -> bool:
        """Ask for a choice that breaks the reason; say whether that is a new demand."""
        if reason in self._reasons or any((number, not is_taken) in reason for number, is_taken in reason):
            # Asked for already, or met by every choice: no suspect is taken back and left at once.
            return False
        self._reasons.add(reason)
        signs = {number: -1.0 if is_taken else 1.0 for number, is_taken in sorted(reason)}
        lowest = 1.0 - sum(1 for _, is_taken in reason if is_taken)
        self._add(signs, lowest, highspy.kHighsInf)
        return True

    def exclude(self, taken: Iterable[int]) -> None:
        """Ask for choices that do not take back all of these at once."""
        members = sorted(taken)
        self._add(dict.fromkeys(members, 1.0), -highspy.kHighsInf, len(members) - 1.0)

    def add_block(self, block: Block, rows: Iterable[Row]) -> None:
        """Ask that no fault of a block holds, as far as these rows of it tell."""
        first = self._solver.getNumCol()
        for number in range(len(block.places)):
            self._solver.addCol(0.0, 0.0, 0.0 if number in block.faults else 1.0, 0, [], [])
        for row in rows:
            # y(head) - sum of y(premises) + sum of x(suspects) >= 1 - number of both
            signs = {first + row.head: 1.0}
            signs.update({first + premise: -1.0 for premise in row.premises})
            signs.update(dict.fromkeys(row.suspects, 1.0))
            self._add(signs, 1.0 - len(row.premises), highspy.kHighsInf)

    def solve(self, seconds: float) -> SuspectChoice | None:
        """Return the cheapest choice found in the time allowed; None if there is none at all.

        Raises `TimeoutError` if the time is over before any was found.
        """
        self._solver.setOptionValue("time_limit", max(seconds, 0.01) + self._solver.getRunTime())
        self._solver.run()
        status = self._solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return None
        if self._solver.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            raise TimeoutError
        values = self._solver.getSolution().col_value
        taken = frozenset(number for number in range(self._count) if values[number] > 0.5)
        cost = sum(self._costs[number] for number in taken)
        bound = cost if status == highspy.HighsModelStatus.kOptimal else self._solver.getInfo().mip_dual_bound
        return SuspectChoice(taken, cost, bound)

    def _add(self, row: dict[int, float], lowest: float, highest: float) -> None:
        numbers = np.array(list(row), np.int32)
        self._solver.addRow(lowest, highest, len(row), numbers, np.array(list(row.values())))


def is_less(one: float, other: float) -> bool:
    """Say whether a cost is smaller, beyond what rounding can do."""
    return one < other - _CLOSE
