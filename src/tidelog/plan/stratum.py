"""From the rules of a stratum to plans."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from typing import NamedTuple

from tidelog.dataclass import dataclass
from tidelog.plan.body import Body, OperatorChain, rule_body
from tidelog.plan.chain import build_chain
from tidelog.plan.flatten import FlatRule, flatten_rule, is_fact
from tidelog.plan.keyed import with_keyed_chains
from tidelog.plan.levels import with_levels
from tidelog.plan.operators import Choose, RulePlan, StratumPlan, View
from tidelog.plan.order import best_chain, best_choosing_chain
from tidelog.plan.own_rules import own_deltas
from tidelog.plan.search import EXHAUSTIVE_ATOMS
from tidelog.plan.statistics import Statistics
from tidelog.program.nodes import Program, Rule, Stratum


def plan_stratum(
    stratum: Stratum,
    program: Program,
    statistics: Statistics,
    *,
    counting: bool = False,
    scans_delta: bool = False,
) -> StratumPlan:
    """Return the plans of the stratum's rules, except facts.

    A rule with n atoms of the stratum becomes n delta rules: atoms of the stratum before the one
    that reads the delta see the old facts, those after it all facts, so that every derivation is
    found exactly once:

        path(x, z) :- path(x, y), path(y, z).

        path(x, z) :- delta path(x, y), full path(y, z).
        path(x, z) :- old path(x, y), delta path(y, z).
    """
    planner = _Planner(stratum, program, statistics, counting, scans_delta)
    plans = [plan for rule in stratum.rules if not is_fact(rule) for plan in planner.plans(rule)]
    return StratumPlan(
        stratum.relations,
        tuple(plan for plan in plans if plan.delta_atom is None),
        tuple(plan for plan in plans if plan.delta_atom is not None),
    )


def for_evaluation(plan: StratumPlan, stratum: Stratum, statistics: Statistics) -> StratumPlan:
    """Return a plan as it is run by evaluation that only adds facts and does not count derivations."""
    return plan if stratum.subsumptions else with_levels(with_keyed_chains(plan), statistics)


class FixedOrder(NamedTuple):
    """An order of atoms as `.plan` has it, and the bindings that it is expected to touch."""

    text: str
    bindings: float


def cheapest_order(
    rule: Rule, delta: int, stratum: Stratum, program: Program, statistics: Statistics
) -> FixedOrder | None:
    """Return the order in which a delta rule is expected to do least, None if there are too many to try.

    It is expected of relations as they are now, whatever the rule's `.plan` says.
    """
    flat = flatten_rule(rule, program)
    inside = [number for number, atom in enumerate(flat.atoms) if atom.relation in stratum.relations]
    if delta not in inside or len(flat.atoms) > EXHAUSTIVE_ATOMS:
        return None
    views = tuple(_view(atom, delta, inside) for atom in range(len(flat.atoms)))
    body = replace(rule_body(flat, views, program, statistics), rule=flat.id)
    others = [atom for atom in range(len(flat.atoms)) if atom != delta]
    chains = {order: build_chain(body, (delta, *order), best_chain) for order in permutations(others)}
    best = min(chains, key=lambda order: chains[order].work)
    atoms = ", ".join(str(atom + 1) for atom in (delta, *best))
    return FixedOrder(f".plan {inside.index(delta)}: ({atoms})", chains[best].cost)


def chooses_by_itself(
    rule: Rule, delta: int, stratum: Stratum, program: Program, statistics: Statistics
) -> bool:
    """Say whether a delta rule, without its `.plan`, lets every binding choose what it is joined with."""
    planned = plan_stratum(replace(stratum, rules=(replace(rule, plan=()),)), program, statistics)
    return any(
        isinstance(plan.operators[-1], Choose) for plan in planned.repeated if plan.delta_atom == delta
    )


@dataclass(frozen=True, slots=True)
class _Planner:
    """Plans the rules of one stratum."""

    stratum: Stratum
    program: Program
    statistics: Statistics
    counting: bool
    scans_delta: bool

    def plans(self, rule: Rule) -> Iterator[RulePlan]:
        """Yield the plans of a rule's delta rules, or of the rule if it only reads earlier strata."""
        stratum, counting, scans_delta = self.stratum, self.counting, self.scans_delta
        flat = flatten_rule(rule, self.program)
        inside = [number for number, atom in enumerate(flat.atoms) if atom.relation in stratum.relations]
        growing = frozenset(stratum.relations) if stratum.is_recursive else frozenset()
        orders = dict(rule.plan)
        for number, delta in enumerate(inside or [None]):
            views = tuple(_view(atom, delta, inside) for atom in range(len(flat.atoms)))
            body = rule_body(flat, views, self.program, self.statistics)
            body = replace(body, counting=counting, growing=growing, scans_delta=scans_delta, rule=flat.id)
            # A `.plan` counts delta rules from 0 and atoms from 1.
            fixed = orders.get(number)
            if fixed is not None:
                chain = best_chain(body, tuple(atom - 1 for atom in fixed))
            else:
                chain = best_choosing_chain(body)
            yield rule_plan(flat, delta, chain)
        for own, delta in own_deltas(flat, stratum) if stratum.is_recursive else ():
            views = tuple(View.DELTA if atom == delta else View.FULL for atom in range(len(own.atoms)))
            body = Body(own.body, views, own.outputs, self.program, self.statistics, growing=growing)
            yield rule_plan(flat, delta, best_chain(body))


def rule_plan(rule: FlatRule, delta: int | None, chain: OperatorChain) -> RulePlan:
    """Return a chain as the plan of a rule."""
    return RulePlan(
        rule.id,
        rule.relation,
        delta,
        chain.operators,
        chain.cost,
        rule.span,
        chain.reason,
        is_distinct=rule.is_distinct,
    )


def _view(atom: int, delta: int | None, inside: list[int]) -> View:
    if delta is None or atom not in inside or atom > delta:
        return View.FULL
    return View.DELTA if atom == delta else View.OLD
