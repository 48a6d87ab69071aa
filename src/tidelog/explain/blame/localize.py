"""A minimal set of suspects that causes all faults on top of the older epoch."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import EpochResult
from tidelog.explain.blame.case import Case, RefusedWorldError
from tidelog.explain.blame.ddmin import ddmin, drop_one_by_one

# Up to so many suspects each is tried alone; more are halved first.
_FEW: Final = 24


@dataclass
class BlameSearch:
    """Looks for the suspects to blame in a case."""

    case: Case

    def by_reasons(self) -> frozenset[int]:
        """Return the suspects that the reasons for the faults rest on, without those to spare."""
        case = self.case
        possible = case.prepare()
        literals: set[int] = set()
        with case.world(frozenset()), case.ground.showing(possible.rows):
            for are_there, faults in ((True, case.faults.unwanted), (False, case.faults.missing)):
                found = case.explain(frozenset(), faults, are_there=are_there)
                literals.update(number for number, _ in found.reason)
        return self._minimal(sorted(literals))

    def by_ddmin(self) -> frozenset[int]:
        """Return a minimal set found with the program as a black box."""
        return frozenset(ddmin(sorted(self.case.everything), self.reproduces))

    def reproduces(self, blamed: Sequence[int]) -> bool:
        """Say whether these suspects alone cause all faults."""
        # No fault was there before.
        return bool(blamed) and self._has_faults(self.case.world(self.case.everything - frozenset(blamed)))

    def _reproduces_from_older(self, blamed: Sequence[int]) -> bool:
        """Say the same; the engine stands in the older epoch."""
        return bool(blamed) and self._has_faults(self.case.with_only(frozenset(blamed)))

    def _has_faults(self, world: AbstractContextManager[EpochResult]) -> bool:
        try:
            with world:
                return self._are_faults_here()
        except RefusedWorldError:
            return False

    def _are_faults_here(self) -> bool:
        ground, faults = self.case.ground, self.case.faults
        return all(ground.holds(faults.unwanted)) and not any(ground.holds(faults.missing))

    def _minimal(self, suspects: list[int]) -> frozenset[int]:
        case = self.case
        try:
            with case.world(case.everything - frozenset(suspects)) as result:
                assert self._are_faults_here(), "a reason holds in every world"
                taken = sum(
                    len(columns[0]) for side in (result.inserted, result.deleted) for columns in side.values()
                )
        except RefusedWorldError:
            # It takes others to make a world of them, as when a key has another value than before.
            return self.by_ddmin()
        if len(suspects) == 1:
            return frozenset(suspects)
        if not self._is_older_nearer(len(suspects), taken):
            return self._without_spare(suspects, self.reproduces)
        with case.older_epoch():
            return self._without_spare(suspects, self._reproduces_from_older)

    def _is_older_nearer(self, count: int, taken: int) -> bool:
        """Say whether trials cost less from the older epoch, going there and back included.

        What an epoch costs goes with the facts it changes. A trial from the newer epoch takes back at
        least what the last one did; one from the older epoch brings the rest.
        """
        every = sum(len(rows) for side in (self.case.inserted, self.case.deleted) for rows in side.values())
        return count * taken > 2 * every + count * max(every - taken, 0)

    @staticmethod
    def _without_spare(suspects: list[int], reproduces: Callable[[Sequence[int]], bool]) -> frozenset[int]:
        if len(suspects) > _FEW:
            suspects = ddmin(suspects, reproduces)
        return frozenset(drop_one_by_one(suspects, reproduces))
