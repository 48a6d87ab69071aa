"""Plans of a stratum's rules as partners run them: what is scanned first is what they divide."""

from collections.abc import Mapping
from dataclasses import replace

from tidelog.engine.spark.kernels import WHOLE_ROW
from tidelog.engine.spark.routes import Routes
from tidelog.plan import RulePlan, plan_stratum
from tidelog.plan.body import Body
from tidelog.plan.flatten import flatten_rule, is_fact
from tidelog.plan.operators import Scan, View
from tidelog.plan.order import best_chain
from tidelog.plan.statistics import Statistics
from tidelog.program.nodes import Atom, Constant, Program, Rule, Stratum, Variable


def plan_repeated(
    stratum: Stratum, program: Program, statistics: Statistics, *, counting: bool
) -> tuple[RulePlan, ...]:
    """Return the delta rules, each of which scans its delta first."""
    reading = [rule for rule in stratum.rules if reads_stratum(rule, stratum)]
    part = replace(stratum, rules=tuple(replace(rule, plan=()) for rule in reading))
    return plan_stratum(part, program, statistics, counting=counting, scans_delta=True).repeated


def plan_once(
    stratum: Stratum, program: Program, statistics: Statistics, routes: Routes, *, counting: bool
) -> tuple[tuple[RulePlan, int], ...]:
    """Return the rules that read earlier strata alone, with the column that divides what is scanned first.

    That is the largest relation of those that the rule's route divides. Without a route it is the
    largest of all, which every partner holds and knows the size of, and the whole row decides.
    """
    return tuple(
        _plan_rule(rule, program, statistics, routes.rules[rule.id].columns, counting=counting)
        for rule in stratum.rules
        if not is_fact(rule) and not reads_stratum(rule, stratum)
    )


def reads_stratum(rule: Rule, stratum: Stratum) -> bool:
    """Say whether a rule reads what its own stratum derives."""
    return any(isinstance(x, Atom) and x.relation in stratum.relations for x in rule.body)


def _plan_rule(
    rule: Rule, program: Program, statistics: Statistics, columns: Mapping[int, int], *, counting: bool
) -> tuple[RulePlan, int]:
    flat = flatten_rule(rule, program)
    atoms = [literal for literal in flat.body if isinstance(literal, Atom)]
    sizes = {place: statistics.size(atoms[place].relation) or 0 for place in columns or range(len(atoms))}
    first = max(sizes, key=sizes.__getitem__, default=None)
    views = tuple(View.DELTA if number == first else View.FULL for number in range(len(atoms)))
    outputs = tuple(
        term.name if isinstance(term, Variable) else term
        for term in flat.head.terms
        if isinstance(term, Variable | Constant)
    )
    chain = best_chain(
        Body(
            flat.body, views, outputs, program, statistics, counting=counting, head=rule.head.relation,
            is_leapfrog=rule.is_leapfrog, scans_delta=True,
        )
    )  # fmt: skip
    beginning = chain.operators[0]
    if isinstance(beginning, Scan):
        beginning = replace(beginning, view=View.FULL)
    operators = (beginning, *chain.operators[1:])
    plan = RulePlan(rule.id, rule.head.relation, None, operators, chain.cost, rule.span)
    return plan, WHOLE_ROW if first is None else columns.get(first, WHOLE_ROW)
