"""Strata as kernels take them: derivations of a few rows without a plan's cost for each of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tidelog.maintain import MaintainedEngine
from tidelog.maintain.small import layout
from tidelog.maintain.small.listing import list_derivations
from tidelog.maintain.small.stratum import SmallStratum
from tidelog.storage.kernel import Int64s

# More rows than these are joined faster all together than one by one.
_MOST_ROWS: Final = 1024
_ROOM: Final = 1 << 15


@dataclass
class _Laid:
    """The tables of a stratum, and what relations looked like when they were brought up to date."""

    stratum: SmallStratum
    seen: tuple[object, ...] = ()


class Tables:
    """The tables of an engine's strata, brought up to date when they are asked for."""

    def __init__(self, engine: MaintainedEngine) -> None:
        self._engine = engine
        self._laid: dict[int, _Laid | None] = {}
        self._counters = np.zeros(layout.COUNTER_COUNT, np.int64)
        self._found = np.empty((0, 0), np.int64)

    def forget(self) -> None:
        """Say that relations or their indexes may be others from now on."""
        for laid in self._laid.values():
            if laid is not None:
                laid.seen = ()

    def stratum(self, number: int) -> SmallStratum | None:
        """Return the tables of a stratum, None if its rules are beyond kernels."""
        if number not in self._laid:
            tables = self._engine.tables(number)
            self._laid[number] = None if tables is None else _Laid(tables)
        laid = self._laid[number]
        if laid is None:
            return None
        relations = self._engine.relations
        seen = tuple(
            (id(relation), relation.count, relation.rows.shape[0], relation.alive.size)
            for relation in map(relations.__getitem__, laid.stratum.names)
        )
        if seen != laid.seen:
            laid.stratum.refresh(relations, {})
            laid.seen = seen
        return laid.stratum

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
        count = list_derivations(
            tables.relations, tables.indexes, tables.chains, tables.variants, tables.code, tables.constants,
            np.asarray(chains, np.int64), rows, self._found, ends, self._counters, tables.like,
        )  # fmt: skip
        if count < 0:
            return None
        starts = [0, *ends[:-1].tolist()]
        return [self._found[start:end] for start, end in zip(starts, ends.tolist(), strict=True)]
