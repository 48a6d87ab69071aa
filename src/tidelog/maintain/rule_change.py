"""What a change of rules does to a stratum whose relations stay."""

from collections import Counter
from collections.abc import Collection, Sequence

from tidelog.dataclass import dataclass
from tidelog.plan.flatten import FlatRule, flatten_rule
from tidelog.plan.maintenance import reason_to_recompute
from tidelog.program.nodes import Program, Rule, Stratum
from tidelog.program.walk_nodes import earlier_relations


@dataclass(frozen=True)
class RuleChange:
    """The rules that a stratum no longer has, and those that are new to it."""

    deleted: tuple[FlatRule, ...]
    inserted: tuple[FlatRule, ...]

    def relations_read_before(self, stratum: Collection[str]) -> frozenset[str]:
        """Return the relations of earlier strata that the deleted rules read."""
        read = {literal.relation for rule in self.deleted for literal in rule.literals}
        return frozenset(read.difference(stratum))

    def kept(self, rules: Sequence[FlatRule]) -> Sequence[FlatRule]:
        """Return those of the rules of the new epoch that the old one had too."""
        inserted = {rule.id for rule in self.inserted}
        return [rule for rule in rules if rule.id not in inserted] if inserted else rules

    def __str__(self) -> str:
        counts = ((len(self.inserted), "inserted"), (len(self.deleted), "deleted"))
        return " and ".join(f"{count} of its rules {word}" for count, word in counts if count)


NO_RULE_CHANGE = RuleChange((), ())


def rule_change(
    old: Stratum | None, old_program: Program, new: Stratum, new_program: Program
) -> RuleChange | None:
    """Return how the rules of a stratum differ, or None if it can only be evaluated from scratch.

    Every inserted or deleted rule needs a positive atom: its derivations are enumerated from there.
    """
    if old is None or old.subsumptions or new.subsumptions:
        return None
    if any(old_program.relations.get(name) != new_program.relations[name] for name in new.relations):
        return None
    if any(_is_other(name, old_program, new_program) for name in earlier_relations(old)):
        return None
    if reason_to_recompute(old, old_program) or reason_to_recompute(new, new_program):
        return None
    change = RuleChange(
        tuple(flatten_rule(rule, old_program) for rule in missing_rules(old.rules, new.rules)),
        tuple(flatten_rule(rule, new_program) for rule in missing_rules(new.rules, old.rules)),
    )
    for rule in (*change.deleted, *change.inserted):
        if not rule.literals or rule.literals[0].is_negated:
            return None
        if any(literal.relation not in new_program.relations for literal in rule.literals):
            return None
    return change


def stratum_content(stratum: Stratum, program: Program) -> tuple[object, ...]:
    """Return what strata that derive the same have in common: declarations, and rules without ids."""
    return (
        frozenset(program.relations[name] for name in stratum.relations),
        # A relation with other columns is another one, without the facts of before.
        frozenset((name, program.relations[name].columns) for name in earlier_relations(stratum)),
        frozenset(Counter((rule.head, rule.body) for rule in stratum.rules).items()),
        frozenset((rule.less, rule.greater, rule.body) for rule in stratum.subsumptions),
    )


def is_declared_alike(name: str, old: Program, new: Program) -> bool:
    """Say whether a relation of the second program is in the first one, with the same columns."""
    known = old.relations.get(name)
    return known is not None and known.columns == new.relations[name].columns


def _is_other(name: str, old: Program, new: Program) -> bool:
    """Say whether a relation of two programs has other columns in the second one."""
    return name in new.relations and old.relations[name].columns != new.relations[name].columns


def missing_rules(rules: tuple[Rule, ...], others: tuple[Rule, ...]) -> list[Rule]:
    """Return the rules that the others do not have, whatever their ids."""
    known = Counter((rule.head, rule.body) for rule in others)
    missing = []
    for rule in rules:
        if known[rule.head, rule.body]:
            known[rule.head, rule.body] -= 1
        else:
            missing.append(rule)
    return missing
