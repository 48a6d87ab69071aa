"""The heads of all derivations of a rule from the facts as they are."""

from dataclasses import replace

from tidelog.engine.local.chains import collect
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.plan.body import rule_body
from tidelog.plan.flatten import FlatRule
from tidelog.plan.operators import View
from tidelog.plan.order import best_chain
from tidelog.plan.statistics import Statistics
from tidelog.storage.kernel import CodeArray


def all_heads(
    rule: FlatRule, state: LocalState, expressions: Expressions, statistics: Statistics
) -> CodeArray:
    """Return the head of every derivation of a rule that has a body."""
    body = rule_body(rule, (View.FULL,) * len(rule.atoms), state.program, statistics)
    return collect(best_chain(replace(body, counting=True)).operators, state, expressions)
