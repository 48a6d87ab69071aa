"""Replaces every rule of a program and keeps its strata and relations.

Strata never change here: what choice-domains, subsumption and size limits keep depends on when facts are
found, so relations that were evaluated together stay together.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from tidelog.program.nodes import Constant, Literal, Program, Rule, Subsumption, Term
from tidelog.program.walk_nodes import ChangeTerm, map_literal, walk
from tidelog.values import NoValueError

AnyRule = TypeVar("AnyRule", Rule, Subsumption)


def map_rules(
    program: Program, change: Callable[[Rule], Rule], change_subsumption: Callable[[Subsumption], Subsumption]
) -> Program:
    """Return the program with `change(rule)` for each rule that is not a plain fact.

    A rule whose change raises `NoValueError` never holds, and is left out.
    """

    def changed(rule: Rule) -> Rule:
        return rule if is_plain_fact(rule) else change(rule)

    strata = (
        replace(
            stratum,
            rules=tuple(_holding(stratum.rules, changed)),
            subsumptions=tuple(_holding(stratum.subsumptions, change_subsumption)),
        )
        for stratum in program.strata
    )
    return replace(program, strata=tuple(strata))


def _holding(rules: Iterable[AnyRule], change: Callable[[AnyRule], AnyRule]) -> Iterator[AnyRule]:
    for rule in rules:
        try:
            yield change(rule)
        except NoValueError:
            continue


def map_body(body: Iterable[Literal], change: ChangeTerm) -> tuple[Literal, ...]:
    """Return the literals with every term directly in them replaced by `change(term)`."""
    return tuple(map_literal(literal, change) for literal in body)


def has_part(literals: Iterable[Literal], kinds: tuple[type[Term], ...]) -> bool:
    """Say whether a term of these kinds is in the literals, not counting insides of aggregates.

    Most rules of a large program have nothing for a pass to do; checking is quicker than copying them.
    """
    return any(isinstance(part, kinds) for part in walk(literals, into_aggregates=False))


def is_plain_fact(rule: Rule) -> bool:
    """Say whether a rule is a fact of constants, of which there may be very many."""
    return not rule.body and all(isinstance(term, Constant) for term in rule.head.terms)
