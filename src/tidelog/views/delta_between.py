"""What differs between two epochs, as a user sees it."""

from collections.abc import Mapping

import numpy as np

from tidelog.program.nodes import Program
from tidelog.program.suggest import counted
from tidelog.values import Codec
from tidelog.views.delta import RelationDeltas, RuleDelta, Sides
from tidelog.views.delta_text import change_lines
from tidelog.views.epoch_diff import EpochDiff, Rows

_SHOWN = 20


class DeltaBetween(RelationDeltas):
    """The facts that lead from one epoch to another, earlier or later.

    A fact that was inserted and deleted again in between is not in it.

        db.diff(3, 9)["path"].inserted      the facts of epoch 9 that epoch 3 lacks
        db.diff(3, 9).changes               the input facts that make the difference
        print(db.diff(3, 9))                a change script

    `db.apply(db.diff(9, 3).changes)` takes back the changes of facts since epoch 3.
    """

    def __init__(self, program: Program, codec: Codec, diff: EpochDiff, rules: RuleDelta) -> None:
        super().__init__(program, codec, _sides(program, diff.inserted, diff.deleted), rules)
        self._before, self._after = diff.before, diff.after
        changes = _sides(program, diff.inputs_inserted, diff.inputs_deleted)
        self._changes = RelationDeltas(program, codec, changes)

    @property
    def before(self) -> int:
        """Return the epoch that the delta leads from."""
        return self._before

    @property
    def after(self) -> int:
        """Return the epoch that it leads to."""
        return self._after

    @property
    def changes(self) -> RelationDeltas:
        """Return the input facts that only one of the two epochs has."""
        return self._changes

    def __str__(self) -> str:
        lines = [f"// {self._title()}"]
        lines += [f"// rule removed: {rule}" for rule in self.rules.deleted]
        lines += [f"// rule added: {rule}" for rule in self.rules.inserted]
        for each in self.values():
            lines += change_lines(each, _SHOWN)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<delta {self._title()}>"

    def _title(self) -> str:
        return (
            f"from epoch {self.before} to epoch {self.after}:"
            f" {counted(self.inserted_count, 'fact')} inserted, {counted(self.deleted_count, 'fact')} deleted"
        )


def _sides(program: Program, inserted: Rows, deleted: Rows) -> Mapping[str, Sides]:
    names = [name for name in program.relations if name in inserted or name in deleted]
    return {name: (_columns(inserted, name), _columns(deleted, name)) for name in names}


def _columns(rows: Rows, name: str) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Return one array per column; a relation without columns has one that tells the number of facts."""
    if name not in rows:
        return []
    some = rows[name]
    if not some.shape[1]:
        return [np.zeros(len(some), np.int64)]
    return [np.ascontiguousarray(some[:, place]) for place in range(some.shape[1])]
