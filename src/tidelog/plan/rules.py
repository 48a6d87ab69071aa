"""Programs with every rule replaced, strata and relations kept as they are.

Strata never change here: when facts are found decides what choice-domains, subsumption and size
limits keep, so relations that were evaluated together stay together.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from tidelog.program.nodes import Constant, Literal, Program, Rule, Stratum, Subsumption, Term
from tidelog.program.walk_nodes import walk

ChangeRule = Callable[[Rule], Rule | None]
ChangeSubsumption = Callable[[Subsumption], Subsumption | None]


def map_rules(
    program: Program, change: ChangeRule, change_subsumption: ChangeSubsumption | None = None
) -> Program:
    """Return the program with `change(rule)` for each rule; rules changed to None are gone."""
    strata = tuple(_map_stratum(stratum, change, change_subsumption) for stratum in program.strata)
    return replace(program, strata=strata)


def _map_stratum(
    stratum: Stratum, change: ChangeRule, change_subsumption: ChangeSubsumption | None
) -> Stratum:
    rules = (rule if is_plain_fact(rule) else change(rule) for rule in stratum.rules)
    subsumptions = (
        subsumption if change_subsumption is None else change_subsumption(subsumption)
        for subsumption in stratum.subsumptions
    )
    return replace(
        stratum,
        rules=tuple(rule for rule in rules if rule is not None),
        subsumptions=tuple(subsumption for subsumption in subsumptions if subsumption is not None),
    )


def has_part(literals: Iterable[Literal], kinds: tuple[type[Term], ...]) -> bool:
    """Say whether a term of these kinds stands in the literals, not counting insides of aggregates.

    Most rules of a large program hold nothing for a pass to do; asking is quicker than copying them.
    """
    return any(isinstance(part, kinds) for part in walk(literals, into_aggregates=False))


def is_plain_fact(rule: Rule) -> bool:
    """Say whether a rule is a fact of constants, of which there may be very many."""
    return not rule.body and all(isinstance(term, Constant) for term in rule.head.terms)
