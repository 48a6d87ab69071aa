"""An old epoch as a user holds it, and what lies between two epochs."""

from dataclasses import replace

from tidelog.session.deltas import rule_delta
from tidelog.session.epochs import Epochs
from tidelog.session.reader import EpochReader
from tidelog.views.delta_between import DeltaBetween
from tidelog.views.epoch_diff import EpochDiff, find_epoch_diff


class EpochView(EpochReader):
    """One epoch of a session, read as it was: `view[name]` is a relation, `view.query(...)` an answer.

    `db.at` returns it. It shares the session's facts and reads the deltas since then, so it takes memory only
    for what changed. The first proof evaluates the program over the input facts of that epoch.
    """

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {len(self[name]):,}" for name in self.relations)
        return f"<epoch {self.epoch} {sizes}>"


def delta_between(epochs: Epochs, before: int, after: int) -> DeltaBetween:
    """Return what leads from one epoch to another; the caller holds the lock."""
    diff = find_epoch_diff(epochs.history, min(before, after), max(before, after), epochs.epoch)
    if after < before:
        diff = _turned(diff)
    rules = rule_delta(diff.old_text, diff.new_text)
    return DeltaBetween(epochs.program, epochs.handle.codec, diff, rules)


def _turned(diff: EpochDiff) -> EpochDiff:
    """Return the difference the other way round."""
    return replace(
        diff,
        before=diff.after,
        after=diff.before,
        inserted=diff.deleted,
        deleted=diff.inserted,
        inputs_inserted=diff.inputs_deleted,
        inputs_deleted=diff.inputs_inserted,
        old_text=diff.new_text,
        new_text=diff.old_text,
    )
