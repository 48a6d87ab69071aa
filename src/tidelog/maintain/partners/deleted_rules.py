"""Which deleted rules partners take back derivation by derivation, and what they need for that.

    path(x, y) :- edge(x, y).
    path(x, y) :- bridge(x, y).          // deleted

Nothing else reads `bridge`, but its facts say which derivations of `path` are lost. So the group reads it
until its program changes again, and facts are divided by the deleted rule too; see `departed`.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from tidelog.dataclass import dataclass
from tidelog.engine.spark.codes import codes_of_constants
from tidelog.engine.spark.placement import functions_of, reason_for_values
from tidelog.maintain.partners.groups import PartnerGroup
from tidelog.maintain.partners.service import GroupSpec
from tidelog.maintain.rule_change import RuleChange, missing_rules, rule_change
from tidelog.program.nodes import Program, Relation, Rule, Stratum
from tidelog.program.rule_ids import RuleIds
from tidelog.program.walk_nodes import earlier_relations
from tidelog.values.codec import Codec


@dataclass(frozen=True, slots=True)
class Extended:
    """A group that takes deleted rules back, and the relations that it reads for that."""

    spec: GroupSpec
    reads: tuple[str, ...]


def with_deleted_rules(  # noqa: PLR0913, PLR0917 - a group, and two programs
    spec: GroupSpec, old: Sequence[PartnerGroup], readable: Collection[str], program: Program,
    old_program: Program, codec: Codec,
) -> Extended:  # fmt: skip
    """Return a group of a changed program with the rules that its strata had in the old one.

    `readable` are relations of the program that it may read besides those it does.
    """
    ids, departed = RuleIds(spec.program), {}
    # What the group has more than before: relations that it reads, and those that it derived.
    read: dict[str, Relation] = {}
    derived: dict[str, Relation] = {}
    outside = {name: program.relations[name].without_law() for name in readable if name not in spec.own}
    strata: list[Stratum] = []
    below = (outside.keys() | spec.program.relations.keys()) - set(spec.own)
    for number, stratum in enumerate(spec.program.strata):
        strata.append(stratum)
        found = _stratum_before(stratum, old, old_program)
        if found is not None:
            before, group = found
            emptied = {
                name: group.program.relations[name]
                for name in before.relations
                if name not in stratum.relations
            }
            known = replace(spec.program, relations={**outside, **spec.program.relations, **emptied})
            wider = replace(stratum, relations=(*stratum.relations, *emptied))
            rules = _deleted(before, group.program, wider, spec, known)
            above = replace(wider, rules=rules)
            if rules and earlier_relations(above) <= below and _can_run(above, known, spec):
                departed[number] = tuple(replace(rule, id=ids.take()) for rule in rules)
                strata[-1] = wider
                derived |= emptied
                needed = earlier_relations(above) - spec.program.relations.keys()
                read |= {name: outside[name] for name in needed}
        below |= set(stratum.relations)
    if not departed:
        return Extended(spec, ())
    inputs = [Stratum((name,), (), (), is_recursive=False) for name in sorted(read)]
    made = replace(
        spec.program,
        relations={**spec.program.relations, **read, **derived},
        strata=(*inputs, *strata),
    )
    all_rules = [Stratum((), rules, (), is_recursive=False) for rules in departed.values()]
    extended = replace(
        spec, program=made, own=(*spec.own, *derived),
        known={**spec.known, **codes_of_constants(all_rules, codec)},
        departed={number + len(inputs): rules for number, rules in departed.items()},
    )  # fmt: skip
    return Extended(extended, tuple(sorted(read)))


def _stratum_before(
    stratum: Stratum, old: Sequence[PartnerGroup], old_program: Program
) -> tuple[Stratum, PartnerGroup] | None:
    """Return what a stratum was before, and the group that had it."""
    found = ((each, group) for _, each, group in strata_of(old) if is_successor(stratum, each, old_program))
    return next(found, None)


def _deleted(
    before: Stratum, program: Program, stratum: Stratum, spec: GroupSpec, known: Program
) -> tuple[Rule, ...]:
    """Return the rules that a stratum had and that can be taken back."""
    if change_of(before, program, stratum, spec, known) is None:
        return ()
    return tuple(missing_rules(before.rules, stratum.rules))


def strata_of(groups: Sequence[PartnerGroup]) -> Iterator[tuple[int, Stratum, PartnerGroup]]:
    """Yield the strata that groups keep, with their numbers in the group."""
    for group in groups:
        own = set(group.spec.own)
        for number, stratum in enumerate(group.program.strata):
            if own.issuperset(stratum.relations):
                yield number, stratum, group


def is_successor(stratum: Stratum, before: Stratum, old_program: Program) -> bool:
    """Say whether a stratum has the relations that one had before.

    Those in the middle of rules that were split may be others.
    """
    new, old = set(stratum.relations), set(before.relations)
    return new == old or (new & old_program.relations.keys() == old & old_program.relations.keys() != set())


def change_of(
    before: Stratum, program: Program, stratum: Stratum, spec: GroupSpec, known: Program
) -> RuleChange | None:
    """Return how a stratum of a group differs from what it was, or None if it cannot be followed.

    `known` is the group's program, perhaps with more relations.
    """
    if spec.aggregates.keys() & set(stratum.relations) or known.law_of(stratum) is not None:
        return None
    # New relations in the middle of rules were empty.
    empty = {name: known.relations[name] for name in stratum.relations if "/" in name}
    return rule_change(before, replace(program, relations={**empty, **program.relations}), stratum, known)


def _can_run(stratum: Stratum, program: Program, spec: GroupSpec) -> bool:
    """Say whether partners have the values and the functions that rules work on."""
    called = frozenset().union(*(functions_of(each, program) for each in spec.program.strata))
    needs_values = reason_for_values(stratum, program) is not None
    return functions_of(stratum, program) <= called and (spec.has_values or not needs_values)
