"""What an epoch changed: for every relation the facts inserted and deleted."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeVar, overload

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import StratumReport
from tidelog.engine.lazy_columns import LazyColumns
from tidelog.engine.protocol import Codes
from tidelog.errors import TidelogError
from tidelog.io.html import html_table
from tidelog.program.nodes import Program, Relation
from tidelog.program.suggest import undeclared_relation
from tidelog.values import Codec, Fact
from tidelog.values.arrow import pa
from tidelog.views.delta_text import change_lines, delta_html, delta_text, strategy_text
from tidelog.views.facts import FixedFacts
from tidelog.views.virtual import virtual_relation, virtual_sides

if TYPE_CHECKING:
    from tidelog.explain.blame.answers import Violation

Sides = tuple[Sequence[Codes], Sequence[Codes]]
T = TypeVar("T")

# With fewer facts than these, the objects around the codes take more room than the codes.
_MANY_FACTS: Final = 64


class RelationDelta:
    """The facts of one relation that were inserted and those that were deleted.

    Both are sets of facts like a relation. As text it is a change script.
    """

    __slots__ = ("_deleted", "_inserted")

    def __init__(self, inserted: FixedFacts, deleted: FixedFacts) -> None:
        self._inserted = inserted
        self._deleted = deleted

    @property
    def name(self) -> str:
        """Return the name of the relation."""
        return self._inserted.name

    @property
    def inserted(self) -> FixedFacts:
        """Return the facts that hold now and did not before."""
        return self._inserted

    @property
    def deleted(self) -> FixedFacts:
        """Return the facts that held before and do not now."""
        return self._deleted

    def __len__(self) -> int:
        return len(self._inserted) + len(self._deleted)

    def __iter__(self) -> Iterator[tuple[int, Fact]]:
        """Yield a diff, -1 or 1, and a fact: deleted ones first."""
        for fact in self._deleted:
            yield -1, fact
        for fact in self._inserted:
            yield 1, fact

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RelationDelta):
            return NotImplemented
        return self.inserted == other.inserted and self.deleted == other.deleted

    __hash__ = None  # type: ignore[assignment]

    def to_arrow(self) -> "pa.Table":
        """Return an Arrow table of the relation's columns and `diff`: -1 deleted, 1 inserted."""
        table = pa.concat_tables([self._deleted.to_arrow(), self._inserted.to_arrow()])
        diffs = np.ones(len(self), dtype=np.int8)
        diffs[: len(self._deleted)] = -1
        name = "diff"
        while name in self._inserted.columns:
            name += "_"
        if not self._inserted.columns:
            return pa.table({name: pa.array(diffs)})
        return table.append_column(name, pa.array(diffs))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the Arrow PyCapsule stream of `to_arrow`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self._inserted):,} inserted, {len(self._deleted):,} deleted>"

    def _repr_html_(self) -> str:
        return html_table(repr(self)[1:-1], ("changes",), [(line,) for line in change_lines(self, 20)])


@dataclass(frozen=True, slots=True)
class RuleDelta:
    """The rules that were inserted and those that were deleted, as texts; false if there are none."""

    inserted: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.inserted or self.deleted)

    @property
    def inverse(self) -> "RuleDelta":
        """Return what takes this back."""
        return RuleDelta(self.deleted, self.inserted)


NO_RULES: Final = RuleDelta()


class RelationDeltas(Mapping[str, RelationDelta]):
    """Deltas by relation; iterating gives the relations that have any, all others are empty.

    `rules` are the rules that changed as well.
    """

    def __init__(
        self, program: Program, codec: Codec, sides: Mapping[str, Sides], rules: RuleDelta = NO_RULES
    ) -> None:
        self.rules = rules
        self._program = program
        self._codec = codec
        self._sides = {
            name: pair
            for name, pair in sides.items()
            if name in program.relations and (fact_count(pair[0]) or fact_count(pair[1]))
        }

    def __getitem__(self, name: str) -> RelationDelta:
        found = virtual_relation(name, self._program) if isinstance(name, str) else None
        if not isinstance(name, str) or (name not in self._program.relations and found is None):
            raise TidelogError([undeclared_relation(name, self._program.relations, is_asked=True)])
        relation = self._program.relations[name] if found is None else found[1]
        inserted, deleted = self._sides.get(name, ((), ())) if found is None else self.sides(name)
        return RelationDelta(self._facts(relation, inserted), self._facts(relation, deleted))

    @overload
    def get(self, name: str, /) -> RelationDelta | None: ...
    @overload
    def get(self, name: str, /, default: RelationDelta | T) -> RelationDelta | T: ...
    def get(self, name: str, /, default: object = None) -> object:
        """Return the delta of a relation, empty if it did not change; the default if there is none."""
        is_known = isinstance(name, str) and (
            name in self._program.relations or virtual_relation(name, self._program) is not None
        )
        return self[name] if is_known else default

    def __contains__(self, name: object) -> bool:
        # A virtual relation is not iterated over, but has a delta for who asks.
        return isinstance(name, str) and (name in self._sides or any(map(fact_count, self.sides(name))))

    def __iter__(self) -> Iterator[str]:
        return iter(self._sides)

    def __len__(self) -> int:
        return len(self._sides)

    @property
    def inserted_count(self) -> int:
        """Return how many facts were inserted, over all relations."""
        return sum(fact_count(inserted) for inserted, _ in self._sides.values())

    @property
    def deleted_count(self) -> int:
        """Return how many facts were deleted, over all relations."""
        return sum(fact_count(deleted) for _, deleted in self._sides.values())

    def narrow(self) -> None:
        """Keep the codes of many facts in 32 bits, where they fit: for deltas that are kept for long."""
        self._sides = {
            name: (_narrowed(inserted), _narrowed(deleted))
            for name, (inserted, deleted) in self._sides.items()
        }

    def sides(self, name: str) -> Sides:
        """Return the codes of the facts inserted and deleted; nothing for a name that is not known."""
        found = virtual_relation(name, self._program) if isinstance(name, str) else None
        if not isinstance(name, str):
            return (), ()
        if found is None:
            inserted, deleted = self._sides.get(name, ((), ()))
            return _widened(inserted), _widened(deleted)
        return virtual_sides(self.sides(found[0].among), self.sides(found[0].missing))

    def _facts(self, relation: Relation, columns: Sequence[Codes]) -> FixedFacts:
        size = fact_count(columns)
        if isinstance(columns, LazyColumns):
            return FixedFacts(relation.name, relation.columns, self._codec, columns, size)
        own = _widened(columns)[: relation.arity] or [np.empty(0, dtype=np.int64)] * relation.arity
        return FixedFacts(relation.name, relation.columns, self._codec, own, size)


