"""The step that proves a fact: found through the levels of the facts it may rest on.

A fact of level (stratum, iteration) has a derivation whose premises have smaller levels, so choosing
such a derivation for every fact ends at input facts, in any state, after any epoch.
"""

from collections.abc import Iterator

from tidelog.errors import Diagnostic, TidelogError
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.derivation import Derivation
from tidelog.explain.proofs.derivations import Deriver
from tidelog.explain.proofs.equivalence import find_chain
from tidelog.explain.proofs.lattice import find_parts, order_facts
from tidelog.explain.proofs.lattice_moves import find_move
from tidelog.explain.proofs.replay import ReplayedFacts
from tidelog.explain.proofs.rules import RuleBook
from tidelog.explain.proofs.solve import BodySolver
from tidelog.explain.proofs.source import FactSource, Level
from tidelog.explain.proofs.steps import Input, Step
from tidelog.values import Fact

_INPUT = Input()


class Prover:
    """Finds steps for the facts of one epoch.

    Levels that the source does not know are found by evaluating a stratum once more; see `replay`.
    """

    def __init__(self, book: RuleBook, source: FactSource) -> None:
        self.book = book
        self.source = ReplayedFacts(source, book)
        self.deriver = Deriver(BodySolver(book, self.source))

    def holds(self, atom: GroundAtom) -> bool:
        """Say whether a fact holds; one of an inlined relation does if it has a derivation."""
        if self.book.is_stored(atom.relation):
            return self.source.contains(atom.relation, atom.fact)
        return any(True for _ in self.deriver.derivations(atom))

    def limit_of(self, atom: GroundAtom, below: Level | None, *, asserted: bool) -> Level | None:
        """Return what of `below` tells a fact from the same one elsewhere in a proof.

        Where bounds move, a fact may hold for several whiles.
        """
        if asserted or not self.book.is_stored(atom.relation):
            return below
        if below is None or not self.book.has_moving_bounds(atom.relation):
            return None
        if below[0] != self.book.strata[atom.relation]:
            return None
        level = self.level(atom, below)
        return below if level is None else (level[0], level[1] + 1)

    def level(self, atom: GroundAtom, below: Level | None = None) -> Level | None:
        """Return the level of a fact, None for one of an inlined relation.

        Where bounds move it is that of the last while before `below` in which the fact held, if it held then.
        """
        if not self.book.is_stored(atom.relation):
            return None
        if self.book.has_moving_bounds(atom.relation):
            period = self.source.period(atom.relation, atom.fact, below)
            is_there = period is not None and period.fact == atom.fact
            return (self.book.strata[atom.relation], period.iteration) if period and is_there else None
        if self.book.aggregates_itself(atom.relation) and not self.source.is_replayed(atom.relation):
            # What its aggregates were worth depends on the order, which must be one for the whole proof.
            self.source.replay(atom.relation)
        found = self.source.level(atom.relation, atom.fact)
        if found is None and not self.source.is_replayed(atom.relation):
            if self.source.is_unordered(atom.relation):
                self.source.put_in_order(order_facts(self.deriver, atom))
                found = self.source.level(atom.relation, atom.fact)
            if found is None:
                self.source.replay(atom.relation)
                found = self.source.level(atom.relation, atom.fact)
        return found

    def step(self, atom: GroundAtom, below: Level | None = None, *, asserted: bool = False) -> Step:
        """Return a step that proves the fact from facts of smaller levels.

        `below` is for facts without a level: those of inlined relations, and, with `asserted`, those
        that a law of their relation is applied to. Where bounds move it says which while is meant.
        """
        if not asserted and self.book.has_moving_bounds(atom.relation):
            found = self._moved(atom, self.level(atom, below))
            if found is None:
                raise TidelogError([_no_proof(atom)])
            return found
        if not asserted and self.book.is_stored(atom.relation):
            below = self.level(atom)
        found = self._step(atom, below, asserted=asserted)
        if found is None and not self.source.is_replayed(atom.relation) and self._may_replay(atom):
            # What the fact rested on held only for a while.
            self.source.replay(atom.relation)
            if not asserted:
                below = self.level(atom)
            found = self._step(atom, below, asserted=asserted)
        if found is None:
            raise TidelogError([_no_proof(atom)])
        return found

    def derivations(self, atom: GroundAtom) -> Iterator[Derivation]:
        """Yield all derivations of a fact that do not rest on the fact itself."""
        for derivation in self.deriver.derivations(atom):
            if atom not in derivation.premises:
                yield derivation

    def before(self, atom: GroundAtom, level: Level) -> tuple[Fact | None, bool]:
        """Return what the key of a fact had before a level, and whether narrowing led on from there."""
        before = self.source.period(atom.relation, atom.fact, level)
        now = self.source.period(atom.relation, atom.fact, (level[0], level[1] + 1))
        return None if before is None else before.fact, now is not None and now.is_narrowed

    def _moved(self, atom: GroundAtom, level: Level | None) -> Step | None:
        """Return the step that proves a fact of a stratum in which bounds move."""
        if level is None:
            return None
        before, is_narrowed = self.before(atom, level)
        if before is not None:
            return find_move(self.deriver, atom, before, level, is_narrowed=is_narrowed)
        return self._step(atom, level, asserted=False)

    def _may_replay(self, atom: GroundAtom) -> bool:
        return self.book.is_stored(atom.relation) and self.book.may_lack_levels(atom.relation)

    def _step(self, atom: GroundAtom, below: Level | None, *, asserted: bool) -> Step | None:
        if self.book.is_stored(atom.relation) and self.source.is_input(atom.relation, atom.fact):
            return _INPUT
        found = next(self.deriver.derivations(atom, below), None)
        if found is not None or asserted:
            return found
        relation = self.book.program.relations[atom.relation]
        if relation.is_equivalence:
            return find_chain(self.deriver, atom, below)
        if relation.lattice_columns:
            return find_parts(self.deriver, atom, below)
        return None


def _no_proof(atom: GroundAtom) -> Diagnostic:
    return Diagnostic(
        code="no-proof",
        message=f"no proof of {atom} was found, though it holds",
        hint="an aggregate over values of a stateful functor cannot be computed again",
    )
