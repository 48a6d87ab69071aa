"""Programs with every rule replaced, strata and relations kept as they are.

Strata never change here: when facts are found decides what choice-domains, subsumption and size
limits keep, so relations that were evaluated together stay together.
"""

from collections.abc import Callable
from dataclasses import replace

from tidelog.program.nodes import Program, Rule, Stratum, Subsumption

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
    rules = (change(rule) for rule in stratum.rules)
    subsumptions = (
        subsumption if change_subsumption is None else change_subsumption(subsumption)
        for subsumption in stratum.subsumptions
    )
    return replace(
        stratum,
        rules=tuple(rule for rule in rules if rule is not None),
        subsumptions=tuple(subsumption for subsumption in subsumptions if subsumption is not None),
    )