@dataclass(frozen=True, slots=True)
class EpochReport:
    """What is told of an epoch beside its facts; `derives` says which relations have rules."""

    epoch: int
    strata: tuple[StratumReport, ...]
    seconds: float
    derives: Callable[[str], bool]
    changes: RelationDeltas
    without_effect: RelationDeltas
    rules: RuleDelta = NO_RULES


class Delta(RelationDeltas):
    """What one epoch changed.

        delta["path"].inserted      a set of facts, as a relation is
        list(delta)                 the relations that changed
        delta.impact                how many derived facts changed
        print(delta)                the changes as a change script

    `changes` are the changes of input facts that led to it, and `without_effect` those that changed nothing:
    insertions of facts that were already input facts, and deletions of facts that were not. `rules` are the
    rules that were added or removed.
    """

    def __init__(
        self, program: Program, codec: Codec, sides: Mapping[str, Sides], report: EpochReport
    ) -> None:
        super().__init__(program, codec, sides, report.rules)
        self._report = report
        # The guards that the epoch breaks; a session sets them once, at the commit.
        self.violations: tuple[Violation, ...] = ()

    @property
    def epoch(self) -> int:
        """Return the number of the epoch this delta leads to."""
        return self._report.epoch

    @property
    def strata(self) -> tuple[StratumReport, ...]:
        """Return what was done to each stratum, and why."""
        return self._report.strata

    @property
    def seconds(self) -> float:
        """Return how long the epoch took."""
        return self._report.seconds

    @property
    def changes(self) -> RelationDeltas:
        """Return the facts that became input facts, or ceased to be, in this epoch."""
        return self._report.changes

    @property
    def without_effect(self) -> RelationDeltas:
        """Return the requested changes that changed no input fact."""
        return self._report.without_effect

    @cached_property
    def impact(self) -> int:
        """Return the number of facts that changed and are not the changes themselves."""
        return sum(self._impact_on(name) for name in self)

    def inverse(self) -> RelationDeltas:
        """Return the changes that take this epoch back, rules included; `db.apply` takes them as they are."""
        turned = {name: self.changes.sides(name)[::-1] for name in self.changes}
        return RelationDeltas(self._program, self._codec, turned, self.rules.inverse)

    def to_arrow(self) -> "dict[str, pa.Table]":
        """Return an Arrow table with a column `diff` for every relation that changed."""
        return {name: delta.to_arrow() for name, delta in self.items()}

    def explain_strategy(self) -> str:
        """Return what was done to each stratum, by which strategy, why, and how long it took."""
        return strategy_text(self.epoch, self.strata)

    def __str__(self) -> str:
        return delta_text(self)

    def __repr__(self) -> str:
        return (
            f"<delta to epoch {self.epoch}: {self.inserted_count:,} inserted,"
            f" {self.deleted_count:,} deleted, impact {self.impact:,}>"
        )

    def _repr_html_(self) -> str:
        return delta_html(self)

    def _impact_on(self, name: str) -> int:
        changed = sum(map(fact_count, self._sides[name]))
        if name not in self.changes:
            return changed
        if not self._report.derives(name):
            return 0
        # An input fact that rules derive as well may change without a trace in the relation.
        pairs = zip(self.sides(name), self.changes.sides(name), strict=True)
        return changed - sum(_common(one, other) for one, other in pairs)


def fact_count(columns: Sequence[Codes]) -> int:
    """Return the number of facts in columns of codes as an epoch has them."""
    if isinstance(columns, LazyColumns):
        return columns.facts
    return len(columns[0]) if columns else 0


def _narrowed(columns: Sequence[Codes]) -> Sequence[Codes]:
    """Return the codes in 32 bits if that is worth it and all of them fit."""
    if isinstance(columns, LazyColumns) or fact_count(columns) < _MANY_FACTS:
        return columns
    is_narrow = all(column.min() >= -(1 << 31) and column.max() < 1 << 31 for column in columns)
    return [column.astype(np.int32) for column in columns] if is_narrow else columns


def _widened(columns: Sequence[Codes]) -> Sequence[Codes]:
    return [column.astype(np.int64, copy=False) for column in columns]


def _common(one: Sequence[Codes], other: Sequence[Codes]) -> int:
    if not fact_count(one) or not fact_count(other):
        return 0
    left, right = ({tuple(row) for row in np.stack(side, axis=1).tolist()} for side in (one, other))
    return len(left & right)
