"""Plans of a stratum's rules as partners run them: they divide what is scanned first."""

from collections.abc import Mapping
from dataclasses import replace

from tidelog.engine.spark.kernels import WHOLE_ROW
from tidelog.engine.spark.routes import Routes
from tidelog.plan import RulePlan, plan_stratum
from tidelog.plan.body import rule_body
from tidelog.plan.flatten import flatten_rule, is_fact
from tidelog.plan.operators import ScanView, View
from tidelog.plan.order import best_chain
from tidelog.plan.statistics import Statistics
from tidelog.plan.stratum import rule_plan
from tidelog.program.nodes import Atom, Program, Rule, Stratum


def plan_repeated(
    stratum: Stratum, program: Program, statistics: Statistics, *, counting: bool
) -> tuple[RulePlan, ...]:
    """Return the delta rules, each of which scans its delta first."""
    reading = [rule for rule in stratum.rules if reads_stratum(rule, stratum)]
    part = replace(stratum, rules=tuple(replace(rule, plan=()) for rule in reading))
    return plan_stratum(part, program, statistics, counting=counting, scans_delta=True).repeated


def plan_once(
    stratum: Stratum, program: Program, statistics: Statistics, routes: Routes, *, counting: bool
) -> tuple[tuple[RulePlan, int, int | None], ...]:
    """Return the rules that only read earlier strata, with the column and the place of what is scanned first.

    That is the largest of the relations that the rule's route divides. Without a route it is the largest
    of all, which every partner has and knows the size of, and the whole row decides. Where derivations are
    counted and values are spread it is the first one: its rows are scanned by one partner each.
    """
    begins_first = counting and bool(routes.heavy)

    def scanned(rule: Rule) -> Mapping[int, int]:
        columns = routes.rules[rule.id].columns
        return dict([min(columns.items())]) if begins_first and columns else columns

    return tuple(
        _plan_rule(rule, program, statistics, scanned(rule), counting=counting)
        for rule in stratum.rules
        if not is_fact(rule) and not reads_stratum(rule, stratum)
    )


def reads_stratum(rule: Rule, stratum: Stratum) -> bool:
    """Say whether a rule reads what its own stratum derives."""
    return any(isinstance(x, Atom) and x.relation in stratum.relations for x in rule.body)


def _plan_rule(
    rule: Rule, program: Program, statistics: Statistics, columns: Mapping[int, int], *, counting: bool
) -> tuple[RulePlan, int, int | None]:
    flat = flatten_rule(rule, program)
    numbers = range(len(flat.atoms))
    sizes = {place: statistics.size(flat.atoms[place].relation) or 0 for place in columns or numbers}
    first = max(sizes, key=sizes.__getitem__, default=None)
    views = tuple(View.DELTA if number == first else View.FULL for number in numbers)
    body = rule_body(flat, views, program, statistics)
    chain = best_chain(replace(body, counting=counting, scans_delta=True))
    beginning = chain.operators[0]
    if isinstance(beginning, ScanView):
        beginning = replace(beginning, view=View.FULL)
    plan = rule_plan(flat, None, replace(chain, operators=(beginning, *chain.operators[1:])))
    return plan, WHOLE_ROW if first is None else columns.get(first, WHOLE_ROW), first
