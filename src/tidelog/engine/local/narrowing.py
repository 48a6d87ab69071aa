"""Values of lattices narrowed to what the rules make of them, once a stratum has reached its fixpoint."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tidelog.engine.convergence import check_convergence
from tidelog.engine.local.all_heads import all_heads
from tidelog.engine.local.settle import Settler
from tidelog.engine.local.written_facts import written_facts
from tidelog.plan.flatten import flatten_rule
from tidelog.program.nodes import Stratum

if TYPE_CHECKING:
    from tidelog.engine.local.runnable_rules import RunContext

Rows = npt.NDArray[np.int64]


def narrow_values(
    stratum: Stratum,
    settlers: Mapping[str, Settler],
    inputs: Mapping[str, Rows],
    context: "RunContext",
    finish: Callable[[int, Mapping[str, int]], object],
) -> None:
    """Narrow all values, again and again, until none changes.

    `inputs` are the input facts of the relations with a law. `finish` gets the number of each iteration, and
    how many rows the relations had before it.
    """
    state, is_changed, iteration = context.state, True, 0
    while is_changed:
        iteration += 1
        check_convergence(iteration, stratum, state.program, context.settings, 0)
        before = {name: state.relations[name].count for name in stratum.relations}
        found = {name: [inputs[name]] for name in settlers}
        for name, rows in written_facts(stratum.rules, context.expressions).items():
            if name in found:
                found[name].append(rows)
        for rule in stratum.rules:
            if rule.body and rule.head.relation in found:
                flat = flatten_rule(rule, state.program)
                heads = all_heads(flat, state, context.expressions, context.statistics)
                found[rule.head.relation].append(heads.astype(np.int64))
        changes = [settlers[name].narrow(np.concatenate(rows)) for name, rows in found.items()]
        is_changed = any(changes)
        finish(iteration, before)
