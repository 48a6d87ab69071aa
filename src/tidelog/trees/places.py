"""Where nodes stand in their source text."""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.source import Source, Span


@dataclass(frozen=True, eq=False)
class NodePlaces:
    """The first byte of each node in the text as UTF-8, and the byte after its last; -1 for nowhere."""

    source: Source
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    def span(self, row: int) -> Span | None:
        """Return the span of the node in a row."""
        start, end = int(self.starts[row]), int(self.ends[row])
        if start < 0:
            return None
        return Span(self.source, self._characters(start), self._characters(end))

    def moved(self, by: int) -> "NodePlaces":
        """Return the places in a text in which this one begins `by` bytes after the beginning."""
        is_placed = self.starts >= 0
        return NodePlaces(self.source, self.starts + is_placed * by, self.ends + is_placed * by)

    def hull(self, row: int, end: int) -> Span | None:
        """Return the span of the node in a row, or else of all nodes in the rows below it."""
        own = self.span(row)
        if own is not None:
            return own
        placed = self.starts[row:end] >= 0
        if not placed.any():
            return None
        start, stop = self.starts[row:end][placed].min(), self.ends[row:end][placed].max()
        return Span(self.source, self._characters(int(start)), self._characters(int(stop)))

    @cached_property
    def _bytes(self) -> bytes | None:
        return None if self.source.text.isascii() else self.source.text.encode()

    def _characters(self, offset: int) -> int:
        if self._bytes is None:
            return offset
        return len(self._bytes[:offset].decode())
