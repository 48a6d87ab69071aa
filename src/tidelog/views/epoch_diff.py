"""What differs between two epochs, from the deltas that a session keeps."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import described
from tidelog.program.text import ProgramText
from tidelog.storage.kernel import Int64s
from tidelog.views.delta import RelationDeltas, Sides, fact_count
from tidelog.views.history import History

Rows = Mapping[str, Int64s]


@dataclass(frozen=True)
class EpochDiff:
    """The net difference from one epoch to a later one, facts as rows of codes by relation.

    `inserted` and `deleted` are facts of all relations; `inputs_inserted` and `inputs_deleted` are
    input facts. The texts are those of the program in both epochs.
    """

    before: int
    after: int
    inserted: Rows
    deleted: Rows
    inputs_inserted: Rows
    inputs_deleted: Rows
    old_text: ProgramText
    new_text: ProgramText


def find_epoch_diff(history: History, before: int, after: int, now: int) -> EpochDiff:
    """Return what differs; a mistake if the session does not know these epochs any more."""
    deltas = [delta for delta in history.deltas if before < delta.epoch <= after]
    if not 0 <= before <= after <= now or len(deltas) != after - before:
        known = [delta.epoch for delta in history.deltas]
        raise TidelogError([_unknown(before, after, known)])
    inserted, deleted = _net(deltas)
    inputs_inserted, inputs_deleted = _net([delta.changes for delta in deltas])
    return EpochDiff(
        before,
        after,
        inserted,
        deleted,
        inputs_inserted,
        inputs_deleted,
        history.text_at(before),
        history.text_at(after),
    )


def _net(deltas: Sequence[RelationDeltas]) -> tuple[dict[str, Int64s], dict[str, Int64s]]:
    """Return the facts that all deltas together insert and delete."""
    inserted: dict[str, Int64s] = {}
    deleted: dict[str, Int64s] = {}
    for name in dict.fromkeys(name for delta in deltas for name in delta):
        rows, diffs = _signed([delta.sides(name) for delta in deltas])
        # A relation without columns tells by one array whether its fact is meant.
        rows = rows[:, : max(len(delta[name].inserted.columns) for delta in deltas if name in delta)]
        if len(deltas) > 1 and rows.shape[1]:
            rows, places = np.unique(rows, axis=0, return_inverse=True)
            diffs = np.bincount(places.ravel(), weights=diffs, minlength=len(rows)).astype(np.int64)
        elif len(deltas) > 1:
            rows, diffs = rows[:1], np.array([diffs.sum()])
        for side, is_in in ((inserted, diffs > 0), (deleted, diffs < 0)):
            if is_in.any():
                side[name] = rows[is_in]
    return inserted, deleted


def _signed(sides: Iterable[Sides]) -> tuple[Int64s, Int64s]:
    """Return facts as rows, and 1 for each that was inserted, -1 for each that was deleted."""
    rows: list[Int64s] = []
    diffs: list[Int64s] = []
    for inserted, deleted in sides:
        for columns, diff in ((inserted, 1), (deleted, -1)):
            if fact_count(columns):
                rows.append(np.stack(columns, axis=1))
                diffs.append(np.full(fact_count(columns), diff, np.int64))
    return np.concatenate(rows), np.concatenate(diffs)


def _unknown(before: int, after: int, known: Sequence[int]) -> Diagnostic:
    if not known and after == 0:
        return Diagnostic(
            code="epoch-not-kept",
            message="there was no epoch yet: nothing changed since the program was evaluated",
            hint="apply changes first; `tidelog blame PROGRAM CHANGES` takes change scripts",
        )
    kept = f"epochs {known[0]} to {known[-1]}" if known else "no epoch"
    return Diagnostic(
        code="epoch-not-kept",
        message=f"the changes between epochs {described(before)} and {described(after)} are not known here",
        hint=f"the session keeps the changes of {kept}; give epoch=N, or epoch=(before, after)",
    )
