"""The relations of a run, and which of their rows each iteration sees."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from threading import get_ident

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.engine.protocol import Columns
from tidelog.plan.operators import View
from tidelog.program.nodes import Constant, Program
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import CodeArray, Int32s
from tidelog.storage.projected import ProjectedRelation, Projection
from tidelog.storage.sharing import Sharing, alone
from tidelog.values.codec import Codec

# Up to this many codes are checked faster as a list than as an array.
_FEW_CODES = 32


class NeedsWideCodes(Exception):  # noqa: N818 - a signal between state and engine, no user's error
    """A code does not fit into 32 bits: the state must be widened and the stratum run again."""


@dataclass
class Visible:
    """The row numbers of one relation that the current iteration sees.

    Rows before `delta` are old, rows from `delta` to `end` are the last iteration's, rows from
    `end` on are being found now and not visible yet.
    """

    delta: int = 0
    end: int = 0

    def rows(self, view: View) -> tuple[int, int]:
        """Return the first row number in view and the one after the last."""
        if view is View.FULL:
            return 0, self.end
        if view is View.OLD:
            return 0, self.delta
        return self.delta, self.end


@dataclass
class LocalState:
    """All relations, in 32-bit codes until `widen`; never both widths at once.

    If rows are `annotated`, they have levels; with `counting`, which partners need, evaluation counts
    derivations too. `changes` counts how often rows were hidden or shown in place, which the number of rows
    does not show.
    """

    program: Program
    annotated: bool = False
    counting: bool = False
    dtype: npt.DTypeLike = np.int32
    changes: int = 0
    # Relations that are no more than an index of another one.
    projections: Mapping[str, Projection] = field(default_factory=dict)
    relations: dict[str, StoredRelation] = field(init=False)
    visible: dict[str, Visible] = field(init=False)
    # Called whenever bindings were counted; it may raise.
    on_bindings: Callable[[], None] | None = field(init=False, default=None)
    _bindings: dict[int, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.annotated = self.annotated or self.counting
        self.relations = {}
        # A projection comes after the relation that it is one of.
        for name in sorted(self.program.relations, key=self.projections.__contains__):
            self.relations[name] = self.empty_relation(name)
        self.visible = {name: Visible() for name in self.relations}

    def empty_relation(self, name: str) -> StoredRelation:
        """Return a relation without facts, of the state's width and annotations."""
        relation: StoredRelation
        if (projection := self.projections.get(name)) is not None:
            base = self.relations[projection.base]
            return ProjectedRelation(projection, base, self.dtype, counting=self.annotated)
        relation = StoredRelation(self.program.relations[name].arity, self.dtype, counting=self.annotated)
        relation.counts_derivations = self.counting
        return relation

    def take_over(self, relations: Mapping[str, StoredRelation]) -> None:
        """Go on with relations of another state; projections begin anew."""
        self.relations.update(relations)
        for name in self.projections:
            self.relations[name] = self.empty_relation(name)
        for name in relations:
            self.show_all(name)

    @property
    def bindings(self) -> int:
        """Return how many bindings joins have yielded, kept or not: the work of maintenance."""
        # A list, since another thread may count its first ones meanwhile.
        return sum(list(self._bindings.values()))

    def count_bindings(self, count: int) -> None:
        """Count bindings that a join yielded, separately in each thread so that none is lost."""
        thread = get_ident()
        self._bindings[thread] = self._bindings.get(thread, 0) + count
        if self.on_bindings is not None:
            self.on_bindings()

    @property
    def is_wide(self) -> bool:
        """Say whether codes take 64 bits."""
        return np.dtype(self.dtype).itemsize == 8

    def insert(self, name: str, columns: Columns) -> None:
        """Insert facts from columns of codes; widen the state if a code needs it."""
        if not self.is_wide and not all(fits_narrow(column) for column in columns):
            self.widen()
        relation = self.relations[name]
        # An input fact that is inserted twice has one derivation.
        relation.insert(self.pack(columns, len(columns[0]) if columns else 1), first_new=relation.NEVER)
        self.show_all(name)

    def load(self, name: str, columns: Columns, levels: Int32s, counts: Int32s) -> None:
        """Give an annotated relation, which has no facts yet, distinct facts with their annotations.

        No table or index is made of them before somebody asks for one. Without columns there is one
        array for the number of facts.
        """
        relation = self.relations[name]
        assert not relation.count, "facts are loaded before any other"
        own = columns[: relation.arity]
        if not self.is_wide and not all(fits_narrow(column) for column in own):
            self.widen()
        relation.append(self.pack(own, len(levels)))
        relation.levels[: relation.count] = levels
        # Few facts are counted, and input facts need not be; pages that are never written take no memory.
        counted = np.flatnonzero((counts != 0) & (levels != 0))
        relation.counts[counted] = counts[counted]
        relation.trim()
        self.show_all(name)

    def pack(self, columns: Sequence[CodeArray], count: int) -> CodeArray:
        """Return columns as rows of the state's width; raise `NeedsWideCodes` if one does not fit."""
        rows: CodeArray = np.empty((count, len(columns)), self.dtype)
        self.fill(rows, columns)
        return rows

    def pack_rows(self, rows: CodeArray) -> CodeArray:
        """Return rows in the state's width; raise `NeedsWideCodes` if a code does not fit."""
        if not self.is_wide and not fits_narrow(rows):
            raise NeedsWideCodes
        return rows.astype(self.dtype)

    def fill(self, rows: CodeArray, columns: Sequence[CodeArray]) -> None:
        """Write columns into rows of the state's width; raise `NeedsWideCodes` if one does not fit."""
        for position, column in enumerate(columns):
            if not self.is_wide and not fits_narrow(column):
                raise NeedsWideCodes
            rows[:, position] = column

    def show_all(self, name: str) -> None:
        """Let the next iteration see every row of a relation; none of them is a delta."""
        visible = self.visible[name]
        visible.delta = visible.end = self.relations[name].count

    def set_levels(self, first: Mapping[str, int], level: int) -> None:
        """Annotate the rows of relations with a level, each from a first row on, if rows have levels."""
        if self.annotated:
            for name, start in first.items():
                relation = self.relations[name]
                relation.levels[start : relation.count] = level

    def require(self, code: int) -> None:
        """Raise `NeedsWideCodes` if a constant's code does not fit the state's width."""
        if not self.is_wide and not -(1 << 31) <= code < 1 << 31:
            raise NeedsWideCodes

    def code_of(self, constant: Constant, codec: Codec) -> int:
        """Return the code of a constant; raise `NeedsWideCodes` if it does not fit the state's width."""
        code = codec.encode(constant.value, constant.type)
        self.require(code)
        return code

    def widen(self, sharing: Sharing = alone) -> None:
        """Store all codes in 64 bits from now on."""
        self.dtype = np.int64
        for name, relation in self.relations.items():
            relation.take(relation.copied(np.int64, sharing(len(relation))))
            self.show_all(name)

    def compact(self, sharing: Sharing = alone) -> list[str]:
        """Reclaim the rows of deleted facts where there are many; return the relations whose rows moved."""
        # All copies are made before any is put in place: making a copy may fail.
        sparse = [name for name, relation in self.relations.items() if relation.is_sparse]
        copies = {}
        for name in sparse:
            relation = self.relations[name]
            copies[name] = relation.copied(self.dtype, sharing(len(relation)))
        for name, copy in copies.items():
            self.relations[name].take(copy)
            self.show_all(name)
        return sparse

    def replace(self, name: str, rows: CodeArray | None = None) -> None:
        """Make a relation hold exactly these rows, or none."""
        content = self.empty_relation(name)
        if rows is not None:
            content.insert(rows, first_new=content.NEVER)
        self.relations[name].take(content)
        self.show_all(name)

    def projected(self, name: str) -> ProjectedRelation:
        """Return a relation that is a projection."""
        relation = self.relations[name]
        assert isinstance(relation, ProjectedRelation)
        return relation

    def forget_projections(self, *, are_complete: bool = False) -> list[str]:
        """Forget keys of projections where there are many, or that are complete; return which."""
        found = []
        for name in self.projections:
            relation = self.projected(name)
            if relation.is_complete if are_complete else relation.has_many_rows:
                self.replace(name)
                found.append(name)
        return found

    def size(self) -> int:
        """Return the number of facts of all relations."""
        return sum(len(relation) for relation in self.relations.values())


def fits_narrow(codes: CodeArray) -> bool:
    """Say whether every code of a column, or of rows, fits 32 bits."""
    if codes.size == 0 or codes.dtype.itemsize <= 4:
        return True
    if codes.size <= _FEW_CODES:
        few = codes.ravel().tolist()
        return bool(min(few) >= -(1 << 31) and max(few) < 1 << 31)
    return bool(codes.min() >= -(1 << 31) and codes.max() < 1 << 31)
