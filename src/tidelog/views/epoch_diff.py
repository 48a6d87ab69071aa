"""What differs between two epochs, from the deltas that a session keeps."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import described
from tidelog.program.text import ProgramText
from tidelog.storage.kernel import Int64s
from tidelog.views.delta import Delta, RelationDeltas, Sides, fact_count
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
    deltas = find_deltas(history, before, after, now)
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


def find_deltas(history: History, before: int, after: int, now: int) -> list[Delta]:
    """Return the deltas that lead from one epoch to a later one; a mistake if they are not all known."""
    deltas = [delta for delta in history.deltas if before < delta.epoch <= after]
    if not 0 <= before <= after <= now or len(deltas) != after - before:
        known = [delta.epoch for delta in history.deltas]
        raise TidelogError([_unknown(before, after, known)])
    return deltas


def _net(deltas: Sequence[RelationDeltas]) -> tuple[dict[str, Int64s], dict[str, Int64s]]:
    """Return the facts that all deltas together insert and delete."""
    inserted: dict[str, Int64s] = {}
    deleted: dict[str, Int64s] = {}
    for name in dict.fromkeys(name for delta in deltas for name in delta):
        added, removed = net_rows(name, deltas)
        if len(added):
            inserted[name] = added
        if len(removed):
            deleted[name] = removed
    return inserted, deleted


def net_rows(name: str, deltas: Sequence[RelationDeltas]) -> tuple[Int64s, Int64s]:
    """Return the facts of one relation that deltas together insert and delete, as rows of codes.

    The rows of a relation without columns have no columns either; there is one if its fact is meant.
    """
    changed = [delta for delta in deltas if name in delta]
    if not changed:
        none = np.zeros((0, 0), np.int64)
        return none, none
    rows, diffs = _signed([delta.sides(name) for delta in changed])
    # A relation without columns tells by one array whether its fact is meant.
    rows = rows[:, : len(changed[0][name].inserted.columns)]
    if len(changed) > 1:
        rows, diffs = consolidate_rows(rows, diffs)
    return rows[diffs > 0], rows[diffs < 0]


def consolidate_rows(rows: Int64s, diffs: Int64s) -> tuple[Int64s, Int64s]:
    """Sum the diffs of equal rows and drop the rows whose diffs cancel; rows are sorted afterwards."""
    if not rows.shape[1]:
        total = int(diffs.sum())
        return rows[: abs(total)], np.full(abs(total), np.sign(total))
    if not len(rows):
        return rows, diffs
    order = np.lexsort(rows.T[::-1])
    rows, diffs = rows[order], diffs[order]
    is_first = np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)])
    sums = np.add.reduceat(diffs, np.flatnonzero(is_first))
    return rows[is_first][sums != 0], sums[sums != 0]


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
