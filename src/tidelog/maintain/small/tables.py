"""The tables that kernels read: of all strata of a program, or of one."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidelog.maintain.small import layout
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import CodeArray, Int64s
from tidelog.storage.relation import IndexName


class Tables:
    """Relations are numbered as they are named, indexes and the rest as strata are laid out.

    `keys` are the indexes by relation and name. Strata that are laid out are used or not; `own` are the
    relations of those in use, `read` these and all others that they read, `used` the indexes.
    """

    def __init__(self, names: Sequence[str], relations: Mapping[str, StoredRelation]) -> None:
        self.names = list(names)
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self.keys: dict[tuple[str, IndexName], int] = {}
        self.own: dict[str, int] = {}
        self.read: dict[str, int] = {}
        self.used: dict[tuple[str, IndexName], int] = {}
        self._strata: dict[int, LaidOut] = {}
        # Counts how often what is in use changed.
        self.version = 0
        self.relations = np.zeros((len(self.names), layout.RELATION_WIDTH), np.int64)
        self.relations[:, layout.ARITY] = [relations[name].arity for name in self.names]
        self.relations[:, layout.FIRST_INDEX] = -1
        self.like: CodeArray = np.empty(0, relations[self.names[0]].dtype if self.names else np.int32)
        self.indexes = _table(layout.INDEX_WIDTH)
        self.rules = _table(5)
        self.literals = _table(4)
        self.forwards = _table(3)
        self.chains = _table(5)
        self.variants, self.uses, self.backs = _table(), _table(), _table()
        self.code, self.constants = _table(), _table()
        self.reads = _table()
        self.strata = _table(layout.STRATUM_WIDTH)

    def enter_strata(self, relation_counts: Sequence[int], reads: Sequence[AbstractSet[str]]) -> None:
        """Say which of the relations belong to which stratum, in order, and which ones it reads."""
        table = np.zeros((len(reads), layout.STRATUM_WIDTH), np.int64)
        table[:, layout.RELATION_COUNT] = relation_counts
        table[:, layout.READ_COUNT] = [len(read) for read in reads]
        for count, first in (
            (layout.RELATION_COUNT, layout.FIRST_RELATION),
            (layout.READ_COUNT, layout.FIRST_READ),
        ):
            table[1:, first] = np.cumsum(table[:-1, count])
        table[:, layout.HANDLER] = layout.CALLER
        self.strata = table
        self.reads = np.array([self.numbers[name] for read in reads for name in sorted(read)], np.int64)

    def keep(self, stratum: int, laid_out: "LaidOut") -> None:
        """Say what a stratum that was laid out needs, and use it."""
        self._strata[stratum] = laid_out
        self.use(stratum)

    def is_laid_out(self, stratum: int) -> bool:
        """Say whether a stratum is in the tables."""
        return stratum in self._strata

    def use(self, stratum: int) -> None:
        """Keep up to date what a stratum needs."""
        laid_out = self._strata[stratum]
        self.own.update((name, self.numbers[name]) for name in laid_out.own)
        self.read.update((name, self.numbers[name]) for name in laid_out.names)
        self.used.update((key, self.keys[key]) for key in laid_out.keys)
        self.indexes[[self.keys[key] for key in laid_out.keys], layout.INDEX_IS_USED] = 1
        self.version += 1

    def use_only(self, strata: Iterable[int]) -> None:
        """Keep up to date what these strata need, and nothing else."""
        self.own, self.read, self.used = {}, {}, {}
        self.version += 1
        self.indexes[:, layout.INDEX_IS_USED] = 0
        for stratum in strata:
            self.use(stratum)

    def needs(self, stratum: int, names: AbstractSet[str]) -> bool:
        """Say whether a stratum that is laid out has to do with any of these relations."""
        return not self._strata[stratum].names.isdisjoint(names)

    def number_index(self, relation: str, name: IndexName) -> int:
        """Return the number of an index, entered into the table if it is not there."""
        number = self.keys.get((relation, name))
        if number is None:
            number = len(self.keys)
            self.keys[relation, name] = number
            key = index_key(name)
            row = np.zeros((1, layout.INDEX_WIDTH), np.int64)
            row[0, layout.INDEX_KEY_WIDTH] = len(key)
            of_relation = self.relations[self.numbers[relation]]
            row[0, layout.INDEX_REST_WIDTH] = of_relation[layout.ARITY] - len(set(key))
            row[0, layout.NEXT_INDEX] = of_relation[layout.FIRST_INDEX]
            of_relation[layout.FIRST_INDEX] = number
            self.indexes = np.concatenate([self.indexes, row])
        return number

    def forget_indexes(self, known: int) -> None:
        """Take the indexes from the table that were entered after so many of them."""
        for relation, name in reversed(list(self.keys)[known:]):
            number = self.keys.pop((relation, name))
            following = self.indexes[number, layout.NEXT_INDEX]
            self.relations[self.numbers[relation], layout.FIRST_INDEX] = following
        self.indexes = self.indexes[:known]


@dataclass(frozen=True, slots=True)
class LaidOut:
    """What a stratum in the tables needs: its relations, all that its chains read, and indexes."""

    own: Sequence[str]
    names: AbstractSet[str]
    keys: AbstractSet[tuple[str, IndexName]]


def index_key(name: IndexName) -> tuple[int, ...]:
    """Return the columns of the key of an index."""
    return name[0] if name and isinstance(name[0], tuple) else name


def extended(table: Int64s, rows: npt.ArrayLike) -> Int64s:
    """Return a table with more rows."""
    more = np.asarray(rows, np.int64).reshape(-1, *table.shape[1:])
    return np.concatenate([table, more])


def _table(*width: int) -> Int64s:
    return np.empty((0, *width), np.int64)
