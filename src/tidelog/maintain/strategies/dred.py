"""Delete and derive again: `dred`, and `dred-counters`, which deletes less.

`dred` needs no counts: every fact with any lost derivation is deleted, and derived again if it can be.
With counters, a fact that has derivations from earlier strata and input facts alone, which deletions in its
own stratum cannot remove, is deleted only when it has lost all of them. Those derivations have level 1, so
the counts of facts of level 1 are those counters.
"""

from tidelog.maintain.heads import Heads
from tidelog.storage.kernel import CodeArray, Int32s, Int64s


class DredHeads(Heads):
    """Heads that are deleted by any derivation they lose, unless they are input facts."""

    are_judged_in_threads = False

    asks_every_rule = True

    def lose_inputs(self, name: str, numbers: Int64s) -> None:
        """Delete rows that were input facts."""
        self.delete(name, numbers)

    def lose(self, name: str, rows: CodeArray, levels: Int32s) -> None:  # noqa: ARG002 - of any level
        """Delete heads that lose a derivation."""
        numbers = self.judge.relations[name].find(rows)
        self.delete(name, numbers[self.judge.relations[name].levels[numbers] > 0])

    def delete(self, name: str, numbers: Int64s) -> None:
        """Queue rows to be deleted, unless they already are."""
        marks = self.judge.marks[name]
        marks.touch(numbers)
        self.losing.put(name, self.untouched(name, numbers), marks.relation.levels)


class DredCounterHeads(DredHeads):
    """Heads whose derivations from earlier strata and input facts alone are counted."""

    def lose(self, name: str, rows: CodeArray, levels: Int32s) -> None:
        """Delete heads that lose a derivation, unless such a counted one is left."""
        relation = self.judge.relations[name]
        numbers = relation.find(rows)
        of_heads = relation.levels[numbers]
        self._take_one(name, numbers[(of_heads == 1) & (levels == 1)])
        self.delete(name, numbers[of_heads > 1])
