"""Backward/forward: a fact that lost a derivation looks for remaining ones before it is deleted."""

import numpy as np

from tidelog.maintain.strategies.dred import DredHeads
from tidelog.storage.kernel import CodeArray, Int32s, Int64s


class BackwardForwardHeads(DredHeads):
    """Heads whose tight derivations are counted again when one of them is lost."""

    def lose(self, name: str, rows: CodeArray, levels: Int32s) -> None:
        """Queue heads that lose a tight derivation, to be counted again."""
        numbers = self.judge.relations[name].find(rows)
        self.delete(name, numbers[self.judge.relations[name].levels[numbers] == levels])

    def without_proof(self, name: str, numbers: Int64s) -> Int64s:
        """Return the rows without any derivation left, whatever their counts were."""
        self.judge.marks[name].touch(numbers)
        is_input = self.judge.relations[name].levels[numbers] == 0
        return np.concatenate([numbers[is_input], self.without_derivation(name, numbers[~is_input])])
