"""The scan of the distinct keys of a delta."""

import numpy as np

from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.steps import ScanStep
from tidelog.plan.operators import ScanView
from tidelog.storage.kernel import Int64s

# A delta of fewer facts is scanned fact by fact.
_LEAST_FACTS = 1 << 10
# So many facts must share a key, on average, for scanning keys to pay.
_FACTS_PER_KEY = 2

_NO_GROUPS: Int64s = np.empty(0, np.int64)


class KeyScanStep(ScanStep):
    """The first operator of a chain that begins with keys: the groups that the delta has touched."""

    def __init__(self, scan: ScanView, state: LocalState, expressions: Expressions) -> None:
        super().__init__(scan, state, expressions)
        self._by = scan.key
        names = [name for _, name in scan.binds]
        self._places = [names.index(str(operand)) for operand in scan.outputs]
        self._relation.index(scan.key, self.visible.delta).touched_groups()

    def pays(self) -> bool:
        """Say whether the keys of the delta are known, and far fewer than its facts."""
        if self.facts() < _LEAST_FACTS:
            return False
        groups = self._relation.indexes[self._by].touched_groups()
        return groups is not None and _FACTS_PER_KEY * len(groups) <= self.facts()

    def facts(self) -> int:
        """Return how many facts the keys stand for."""
        return self.visible.end - self.visible.delta

    def rows(self) -> tuple[int, int]:
        """Return the first key of the delta, and the end of them."""
        return 0, len(self._groups())

    def run(self, first: int, last: int) -> None:
        """Push the keys numbered `first` to `last - 1`."""
        keys = self._relation.indexes[self._by].keys_of(self._groups()[first:last])
        self.next.run(np.ascontiguousarray(keys[:, self._places]))

    def _groups(self) -> Int64s:
        groups = self._relation.indexes[self._by].touched_groups()
        is_empty = groups is None or self.visible.delta == self.visible.end
        return _NO_GROUPS if groups is None or is_empty else groups
