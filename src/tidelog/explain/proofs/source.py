"""Read access to the facts of one epoch: all that proofs need to know of an engine."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, Protocol, runtime_checkable

from tidelog.dataclass import dataclass
from tidelog.explain.proofs.work import SearchWork
from tidelog.values import Fact, Value
from tidelog.values.functors import order_key

# Stratum and iteration. In one stratum a fact has a derivation whose premises have smaller
# iterations; premises of other strata have smaller strata.
Level = tuple[int, int]


class FactSource(Protocol):
    """The facts of one epoch, in the values a user sees.

    Columns are counted from 0. Relations that no engine holds (inlined ones) are not asked for.
    """

    def contains(self, relation: str, fact: Fact) -> bool:
        """Say whether the fact holds."""

    def matches(self, relation: str, bound: Mapping[int, Value]) -> Iterator[Fact]:
        """Yield the facts with these values in these columns, found through an index."""

    def count(self, relation: str, bound: Mapping[int, Value]) -> int:
        """Return at least the number of matching facts, quickly: it serves to choose an order."""

    def level(self, relation: str, fact: Fact) -> Level | None:
        """Return where a fact that holds stands in a well-founded order, None if that is not known.

        Every fact that holds and is not an input fact has a derivation from facts of smaller levels.
        """

    def is_input(self, relation: str, fact: Fact) -> bool:
        """Say whether the fact is an input fact."""

    def input_facts(self, relation: str) -> Iterator[Fact]:
        """Yield the input facts of a relation."""


class Period(NamedTuple):
    """A fact with the iteration from which on its key had it, and whether narrowing led to it."""

    iteration: int
    fact: Fact
    is_narrowed: bool


@runtime_checkable
class KeepingPeriods(Protocol):
    """A source that may know what the keys of lattice relations were in every iteration."""

    def periods(self, relation: str, fact: Fact) -> Sequence[Period] | None:
        """Return the facts that the key of a fact had, in their order; None if that is not known."""


@dataclass(frozen=True, slots=True)
class Partner:
    """A fact that each fact of a search needs: it has values in some columns, the fact's own in others.

    `columns` leads from columns of the partner to those of the fact.
    """

    relation: str
    bound: Mapping[int, Value]
    columns: Mapping[int, int]


class LookUp(Protocol):
    """Facts with some values in some columns, not read yet."""

    @property
    def size(self) -> int:
        """Return at least their number, quickly; see `FactSource.count`."""

    def facts(self, below: Level | None, partners: Sequence[Partner], work: SearchWork) -> Iterator[Fact]:
        """Yield the facts of which all partners hold.

        With `below`, only facts and partners before that level count. Every batch of rows that is looked
        at is a step of the work.
        """


@runtime_checkable
class Searching(Protocol):
    """A source that finds facts by their levels and partners faster than fact by fact."""

    def searches(self, relation: str) -> bool:
        """Say whether the levels of the relation's facts are at hand."""

    def look_up(self, relation: str, bound: Mapping[int, Value]) -> LookUp:
        """Return the facts with these values in these columns."""


class OtherLevels:
    """What a source has in common with the one underneath, whose facts it gives other levels."""

    def __init__(self, source: FactSource) -> None:
        self._source = source
        self._searching = source if isinstance(source, Searching) else None

    def is_input(self, relation: str, fact: Fact) -> bool:
        """Say whether the fact is an input fact."""
        return self._source.is_input(relation, fact)

    def input_facts(self, relation: str) -> Iterator[Fact]:
        """Yield the input facts of a relation."""
        return self._source.input_facts(relation)

    def look_up(self, relation: str, bound: Mapping[int, Value]) -> LookUp:
        """Return the facts with these values in these columns; see `Searching`."""
        assert self._searching is not None
        return self._searching.look_up(relation, bound)


class PlainFacts:
    """Facts held in plain sets; see `FactSource`.

    Without `input_facts` every fact of a relation named in `inputs` counts as an input fact.

        PlainFacts({"edge": {(1, 2)}, "path": {(1, 2)}}, inputs=["edge"])
    """

    def __init__(
        self,
        facts: Mapping[str, Iterable[Fact]],
        *,
        input_facts: Mapping[str, Iterable[Fact]] | None = None,
        inputs: Collection[str] = (),
        levels: Mapping[str, Mapping[Fact, Level]] | None = None,
    ) -> None:
        self._facts: dict[str, AbstractSet[Fact]] = {name: frozenset(some) for name, some in facts.items()}
        chosen = (
            {name: self._facts.get(name, frozenset()) for name in inputs}
            if input_facts is None
            else input_facts
        )
        self._input_facts = {name: frozenset(some) for name, some in chosen.items()}
        self._levels = levels or {}
        self._indexes: dict[tuple[str, tuple[int, ...]], dict[Fact, list[Fact]]] = {}

    def contains(self, relation: str, fact: Fact) -> bool:
        """Say whether the fact holds."""
        return fact in self._facts.get(relation, ())

    def matches(self, relation: str, bound: Mapping[int, Value]) -> Iterator[Fact]:
        """Yield the facts with these values in these columns."""
        return iter(self._matching(relation, bound))

    def count(self, relation: str, bound: Mapping[int, Value]) -> int:
        """Return the number of matching facts."""
        return len(self._matching(relation, bound) if bound else self._facts.get(relation, ()))

    def level(self, relation: str, fact: Fact) -> Level | None:
        """Return the level the facts came with."""
        return self._levels.get(relation, {}).get(fact)

    def is_input(self, relation: str, fact: Fact) -> bool:
        """Say whether the fact is an input fact."""
        return fact in self._input_facts.get(relation, ())

    def input_facts(self, relation: str) -> Iterator[Fact]:
        """Yield the input facts of a relation."""
        return iter(self._input_facts.get(relation, ()))

    def _matching(self, relation: str, bound: Mapping[int, Value]) -> Collection[Fact]:
        facts = self._facts.get(relation, frozenset())
        if not bound:
            return sorted(facts, key=order_key)
        columns = tuple(sorted(bound))
        if facts and len(columns) == len(next(iter(facts))):
            fact = tuple(bound[column] for column in columns)
            return (fact,) if fact in facts else ()
        index = self._indexes.get((relation, columns))
        if index is None:
            index = defaultdict(list)
            for fact in sorted(facts, key=order_key):
                index[tuple(fact[column] for column in columns)].append(fact)
            self._indexes[relation, columns] = index
        return index.get(tuple(bound[column] for column in columns), ())
