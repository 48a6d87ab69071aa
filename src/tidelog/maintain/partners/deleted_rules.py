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
from tidelog.maintain.rule_change import missing_rules, rule_change
from tidelog.program.nodes import Program, Relation, Rule, Stratum
from tidelog.program.rule_ids import RuleIds
from tidelog.program.walk_nodes import earlier_relations
from tidelog.values.codec import Codec


@dataclass(frozen=True, slots=True)
class Extended:
    """A group that takes deleted rules back, and the relations that it reads for that."""

    spec: GroupSpec
    reads: tuple[str, ...]


def with_deleted_rules(
    spec: GroupSpec, old: Sequence[PartnerGroup], readable: Collection[str], program: Program, codec: Codec
) -> Extended:
    """Return a group of a changed program with the rules that its strata had in the old one.

    `readable` are relations of the program that it may read besides those it does.
    """
    ids, departed = RuleIds(spec.program), {}
    missing: dict[str, Relation] = {}
    known = {
        **spec.program.relations,
        **{name: program.relations[name].without_law() for name in readable if name not in spec.own},
    }
    extended = replace(spec.program, relations=known)
    below: set[str] = set(known) - set(spec.own)
    for number, stratum in enumerate(spec.program.strata):
        rules = _deleted(stratum, spec, old, extended)
        above = replace(stratum, rules=rules)
        if rules and earlier_relations(above) <= below and _can_run(above, extended, spec):
            departed[number] = tuple(replace(rule, id=ids.take()) for rule in rules)
            missing |= {
                name: known[name] for name in earlier_relations(above) if name not in spec.program.relations
            }
        below |= set(stratum.relations)
    if not departed:
        return Extended(spec, ())
    inputs = tuple(Stratum((name,), (), (), is_recursive=False) for name in sorted(missing))
    numbers = {number + len(inputs): rules for number, rules in departed.items()}
    constants = codes_of_constants(
        [Stratum((), rules, (), is_recursive=False) for rules in departed.values()], codec
    )
    wider = replace(
        spec.program,
        relations={**spec.program.relations, **missing},
        strata=(*inputs, *spec.program.strata),
    )
    changed = replace(spec, program=wider, known={**spec.known, **constants}, departed=numbers)
    return Extended(changed, tuple(sorted(missing)))


def _deleted(
    stratum: Stratum, spec: GroupSpec, old: Sequence[PartnerGroup], program: Program
) -> tuple[Rule, ...]:
    """Return the rules that a stratum had and that can be taken back."""
    if spec.aggregates.keys() & set(stratum.relations) or program.law_of(stratum) is not None:
        return ()
    for before, group in _strata_of(old):
        if set(before.relations) == set(stratum.relations) <= set(group.spec.own):
            change = rule_change(before, group.program, stratum, program)
            return () if change is None else tuple(missing_rules(before.rules, stratum.rules))
    return ()


def _strata_of(groups: Sequence[PartnerGroup]) -> Iterator[tuple[Stratum, PartnerGroup]]:
    for group in groups:
        for stratum in group.program.strata:
            yield stratum, group


def _can_run(stratum: Stratum, program: Program, spec: GroupSpec) -> bool:
    """Say whether partners have the values and the functions that rules work on."""
    called = frozenset().union(*(functions_of(each, program) for each in spec.program.strata))
    needs_values = reason_for_values(stratum, program) is not None
    return functions_of(stratum, program) <= called and (spec.has_values or not needs_values)
