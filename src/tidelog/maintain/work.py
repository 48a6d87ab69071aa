"""What evaluating a stratum and following a change cost, in derivations.

Work is counted, not timed, so that it is the same on every machine; `maintain.prices` knows what a unit of it
takes here.
"""

from collections.abc import Iterable

import numpy as np

from tidelog.engine.protocol import StratumStatistics
from tidelog.storage import StoredRelation

# What one more level of an update costs, however few rows it has, and one more iteration of an
# evaluation from scratch; measured on lists of thousands of levels.
LEVEL_WORK = 500
ITERATION_WORK = 300
# What a fact costs beside its derivations: an evaluation compares it with the old facts and enters it
# into indexes, an update sets or removes its level.
FACT_WORK = 2
# If a change deletes less than this share of a relation, a recompute stays as expensive as it was.
_NOTABLE_SHARE = 0.01
_SAMPLED_ROWS = 4_096


def evaluation_work(derivations: int, facts: int, iterations: int) -> int:
    """Return the work of evaluating a stratum from scratch, in the unit of updates."""
    return derivations + FACT_WORK * facts + ITERATION_WORK * iterations


def stratum_work(statistics: StratumStatistics) -> int:
    """Return the work a stratum took, according to the report of its evaluation."""
    # A rule may look at many facts and derive little from them.
    joined = max(statistics.derivations, statistics.bindings, statistics.scanned)
    return evaluation_work(joined, statistics.facts, statistics.iterations)


def level_work(facts: int) -> int:
    """Return what one level of an update costs beside its derivations and bindings."""
    return LEVEL_WORK + FACT_WORK * facts


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
