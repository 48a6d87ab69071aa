"""What was expected of the operators of a plan beside what they yielded when it ran."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from tidelog.dataclass import dataclass
from tidelog.plan.operators import Choose, IndexJoin, Operator, RulePlan, ScanView, View
from tidelog.plan.statistics import Statistics, matches_per_key
from tidelog.program.nodes import Program

# Where an operator is: its number in the chain, or that of a choice, of one of its alternatives, and so on. A
# place that ends with the number of an alternative is its beginning.
Place = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MeasuredPlan:
    """A plan, what its scans and joins were expected to yield, and how many bindings every place saw.

    Of a scan, all facts are expected; of a join, so many for each binding.
    """

    plan: RulePlan
    expected: Mapping[Place, float]
    bindings: Counter[Place] = field(default_factory=Counter)

    def before(self, place: Place) -> int:
        """Return how many bindings the operator at a place took."""
        return self.bindings[(*place[:-1], place[-1] - 1) if place[-1] else place[:-1]]


class Measurements:
    """The plans of a run in the order in which they were made; a rule may be planned several times."""

    def __init__(self) -> None:
        self.plans: list[MeasuredPlan] = []

    def begin(self, plan: RulePlan, program: Program, statistics: Statistics) -> MeasuredPlan:
        """Return where the bindings of a plan are counted, with what is expected of it now."""
        expected = {
            place: _expected(operator, program, statistics)
            for place, operator in places(plan.operators)
            if isinstance(operator, IndexJoin)
            or (isinstance(operator, ScanView) and operator.view is not View.DELTA)
        }
        self.plans.append(MeasuredPlan(plan, expected))
        return self.plans[-1]


def places(operators: Sequence[Operator], before: Place = ()) -> Iterator[tuple[Place, Operator]]:
    """Yield the operators of a chain and of its alternatives with their places."""
    for number, operator in enumerate(operators):
        place = (*before, number)
        yield place, operator
        if isinstance(operator, Choose):
            for alternative, rest in enumerate(operator.alternatives):
                yield from places(rest, (*place, alternative))


def _expected(operator: ScanView | IndexJoin, program: Program, statistics: Statistics) -> float:
    if isinstance(operator, ScanView):
        return statistics.size(operator.relation) or 0.0
    return expected_of_join(operator, program, statistics)


def expected_of_join(join: IndexJoin, program: Program, statistics: Statistics) -> float:
    """Return how many facts, or keys, a join is expected to find for each binding."""
    arity = program.relations[join.relation].arity
    found = matches_per_key(statistics, join.relation, arity, join.key)
    if not join.over:
        return found
    return max(1.0, found / matches_per_key(statistics, join.relation, arity, join.over))
