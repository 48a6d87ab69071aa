"""The last deltas of a session, so that one can look back at what an epoch did."""

from collections import Counter, deque
from itertools import islice
from typing import Final

import numpy as np

from tidelog.engine.epoch import EpochResult
from tidelog.engine.protocol import Codes
from tidelog.program.nodes import Program
from tidelog.program.text import ProgramText
from tidelog.session.changes import NetChange
from tidelog.syntax import print_node
from tidelog.values import Codec
from tidelog.views import Delta
from tidelog.views.delta import NO_RULES, EpochReport, RelationDeltas, RuleDelta, Sides

# A session that follows changes for weeks must not grow: the oldest deltas are forgotten first.
_MOST_DELTAS: Final = 1000
_MOST_FACTS: Final = 1_000_000
_NO_FACTS: Final[tuple[Codes, ...]] = ()


class History:
    """The deltas of the last epochs, oldest first; the newest one is always kept."""

    def __init__(self) -> None:
        self._deltas: deque[Delta] = deque()
        self._facts = 0
        self._texts: dict[int, ProgramText] = {}

    def add(self, delta: Delta) -> None:
        """Keep the delta of the next epoch."""
        self._deltas.append(delta)
        self._facts += _size(delta)
        while len(self._deltas) > 1 and (len(self._deltas) > _MOST_DELTAS or self._facts > _MOST_FACTS):
            self._facts -= _size(self._deltas.popleft())
        self._forget_texts()

    def _forget_texts(self) -> None:
        """Drop the texts of epochs before the one that the oldest delta leads from."""
        oldest = self._deltas[0].epoch - 1
        for epoch in list(islice(self._texts, 1, None)):
            if epoch > oldest:
                return
            del self._texts[next(iter(self._texts))]

    def note_text(self, epoch: int, text: ProgramText) -> None:
        """Keep the text that the program has from an epoch on; later epochs come later."""
        self._texts[epoch] = text

    def text_at(self, epoch: int) -> ProgramText:
        """Return the text of the program in an epoch."""
        known = [each for each in self._texts if each <= epoch]
        return self._texts[max(known, default=min(self._texts))]

    @property
    def deltas(self) -> tuple[Delta, ...]:
        """Return the deltas kept, oldest first."""
        return tuple(self._deltas)


def make_delta(  # noqa: PLR0913, PLR0917 - what an epoch consists of
    program: Program,
    codec: Codec,
    derived: frozenset[str],
    epoch: int,
    result: EpochResult,
    seconds: float,
    net: NetChange,
    rules: RuleDelta = NO_RULES,
) -> Delta:
    """Return what an engine did in an epoch as a user sees it; `net` and `rules` are what was asked for.

    `derived` are the relations that rules derive.
    """
    inputs = {name: (change.inserted, change.deleted) for name, change in net.changes.items()}
    report = EpochReport(
        epoch,
        result.strata,
        seconds,
        derived.__contains__,
        RelationDeltas(program, codec, inputs),
        RelationDeltas(program, codec, net.without_effect),
        rules,
    )
    names = dict.fromkeys([*result.inserted, *result.deleted])
    ordered = [name for name in program.relations if name in names]
    return Delta(program, codec, {name: _sides(name, program, result) for name in ordered}, report)


def rule_delta(old: ProgramText, new: ProgramText) -> RuleDelta:
    """Return the rules that two texts of a program differ in, whatever their ids and layout."""
    before, after = (
        Counter(item for piece in text.pieces for item in piece.rules.values()) for text in (old, new)
    )
    inserted, deleted = ((after - before).elements(), (before - after).elements())
    return RuleDelta(tuple(map(print_node, inserted)), tuple(map(print_node, deleted)))


def _sides(name: str, program: Program, result: EpochResult) -> Sides:
    inserted, deleted = result.inserted.get(name, _NO_FACTS), result.deleted.get(name, _NO_FACTS)
    if program.relations[name].arity:
        return inserted, deleted
    # A relation without columns is named only if its one fact changed.
    one = [np.zeros(1, dtype=np.int64)]
    return (one, _NO_FACTS) if name in result.inserted else (_NO_FACTS, one)


def _size(delta: Delta) -> int:
    return delta.inserted_count + delta.deleted_count
