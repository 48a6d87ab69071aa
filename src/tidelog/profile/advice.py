"""What would make a run faster, where a profile leaves no doubt: it names what was measured."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tidelog.engine.profile.record import RuleProfile, StratumProfile
from tidelog.plan.dead import wanted_relations
from tidelog.plan.magic import restricted_relations
from tidelog.profile.hot import all_operators, operators_of
from tidelog.profile.profile import Advice, Profile
from tidelog.program.nodes import Program

# Less than this share of the evaluation is not worth anybody's time.
_LEAST_SHARE: Final = 0.05
# A join without a key is told of if it yields so many bindings, and a part of them that small is kept.
_MANY_BINDINGS: Final = 1_000_000
_KEPT_PART: Final = 0.1
# An index is told of if so few of its facts are looked up, a restriction if so few facts are asked for.
_FEW_LOOKUPS: Final = 0.01
_ASKED_PART: Final = 0.1


def advise(profile: Profile, program: Program, *, may_restrict: bool) -> list[Advice]:
    """Return advice on what takes a share of the evaluation that matters, the most expensive first.

    Relations are restricted to what is asked for in a single run only: a session can be asked for anything.
    """
    found = [*_orders(profile), *_cross_products(profile), *_indexes(profile)]
    if may_restrict:
        found += _restrictions(profile, program)
    least = _LEAST_SHARE * profile.evaluation_seconds
    return [advice for seconds, advice in sorted(found, key=lambda each: -each[0]) if seconds >= least]


def _orders(profile: Profile) -> Iterator[tuple[float, Advice]]:
    """Yield the rules for which another order of atoms is expected to make far fewer bindings."""
    for _, rule in profile.rules():
        cheaper = rule.cheaper
        if cheaper is None:
            continue
        total = rule.total
        message = f"{_name(rule)} makes {total.bindings:,} bindings for {total.derivations:,} derivations"
        if cheaper.plan is None:
            hint = "leave out its `.plan`: each binding is joined next where it matches the fewest facts"
        else:
            each = f"{cheaper.measured:,.1f} for each fact of the delta"
            message += f": {each}, where {cheaper.expected:,.1f} are enough"
            asked = "its `.plan` asks for that order: leave it out, or " if rule.is_fixed else ""
            hint = f"{asked}write `{cheaper.plan}`{'' if rule.is_fixed else ' below the rule'}"
        yield total.seconds, Advice("atom-order", message, hint, rule.source, rule.line)


def _cross_products(profile: Profile) -> Iterator[tuple[float, Advice]]:
    """Yield the rules that pair atoms without a common variable, and drop most of the pairs."""
    for each in all_operators(profile):
        rule, operator = each.rule, each.operator
        if operator.kind != "join" or operator.key or operator.rows_in < 2:
            continue
        pairs, kept = operator.rows_out, each.chain.operators[-1].rows_in
        if pairs >= _MANY_BINDINGS and kept < _KEPT_PART * pairs:
            message = (
                f"{_name(rule)} pairs {operator.rows_in:,} bindings with all facts of "
                f"`{operator.relation}`: {pairs:,} pairs, of which {kept:,} are kept"
            )
            hint = f"bind a column of `{operator.relation}` by a variable that another atom has"
            yield rule.total.seconds, Advice("cross-product", message, hint, rule.source, rule.line)


def _indexes(profile: Profile) -> Iterator[tuple[float, Advice]]:
    """Yield the indexes that were built for next to nothing."""
    for stratum in profile.strata:
        for index in stratum.indexes:
            users = list(_users(stratum, index.relation, index.key))
            lookups = sum(rows for _, rows in users)
            if not users or lookups >= _FEW_LOOKUPS * index.rows:
                continue
            rule = max(users, key=lambda each: each[1])[0]
            message = (
                f"the index of `{index.relation}` by {', '.join(index.key)} took {index.seconds:.2f} s and "
                f"{index.memory_bytes / 2**20:,.0f} MiB for {index.rows:,} facts; {_name(rule)} looks up "
                f"{lookups:,} in it"
            )
            hint = "fix another order of its atoms with `.plan`, one that joins this atom by other columns"
            yield index.seconds, Advice("costly-index", message, hint, rule.source, rule.line)


def _users(stratum: StratumProfile, relation: str, key: list[str]) -> Iterator[tuple[RuleProfile, int]]:
    for each in operators_of(stratum):
        if each.operator.relation == relation and each.operator.key == key:
            yield each.rule, each.operator.rows_in


def _restrictions(profile: Profile, program: Program) -> Iterator[tuple[float, Advice]]:
    """Yield the relations of which readers ask for few facts, and which `magic` would restrict."""
    wanted = wanted_relations(program)
    for stratum in profile.strata:
        if len(stratum.relations) > 1 or stratum.relations[0] not in program.relations:
            continue
        (name,) = stratum.relations
        relation = program.relations[name]
        size = profile.relations.get(name, 0)
        if not stratum.rules or name in wanted or not size:
            continue
        marked = replace(relation, qualifiers=(*relation.qualifiers, "magic"))
        asked = replace(program, relations={**program.relations, name: marked})
        if "magic" in relation.qualifiers or name not in restricted_relations(asked, wanted):
            continue
        taken = _taken_from(profile, stratum, name)
        if taken is not None and taken < _ASKED_PART * size:
            message = (
                f"`{name}` has {size:,} facts, which took {stratum.seconds:.2f} s; "
                f"the rules that read it find {taken:,} of them"
            )
            hint = f"declare it `magic`, and a run derives only what is asked for: `.decl {name}(...) magic`"
            rule = stratum.rules[0]
            yield stratum.seconds, Advice("restrict", message, hint, rule.source, rule.line)


def _taken_from(profile: Profile, own: StratumProfile, name: str) -> int | None:
    """Return how many facts of a relation later strata found by a key, None if they read all of it."""
    taken = 0
    for each in all_operators(profile):
        operator = each.operator
        if each.stratum is own or operator.relation != name or operator.kind == "insert":
            continue
        if operator.kind == "scan" and operator.rows_out >= profile.relations[name]:
            return None
        taken += operator.rows_out
    return taken


def _name(rule: RuleProfile) -> str:
    atom = "" if rule.delta_atom is None else f" (delta of atom {rule.delta_atom})"
    return f"`{rule.text}`{atom}"
