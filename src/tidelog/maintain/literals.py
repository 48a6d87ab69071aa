"""The literals of a stratum's rules, as an epoch finds them in earlier strata.

What `maintain.update` and `maintain.partners.update` have in common: both hold a derivation's literals
against the old and the new epoch, and start from the literals that changed.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.maintain.labels import RelationLabels
from tidelog.maintain.row_change import RowChange
from tidelog.plan.maintenance import MaintainedRule, RuleLiteral
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray, Int64s

Mask = npt.NDArray[np.bool_]


class EpochLiterals:
    """The literals of one stratum in one epoch.

    `labels` are those of the stratum's own relations, `lower` what changed in earlier strata.
    """

    relations: Mapping[str, StoredRelation]
    labels: Mapping[str, RelationLabels]
    lower: Mapping[str, RowChange]

    def _must_check(self, literal: RuleLiteral) -> bool:
        """Say whether a derivation pushed by the engine may fail at this literal of an earlier stratum."""
        return literal.is_negated or literal.relation in self.lower

    def _held(self, literal: RuleLiteral, rows: CodeArray, *, new: bool) -> Mask:
        """Say where a literal over an earlier stratum held in the new epoch, or in the old one."""
        relation = self.relations[literal.relation]
        levels = relation.levels if new else relation.previous
        present: Mask = (rows >= 0) & (levels[np.maximum(rows, 0)] != ABSENT)
        return ~present if literal.is_negated else present

    def _changed_literals(
        self, rules: Sequence[MaintainedRule], *, lost: bool
    ) -> Iterable[tuple[MaintainedRule, int, Int64s]]:
        """Yield the literals of earlier strata that became false (or true) with the rows that did it."""
        for rule in rules:
            for place, literal in enumerate(rule.literals):
                change = self.lower.get(literal.relation)
                if change is None or literal.relation in self.labels:
                    continue
                if self._is_traced(rule) and not literal.is_negated:
                    # Its trace tells what becomes of the atoms together.
                    continue
                rows = change.deleted if lost != literal.is_negated else change.inserted
                if rows.size:
                    yield rule, place, rows

    def _is_traced(self, _rule: MaintainedRule) -> bool:
        """Say whether a rule is followed by the trace of its join; none is unless traces are kept."""
        return False
