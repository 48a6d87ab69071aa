"""Backward/forward: a fact that lost a derivation looks for remaining ones before it is deleted."""

from collections.abc import Sequence

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.local.steps import Sink
from tidelog.maintain.strategies.dred import DredHeads
from tidelog.plan.flatten import FlatRule
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import CodeArray, Int32s, Int64s


@dataclass
class BackwardForwardHeads(DredHeads):
    """Heads whose tight derivations are counted again when one of them is lost."""

    rules: Sequence[FlatRule]

    def lose(self, name: str, rows: CodeArray, levels: Int32s) -> None:
        """Queue heads that lose a tight derivation, to be counted again."""
        numbers = self.judge.relations[name].find(rows)
        self.delete(name, numbers[self.judge.relations[name].levels[numbers] == levels])

    def without_proof(self, name: str, numbers: Int64s) -> Int64s:
        """Count the tight derivations that rows still have; return the rows without any."""
        relation = self.judge.relations[name]
        derived = numbers[relation.levels[numbers] > 0]
        self.judge.marks[name].touch(numbers)
        relation.counts[numbers] = 0
        for rule in self.rules:
            if rule.relation == name and derived.size:
                self.meter.derivations.backward(rule, derived, self._counting(rule, relation))
        exhausted: Int64s = numbers[relation.counts[numbers] == 0]
        return exhausted

    def _counting(self, rule: FlatRule, head: StoredRelation) -> Sink:
        """Return the sink that counts the tight derivations that the epoch leaves standing."""

        def sink(batch: CodeArray) -> None:
            keep, levels = self.judge.standing(rule, batch, 1, self.claim(rule, batch, 1))
            numbers = batch[keep, 0].astype(np.int64)
            np.add.at(head.counts, numbers[head.levels[numbers] == levels], 1)

        return sink
