"""The cheapest set of suspects to take back so that no fault remains.

Reasons for the faults are found one world at a time and given to an integer program, whose choice
is the next world to look at. A reason holds in every world that agrees with it, so no repair can be
cheaper than the choice; a choice without faults is therefore a cheapest repair, and looking at its
world has verified it.
"""

import time
from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import count
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.explain.blame.block import Block, find_block
from tidelog.explain.blame.case import Case, Faults, RefusedWorldError
from tidelog.explain.blame.ddmin import ddmin
from tidelog.explain.blame.explanation import Explanation
from tidelog.explain.blame.ground import merged
from tidelog.explain.blame.solver import Master, is_less

_BOUNDED: Final = (
    "a fault has more derivations than were looked at; all changes they may depend on stand for the rest"
)
# Worlds looked at before all derivations are taken together.
_PATIENCE: Final = 3
# Faults explained in one world; the next world shows whether others are left.
_FAULTS_PER_WORLD: Final = 24


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """What is asked of repairs: `excluded` are sets of which not all may be taken back."""

    count: int = 1
    seconds: float = 60.0
    excluded: tuple[frozenset[int], ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A set of suspects whose world has no fault; `bound` is a cost that none can go below."""

    taken: frozenset[int]
    cost: float
    bound: float

    @property
    def is_optimal(self) -> bool:
        """Say whether nothing cheaper exists."""
        return not is_less(self.bound, self.cost)


@dataclass
class RepairSearch:
    """Looks for repairs of a case."""

    case: Case
    limits: SearchLimits
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        suspects = self.case.suspects
        self._fixed = frozenset(n for n, suspect in enumerate(suspects) if suspect.is_untouchable)
        self._faults = self.case.faults
        self._end = self.case.end = time.monotonic() + self.limits.seconds

    @cached_property
    def _master(self) -> Master:
        """Return the master whose reasons hold in every world."""
        return self._new_master()

    def _new_master(self) -> Master:
        master = Master([suspect.cost for suspect in self.case.suspects], self._fixed)
        for taken in self.limits.excluded:
            master.exclude(taken)
        return master

    def by_reasons(self) -> list[Found]:
        """Return the cheapest repairs, cheapest first; none if there is none."""
        if not self.case.prepare().is_complete:
            self.notes.append(
                "more facts are possible between the epochs than were looked at;"
                " what is missing is explained by all changes it may depend on"
            )
        best = self._first_guess()
        if best is None and self.limits.count == 1:
            best = self._quick()
            if best is not None and (best.is_optimal or time.monotonic() > self._end):
                return [best] if best.is_optimal else self._late([], best, best.bound)
        return self._exact(best)

    def _quick(self) -> Found | None:
        """Return a repair found as if facts that the epoch did not touch held in every world.

        Afterwards these facts are looked at more closely. If they hold always, or if the reasons with
        what they rest on still ask for as much, the repair is proven to be a cheapest one.
        """
        master = self._new_master()
        noted: list[Explanation] = []
        block: Block | None = None
        taken: frozenset[int] = frozenset()
        for worlds in count():
            try:
                if self._look_at(taken, master, noted) is None:
                    break
                if worlds == _PATIENCE:
                    block = self._find_block(master)
                choice = master.solve(self._end - time.monotonic())
            except TimeoutError:
                return None
            if choice is None or time.monotonic() > self._end:
                return None
            taken = choice.taken
        cost = self._cost(taken)
        if not is_less(self._least, cost):
            # Something must be taken back, and this is as cheap as one change can be.
            return Found(taken, cost, cost)
        try:
            return Found(taken, cost, self._bound(noted, block))
        except TimeoutError:
            return Found(taken, cost, self._least)

    def _find_block(self, master: Master) -> Block | None:
        """Give all derivations of the unwanted facts to a master, if they are not too many."""
        with self.case.ground.showing(self.case.prepare().rows):
            block = find_block(self.case, self.case.faults.unwanted)
        if block is not None:
            master.add_block(block, block.rows)
        return block

    def _bound(self, noted: list[Explanation], block: Block | None) -> float:
        """Return what repairs cost at least, by reasons in which nothing is taken for granted."""
        case = self.case
        with case.ground.showing(case.prepare().rows):
            explainer = case.explainer(frozenset())
            if block is not None:
                places = block.assumed
                keys = [key for name, number in sorted(places) for key in case.ground.keys(name, [number])]
                explainer.explain(keys, are_there=True)
                certain = {place for place in places if explainer.is_certain(place)}
                self._master.add_block(block, [row for row in block.rows if row.assumed <= certain])
            assumed = merged(*(each.assumed for each in noted))
            are_certain = not explainer.explain_rows(assumed, are_there=True).literals
            for each in noted:
                reason = each.reason
                if each.assumed and not are_certain:
                    reason |= explainer.explain_rows(each.assumed, are_there=True).reason
                self._master.forbid(reason)
        choice = self._master.solve(self._end - time.monotonic())
        return self._least if choice is None else choice.bound

    def _exact(self, best: Found | None) -> list[Found]:
        """Return repairs in the order of their cost; `best` is one that is known already."""
        answers: list[Found] = []
        taken: frozenset[int] = frozenset()
        bound = 0.0
        while len(answers) < self.limits.count:
            try:
                if self._look_at(taken, self._master) is None:
                    answers.append(Found(taken, self._cost(taken), bound))
                    self._master.exclude(taken)
                    best = None
                if time.monotonic() > self._end:
                    return self._late(answers, best, bound)
                choice = self._master.solve(self._end - time.monotonic())
            except TimeoutError:
                return self._late(answers, best, bound)
            if choice is None:
                break
            taken, bound = choice.taken, choice.bound
            if best is not None and not is_less(bound, best.cost):
                taken = best.taken
        return answers

    def by_ddmin(self) -> list[Found]:
        """Return one repair that no change can be left out of, found with the program as a black box."""
        everything = sorted(self.case.everything - self._fixed)
        if not self._is_repair(everything):
            self.notes.append("taking back all changes that may be taken back leaves faults")
            return []
        taken = frozenset(ddmin(everything, self._is_repair))
        return [Found(taken, self._cost(taken), self._least)]

    def _first_guess(self) -> Found | None:
        """Return a repair to start with where reasons are weak: for relations that are opaque."""
        relations = {name for name, _ in (*self._faults.unwanted, *self._faults.missing)}
        if not relations & self.case.ground.unsure or self.limits.excluded:
            return None
        found = self.by_ddmin()
        return found[0] if found else None

    def _late(self, answers: list[Found], best: Found | None, bound: float) -> list[Found]:
        """Return what there is when time is over, with the bound that was proven."""
        if answers:
            self.notes.append(f"only {len(answers)} of {self.limits.count} repairs were found in time")
            return answers
        bound = max(bound, self._least)
        how = "" if best is not None else "; this one was found by delta debugging"
        self.notes.append(
            f"the time of {self.limits.seconds:g} s is over: no repair costs less than {bound:g}{how}"
        )
        found = [best] if best is not None else self.by_ddmin()
        return [replace(each, bound=max(bound, each.bound)) for each in found]

    def _look_at(
        self, taken: frozenset[int], master: Master,
        noted: list[Explanation] | None = None,
    ) -> Faults | None:  # fmt: skip
        """Return the faults of a world and give their reasons to a master; None if it has none.

        Explanations that are to be noted take untouched facts for granted.
        """
        try:
            return self._faults_in(taken, master, noted)
        except RefusedWorldError as refused:
            reason = self.case.refusal(refused, taken)
            master.forbid(reason)
            self._master.forbid(reason)
            return self._faults

    def _faults_in(
        self, taken: frozenset[int], master: Master, noted: list[Explanation] | None
    ) -> Faults | None:
        case = self.case
        with case.world(taken) as result:
            left = case.remaining(self._faults, result)
            if not left.unwanted and not left.missing:
                return None
            self._faults = replace(
                self._faults, unwanted=tuple(dict.fromkeys((*self._faults.unwanted, *left.unwanted)))
            )
            with case.ground.showing(case.prepare().rows):
                explainer = case.explainer(taken, assumes=noted is not None)
                for are_there, faults in ((True, left.unwanted), (False, left.missing)):
                    for fault in faults[:_FAULTS_PER_WORLD]:
                        found = explainer.explain([fault], are_there=are_there)
                        master.forbid(found.reason)
                        if found.is_bounded and _BOUNDED not in self.notes:
                            self.notes.append(_BOUNDED)
                        if noted is not None:
                            noted.append(found)
        return left

    def _is_repair(self, taken: Sequence[int]) -> bool:
        try:
            with self.case.world(frozenset(taken)) as result:
                left = self.case.remaining(self._faults, result)
        except RefusedWorldError:
            return False
        return not left.unwanted and not left.missing

    @property
    def _least(self) -> float:
        """Return the cost of the cheapest suspect: something must be taken back."""
        return min((suspect.cost for suspect in self.case.suspects), default=0.0)

    def _cost(self, taken: frozenset[int]) -> float:
        return sum(self.case.suspects[number].cost for number in taken)
