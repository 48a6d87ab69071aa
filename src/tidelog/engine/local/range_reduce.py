"""The step of an aggregate over a range, which asks a scan tree."""

import numpy as np

from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.range_trees import RangeTree, visible_rows
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.steps import SelectingStep
from tidelog.plan.operators import Layout, RangeScan, Reduce
from tidelog.storage.kernel import CodeArray


class RangeReduceStep(SelectingStep):
    """Binds a variable to an aggregate over the facts in each binding's range.

    The tree is made when bindings first arrive, and again if they see other facts.
    """

    def __init__(
        self, operator: Reduce, scan: RangeScan, layout: Layout, state: LocalState, expressions: Expressions
    ) -> None:
        super().__init__(operator, layout, state, expressions, (operator.variable,))
        self._relation = scan.relation
        self._has_empty_value = operator.aggregate.functor in ("count", "sum")
        self._tree = RangeTree(scan, operator.aggregate, expressions)
        self._seen: tuple[int, int, int] | None = None

    def run(self, batch: CodeArray) -> None:
        """Push each binding with its aggregate's value, if it has one."""
        state, name = self._state, self._relation
        seen = state.changes, state.relations[name].version, state.visible[name].end
        if self._seen != seen:
            self._tree.fill(visible_rows(name, state, self._expressions))
            self._seen = seen
        windows = self._tree.windows(self.columns(batch), batch.shape[0])
        counts, codes = self._tree.answers(windows)
        if self._has_empty_value:
            self.extend(batch, None, [codes])
            return
        has_value = counts > 0
        self.extend(batch, has_value, [np.where(has_value, codes, 0)])
