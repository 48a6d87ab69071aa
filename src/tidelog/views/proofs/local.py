"""The facts of the local engine, read through its membership tables and indexes.

An index that the engine has is used where its key is bound, the shortest posting first; another one
is built, and kept here, when nothing else leads to the facts of a large relation.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.settle import needs_settling
from tidelog.engine.protocol import Codes
from tidelog.program.nodes import Atom, Constant, Program, Variable
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.index import Index
from tidelog.storage.kernel import CodeArray, Int64s
from tidelog.storage.lookup import find_key
from tidelog.storage.postings import LENGTH, START
from tidelog.values import Codec, Fact, Kind, Value
from tidelog.values.functors import canonical_value
from tidelog.views.proofs.source import Level
from tidelog.views.proofs.work import Work

# A relation of fewer rows is read from end to end where no index leads to its facts.
_ROWS_TO_SCAN = 1 << 11
# Without an index, a bound column is taken to leave one row of so many, as a power of two.
_SELECTIVITY = 7
_FIRST_BATCH_ROWS = 64
_LARGEST_BATCH_ROWS = 1 << 16
_ROWS_PER_STEP = 64
_BATCH_GROWTH = 8
_MOST_SHAPES = 1 << 10
_NO_ROWS: Int64s = np.empty(0, np.int64)

Known = Mapping[str, int]
# The length of a posting, its index, and where it starts.
_Posting = tuple[int, Index, int]


class LocalEngineState(Protocol):
    """What is read of a local engine that follows changes."""

    @property
    def relations(self) -> Mapping[str, StoredRelation]:
        """Return the stored relations by name."""

    def is_input(self, relation: str, columns: Sequence[Codes]) -> npt.NDArray[np.bool_]:
        """Say of each fact whether it is an input fact now."""

    def input_facts(self, relation: str) -> Sequence[Codes]:
        """Return the input facts of a relation."""


class LocalFacts:
    """Facts of the local engine in user values; see `FactSource`, and `Joining`.

    `strata` numbers the strata of relations. With `across` levels are heights: they compare between
    strata. The state must stay in its epoch while it is read.
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
        subsumed = {each.less.relation for stratum in program.strata for each in stratum.subsumptions}
        self._apart = frozenset(
            relation.name
            for relation in program.relations.values()
            if relation.name in subsumed or needs_settling(relation)
        )
        self._decoders = {
            name: tuple(self.decoder(column.type) for column in relation.columns)
            for name, relation in program.relations.items()
        }
        self._encoders = {
            name: tuple(self.encoder(column.type) for column in relation.columns)
            for name, relation in program.relations.items()
        }
        self._decoder_of: dict[str, Callable[[int], Value]] = {}
        self._encoder_of: dict[str, Callable[[Value], int]] = {}
        self._last: tuple[str, Fact, int] | None = None
        self._built: dict[str, tuple[StoredRelation, list[Index]]] = {}
        self._shapes: dict[tuple[int, ...], _Shape] = {}

    # --- as a source -----------------------------------------------------------------------------

    def contains(self, relation: str, fact: Fact) -> bool:
        """Say whether the fact holds."""
        return self._number(relation, fact) >= 0

    def matches(self, relation: str, bound: Mapping[int, Value]) -> Iterator[Fact]:
        """Yield the facts with these values in these columns."""
        codes = self._codes(relation, bound)
        if codes is None:
            return
        stored = self._engine.relations[relation]
        decoders = self._decoders[relation]
        for numbers, _ in self._rows(relation, codes, int(ABSENT), self._estimate(relation, codes)[1]):
            if not decoders:
                yield ()
                continue
            for row in stored.rows[numbers].tolist():
                yield tuple(decode(code) for decode, code in zip(decoders, row, strict=True))

    def count(self, relation: str, bound: Mapping[int, Value]) -> int:
        """Return at least the number of matching facts."""
        codes = self._codes(relation, bound)
        return 0 if codes is None else self._estimate(relation, codes)[0]

    def level(self, relation: str, fact: Fact) -> Level | None:
        """Return the stratum of the relation and the iteration in which the fact first held."""
        number = self._number(relation, fact)
        if number < 0:
            return None
        iteration = int(self._engine.relations[relation].levels[number])
        return (0, iteration) if self._across else (self._strata[relation], iteration)

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

    def _symbol_code(self, value: Value) -> int:
        """Return the code of a text; one that no fact has gets a code that no text has."""
        code = self.codec.symbols.find(cast("str", value))
        return -1 if code is None else code

    def _encoder(self, type_name: str) -> Callable[[Value], int]:
        encoder = self._encoder_of.get(type_name)
        if encoder is None:
            encoder = self._encoder_of[type_name] = self.encoder(type_name)
        return encoder

    def _codes(self, relation: str, bound: Mapping[int, Value]) -> dict[int, int] | None:
        """Return the codes of bound columns, None if the state holds no such codes."""
        encoders = self._encoders[relation]
        codes = {column: encoders[column](value) for column, value in bound.items()}
        return codes if self._fits(relation, codes.values()) else None

    def _fits(self, relation: str, codes: Iterable[int]) -> bool:
        is_wide = self._engine.relations[relation].dtype.itemsize == 8
        return is_wide or all(-(1 << 31) <= code < 1 << 31 for code in codes)

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
        """Forget what was looked up in the epoch before; indexes follow their relations."""
        self._last = None
        self._shapes = {}

    def _find(self, relation: str, codes: Sequence[int]) -> int:
        """Return the row of a fact that holds, or -1."""
        stored = self._engine.relations[relation]
        number = int(find_key(stored.slots, stored.rows, np.array(codes, np.int64)))
        return number if number >= 0 and stored.levels[number] != ABSENT else -1

    # --- postings ---------------------------------------------------------------------------------

    def _indexes(self, relation: str) -> list[Index]:
        stored = self._engine.relations[relation]
        built = self._built.get(relation)
        # Indexes of a relation that was replaced since are of no use.
        if built is None or built[0] is not stored:
            return list(stored.indexes.values())
        return [*stored.indexes.values(), *built[1]]

    def _posting(self, index: Index, stored: StoredRelation, key: Sequence[int]) -> tuple[int, int]:
        """Return where the posting of a key starts, and how long it is."""
        if index.rows_indexed < stored.count:
            index.add_rows(stored.rows, stored.count)
        if index.is_dense:
            group = key[0]
            if not 0 <= group < index.groups.shape[0]:
                return 0, 0
        else:
            group = int(find_key(index.slots, index.keys, np.array(key, np.int64)))
            if group < 0:
                return 0, 0
        return int(index.groups[group, START]), int(index.groups[group, LENGTH])

    def _shortest(self, relation: str, codes: Mapping[int, int]) -> _Posting | None:
        """Return the shortest posting that holds all matching rows: length, index, start."""
        stored = self._engine.relations[relation]
        best: _Posting | None = None
        for index in self._indexes(relation):
            if codes.keys() >= set(index.key):
                start, length = self._posting(index, stored, [codes[column] for column in index.key])
                if best is None or length < best[0]:
                    best = (length, index, start)
        return best

    def _estimate(self, relation: str, codes: Mapping[int, int]) -> tuple[int, _Posting | None]:
        """Return about how many rows match, and the shortest posting that holds them."""
        stored = self._engine.relations[relation]
        if len(codes) == stored.arity:
            return 1, None
        best = self._shortest(relation, codes) if codes else None
        return (max(1, stored.count >> (_SELECTIVITY * len(codes))) if best is None else best[0]), best

    def _rows(
        self,
        relation: str,
        codes: Mapping[int, int],
        limit: int,
        best: _Posting | None,
        *,
        may_build: bool = True,
    ) -> Iterator[tuple[Int64s, int]]:
        """Yield the numbers of matching rows whose level is below the limit, in batches that grow.

        With each batch comes how many rows were looked at for it. `best` is the posting to read.
        Where no index leads to them one is built, unless it may not be: a search with a limit on its
        work had better look at some rows than index them all.
        """
        stored = self._engine.relations[relation]
        if len(codes) == stored.arity:
            number = self._find(relation, [codes[column] for column in range(stored.arity)])
            if number >= 0 and stored.levels[number] < limit:
                yield np.array([number], np.int64), 1
            return
        if best is None and codes and stored.count > _ROWS_TO_SCAN and may_build:
            self._build(relation, tuple(sorted(codes)))
            best = self._shortest(relation, codes)
        checked = [column for column in codes if best is None or column not in best[1].key]
        length = stored.count if best is None else best[0]
        first, size = 0, _FIRST_BATCH_ROWS
        while first < length:
            last = min(length, first + size)
            if best is None:
                numbers = np.arange(first, last, dtype=np.int64)
            else:
                _, index, start = best
                numbers = index.arena[start + first : start + last, -1].astype(np.int64)
            keep = stored.levels[numbers] < limit
            for column in checked:
                keep &= stored.rows[numbers, column] == codes[column]
            numbers = numbers[keep]
            yield numbers, last - first
            first, size = last, min(size * _BATCH_GROWTH, _LARGEST_BATCH_ROWS)

    def _build(self, relation: str, key: tuple[int, ...]) -> None:
        stored = self._engine.relations[relation]
        index = Index(key, stored.arity, stored.dtype)
        index.add_rows(stored.rows, stored.count)
        known = self._built.get(relation)
        if known is None or known[0] is not stored:
            known = self._built[relation] = (stored, [])
        known[1].append(index)
        self._shapes = {}

    # --- joins ------------------------------------------------------------------------------------

    def joins(self, relation: str) -> bool:
        """Say whether the engine holds the relation."""
        return relation in self._strata

    def join(
        self, atoms: Sequence[Atom], binding: Mapping[str, Value], below: Level | None, work: Work
    ) -> Iterator[dict[str, Value]]:
        """Yield the bindings of plain atoms that extend `binding`; see `Joining`."""
        shape = self._shapes.get(tuple(map(id, atoms)))
        if shape is None:
            shape = self._shape(atoms)
        known: dict[str, int] = {}
        fresh: list[tuple[str, Callable[[int], Value]]] = []
        for name, type_name in shape.types:
            if name in binding:
                known[name] = self._encoder(type_name)(binding[name])
            else:
                fresh.append((name, self._decoder(type_name)))
        for atom in shape.plain:
            codes = atom.codes(known).values()
            if not self._fits(atom.relation, codes):
                return
        limits = {atom.relation: self._limit(atom.relation, below) for atom in shape.plain}
        for found in self._join(self._stage(shape, frozenset(known)), known, limits, work):
            extended = dict(binding)
            for name, decode in fresh:
                extended[name] = decode(found[name])
            yield extended

    def _decoder(self, type_name: str) -> Callable[[int], Value]:
        decoder = self._decoder_of.get(type_name)
        if decoder is None:
            decoder = self._decoder_of[type_name] = self.decoder(type_name)
        return decoder

    def _shape(self, atoms: Sequence[Atom]) -> "_Shape":
        """Return what is the same whenever these atoms are joined, and keep it for the epoch."""
        types = {term.name: term.type for atom in atoms for term in atom.terms if isinstance(term, Variable)}
        plain = tuple(self._plain(atom) for atom in atoms)
        shape = _Shape(tuple(atoms), tuple(types.items()), plain, {})
        if len(self._shapes) >= _MOST_SHAPES:
            self._shapes.clear()
        self._shapes[tuple(map(id, atoms))] = shape
        return shape

    def _plain(self, atom: Atom) -> "_PlainAtom":
        constants = {
            column: self._encoder(term.type)(term.value)
            for column, term in enumerate(atom.terms)
            if isinstance(term, Constant)
        }
        variables = tuple(
            (column, term.name) for column, term in enumerate(atom.terms) if isinstance(term, Variable)
        )
        return _PlainAtom(atom.relation, constants, variables)

    def _limit(self, relation: str, below: Level | None) -> int:
        """Return the iteration that facts of a relation must come before."""
        if below is None:
            return int(ABSENT)
        stratum, iteration = below
        own = 0 if self._across else self._strata[relation]
        if own == stratum:
            return iteration
        return int(ABSENT) if own < stratum else 0

    def _stage(self, shape: "_Shape", names: frozenset[str]) -> "_Stage":
        """Return how the atoms of a shape are joined when these variables are known."""
        stage = shape.stages.get(names)
        if stage is None:
            stage = shape.stages[names] = self._new_stage(shape.plain, names)
        return stage

    def _new_stage(self, atoms: Sequence["_PlainAtom"], names: AbstractSet[str]) -> "_Stage":
        return _Stage(tuple(self._look_up(atom, names) for atom in atoms), frozenset(names), {})

    def _look_up(self, atom: "_PlainAtom", names: AbstractSet[str]) -> "_LookUp":
        bound: dict[int, str | int] = {
            **atom.constants, **{column: name for column, name in atom.variables if name in names}
        }  # fmt: skip
        keys = tuple(
            (index, tuple(bound[column] for column in index.key))
            for index in self._indexes(atom.relation)
            if index.key and bound.keys() >= set(index.key)
        )
        return _LookUp(atom, self._engine.relations[atom.relation], tuple(bound.items()), keys)

    def _after(self, stage: "_Stage", place: int) -> "_Following":
        """Return how a join goes on from the rows of one of its atoms."""
        following = stage.following.get(place)
        if following is None:
            fresh = stage.look_ups[place].atom.fresh(stage.names)
            others = [each.atom for other, each in enumerate(stage.look_ups) if other != place]
            now = [atom for atom in others if atom.is_bound_by(stage.names, fresh)]
            later = [atom for atom in others if not atom.is_bound_by(stage.names, fresh)]
            following = (fresh, now, self._new_stage(later, stage.names | fresh.keys()))
            stage.following[place] = following
        return following

    def _expected(self, look_up: "_LookUp", known: Known) -> tuple[int, _Posting | None]:
        """Return about how many rows match, and the shortest posting that holds them."""
        stored = look_up.stored
        if len(look_up.bound) == stored.arity:
            return 1, None
        best: _Posting | None = None
        for index, sources in look_up.keys:
            key = [known[source] if isinstance(source, str) else source for source in sources]
            start, length = self._posting(index, stored, key)
            if best is None or length < best[0]:
                best = (length, index, start)
        if best is None:
            return max(1, stored.count >> (_SELECTIVITY * len(look_up.bound))), None
        return best[0], best

    def _join(self, stage: "_Stage", known: Known, limits: Mapping[str, int], work: Work) -> Iterator[Known]:
        if not stage.look_ups:
            yield known
            return
        place, (size, posting) = 0, self._expected(stage.look_ups[0], known)
        for other, look_up in enumerate(stage.look_ups[1:], 1):
            expected = self._expected(look_up, known)
            if expected[0] < size:
                place, (size, posting) = other, expected
        chosen = stage.look_ups[place]
        codes = {column: known[x] if isinstance(x, str) else x for column, x in chosen.bound}
        fresh, now, later = self._after(stage, place)
        name = chosen.atom.relation
        rows = self._rows(name, codes, limits[name], posting, may_build=work.limit is None)
        for numbers, looked_at in rows:
            work.step(1 + looked_at // _ROWS_PER_STEP)
            if not numbers.size:
                continue
            columns = self._columns(chosen.atom, numbers, fresh)
            columns = self._semijoin(now, known, columns, limits)
            names = list(columns)
            if not names:
                # Nothing new is bound: one matching row is as good as another.
                yield from self._join(later, known, limits, work)
                return
            for values in zip(*(column.tolist() for column in columns.values()), strict=True):
                extended = {**known, **dict(zip(names, values, strict=True))}
                yield from self._join(later, extended, limits, work)

    def _columns(self, atom: "_PlainAtom", numbers: Int64s, fresh: Mapping[str, int]) -> dict[str, CodeArray]:
        """Return the new variables' codes in rows in which repeated variables agree."""
        rows = self._engine.relations[atom.relation].rows[numbers]
        keep = None
        for column, name in atom.variables:
            if name in fresh and fresh[name] != column:
                same = rows[:, column] == rows[:, fresh[name]]
                keep = same if keep is None else keep & same
        if keep is not None:
            rows = rows[keep]
        return {name: rows[:, column] for name, column in fresh.items()}

    def _semijoin(
        self,
        atoms: Sequence["_PlainAtom"],
        known: Known,
        columns: dict[str, CodeArray],
        limits: Mapping[str, int],
    ) -> dict[str, CodeArray]:
        """Return the candidates for which every atom, bound by now, has its fact."""
        for atom in atoms:
            size = len(next(iter(columns.values()), _NO_ROWS))
            if not size:
                break
            stored = self._engine.relations[atom.relation]
            probes = np.empty((size, stored.arity), stored.dtype)
            for column, code in atom.constants.items():
                probes[:, column] = code
            for column, name in atom.variables:
                probes[:, column] = columns[name] if name in columns else known[name]
            numbers = stored.find(probes)
            keep = (numbers >= 0) & (stored.levels[np.maximum(numbers, 0)] < limits[atom.relation])
            columns = {name: codes[keep] for name, codes in columns.items()}
        return columns


@dataclass(frozen=True, slots=True)
class _PlainAtom:
    """An atom over codes: constants and variables by column."""

    relation: str
    constants: Mapping[int, int]
    variables: tuple[tuple[int, str], ...]

    def codes(self, known: Known) -> dict[int, int]:
        """Return the columns whose code is known."""
        codes = dict(self.constants)
        for column, name in self.variables:
            if name in known:
                codes[column] = known[name]
        return codes

    def fresh(self, known: Container[str]) -> dict[str, int]:
        """Return the variables not known yet and the first column of each."""
        found: dict[str, int] = {}
        for column, name in self.variables:
            if name not in known:
                found.setdefault(name, column)
        return found

    def is_bound_by(self, known: Container[str], fresh: Container[str]) -> bool:
        """Say whether every variable is known or among the fresh ones, one of them at least."""
        names = [name for _, name in self.variables]
        return any(name in fresh for name in names) and all(name in known or name in fresh for name in names)


@dataclass(frozen=True, slots=True)
class _LookUp:
    """How rows of an atom are found: the bound columns and the usable indexes.

    A column or a part of a key is the name of a known variable, or a code.
    """

    atom: _PlainAtom
    stored: StoredRelation
    bound: tuple[tuple[int, str | int], ...]
    keys: tuple[tuple[Index, tuple[str | int, ...]], ...]


# The new variables and their columns, the atoms that are bound then, and how the others are joined.
_Following = tuple[dict[str, int], list[_PlainAtom], "_Stage"]


@dataclass(frozen=True, slots=True)
class _Stage:
    """Atoms still to be joined when these variables are known; what follows is noted as it is found."""

    look_ups: tuple[_LookUp, ...]
    names: frozenset[str]
    following: dict[int, _Following]


@dataclass(frozen=True, slots=True)
class _Shape:
    """Atoms to join, with the types of their variables and the ways to join them found so far.

    Shapes are found by the identity of the atoms, so they hold on to them.
    """

    atoms: tuple[Atom, ...]
    types: tuple[tuple[str, str], ...]
    plain: tuple[_PlainAtom, ...]
    stages: dict[frozenset[str], _Stage]
