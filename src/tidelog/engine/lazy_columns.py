"""Columns of facts that are somewhere else until one of them is asked for."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, overload

from tidelog.engine.protocol import Codes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class LazyColumns(Sequence[Codes]):
    """One array of codes per column, read once and when the first is asked for; `facts` is known before.

    `code_frame` takes the relation's name and returns these facts as a data frame with columns c0, c1, ...
    """

    def __init__(
        self,
        facts: int,
        width: int,
        read: Callable[[], Sequence[Codes]],
        code_frame: "Callable[[str], DataFrame]",
        folder_uri: str,
    ) -> None:
        self.facts = facts
        self.code_frame = code_frame
        # The folder that driver and workers share.
        self.folder_uri = folder_uri
        self._width = width
        self._read = read
        self._columns: Sequence[Codes] | None = None

    def __len__(self) -> int:
        return self._width

    @overload
    def __getitem__(self, place: int) -> Codes: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Codes]: ...
    def __getitem__(self, place: int | slice) -> Codes | Sequence[Codes]:
        """Return a column, or several."""
        if self._columns is None:
            self._columns = self._read()
        return self._columns[place]

    def __iter__(self) -> Iterator[Codes]:
        return (self[place] for place in range(self._width))
