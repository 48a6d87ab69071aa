"""What a change of rules leaves as it is: strata with the same rules that read nothing that changed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from tidelog.engine.epoch import Action, Strategy, StratumReport
from tidelog.engine.protocol import StratumStatistics
from tidelog.maintain.decide import UNTOUCHED
from tidelog.maintain.partners.groups import AloneGroup, DriverGroup, KeptRelation, PartnerGroup, StratumGroup
from tidelog.maintain.partners.session_routes import may_spread
from tidelog.program.nodes import Program, RuleId, Stratum
from tidelog.program.walk_nodes import earlier_relations


def keep_strata(
    groups: Sequence[StratumGroup], before: Sequence[StratumGroup], changed: set[str]
) -> list[StratumGroup]:
    """Return the groups of the new program, with what they keep from those of the old one.

    `changed` are relations whose input facts change; those of all strata that are evaluated are added.
    """
    found: list[StratumGroup] = []
    for group in groups:
        if isinstance(group, AloneGroup):
            group.kept = _kept_alone(group, before, changed)
            changed |= set() if group.kept else set(group.own)
            found.append(group)
            continue
        if isinstance(group, PartnerGroup):
            group.kept = dict(_kept_by_partners(group, before, changed))
            # These values are spread if nothing of the group is evaluated.
            group.heavy = _heavy_before(group, before)
            found.append(group)
            continue
        same = next((each for each in before if _is_same_driver_group(each, group)), None)
        if same is not None and changed.isdisjoint((*group.own, *group.reads)):
            found.append(same)
        else:
            changed |= set(group.own)
            found.append(group)
    return found


def rule_reports(
    strata: Sequence[Stratum], changed: Collection[str], evaluated: Sequence[StratumStatistics]
) -> Iterator[StratumReport]:
    """Yield what was done to each stratum that has rules: nothing, or an evaluation."""
    for stratum in strata:
        if stratum.rules and not set(stratum.relations) & set(changed):
            yield StratumReport(stratum.relations, Action.SKIPPED, Strategy.UPDATE, UNTOUCHED, 0, 0, 0.0)
    for each in evaluated:
        yield StratumReport(
            each.relations, Action.RECOMPUTED, Strategy.RECOMPUTE,
            "on Spark a stratum is evaluated again if its rules changed, or what it reads",
            each.derivations, each.derivations, each.seconds,
        )  # fmt: skip


def _kept_by_partners(
    group: PartnerGroup, before: Sequence[StratumGroup], changed: set[str]
) -> Iterator[tuple[str, KeptRelation]]:
    old = {
        stratum.relations: (each, number)
        for each in before
        if isinstance(each, PartnerGroup) and not each.is_alone
        for number, stratum in enumerate(each.program.strata)
        if stratum.relations[0] not in each.reads
    }
    base_of = {apart: name for name, apart in group.apart.items()}
    for stratum in group.program.strata:
        if stratum.relations[0] in group.reads:
            continue
        home, number = old.get(stratum.relations, (None, 0))
        reached = {*stratum.relations, *earlier_relations(stratum)}
        is_same = (
            home is not None
            and _content(home.program, home.program.strata[number]) == _content(group.program, stratum)
            # Input facts that are kept apart change with their relation.
            and changed.isdisjoint(reached | {base_of.get(name, name) for name in reached})
        )
        if home is None or not is_same:
            changed |= set(stratum.relations)
            continue
        for name in stratum.relations:
            yield name, KeptRelation(home.files[name], home.size(name), home.work[number], home.is_wide)


def _heavy_before(group: PartnerGroup, before: Sequence[StratumGroup]) -> tuple[int, ...]:
    if not may_spread(group.program):
        return ()
    old = [each for each in before if isinstance(each, PartnerGroup) and set(each.files) & set(group.kept)]
    return tuple(sorted({value for each in old for value in each.heavy}))


def _kept_alone(
    group: AloneGroup, before: Sequence[StratumGroup], changed: set[str]
) -> dict[str, KeptRelation]:
    """Return all relations of a group that one partner keeps, or none of them."""
    for old in before:
        is_same = isinstance(old, AloneGroup) and _contents(old.program) == _contents(group.program)
        if is_same and changed.isdisjoint((*group.own, *group.reads)):
            assert isinstance(old, AloneGroup)
            return {name: KeptRelation(old.files[name], old.size(name), 0, old.is_wide) for name in group.own}
    return {}


def _is_same_driver_group(old: StratumGroup, new: StratumGroup) -> bool:
    if not isinstance(old, DriverGroup) or not isinstance(new, DriverGroup):
        return False
    return _contents(old.program) == _contents(new.program)


def _contents(program: Program) -> list[object]:
    return [_content(program, stratum) for stratum in program.strata]


def _content(program: Program, stratum: Stratum) -> tuple[Stratum, Mapping[str, object]]:
    """Return what a stratum means, whatever the numbers of its rules."""
    rules = tuple(replace(rule, id=RuleId(0)) for rule in stratum.rules)
    names = {*stratum.relations, *earlier_relations(stratum)}
    return replace(stratum, rules=rules), {name: program.relations[name] for name in names}
