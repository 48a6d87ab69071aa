"""The facts of the local engine, read through its membership tables and indexes.

An index that the engine has is used where its key is bound, the shortest posting first; another one
is built, and kept here, when nothing else leads to the facts of a large relation.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.engine.local.settle import needs_settling
from tidelog.engine.protocol import Codes
from tidelog.explain.proofs.source import Level, Partner, Period
from tidelog.explain.proofs.work import SearchWork
from tidelog.program.nodes import Program
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.direct import DirectIndex
from tidelog.storage.index import Index
from tidelog.storage.kernel import CodeArray, Int64s
from tidelog.storage.lookup import find_key
from tidelog.storage.postings import LENGTH, START
from tidelog.values import Codec, Fact, Kind, Value
from tidelog.values.functors import canonical_value

# A relation of fewer rows is read from end to end where no index leads to its facts.
_ROWS_TO_SCAN = 1 << 11
# Without an index, a bound column is taken to leave one row of so many, as a power of two.
_SELECTIVITY = 7
_FIRST_BATCH_ROWS = 64
_LARGEST_BATCH_ROWS = 1 << 16
_ROWS_PER_STEP = 64
_BATCH_GROWTH = 8
_MOST_TEXTS = 1 << 14
_NARROW, _WIDE = 1 << 31, 1 << 63
_EVER = int(ABSENT)

# The numbers of the rows in a posting, and the columns of its key.
_Posting = tuple[Int64s, tuple[int, ...]]
_NO_ROWS: Int64s = np.empty(0, np.int64)


class LocalEngineState(Protocol):
    """What is read of a local engine that follows changes."""

    @property
    def relations(self) -> Mapping[str, StoredRelation]:
        """Return the stored relations by name."""

    def is_input(self, relation: str, columns: Sequence[Codes]) -> npt.NDArray[np.bool_]:
        """Say of each fact whether it is an input fact now."""

    def input_facts(self, relation: str) -> Sequence[Codes]:
        """Return the input facts of a relation."""

    def lattice_periods(
        self, relation: str, row: Sequence[int]
    ) -> Sequence[tuple[int, Sequence[int], bool]] | None:
        """Return the rows that the key of a row had, from which iteration on, and which narrowing led to.

        None if the engine does not know.
        """


class LocalFacts:
    """Facts of the local engine in user values; see `FactSource`, and `Searching`.

    With `across` levels are heights: they compare between strata. The state must stay in its epoch while it
    is read.
    """

    def __init__(
        self, program: Program, codec: Codec, engine: LocalEngineState, *, across: bool = False
    ) -> None:
        self.program = program
        self.codec = codec
        self._engine = engine
        self._across = across
        self._strata = {
            name: number for number, stratum in enumerate(program.strata) for name in stratum.relations
        }
        # Elsewhere the input facts are those of level 0.
        subsumed = {each.less.relation for each in program.subsumptions}
        self._apart = frozenset(
            relation.name
            for relation in program.relations.values()
            if relation.name in subsumed or needs_settling(relation)
        )
        # Values are looked up again and again on the way through a proof.
        self._symbol_code = lru_cache(_MOST_TEXTS)(self._find_symbol)
        self._decoders = {
            name: tuple(self.decoder(column.type) for column in relation.columns)
            for name, relation in program.relations.items()
        }
        self._encoders = {
            name: tuple(self.encoder(column.type) for column in relation.columns)
            for name, relation in program.relations.items()
        }
        self._last: tuple[str, Fact, int] | None = None
        self._built: dict[tuple[str, int], list[Index]] = {}
        self._usable: dict[tuple[str, int, tuple[int, ...]], tuple[Index, ...]] = {}

    # --- as a source -----------------------------------------------------------------------------

    def contains(self, relation: str, fact: Fact) -> bool:
        """Say whether the fact holds."""
        return self._number(relation, fact) >= 0

    def matches(self, relation: str, bound: Mapping[int, Value]) -> Iterator[Fact]:
        """Yield the facts with these values in these columns."""
        return self.look_up(relation, bound).facts(None, (), SearchWork())

    def count(self, relation: str, bound: Mapping[int, Value]) -> int:
        """Return at least the number of matching facts."""
        return self.look_up(relation, bound).size

    def level(self, relation: str, fact: Fact) -> Level | None:
        """Return the stratum of the relation and the iteration in which the fact first held."""
        number = self._number(relation, fact)
        if number < 0:
            return None
        iteration = int(self._engine.relations[relation].levels[number])
        return (0, iteration) if self._across else (self._strata[relation], iteration)

    def periods(self, relation: str, fact: Fact) -> Sequence[Period] | None:
        """Return the facts that the key of a fact had, in their order; None if that is not known."""
        codes = self._codes(relation, dict(enumerate(fact)))
        found = None if codes is None else self._engine.lattice_periods(relation, list(codes.values()))
        if found is None:
            return None
        decoders = self._decoders[relation]
        return [
            Period(at, tuple(decode(code) for decode, code in zip(decoders, row, strict=True)), is_narrowed)
            for at, row, is_narrowed in found
        ]

    def is_input(self, relation: str, fact: Fact) -> bool:
        """Say whether the fact is an input fact."""
        if relation not in self._apart:
            number = self._number(relation, fact)
            return number >= 0 and int(self._engine.relations[relation].levels[number]) == 0
        codes = self._codes(relation, dict(enumerate(fact)))
        if codes is None:
            return False
        columns = [np.array([code], np.int64) for code in codes.values()] or [np.zeros(1, np.int64)]
        return bool(self._engine.is_input(relation, columns)[0])

    def input_facts(self, relation: str) -> Iterator[Fact]:
        """Yield the input facts of a relation."""
        columns = self._engine.input_facts(relation)
        if not self._decoders[relation]:
            yield from [()] * len(columns[0])
            return
        for row in zip(*(column.tolist() for column in columns), strict=True):
            yield tuple(decode(code) for decode, code in zip(self._decoders[relation], row, strict=True))

    # --- codes ------------------------------------------------------------------------------------

    def decoder(self, type_name: str) -> Callable[[int], Value]:
        """Return what makes values of codes of a type."""
        match self.codec.resolve(type_name).kind:
            case Kind.NUMBER:
                return int
            case Kind.SYMBOL:
                return self.codec.symbols.text_of
            case _:
                return lambda code: canonical_value(self.codec.decode(code, type_name))

    def encoder(self, type_name: str) -> Callable[[Value], int]:
        """Return what makes codes of values of a type; the values were checked before."""
        match self.codec.resolve(type_name).kind:
            case Kind.NUMBER:
                return cast("Callable[[Value], int]", int)
            case Kind.SYMBOL:
                return self._symbol_code
            case _:
                return lambda value: self.codec.encode(value, type_name)

    def _find_symbol(self, value: Value) -> int:
        """Return the code of a text; one that no fact has gets a code that no text has."""
        code = self.codec.symbols.find(cast("str", value))
        return -1 if code is None else code

    def _codes(self, relation: str, bound: Mapping[int, Value]) -> dict[int, int] | None:
        """Return the codes of bound columns, None if the state holds no such codes."""
        limit = _NARROW if self._engine.relations[relation].dtype.itemsize == 4 else _WIDE
        encoders = self._encoders[relation]
        codes: dict[int, int] = {}
        for column, value in bound.items():
            code = codes[column] = encoders[column](value)
            if not -limit <= code < limit:
                return None
        return codes

    def _number(self, relation: str, fact: Fact) -> int:
        # The level of a fact and whether it is an input fact are asked for one after the other.
        last = self._last
        if last is not None and last[0] == relation and last[1] == fact:
            return last[2]
        codes = self._codes(relation, dict(enumerate(fact)))
        number = -1 if codes is None else self._find(relation, list(codes.values()))
        self._last = (relation, fact, number)
        return number

    def with_heights(self) -> "LocalFacts":
        """Return the same facts, whose levels are heights; indexes are shared."""
        other = LocalFacts(self.program, self.codec, self._engine, across=True)
        other._built = self._built
        return other

    def start_epoch(self) -> None:
        """Forget what was looked up in the epoch before, and the indexes of other versions of relations."""
        self._last = None
        self._usable = {}
        self._symbol_code.cache_clear()
        now = {(name, stored.version) for name, stored in self._engine.relations.items()}
        for old in self._built.keys() - now:
            del self._built[old]

    def _find(self, relation: str, codes: Sequence[int]) -> int:
        """Return the row of a fact that holds, or -1."""
        stored = self._engine.relations[relation]
        number = int(find_key(stored.slots, stored.rows, stored.all_columns, np.array(codes, np.int64)))
        return number if number >= 0 and stored.levels[number] != ABSENT else -1

    # --- postings ---------------------------------------------------------------------------------

    def _indexes(
        self, relation: str, stored: StoredRelation, columns: tuple[int, ...]
    ) -> tuple[Index | DirectIndex, ...]:
        """Return the indexes whose keys are among the columns."""
        known = relation, stored.version, columns
        found = self._usable.get(known)
        if found is None:
            built = self._built.get((relation, stored.version), ())
            indexes = *stored.all_indexes(), *built
            found = tuple(index for index in indexes if index.key and set(index.key) <= set(columns))
            self._usable[known] = found
        return found

    def _posting(self, index: Index | DirectIndex, stored: StoredRelation, key: Sequence[int]) -> Int64s:
        """Return the numbers of the rows with a key, some of which may be dead, in ascending order."""
        if index.rows_indexed < stored.count:
            index.add_rows(stored.rows, stored.count)
        if index.rows_indexed < stored.count:
            # A direct index that does not take the new rows.
            index = stored.lookup(index.key)
        if isinstance(index, DirectIndex):
            return index.rows_of(stored.rows, key)
        if index.is_dense:
            group = key[0]
            if not 0 <= group < index.groups.shape[0]:
                return _NO_ROWS
        else:
            group = int(find_key(index.slots, index.keys, index.key_places, np.array(key, np.int64)))
            if group < 0:
                return _NO_ROWS
        start, length = int(index.groups[group, START]), int(index.groups[group, LENGTH])
        numbers: Int64s = index.arena[start : start + length, -1]
        return numbers

    def _shortest(self, relation: str, stored: StoredRelation, codes: Mapping[int, int]) -> _Posting | None:
        """Return the shortest posting that holds all matching rows."""
        best: _Posting | None = None
        for index in self._indexes(relation, stored, tuple(codes)):
            numbers = self._posting(index, stored, [codes[column] for column in index.key])
            if best is None or len(numbers) < len(best[0]):
                best = (numbers, index.key)
        return best

    def _build(self, relation: str, key: tuple[int, ...]) -> None:
        stored = self._engine.relations[relation]
        index = Index(key, stored.arity, stored.dtype)
        index.add_rows(stored.rows, stored.count)
        self._built.setdefault((relation, stored.version), []).append(index)
        self._usable = {}

    # --- searches ---------------------------------------------------------------------------------

    def searches(self, relation: str) -> bool:
        """Say whether the engine holds the relation."""
        return relation in self._strata

    def look_up(self, relation: str, bound: Mapping[int, Value]) -> "_LookUp":
        """Return the facts with these values in these columns; see `Searching`."""
        stored = self._engine.relations[relation]
        codes = self._codes(relation, bound)
        if codes is None:
            return _LookUp(self, relation, bound, {}, None, 0)
        if len(codes) == stored.arity:
            return _LookUp(self, relation, bound, codes, None, 1)
        best = self._shortest(relation, stored, codes)
        size = max(1, stored.count >> (_SELECTIVITY * len(codes))) if best is None else len(best[0])
        return _LookUp(self, relation, bound, codes, best, size)

    def read(
        self, look_up: "_LookUp", below: Level | None, partners: Sequence[Partner], work: SearchWork
    ) -> Iterator[Fact]:
        """Yield the facts of a look-up; see `LookUp`."""
        relation, codes = look_up.relation, look_up.codes
        stored = self._engine.relations[relation]
        limit = self._limit(relation, below)
        if len(codes) == stored.arity:
            work.step()
            number = self._find(relation, [codes[column] for column in range(stored.arity)])
            if number >= 0 and stored.levels[number] < limit:
                yield tuple([look_up.bound[column] for column in range(stored.arity)])
            return
        if not look_up.size:
            return
        checks: list[_Check] = []
        for partner in partners:
            check = self._check(partner, below)
            if check is None:
                return
            checks.append(check)
        # A search with a limit on its work had better look at some rows than index them all.
        posting = look_up.posting
        if posting is None and codes and stored.count > _ROWS_TO_SCAN and work.limit is None:
            self._build(relation, tuple(sorted(codes)))
            posting = self._shortest(relation, stored, codes)
        decoders = self._decoders[relation]
        for numbers, looked_at in _matching_rows(stored, codes, limit, posting):
            work.step(1 + looked_at // _ROWS_PER_STEP)
            rows = stored.rows[numbers]
            for check in checks:
                rows = rows[check.holds(rows)] if len(rows) else rows
            yield from zip(
                *(
                    repeat(look_up.bound[column], len(rows))
                    if column in look_up.bound
                    else map(decode, rows[:, column].tolist())
                    for column, decode in enumerate(decoders)
                ),
                strict=True,
            )

    def _check(self, partner: Partner, below: Level | None) -> "_Check | None":
        """Return how to tell which rows have a partner, None if no row can have one."""
        codes = self._codes(partner.relation, partner.bound)
        if codes is None:
            return None
        stored = self._engine.relations[partner.relation]
        return _Check(stored, codes, partner.columns, self._limit(partner.relation, below))

    def _limit(self, relation: str, below: Level | None) -> int:
        """Return the iteration that facts of a relation must come before."""
        if below is None:
            return _EVER
        stratum, iteration = below
        own = 0 if self._across else self._strata[relation]
        if own == stratum:
            return iteration
        return _EVER if own < stratum else 0


def _matching_rows(
    stored: StoredRelation, codes: Mapping[int, int], limit: int, posting: _Posting | None
) -> Iterator[tuple[Int64s, int]]:
    """Yield the numbers of rows with these codes whose level is below the limit, in batches that grow.

    They are read from the posting, if there is one, which holds them all. With each batch comes how many
    rows were looked at for it.
    """
    in_posting, key = (None, ()) if posting is None else posting
    length = stored.count if in_posting is None else len(in_posting)
    checked = [column for column in codes if column not in key]
    first, size = 0, _FIRST_BATCH_ROWS
    while first < length:
        last = min(length, first + size)
        if in_posting is None:
            numbers = np.arange(first, last, dtype=np.int64)
        else:
            numbers = in_posting[first:last].astype(np.int64)
        keep = stored.levels[numbers] < limit
        for column in checked:
            keep &= stored.rows[numbers, column] == codes[column]
        yield numbers[keep], last - first
        first, size = last, min(size * _BATCH_GROWTH, _LARGEST_BATCH_ROWS)


@dataclass(slots=True)
class _LookUp:
    """Facts with some values in some columns; see `LookUp`."""

    source: LocalFacts
    relation: str
    bound: Mapping[int, Value]
    codes: Mapping[int, int]
    posting: _Posting | None
    size: int

    def facts(self, below: Level | None, partners: Sequence[Partner], work: SearchWork) -> Iterator[Fact]:
        """Yield the facts of which all partners hold."""
        return self.source.read(self, below, partners, work)


@dataclass(slots=True)
class _Check:
    """A look-up of one partner for each row: codes it has anyway, and columns it takes from the row."""

    stored: StoredRelation
    codes: Mapping[int, int]
    columns: Mapping[int, int]
    limit: int

    def holds(self, rows: CodeArray) -> npt.NDArray[np.bool_]:
        """Say of each row whether its partner is there and comes before the limit."""
        probes = np.empty((len(rows), self.stored.arity), self.stored.dtype)
        for column, code in self.codes.items():
            probes[:, column] = code
        for column, place in self.columns.items():
            probes[:, column] = rows[:, place]
        numbers = self.stored.find(probes)
        return (numbers >= 0) & (self.stored.levels[np.maximum(numbers, 0)] < self.limit)
