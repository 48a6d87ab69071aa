"""The facts of an old epoch: those of the present one, with the deltas since taken back."""

from collections.abc import Callable, Sequence

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.protocol import Codes, FactReader
from tidelog.storage.kernel import Int64s
from tidelog.views.delta import Delta
from tidelog.views.epoch_diff import consolidate_rows, net_rows
from tidelog.views.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class _Since:
    """What became of a relation from the old epoch to another one: rows inserted and rows deleted."""

    epoch: int
    inserted: Int64s
    deleted: Int64s


class PastFacts:
    """The facts of one old epoch; see `FactReader`.

    Old and present epochs share the facts that they have in common: only the deltas between them are
    read. What they add up to is kept for each relation that was asked for, and follows the session.
    `present` gives the session's snapshot, and `between` the deltas from one epoch to another.
    """

    def __init__(
        self, epoch: int, present: Callable[[], Snapshot], between: Callable[[int, int], Sequence[Delta]]
    ) -> None:
        self._epoch = epoch
        self._present = present
        self._between = between
        self._known: dict[str, _Since] = {}

    def size(self, relation: str) -> int:
        """Return the number of facts."""
        since = self._since(relation)
        return self._engine.size(relation) + len(since.deleted) - len(since.inserted)

    def facts(self, relation: str) -> list[Codes]:
        """Return all facts as one array of codes per column."""
        since = self._since(relation)
        return _take_back(self._engine.facts(relation), since.inserted, since.deleted)

    def match(self, relation: str, pattern: Sequence[int | None]) -> list[Codes]:
        """Return the facts that agree with the pattern's codes; None agrees with all."""
        since = self._since(relation)
        inserted, deleted = (_matching(side, pattern) for side in (since.inserted, since.deleted))
        return _take_back(self._engine.match(relation, pattern), inserted, deleted)

    @property
    def _engine(self) -> FactReader:
        return self._present().engine

    def _since(self, relation: str) -> _Since:
        """Return how a relation differs from what it was, up to the present epoch."""
        now = self._present().epoch
        known = self._known.get(relation)
        if known is not None and known.epoch == now:
            return known
        start = self._epoch if known is None else known.epoch
        inserted, deleted = net_rows(relation, self._between(start, now))
        if known is not None:
            inserted, deleted = _add(known, inserted, deleted)
        self._known[relation] = found = _Since(now, inserted, deleted)
        return found


def _add(known: _Since, inserted: Int64s, deleted: Int64s) -> tuple[Int64s, Int64s]:
    """Return what two deltas, one after the other, insert and delete."""
    sides = [(known.inserted, 1), (inserted, 1), (known.deleted, -1), (deleted, -1)]
    parts = [(rows, np.full(len(rows), diff, np.int64)) for rows, diff in sides if len(rows)]
    if not parts:
        return known.inserted, known.deleted
    rows, diffs = consolidate_rows(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    return rows[diffs > 0], rows[diffs < 0]


def _take_back(columns: list[Codes], inserted: Int64s, deleted: Int64s) -> list[Codes]:
    """Return the facts without those inserted since, and with those deleted since."""
    if not columns or not (len(inserted) or len(deleted)):
        return columns
    rows = np.stack(columns, axis=1)
    if len(inserted):
        diffs = np.concatenate([np.ones(len(rows), np.int64), np.full(len(inserted), -1)])
        rows, _ = consolidate_rows(np.concatenate([rows, inserted]), diffs)
    if len(deleted):
        rows = np.concatenate([rows, deleted])
    return [np.ascontiguousarray(rows[:, place]) for place in range(rows.shape[1])]


def _matching(rows: Int64s, pattern: Sequence[int | None]) -> Int64s:
    if not len(rows):
        return rows
    agree = np.ones(len(rows), np.bool_)
    for place, code in enumerate(pattern):
        if code is not None:
            agree &= rows[:, place] == code
    return rows[agree]
