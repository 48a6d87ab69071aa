"""The last deltas of a session, so that one can look back at what an epoch did."""

from collections import deque
from itertools import islice
from typing import Final

from tidelog.program.text import ProgramText
from tidelog.views.delta import Delta

# A session that follows changes for weeks must not grow: the oldest deltas are forgotten first.
_MOST_DELTAS: Final = 1000
_MOST_FACTS: Final = 1_000_000


class History:
    """The deltas of the last epochs, oldest first; the newest one is always kept.

    It keeps `most` of them if that is given, however many facts they change.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._deltas: deque[Delta] = deque()
        self._facts = 0
        self._texts: dict[int, ProgramText] = {}

    def add(self, delta: Delta) -> None:
        """Keep the delta of the next epoch."""
        delta.narrow()
        self._deltas.append(delta)
        self._facts += _size(delta)
        while len(self._deltas) > 1 and self._is_full():
            self._facts -= _size(self._deltas.popleft())
        self._forget_texts()

    def _is_full(self) -> bool:
        if self._most is not None:
            return len(self._deltas) > self._most
        return len(self._deltas) > _MOST_DELTAS or self._facts > _MOST_FACTS

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

    def texts_since(self, epoch: int) -> list[tuple[int, ProgramText]]:
        """Return the text in an epoch, and those that replaced it later with their epochs."""
        later = [(number, text) for number, text in self._texts.items() if number > epoch]
        return [(epoch, self.text_at(epoch)), *later]

    @property
    def deltas(self) -> tuple[Delta, ...]:
        """Return the deltas kept, oldest first."""
        return tuple(self._deltas)


def _size(delta: Delta) -> int:
    return delta.inserted_count + delta.deleted_count
