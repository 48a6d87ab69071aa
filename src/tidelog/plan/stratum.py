"""From the rules of a stratum to plans."""

from collections.abc import Iterator

from tidelog.plan.body import Body
from tidelog.plan.flatten import flatten_rule, is_fact
from tidelog.plan.operators import Layout, RulePlan, StratumPlan, View
from tidelog.plan.order import best_chain
from tidelog.plan.own_aggregates import own_deltas
from tidelog.plan.statistics import Statistics
from tidelog.program.nodes import Atom, Constant, Program, Rule, Stratum, Variable


def plan_stratum(
    stratum: Stratum,
    program: Program,
    statistics: Statistics,
    *,
    counting: bool = False,
    scans_delta: bool = False,
) -> StratumPlan:
    """Return the plans of the stratum's rules, facts excepted.

    A rule with n atoms of the stratum gives n delta rules: atoms of the stratum before the one
    that reads the delta see the old facts, those after it all facts, so that every derivation is
    found exactly once:

        path(x, z) :- path(x, y), path(y, z).

        path(x, z) :- delta path(x, y), full path(y, z).
        path(x, z) :- old path(x, y), delta path(y, z).
    """
    once: list[RulePlan] = []
    repeated: list[RulePlan] = []
    for rule in stratum.rules:
        if is_fact(rule):
            continue
        for plan in _plan_rule(
            rule, stratum, program, statistics, counting=counting, scans_delta=scans_delta
        ):
            (once if plan.delta_atom is None else repeated).append(plan)
    return StratumPlan(stratum.relations, tuple(once), tuple(repeated))


def _plan_rule(  # noqa: PLR0913 - a rule, where it stands, and how it is to be planned
    rule: Rule,
    stratum: Stratum,
    program: Program,
    statistics: Statistics,
    *,
    counting: bool,
    scans_delta: bool,
) -> Iterator[RulePlan]:
    flat = flatten_rule(rule, program)
    atoms = [literal for literal in flat.body if isinstance(literal, Atom)]
    inside = [number for number, atom in enumerate(atoms) if atom.relation in stratum.relations]
    orders = dict(rule.plan)
    outputs: Layout = tuple(
        term.name if isinstance(term, Variable) else term
        for term in flat.head.terms
        if isinstance(term, Variable | Constant)
    )
    assert len(outputs) == len(flat.head.terms)
    for number, delta in enumerate(inside or [None]):
        views = tuple(_view(atom, delta, inside) for atom in range(len(atoms)))
        growing = frozenset(stratum.relations) if stratum.is_recursive else frozenset()
        body = Body(
            flat.body, views, outputs, program, statistics, counting=counting, growing=growing,
            head=rule.head.relation, is_leapfrog=rule.is_leapfrog, scans_delta=scans_delta,
        )  # fmt: skip
        # A `.plan` counts delta rules from 0 and atoms from 1.
        fixed = orders.get(number)
        order = None if fixed is None else tuple(atom - 1 for atom in fixed)
        chain = best_chain(body, order)
        yield RulePlan(
            rule.id, rule.head.relation, delta, chain.operators, chain.cost, rule.span, chain.reason
        )  # fmt: skip
    for own in own_deltas(flat, stratum) if stratum.is_recursive else ():
        body = Body(
            own.literals, own.views, outputs, program, statistics, growing=frozenset(stratum.relations)
        )
        chain = best_chain(body)
        yield RulePlan(
            rule.id, rule.head.relation, own.delta, chain.operators, chain.cost, rule.span, chain.reason
        )  # fmt: skip


def _view(atom: int, delta: int | None, inside: list[int]) -> View:
    if delta is None or atom not in inside or atom > delta:
        return View.FULL
    return View.DELTA if atom == delta else View.OLD
