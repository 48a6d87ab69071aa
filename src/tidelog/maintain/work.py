"""What following a change costs, in derivations, and what past epochs teach about it.

Work is counted, not timed, so that the same changes lead to the same decisions on every machine.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from tidelog.engine.protocol import StratumStatistics
from tidelog.storage import StoredRelation

# A derivation of an update costs as much as this many of an evaluation from scratch, which goes through
# rows in order and keeps nothing for an undo: measured, 1 on programs over texts and 3.5 on points-to.
UPDATE_COST = 2.5
# What one more level of an update costs, however few rows it has, and one more iteration of an
# evaluation from scratch; measured on lists of thousands of levels.
LEVEL_WORK = 500
ITERATION_WORK = 300
# What a fact costs beside its derivations: an evaluation compares it with the old facts and enters it
# into indexes, an update sets or removes its level.
FACT_WORK = 2
# Less work than this is never worth a prediction.
FREE_WORK = 20_000
# A change of more than this share of what a stratum reads is large for it; recursion derives more of it.
LARGE_SHARE = 0.1
LARGE_SHARE_RECURSIVE = 0.03
# Evaluations that take less than this finish before it matters which indexes there are.
_WORK_WORTH_INDEXES = 200_000
# If a change deletes less than this share of a relation, a recompute stays as expensive as it was.
_NOTABLE_SHARE = 0.01
_SAMPLED_ROWS = 4_096
_POINTS = 16


def evaluation_work(derivations: int, facts: int, iterations: int) -> int:
    """Return the work of evaluating a stratum from scratch, in the unit of updates."""
    return derivations + FACT_WORK * facts + ITERATION_WORK * iterations


def stratum_work(statistics: StratumStatistics) -> int:
    """Return the work a stratum took, according to the report of its evaluation."""
    joined = max(statistics.derivations, statistics.bindings)
    return evaluation_work(joined, statistics.facts, statistics.iterations)


def level_work(facts: int) -> int:
    """Return what one level of an update costs beside its derivations and bindings."""
    return LEVEL_WORK + FACT_WORK * facts


def update_budget(switch: float, recompute_work: float) -> float:
    """Return the work after which an update is given up; `switch` is the share of a recompute it may cost."""
    return max(switch * recompute_work / UPDATE_COST, float(FREE_WORK))


def surviving_share(relations: Iterable[StoredRelation], deleted: float) -> float:
    """Return the share of facts that would survive if each premise were deleted with this chance.

    A fact of level n has at least n facts below it in a proof, one of each level, so (1 - deleted)ⁿ is
    what survives of facts with one proof. It takes the same time however large the relations are.
    """
    if deleted < _NOTABLE_SHARE:
        return 1.0
    samples = [each.levels[: each.count : max(1, each.count // _SAMPLED_ROWS)] for each in relations]
    levels = np.concatenate(samples) if samples else np.empty(0, np.int32)
    levels = levels[levels > 0]
    if not levels.size:
        return 1.0
    return float(((1.0 - min(deleted, 1.0)) ** levels.astype(np.float64)).mean())


@dataclass
class Learned:
    """What past epochs cost a stratum."""

    recompute_work: int = 0
    work_per_row: float = 0.0
    # Whether it has the indexes that following a change needs; a recompute starts without them.
    is_indexed: bool = False
    # Whether the last change was too large for a stratum without indexes.
    has_refused: bool = False
    # After a net deletion of so many rows, a recompute took this share of the one before it: the more
    # rows, the smaller the share.
    _shrunk: list[tuple[int, float]] = field(default_factory=list)

    def learn(self, rows: int, work: int) -> None:
        """Remember what an update cost, with a bias toward the cheaper ones.

        Epochs of one size differ widely in cost. An update that is given up wastes at most the allowed
        share of a recompute, a needless recompute wastes all of it; so the prediction is a low one.
        """
        rate = work / max(rows, 1)
        if not self.work_per_row or rate < self.work_per_row:
            self.work_per_row = rate
        else:
            self.work_per_row = 0.8 * self.work_per_row + 0.2 * rate

    def refuses_indexes(self, share: float, expected: float, *, is_recursive: bool) -> bool:
        """Say whether a change is so large that indexes to follow it would cost more than they save.

        `share` is the changed part of what the stratum reads, `expected` what a recompute takes. The
        answer is yes only once: if large changes keep coming, indexes pay off.
        """
        is_large = share > (LARGE_SHARE_RECURSIVE if is_recursive else LARGE_SHARE)
        is_costly = expected >= _WORK_WORTH_INDEXES
        return is_large and is_costly and not (self.is_indexed or self.has_refused)

    def expected_recompute(self, deleted: int) -> float:
        """Return what a recompute is expected to take after a net deletion of so many rows."""
        shares = [share for rows, share in self._shrunk if rows <= deleted]
        return self.recompute_work * min(shares, default=1.0)

    def learn_recompute(self, deleted: int, work: int) -> None:
        """Remember what a recompute took after a net deletion of so many rows.

        The prediction for updates is lowered, so that they get another chance.
        """
        if deleted > 0 and self.recompute_work:
            share = min(work / self.recompute_work, 1.0)
            kept = [(rows, was) for rows, was in self._shrunk if (rows > deleted) == (was < share)]
            self._shrunk = sorted([*kept, (deleted, share)])[-_POINTS:]
        self.recompute_work = work
        self.is_indexed = False
        self.work_per_row *= 0.5
