"""Strata that an epoch evaluates from scratch instead of following what changed."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import field

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.local.state import LocalState
from tidelog.engine.protocol import StratumStatistics
from tidelog.maintain.row_delta import RowDelta, compare_contents, compare_states
from tidelog.program.nodes import Stratum
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import CodeArray, Int64s
from tidelog.storage.sharing import Sharing, alone


@dataclass
class Recomputed:
    """The relations that the epoch in progress has evaluated again, and what they held before."""

    state: LocalState
    # What shares the comparison of so many facts among threads.
    sharing: Sharing = alone
    before: dict[str, StoredRelation] = field(default_factory=dict)
    # Relations whose rows have old levels, with the rows of deleted facts.
    _deleted: dict[str, Int64s] = field(default_factory=dict)

    def evaluate(
        self,
        stratum: Stratum,
        inputs: Callable[[str], CodeArray],
        earlier: Mapping[str, RowDelta],
        run: Callable[[], StratumStatistics],
        unread: Collection[str] = (),
    ) -> tuple[dict[str, RowDelta], StratumStatistics]:
        """Evaluate a stratum with `run`, from the input facts of each relation; return what changed.

        Nobody reads the rows of `unread` relations before the epoch is committed or undone.
        """
        relations = self.state.relations
        old = {name: relations[name].snapshot() for name in stratum.relations}
        for name, relation in old.items():
            relation.forget_indexes()
            self.before.setdefault(name, relation)
            self.state.replace(name, inputs(name))
        for name, change in earlier.items():
            # Until the epoch ends, deleted facts stay visible for updates, but not for an evaluation.
            relations[name].delete_rows(change.deleted)
        for name in relations:
            # Kernels and traces append rows without updating what an iteration sees.
            self.state.show_all(name)
        try:
            statistics = run()
        finally:
            for name, change in earlier.items():
                relations[name].show_rows(change.deleted)
        changes = {}
        for name, relation in old.items():
            share = self.sharing(relations[name].count)
            if name in unread:
                changes[name] = compare_contents(relation, relations[name], share)
            else:
                changes[name] = compare_states(relation, relations[name], share)
                self._deleted[name] = changes[name].deleted
        return {n: change for n, change in changes.items() if change.size}, statistics

    def touched(self) -> dict[str, Int64s]:
        """Return the rows of each relation, whose levels may all be new."""
        return {name: np.arange(self.state.relations[name].count) for name in self.before}

    def commit(self) -> None:
        """Forget the old contents."""
        for name, deleted in self._deleted.items():
            relation = self.state.relations[name]
            relation.forget_before(np.arange(relation.count))
            relation.hide_absent_rows(deleted)
        self.before, self._deleted = {}, {}

    def undo(self) -> None:
        """Restore what the relations held before."""
        for name, before in self.before.items():
            self.state.relations[name].take(before)
            self.state.show_all(name)
        self.before, self._deleted = {}, {}
