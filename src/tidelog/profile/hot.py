"""Where the time of a profile went: the operators that cost most, and the rules that waste bindings."""

from collections.abc import Iterator
from typing import NamedTuple

from tidelog.engine.profile.record import (
    ChainProfile,
    OperatorProfile,
    RuleProfile,
    StratumProfile,
    is_wasteful,
)
from tidelog.profile.profile import Profile


class HotOperator(NamedTuple):
    """An operator with the rule and the stratum that it is part of."""

    stratum: StratumProfile
    rule: RuleProfile
    chain: ChainProfile
    operator: OperatorProfile

    @property
    def seconds(self) -> float:
        """Return the operator's own seconds."""
        return self.operator.seconds or 0.0


def all_operators(profile: Profile) -> Iterator[HotOperator]:
    """Yield the operators of all rules."""
    for stratum in profile.strata:
        yield from operators_of(stratum)


def operators_of(stratum: StratumProfile) -> Iterator[HotOperator]:
    """Yield the operators of the rules of a stratum."""
    for rule in stratum.rules:
        for chain in rule.chains:
            for operator in chain.operators:
                yield HotOperator(stratum, rule, chain, operator)


def most_expensive(profile: Profile, count: int = 5) -> list[HotOperator]:
    """Return the operators that took most seconds."""
    return sorted(all_operators(profile), key=lambda each: -each.seconds)[:count]


def wasteful_rules(profile: Profile) -> list[RuleProfile]:
    """Return the delta rules that waste bindings, those with most first."""
    found = [rule for _, rule in profile.rules() if is_wasteful(rule.total)]
    return sorted(found, key=lambda rule: rule.total.derivations - rule.total.bindings)


def place_of(rule: RuleProfile) -> str:
    """Return where a rule stands: `galen.dl:16`."""
    return f"{rule.source.rpartition('/')[2]}:{rule.line}"


def delta_of(rule: RuleProfile) -> str:
    """Return which atom reads the delta: `δ2`, nothing for a rule without."""
    return "" if rule.delta_atom is None else f"δ{rule.delta_atom}"
