"""Levels of strata whose engine kept none, and facts that held for a while.

Such a stratum is evaluated once more, by plain substitution over the facts it reads, when somebody
first asks for a proof in it; each fact is noted with the iteration in which it first held, also those
that subsumption deleted or a lattice joined into larger ones later. This takes time that follows the
size of what the stratum reads, and is done at most once for each stratum and epoch.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.engine.reference import ReferenceEngine
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.rules import RuleBook, reads_itself
from tidelog.explain.proofs.source import (
    FactSource,
    KeepingPeriods,
    Level,
    OtherLevels,
    Period,
    PlainFacts,
)
from tidelog.program.nodes import Program, Stratum
from tidelog.program.subprogram import subprogram
from tidelog.program.walk_nodes import earlier_relations
from tidelog.values import Fact, Value

# Iterations of a replay come after the heights of facts that were put in order without one.
_AFTER_ALL: Final = 1 << 40


class ReplayedFacts(OtherLevels):
    """A source whose strata can be replayed; see `FactSource`.

    Facts that only held for a while are known, with their levels, in replayed strata: see `ever`. All
    else speaks of the epoch's facts alone.
    """

    def __init__(self, source: FactSource, book: RuleBook) -> None:
        super().__init__(source)
        self._book = book
        self._replayed: dict[str, PlainFacts] = {}
        self._unordered = frozenset(
            name for name in _unordered(book.checked) if not book.has_moving_bounds(name)
        )
        # Of relations with moving bounds, by key, where the source does not know them.
        self._periods: dict[str, Mapping[Fact, Sequence[Period]]] = {}
        self._numbers = {
            name: number for number, each in enumerate(book.checked.strata) for name in each.relations
        }
        # Facts of such strata whose own derivations put them in order; all others come after them.
        self._ordered: dict[GroundAtom, int] = {}

    def is_replayed(self, relation: str) -> bool:
        """Say whether the relation's stratum was evaluated again."""
        return relation in self._replayed

    def replay(self, relation: str) -> None:
        """Evaluate the relation's stratum once more."""
        program = self._book.checked
        number, stratum = next(
            (number, each) for number, each in enumerate(program.strata) if relation in each.relations
        )
        recorder = _Recorder(subprogram(program, [stratum]), self._book)
        for name in sorted(earlier_relations(stratum)):
            recorder.take(name, self._source.matches(name, {}))
        for name in stratum.relations:
            recorder.take(name, self._source.input_facts(name))
        recorder.evaluate(SilentObserver())
        for name in stratum.relations:
            self._periods[name] = recorder.periods.get(name, {})
            levels = {fact: (number, iteration) for fact, iteration in recorder.levels[name].items()}
            self._replayed[name] = PlainFacts(
                {name: levels}, input_facts={name: self._source.input_facts(name)}, levels={name: levels}
            )

    # --- moving bounds -----------------------------------------------------------------------------

    def period(self, relation: str, fact: Fact, below: Level | None) -> Period | None:
        """Return what the key of a fact had just before a level, of a relation with moving bounds."""
        found = [
            each
            for each in self._all_periods(relation, fact)
            if below is None or (self._numbers[relation], each.iteration) < below
        ]
        return found[-1] if found else None

    def _all_periods(self, relation: str, fact: Fact) -> Sequence[Period]:
        source = self._source
        found = source.periods(relation, fact) if isinstance(source, KeepingPeriods) else None
        if found is None:
            if relation not in self._periods:
                self.replay(relation)
            found = self._periods[relation].get(_key(self._book.checked, relation, fact), ())
        return found

    def facts_before(self, relation: str, bound: Mapping[int, Value], below: Level) -> Iterator[Fact]:
        """Yield the facts with these values that a relation with moving bounds had just before a level."""
        columns = self._book.checked.relations[relation].columns
        plain = {place: value for place, value in bound.items() if not columns[place].is_lattice}
        # A key that has a value keeps having one.
        for last in self._source.matches(relation, plain):
            period = self.period(relation, last, below)
            if period is not None and all(period.fact[place] == value for place, value in bound.items()):
                yield period.fact

    # --- as a source -----------------------------------------------------------------------------

    def contains(self, relation: str, fact: Fact) -> bool:
        """Say whether the fact holds."""
        return self._source.contains(relation, fact)

    def matches(self, relation: str, bound: Mapping[int, Value]) -> Iterator[Fact]:
        """Yield the facts with these values in these columns."""
        return self._source.matches(relation, bound)

    def ever(self, relation: str, bound: Mapping[int, Value]) -> Iterator[Fact]:
        """Yield the facts that hold or held for a while with these values in these columns."""
        return self._replayed.get(relation, self._source).matches(relation, bound)

    def count(self, relation: str, bound: Mapping[int, Value]) -> int:
        """Return at least the number of matching facts."""
        return self._replayed.get(relation, self._source).count(relation, bound)

    def level(self, relation: str, fact: Fact) -> Level | None:
        """Return when the fact first held, from the replay where there was one."""
        if self._book.has_moving_bounds(relation):
            period = self.period(relation, fact, None)
            is_last = period is not None and period.fact == fact
            return (self._numbers[relation], period.iteration) if period is not None and is_last else None
        if relation not in self._unordered:
            return self._replayed.get(relation, self._source).level(relation, fact)
        height = self._ordered.get(GroundAtom(relation, fact))
        if height is not None:
            return self._numbers[relation], height
        if relation not in self._replayed:
            return None
        level = self._replayed[relation].level(relation, fact)
        return None if level is None else (level[0], level[1] + _AFTER_ALL)

    def is_unordered(self, relation: str) -> bool:
        """Say whether the iterations of a stratum tell nothing: its lattices may be found by best paths."""
        return relation in self._unordered

    def put_in_order(self, heights: Mapping[GroundAtom, int]) -> None:
        """Note an order of facts of such a stratum, in which each has a derivation from smaller ones."""
        for atom, height in heights.items():
            self._ordered.setdefault(atom, height)

    def searches(self, relation: str) -> bool:
        """Say whether the source underneath knows the levels of the relation's facts."""
        searching = self._searching
        has_levels = relation not in self._replayed and relation not in self._unordered
        has_levels = has_levels and not self._book.has_moving_bounds(relation)
        return searching is not None and has_levels and searching.searches(relation)


