"""What was expected of the operators of a plan beside what they yielded, and took, when it ran."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final, NamedTuple, Protocol

from tidelog.dataclass import dataclass
from tidelog.plan.operators import Choose, IndexJoin, Operator, Reduce, RulePlan, ScanView, View
from tidelog.plan.statistics import JoinName, Statistics, matches_per_key
from tidelog.program.nodes import Program

# Where an operator is: its number in the chain, or that of a choice, of one of its alternatives, and so on. A
# place that ends with the number of an alternative is its beginning; the body of an aggregate is one.
Place = tuple[int, ...]
# Before the first operator, and behind the last one, where candidates are inserted.
BEGIN: Final[Place] = ()
END: Final[Place] = (-1,)


class Metered(Protocol):
    """What has counted bindings: those that passed it."""

    @property
    def rows(self) -> int:
        """Return how many bindings passed."""


@dataclass
class Meter:
    """Counts the bindings that pass a place, and the seconds that everything behind it takes."""

    rows: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class MeasuredPlan:
    """A plan, what its scans and joins were expected to yield, and how many bindings every place saw.

    Of a scan, all facts are expected; of a join, so many for each binding. `behind` has the seconds that
    everything behind a place took, where an operator runs by itself: one that is run together with the next
    has none.
    """

    plan: RulePlan
    expected: Mapping[Place, float]
    bindings: Counter[Place] = field(default_factory=Counter)
    behind: dict[Place, float] = field(default_factory=dict)
    _meters: list[tuple[Place, Metered]] = field(default_factory=list)

    def meter(self, place: Place) -> Meter:
        """Return what counts at a place, for one thread."""
        meter = Meter()
        self._meters.append((place, meter))
        return meter

    def read(self, place: Place, metered: Metered) -> None:
        """Let what counts by itself, because it runs two operators, be read at the first one's place."""
        self._meters.append((place, metered))

    def gather(self) -> None:
        """Add up what was counted since the last time, and forget what has counted it."""
        for place, metered in self._meters:
            if metered.rows:
                self.bindings[place] += metered.rows
            if isinstance(metered, Meter) and metered.seconds:
                self.behind[place] = self.behind.get(place, 0.0) + metered.seconds
        self._meters.clear()

    def before(self, place: Place) -> int:
        """Return how many bindings the operator at a place took."""
        return self.bindings[(*place[:-1], place[-1] - 1) if place[-1] else place[:-1]]


class MeasuredChain(NamedTuple):
    """A chain of a plan that is measured: the whole of it, or the body of an aggregate behind a place."""

    plan: MeasuredPlan
    before: Place = BEGIN


class Measurements:
    """The plans of a run in the order in which they were made; a rule may be planned several times."""

    def __init__(self) -> None:
        self._plans: list[MeasuredPlan] = []

    def gather(self) -> list[MeasuredPlan]:
        """Return all plans with what they took; their operators are not expected to run again."""
        for each in self._plans:
            each.gather()
        return self._plans

    def begin(self, plan: RulePlan, program: Program, statistics: Statistics) -> MeasuredPlan:
        """Return where the bindings of a plan are counted, with what is expected of it now."""
        expected = {
            place: _expected(operator, plan, program, statistics)
            for place, operator in places(plan.operators)
            if isinstance(operator, IndexJoin)
            or (isinstance(operator, ScanView) and operator.view is not View.DELTA)
        }
        self._plans.append(MeasuredPlan(plan, expected))
        return self._plans[-1]


def places(operators: Sequence[Operator], before: Place = ()) -> Iterator[tuple[Place, Operator]]:
    """Yield the operators of a chain, its alternatives and its aggregates with their places."""
    for number, operator in enumerate(operators):
        place = (*before, number)
        yield place, operator
        if isinstance(operator, Choose):
            for alternative, rest in enumerate(operator.alternatives):
                yield from places(rest, (*place, alternative))
        elif isinstance(operator, Reduce) and operator.scan is None:
            yield from places(operator.body, (*place, 0))


def _expected(
    operator: ScanView | IndexJoin, plan: RulePlan, program: Program, statistics: Statistics
) -> float:
    if isinstance(operator, ScanView):
        return float(statistics.size(operator.relation) or 0.0)
    found = None if operator.over or operator.group else _seen_matches(operator, plan, statistics)
    return expected_of_join(operator, program, statistics) if found is None else found


def _seen_matches(join: IndexJoin, plan: RulePlan, statistics: Statistics) -> float | None:
    """Return how many facts a binding matched in this join before, or a new fact would match now."""
    scan = plan.operators[0]
    if plan.delta_atom is None or not isinstance(scan, ScanView) or not join.key:
        return None
    found = statistics.measured(JoinName(plan.rule, plan.delta_atom, join.relation, join.key, join.operands))
    columns = {name: column for column, name in scan.binds}
    if found is not None or scan.view is not View.DELTA or not all(x in columns for x in join.operands):
        return found
    sampled = scan.relation, tuple(columns[str(operand)] for operand in join.operands)
    return statistics.fan_out(sampled, (join.relation, join.key))


def expected_of_join(join: IndexJoin, program: Program, statistics: Statistics) -> float:
    """Return how many facts, or keys, a join is expected to find for each binding."""
    arity = program.relations[join.relation].arity
    found = matches_per_key(statistics, join.relation, arity, join.key)
    if not join.over:
        return found
    return max(1.0, found / matches_per_key(statistics, join.relation, arity, join.over))
