"""How groups of the driver and of one worker go on after a change of rules: on the engines of before.

A group with the same strata stays as it is. One with others takes the engine of the group that has most of
its relations, which follows the change as in a session of its own; relations that it gets from elsewhere are
compared with their facts of before.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from tidelog.engine.epoch import Action, MaintenanceSettings, Strategy, StratumReport
from tidelog.engine.protocol import SilentObserver, StratumStatistics
from tidelog.maintain.decide import UNTOUCHED
from tidelog.maintain.partners.alone_group import AloneGroup
from tidelog.maintain.partners.differences import Differences, GroupResult, RelationDifference
from tidelog.maintain.partners.driver_group import DriverGroup
from tidelog.maintain.partners.groups import GroupFacts, StratumGroup
from tidelog.maintain.partners.rule_change import OldGroups
from tidelog.maintain.partners.state_files import without_rows
from tidelog.maintain.rule_change import is_declared_alike, stratum_content
from tidelog.program.nodes import Program
from tidelog.storage.kernel import CodeArray

RULES_HERE: Final = "rules of the strata that are kept together here changed"

Kind = TypeVar("Kind", AloneGroup, DriverGroup)
# Returns the facts of a relation as a group gets them.
Facts = Callable[[str], GroupFacts]


def continued(group: StratumGroup, old: OldGroups) -> StratumGroup | None:
    """Return a group of one place that goes on with the same strata as before, or None if it has others."""
    for before in old.groups:
        if isinstance(group, AloneGroup) and isinstance(before, AloneGroup) and _is_same(before, group):
            return group.taking_place_of(before)
        if isinstance(group, DriverGroup) and isinstance(before, DriverGroup) and _is_same(before, group):
            return before if before.has_engine else None
    return None


def _is_same(old: AloneGroup | DriverGroup, new: AloneGroup | DriverGroup) -> bool:
    return _content(old) == _content(new)


def _content(group: AloneGroup | DriverGroup) -> list[object]:
    return [stratum_content(stratum, group.program) for stratum in group.program.strata]


def changed(  # noqa: PLR0913, PLR0917 - a group, and what it goes on from
    group: StratumGroup, old: OldGroups, changes: Differences, now: Facts, program: Program,
    settings: MaintenanceSettings,
) -> GroupResult:  # fmt: skip
    """Advance a group that has other strata than before.

    `now` returns the input facts of own relations, and all facts of those that are read.
    """
    if isinstance(group, DriverGroup):
        return _changed_in_driver(group, old, changes, now, program, settings)
    assert isinstance(group, AloneGroup), "divided groups go on from an `Origin`"
    return _changed_alone(group, old, changes, now, program, settings)


def _changed_in_driver(  # noqa: PLR0913, PLR0917 - see `changed`
    group: DriverGroup, old: OldGroups, changes: Differences, now: Facts, program: Program,
    settings: MaintenanceSettings,
) -> GroupResult:  # fmt: skip
    free = [each for each in old.groups if isinstance(each, DriverGroup) and each.has_engine]
    before = _most_like(group, free)
    if before is None:
        statistics = group.evaluate({name: now(name) for name in group.program.relations}, SilentObserver())
        found = compared(group.own, _rows_of(group), old, program)
        return GroupResult(found, evaluated_again(statistics, RULES_HERE))
    unknown = [name for name in group.own if not is_declared_alike(name, before.program, program)]
    result = group.go_on_from(before, changes, now, settings)
    kept = {name: each for name, each in result.differences.items() if name not in unknown}
    return replace(result, differences={**kept, **compared(unknown, _rows_of(group), old, program)})


def _changed_alone(  # noqa: PLR0913, PLR0917 - see `changed`
    group: AloneGroup, old: OldGroups, changes: Differences, now: Facts, program: Program,
    settings: MaintenanceSettings,
) -> GroupResult:  # fmt: skip
    files = {name: old.files(name) if old.declares(name, program) else [] for name in group.own}
    before = _most_like(group, [each for each in old.groups if isinstance(each, AloneGroup)])
    if before is not None and group.can_go_on_from(before):
        return group.go_on_from(before, changes, now, files, settings)
    facts = {name: now(name) for name in (*group.own, *group.reads) if name not in group.sources}
    statistics, result = group.evaluate_again(facts, files)
    return replace(result, strata=evaluated_again(statistics, RULES_HERE))


def _most_like(group: StratumGroup, others: Sequence[Kind]) -> Kind | None:
    """Return the one that has most relations of a group, or None if none has any."""
    own = set(group.own)
    best = max(others, key=lambda each: len(own.intersection(each.own)), default=None)
    return None if best is None or own.isdisjoint(best.own) else best


def _rows_of(group: DriverGroup) -> Callable[[str], CodeArray]:
    return lambda name: group.stored(name).live_rows()


def compared(
    names: Sequence[str], rows: Callable[[str], CodeArray], old: OldGroups, program: Program
) -> dict[str, RelationDifference]:
    """Return what changed in relations that the driver keeps."""
    found: dict[str, RelationDifference] = {}
    for name in names:
        new = rows(name)
        was = old.rows(name) if old.declares(name, program) else new[:0]
        change = RelationDifference(without_rows(new, was), without_rows(was, new), old.folder)
        if any(change.sizes):
            found[name] = change
    return found


def evaluated_again(statistics: Sequence[StratumStatistics], reason: str) -> tuple[StratumReport, ...]:
    """Return what was done to strata that were evaluated, and why."""
    return tuple(
        StratumReport(
            each.relations, Action.RECOMPUTED, Strategy.RECOMPUTE, reason,
            each.derivations, each.derivations, each.seconds,
        )
        for each in statistics
    )  # fmt: skip


def skipped(group: StratumGroup, program: Program) -> Iterator[StratumReport]:
    """Yield that nothing was done to the strata of a group."""
    for stratum in program.strata:
        if stratum.rules and set(stratum.relations) & set(group.own):
            yield StratumReport(stratum.relations, Action.SKIPPED, Strategy.UPDATE, UNTOUCHED, 0, 0, 0.0)
