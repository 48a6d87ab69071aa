"""Delta rules that begin with the distinct keys of the delta, not with its facts.

In

    p(x, z) :- p(y, w), u(w, r, z), q(x, r, y).

new facts of q with the same r and y differ in x, which nothing but the head reads. The joins with p and u are
the same for all of them: they are made once for each r and y, and then every x is joined back.

In

    p(x, z) :- p(x, y), p(y, z).

there is nothing to set aside, but it helps to take the new facts of one x together: most of the candidates
p(x, z) are facts already, and what is known of one x fits the cache.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from tidelog.plan.layouts import variables_read, with_layouts
from tidelog.plan.operators import (
    Check,
    Choose,
    IndexJoin,
    Operand,
    Operator,
    RulePlan,
    ScanView,
    StratumPlan,
    View,
    all_operators,
)


def with_keyed_chains(plan: StratumPlan) -> StratumPlan:
    """Return a stratum's plan with chains that begin with keys, where joins need an index by them."""
    chains = (each.operators for each in (*plan.once, *plan.repeated))
    joins = (x for operators in chains for x in all_operators(operators) if isinstance(x, IndexJoin))
    indexes = {(join.relation, join.key) for join in joins if join.ordered is None}

    def keyed(rule: RulePlan) -> tuple[Operator, ...]:
        operators = _keyed(rule.operators)
        scan = operators[0] if operators else None
        return operators if isinstance(scan, ScanView) and (scan.relation, scan.key) in indexes else ()

    return replace(plan, repeated=tuple(replace(rule, keyed=keyed(rule)) for rule in plan.repeated))


def _keyed(operators: Sequence[Operator]) -> tuple[Operator, ...]:
    """Return a chain that yields the same from the keys of the delta, or none if there is none."""
    scan, *rest = operators
    if not isinstance(scan, ScanView) or scan.view is not View.DELTA or scan.filters or not rest:
        return ()
    names = [name for _, name in scan.binds]
    if len(set(names)) < len(names) or not all(
        isinstance(operator, IndexJoin | Check | Choose) for operator in all_operators(rest)
    ):
        return ()
    last = rest[-1]
    outputs = last.outputs
    is_longer = isinstance(last, Choose) or len(rest) > 1
    read = set(chain.from_iterable(variables_read(operator) for operator in all_operators(rest)))
    late = [name for name in names if name not in read and name in outputs]
    if is_longer and late:
        return _setting_aside(scan, rest, [name for name in names if name in read], outputs)
    if isinstance(last, IndexJoin) and last.key and last.ordered is None and not is_longer:
        return _grouping(scan, last, [name for name in names if name in outputs])
    return ()


def _setting_aside(
    scan: ScanView, rest: Sequence[Operator], names: Sequence[str], outputs: tuple[Operand, ...]
) -> tuple[Operator, ...]:
    """Return a chain from the columns with these names, which joins the others back at the end."""
    keys, back = _split(scan, names)
    if not names or not back.binds:
        return ()
    last = rest[-1]
    if not isinstance(last, Choose):
        return with_layouts((keys, *rest, back), outputs, counting=False)
    chains = [
        with_layouts((keys, *rest[:-1], *alternative, back), outputs, counting=False)
        for alternative in last.alternatives
    ]
    begin = len(rest)
    if any(len(each) <= begin or each[:begin] != chains[0][:begin] for each in chains):
        return ()
    return (*chains[0][:begin], Choose(tuple(each[begin:] for each in chains), outputs))


def _grouping(scan: ScanView, join: IndexJoin, names: Sequence[str]) -> tuple[Operator, ...]:
    """Return a chain in which the facts of the delta that have the same columns of the head come together."""
    keys, back = _split(scan, names)
    if not names or not back.binds or set(names).issuperset(join.outputs):
        return ()
    return with_layouts((keys, back, join), join.outputs, counting=False)


def _split(scan: ScanView, names: Iterable[str]) -> tuple[ScanView, IndexJoin]:
    """Return a scan that binds these columns, and a join that binds the others."""
    binds = tuple(sorted(pair for pair in scan.binds if pair[1] in set(names)))
    key = tuple(column for column, _ in binds)
    others = tuple(pair for pair in scan.binds if pair not in binds)
    operands = tuple(name for _, name in binds)
    keys = ScanView(scan.relation, scan.view, binds, (), (), key)
    return keys, IndexJoin(scan.relation, scan.view, key, operands, others, (), ())
