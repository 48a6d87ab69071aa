"""The tables that kernels read: of all strata of a program, or of one."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.engine.local.by_row import layout
from tidelog.storage import StoredRelation
from tidelog.storage.judge_row import Literal
from tidelog.storage.projected import Projection
from tidelog.storage.relation_indexes import IndexName
from tidelog.storage.structs import Structs, words_of

NO_PROJECTIONS: Final[Mapping[str, Projection]] = {}
AnyArray = npt.NDArray[np.generic]


class StrataTables:
    """The arrays behind `layout.Tables`: relations as they are named, the rest as strata are laid out.

    The strata have so many relations each (`sizes`), in the order of `names`, and read others.
    `keys` are the indexes by relation and name. Strata that are laid out are used or not; `own` are the
    relations of those in use, `read` these and all others that they read, `used` the indexes. Facts of
    `projections` are looked up in indexes of other relations, which are named, too.
    """

    def __init__(
        self,
        names: Sequence[str],
        relations: Mapping[str, StoredRelation],
        sizes: Sequence[int],
        reads: Sequence[AbstractSet[str]],
        projections: Mapping[str, Projection] = NO_PROJECTIONS,
    ) -> None:
        self.projections = projections
        self.names = list(names)
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self.keys: dict[tuple[str, IndexName], int] = {}
        self.own: dict[str, int] = {}
        self.read: dict[str, int] = {}
        self.used: dict[tuple[str, IndexName], int] = {}
        self.laid_out: dict[int, LaidOut] = {}
        # Counts how often what is in use changed.
        self.version = 0
        self.relations = _structs(layout.RelationRecord, len(self.names))
        self.relations["arity"] = [relations[name].arity for name in self.names]
        self.relations["first_index"] = -1
        self.like = np.empty(0, relations[self.names[0]].dtype if self.names else np.int32)
        self.strata = _structs(layout.StratumRecord, len(reads))
        for noun, counts in ("relation", sizes), ("read", [len(read) for read in reads]):
            self.strata[f"{noun}_count"] = counts
            self.strata[f"first_{noun}"][1:] = np.cumsum(counts[:-1])
        self.strata["handler"] = layout.CALLER
        self.reads = np.array([self.numbers[name] for read in reads for name in sorted(read)], np.int64)
        self.indexes = _structs(layout.IndexRecord)
        self.rules = _structs(layout.RuleRecord)
        self.literals = _structs(Literal)
        self.chains = _structs(layout.Chain)
        self.forwards = _structs(layout.Forward)
        self.variants, self.uses, self.backs, self.code, self.constants = (
            np.empty(0, np.int64) for _ in range(5)
        )

    def arrays(self, counters: Structs) -> tuple[AnyArray, ...]:
        """Return the arrays that `layout.open_tables` takes, with registers for one caller."""
        values = np.concatenate([np.empty(layout.REGISTERS, np.int64), self.constants])
        widest = max(self.widest_output, int(self.relations["arity"].max(initial=0)))
        cursors = np.empty(layout.DEPTH, words_of(layout.Cursor))
        return (
            *(
                self.strata,
                self.relations,
                self.indexes,
                self.rules,
                self.literals,
                self.chains,
                self.forwards,
            ),
            *(self.variants, self.uses, self.backs, self.reads, self.code),
            *(values, np.empty(widest, np.int64), cursors, counters),
        )

    @property
    def widest_output(self) -> int:
        """Return how many values the derivation of a chain can have."""
        return int((self.rules["arity"] + self.rules["literal_count"]).max(initial=0)) + 1

    def keep(self, stratum: int, laid_out: "LaidOut") -> None:
        """Record what a stratum that was laid out needs, and use it."""
        self.laid_out[stratum] = laid_out
        self.use(stratum)

    def bases_of(self, names: Iterable[str]) -> set[str]:
        """Return the relations that relations are projections of."""
        return {self.projections[name].base for name in names if name in self.projections}

    def is_laid_out(self, stratum: int) -> bool:
        """Say whether a stratum is in the tables."""
        return stratum in self.laid_out

    def use(self, stratum: int) -> None:
        """Keep up to date what a stratum needs."""
        laid_out = self.laid_out[stratum]
        self.own.update((name, self.numbers[name]) for name in laid_out.own)
        self.read.update((name, self.numbers[name]) for name in laid_out.names)
        self.used.update((key, self.keys[key]) for key in laid_out.keys)
        self.indexes["is_used"][[self.keys[key] for key in laid_out.keys]] = 1
        self.version += 1

    def use_only(self, strata: Iterable[int]) -> None:
        """Keep up to date what these strata need, and nothing else."""
        self.own, self.read, self.used = {}, {}, {}
        self.version += 1
        self.indexes["is_used"] = 0
        for stratum in strata:
            self.use(stratum)

    def needs(self, stratum: int, names: AbstractSet[str]) -> bool:
        """Say whether a stratum that is laid out uses any of these relations."""
        return not self.laid_out[stratum].names.isdisjoint(names)

    def number_index(self, relation: str, name: IndexName) -> int:
        """Return the number of an index; enter it into the table if it is missing."""
        number = self.keys.get((relation, name))
        if number is None:
            key = index_key(name)
            index = _structs(layout.IndexRecord, 1)
            of_relation = self.relations[self.numbers[relation]]
            over = index_below(name)
            below = self.number_index(relation, over) if over else -1
            number = len(self.keys)
            self.keys[relation, name] = number
            index["below"] = below
            index["key_width"] = len(key)
            index["rest_width"] = (len(over) if over else of_relation["arity"]) - len(set(key))
            index["next"] = of_relation["first_index"]
            of_relation["first_index"] = number
            self.indexes = np.concatenate([self.indexes, index])
        return number

    def forget_indexes(self, known: int) -> None:
        """Remove the indexes from the table that were entered after this many."""
        for relation, name in reversed(list(self.keys)[known:]):
            number = self.keys.pop((relation, name))
            self.relations[self.numbers[relation]]["first_index"] = self.indexes[number]["next"]
        self.indexes = self.indexes[:known]
        self.version += 1


@dataclass(frozen=True, slots=True)
class LaidOut:
    """What a stratum in the tables needs: its relations, all that its chains read, and indexes."""

    own: Sequence[str]
    names: AbstractSet[str]
    keys: AbstractSet[tuple[str, IndexName]]


def index_key(name: IndexName) -> tuple[int, ...]:
    """Return the columns of the key of an index."""
    return name[0] if name and isinstance(name[0], tuple) else name


def index_below(name: IndexName) -> tuple[int, ...]:
    """Return the columns of the key of the index below a level, none if it is not one of a level."""
    return name[1] if len(name) > 1 and isinstance(name[1], tuple) else ()


def extended(table: npt.NDArray[Any], rows: Sequence[int] | Sequence[tuple[int, ...]]) -> npt.NDArray[Any]:
    """Return a table with more structs, or numbers."""
    return np.concatenate([table, np.array(rows, table.dtype)])


def _structs(kind: type, count: int = 0) -> Structs:
    return np.zeros(count, words_of(kind))