class _Recorder(ReferenceEngine):
    """The reference engine over facts in values, which notes when each fact first held."""

    def __init__(self, program: Program, book: RuleBook) -> None:
        super().__init__(program, book.codec, Settings(), book.functions, book.numbering.copy())
        self.levels: dict[str, dict[Fact, int]] = {name: {} for name in self._program.relations}
        self.periods: dict[str, dict[Fact, list[Period]]] = {
            name: {} for name in self._program.relations if book.has_moving_bounds(name)
        }
        self._iteration: dict[tuple[str, ...], int] = {}

    def take(self, relation: str, facts: Iterator[Fact]) -> None:
        """Take input facts."""
        self._inputs[relation].update(facts)

    def _settle(self, stratum: Stratum, found: dict[str, set[Fact]]) -> bool:
        is_changed = super()._settle(stratum, found)
        self._note(stratum, is_narrowed=False)
        return is_changed

    def _replace(self, stratum: Stratum, facts: Mapping[str, AbstractSet[Fact]]) -> bool:
        is_changed = super()._replace(stratum, facts)
        self._note(stratum, is_narrowed=True)
        return is_changed

    def _note(self, stratum: Stratum, *, is_narrowed: bool) -> None:
        """Note which facts hold now for the first time, and which values keys have from now on."""
        iteration = self._iteration.get(stratum.relations, 0)
        for name in stratum.relations:
            known = self.levels[name]
            for fact in self._facts[name]:
                known.setdefault(fact, iteration)
                if name not in self.periods:
                    continue
                periods = self.periods[name].setdefault(_key(self._program, name, fact), [])
                if not periods or periods[-1].fact != fact:
                    periods.append(Period(iteration, fact, is_narrowed))
        self._iteration[stratum.relations] = iteration + 1


def _key(program: Program, relation: str, fact: Fact) -> Fact:
    """Return the values of the columns that are no lattice."""
    columns = program.relations[relation].columns
    return tuple(value for value, column in zip(fact, columns, strict=True) if not column.is_lattice)


def _unordered(program: Program) -> frozenset[str]:
    """Return the relations of recursive strata with lattices.

    Where an aggregate reads its own stratum, what it was worth in each iteration matters.
    """
    return frozenset(
        name
        for stratum in program.strata
        if stratum.is_recursive and not reads_itself(stratum) and program.has_lattice(stratum)
        for name in stratum.relations
    )
