"""What is known of rows while a case is looked at: who changed, who is a suspect, who holds always."""

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import EpochResult
from tidelog.explain.blame.ground import Ground, as_rows
from tidelog.explain.blame.suspects import Key, Rows
from tidelog.maintain.small.proving import ProofMarks
from tidelog.storage import StoredRelation
from tidelog.storage.address import address_of
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import Bools, Int32s, Int64s
from tidelog.storage.structs import Structs, words_of

_SLACK = 1024


@dataclass
class RowMarks:
    """Marks of the rows of one stored relation; rows keep their numbers as long as it is not replaced.

    `changed` are facts that the epoch, or the trial, brought. `seen` tells in which search a row was met
    last. `certain` are facts that were proved without any suspect, so that they hold in every world.
    """

    stored: StoredRelation
    changed: Bools
    seen: Int32s
    certain: Bools
    suspect: Bools
    suspects: dict[int, int] = field(default_factory=dict)

    def cover(self) -> None:
        """Have a mark for every row."""
        room = self.stored.count
        if room > self.changed.size:
            for name in ("changed", "seen", "certain", "suspect"):
                old = getattr(self, name)
                new = np.zeros(room + room // 8 + _SLACK, old.dtype)
                new[: old.size] = old
                setattr(self, name, new)


class Marks:
    """The marks of all relations in a case; `affected` are those that suspects can have an effect on."""

    def __init__(
        self, ground: Ground, suspects: Mapping[Key, int], changed: Rows, affected: frozenset[str]
    ) -> None:
        self._ground = ground
        self._changed = changed
        self.affected = affected
        self._suspects: dict[str, list[tuple[tuple[int, ...], int]]] = {}
        for (name, codes), number in suspects.items():
            self._suspects.setdefault(name, []).append((codes, number))
        # By the version of a relation.
        self._known: dict[int, RowMarks] = {}
        self._noted: list[tuple[RowMarks, Int64s]] = []
        self._search = 0

    def begin_search(self) -> int:
        """Return the number of a search that has met no row yet."""
        self._search += 1
        return self._search

    def of(self, name: str) -> RowMarks:
        """Return the marks of a relation."""
        stored = self._ground.relation(name)
        marks = self._known.get(stored.version)
        if marks is None:
            marks = self._known[stored.version] = self._make(name, stored)
        marks.cover()
        return marks

    def _make(self, name: str, stored: StoredRelation) -> RowMarks:
        suspects = {}
        own = self._suspects.get(name, [])
        if own and name not in self._ground.opaque:
            numbers = self._ground.locate(name, as_rows([codes for codes, _ in own]))
            suspects = dict(zip(numbers.tolist(), (number for _, number in own), strict=True))
        room = stored.count + stored.count // 8 + _SLACK
        marks = RowMarks(
            stored, np.zeros(room, np.uint8), np.zeros(room, np.int32), np.zeros(room, np.uint8),
            np.zeros(room, np.uint8), suspects,
        )  # fmt: skip
        marks.suspect[list(suspects)] = 1
        if name in self._changed:
            found = self._ground.numbers(name, self._changed[name])
            marks.changed[found[found >= 0]] = 1
        return marks

    def take_trial(self, result: EpochResult) -> None:
        """Mark the facts that a trial brought, until `end_trial`."""
        for name, columns in result.inserted.items():
            arity = self._ground.relation(name).arity
            rows = np.stack(columns[:arity], axis=1) if arity else np.zeros((len(columns[0]), 0), np.int64)
            self._note_changed(name, self._ground.numbers(name, rows))
        for name, stored in self._ground.engine.relations.items():
            if "/" in name:
                # Made for a negated atom: no result names it.
                count = stored.count
                is_new = (stored.levels_before() == ABSENT) & (stored.levels[:count] != ABSENT)
                self._note_changed(name, np.flatnonzero(is_new))

    def _note_changed(self, name: str, numbers: Int64s) -> None:
        marks = self.of(name)
        numbers = numbers[numbers >= 0]
        numbers = numbers[marks.changed[numbers] == 0]
        marks.changed[numbers] = 1
        self._noted.append((marks, numbers))

    def end_trial(self) -> None:
        """Forget what a trial brought."""
        for marks, numbers in self._noted:
            marks.changed[numbers] = 0
        self._noted = []

    def table(self, names: Sequence[str]) -> Structs:
        """Return the marks of relations as kernels take them; good until a row is added."""
        table = np.zeros(len(names), words_of(ProofMarks))
        for line, name in zip(table, names, strict=True):
            marks = self.of(name)
            for field_name in ("changed", "seen", "certain", "suspect"):
                line[field_name] = address_of(getattr(marks, field_name))
            line["is_affected"] = name in self.affected
            line["is_unsure"] = name in self._ground.unsure
            line["is_opaque"] = name in self._ground.opaque
        return table
