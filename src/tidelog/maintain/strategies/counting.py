"""The strategy `counting`, and its dense state: derivations per fact and iteration.

The sparse state has the first iteration of each fact and the number of derivations found in it. The dense
state has the number of derivations for every iteration that finds any. It takes more memory, and every
derivation that moves costs something, but an affected fact reads its next level from it where `update` has
to look for derivations.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.local.derive import LocalDerivations
from tidelog.maintain.heads import Asking, Heads, Rows
from tidelog.maintain.judge import levels_now
from tidelog.plan.flatten import FlatRule
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.join import find_groups
from tidelog.storage.kernel import CodeArray, Int32s, Int64s, kernel
from tidelog.storage.postings import LENGTH, START

_NO_CONSTANTS: Final = np.empty(0, np.int64)
_FIRST_COLUMN: Final = np.zeros(1, np.int32)


@kernel
def _lowest(  # noqa: PLR0913, PLR0917 - a kernel takes its arrays one by one
    groups: Int64s, arena: CodeArray, counts: Int32s, found: Int64s, levels: Int32s, derivations: Int32s
) -> None:
    """Write the lowest iteration of each group with derivations, and how many it has; group -1 is none."""
    for position in range(found.shape[0]):
        group = found[position]
        levels[position] = ABSENT
        if group < 0:
            continue
        start = groups[group, START]
        for entry in range(start, start + groups[group, LENGTH]):
            count = counts[arena[entry, 1]]
            if count > 0 and arena[entry, 0] < levels[position]:
                levels[position] = arena[entry, 0]
                derivations[position] = count


class IterationCounts:
    """How many derivations the rows of one relation have in each iteration."""

    def __init__(self) -> None:
        self._pairs = StoredRelation(2, np.int64, counting=True)

    def add(self, numbers: Int64s, levels: Int32s, amount: int) -> None:
        """Add derivations of rows in iterations; both arrays have one element per derivation."""
        if numbers.size:
            pairs = np.stack([numbers, levels.astype(np.int64)], axis=1)
            places = self._pairs.locate(pairs)
            np.add.at(self._pairs.counts, places, amount)

    def lowest(self, numbers: Int64s) -> tuple[Int32s, Int32s]:
        """Return for each row its lowest iteration with derivations (or ABSENT), and their number."""
        levels = np.full(numbers.size, ABSENT, np.int32)
        derivations = np.zeros(numbers.size, np.int32)
        index = self._pairs.index((0,))
        found = np.empty(numbers.size, np.int64)
        table = index.slots, index.keys, index.groups, index.is_dense
        find_groups(numbers.reshape(-1, 1), _NO_CONSTANTS, _FIRST_COLUMN, *table, found)
        _lowest(index.groups, index.arena, self._pairs.counts, found, levels, derivations)
        return levels, derivations


def count_iterations(
    rules: Sequence[FlatRule],
    relations: Mapping[str, StoredRelation],
    stratum: Iterable[str],
    derivations: LocalDerivations,
) -> dict[str, IterationCounts]:
    """Return the dense state of a stratum, counted by enumerating every derivation once."""
    result = {name: IterationCounts() for name in stratum}
    for rule in rules:
        head = relations[rule.relation]

        def sink(batch: CodeArray, rule: FlatRule = rule) -> None:
            levels = levels_now(relations, result, rule, batch, 1)
            keep = levels != ABSENT
            result[rule.relation].add(batch[keep, 0].astype(np.int64), levels[keep] + 1, 1)

        present_heads = np.flatnonzero(head.levels[: head.count] != ABSENT)
        derivations.backward(rule, present_heads, sink)
    return result


@dataclass
class CountingHeads(Heads):
    """Heads that keep the dense state and read their next level from it."""

    are_judged_in_threads = False

    dense: Mapping[str, IterationCounts]

    def lose(self, name: str, rows: CodeArray, levels: Int32s) -> None:
        """Take derivations from heads."""
        numbers = self.judge.relations[name].find(rows)
        self.dense[name].add(numbers, levels, -1)
        self.lose_numbered(name, numbers, levels)

    def ask(self, affected: Rows) -> Mapping[str, Asking]:
        """Offer affected facts the next level that has derivations, so that none has to look for any."""
        for name, rows in affected.items():
            levels, counts = self.dense[name].lowest(rows)
            has_any = levels != ABSENT
            numbers, levels, counts = rows[has_any], levels[has_any], counts[has_any]
            self.offer(name, numbers, levels)
            # A row that also became an input fact keeps that better offer.
            marks = self.judge.marks[name]
            taken = marks.tentative[numbers] == levels + 1
            marks.tentative_counts[numbers[taken]] = counts[taken]
        return {}

    def offer_new(self, name: str, rows: CodeArray, levels: Int32s, *, asked_by_all: bool) -> None:  # noqa: ARG002
        """Offer levels of newly possible derivations."""
        numbers = self.locate(name, rows)
        self.dense[name].add(numbers, levels, 1)
        self.offer(name, numbers, levels)

    def offer_better(self, name: str, rows: CodeArray, levels: Int32s, before: Int32s) -> None:
        """Move derivations to earlier iterations."""
        numbers, had_level = self.locate(name, rows), before != ABSENT
        self.dense[name].add(numbers[had_level], before[had_level], -1)
        self.dense[name].add(numbers, levels, 1)
        self.offer(name, numbers, levels)
