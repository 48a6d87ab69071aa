"""Strata as kernels take them: derivations of a few rows without a plan's cost for each of them."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from tidelog.maintain import LocalMaintainedEngine
from tidelog.maintain.small.stratum import SmallStratum
from tidelog.storage.kernel import Int64s

# More rows than these are joined faster all together than one by one.
_MOST_ROWS: Final = 1024
_ROOM: Final = 1 << 15


class StratumTables:
    """The tables of an engine's strata, brought up to date when they are asked for.

    Whoever adds rows, or lets the engine do so, says that by `forget`.
    """

    def __init__(self, engine: LocalMaintainedEngine) -> None:
        self._engine = engine
        self._laid: dict[int, SmallStratum | None] = {}
        self._fresh: set[int] = set()
        self._found = np.empty((0, 0), np.int64)

    def forget(self) -> None:
        """Say that relations or their indexes may be others from now on."""
        # The engine keeps the tables, and makes others when its codes become wide.
        self._laid.clear()
        self._fresh.clear()

    def stratum(self, number: int) -> SmallStratum | None:
        """Return the tables of a stratum, None if its rules are beyond kernels."""
        if number not in self._laid:
            self._laid[number] = self._engine.tables(number)
        tables = self._laid[number]
        if tables is not None and number not in self._fresh:
            tables.refresh(self._engine.relations)
            self._fresh.add(number)
        return tables

    def list(self, number: int, chains: Sequence[int] | Int64s, rows: Int64s) -> list[Int64s] | None:
        """Return the outputs of chains from rows, those of each chain apart.

        None if kernels cannot do it, or if there are so many that they should not.
        """
        tables = self.stratum(number) if rows.size <= _MOST_ROWS else None
        if tables is None:
            return None
        if self._found.shape[1] < tables.widest_output:
            self._found = np.empty((_ROOM, tables.widest_output), np.int64)
        ends = np.empty(len(chains), np.int64)
        count = tables.list(np.asarray(chains, np.int64), rows, self._found, ends)
        if count < 0:
            return None
        starts = [0, *ends[:-1].tolist()]
        return [self._found[start:end] for start, end in zip(starts, ends.tolist(), strict=True)]
