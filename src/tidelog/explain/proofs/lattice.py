"""The parts whose least upper bound a fact with lattice columns is."""

from collections.abc import Iterator, Sequence

from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.derivations import Deriver
from tidelog.explain.proofs.source import Level
from tidelog.explain.proofs.steps import LatticeJoin
from tidelog.values import Fact


def find_parts(deriver: Deriver, atom: GroundAtom, below: Level | None) -> LatticeJoin | None:
    """Return a few facts, asserted before a level, whose least upper bound is the fact.

    They come from inputs, from rules, and from what the fact was before.
    """
    chosen: list[Fact] = []
    total: Fact | None = None
    for fact in dict.fromkeys(asserted_facts(deriver, atom, below)):
        joined = fact if total is None else join_facts(deriver, atom.relation, total, fact)
        if joined != total:
            chosen.append(fact)
            total = joined
        if total == atom.fact:
            # An early part may have become superfluous since.
            kept = _needed(deriver, atom, chosen)
            return LatticeJoin(tuple(GroundAtom(atom.relation, each) for each in kept))
    return None


def order_facts(deriver: Deriver, atom: GroundAtom) -> dict[GroundAtom, int]:
    """Return an order of a fact and what it rests on in its stratum, through derivations of their own.

    Each fact has a derivation from facts of the stratum with smaller numbers. A fact that is only a
    least upper bound of others is not in the answer, nor what rests on it alone.
    """
    strata = deriver.book.strata
    own = strata[atom.relation]
    waits: dict[tuple[GroundAtom, int], set[GroundAtom]] = {}
    uses: dict[GroundAtom, list[tuple[GroundAtom, int]]] = {}
    ready: dict[GroundAtom, int] = {}
    seen = {atom}
    waiting = [atom]
    while waiting:
        head = waiting.pop()
        if deriver.solver.source.is_input(head.relation, head.fact):
            ready[head] = 0
            continue
        for number, derivation in enumerate(deriver.derivations(head)):
            inside = {each for each in derivation.premises if strata.get(each.relation) == own}
            if not inside:
                ready.setdefault(head, 1)
            waits[head, number] = inside
            for premise in inside:
                uses.setdefault(premise, []).append((head, number))
                if premise not in seen:
                    seen.add(premise)
                    waiting.append(premise)
    return _settle(ready, waits, uses)


def _settle(
    ready: dict[GroundAtom, int],
    waits: dict[tuple[GroundAtom, int], set[GroundAtom]],
    uses: dict[GroundAtom, list[tuple[GroundAtom, int]]],
) -> dict[GroundAtom, int]:
    """Return numbers for facts, breadth first from those that are ready."""
    settled: dict[GroundAtom, int] = {}
    level = list(ready)
    height = 1
    while level:
        settled.update((atom, height) for atom in level)
        following: dict[GroundAtom, None] = {}
        for atom in level:
            for head, number in uses.get(atom, ()):
                waits[head, number].discard(atom)
                if not waits[head, number] and head not in settled:
                    following[head] = None
        level = list(following)
        height += 1
    return settled


def join_facts(deriver: Deriver, relation: str, left: Fact, right: Fact) -> Fact:
    """Return the least upper bound of two facts that agree on the plain columns."""
    program = deriver.book.program
    return tuple(
        deriver.solver.terms.call(program.lattices[column.type].lub, (one, other), None)
        if column.is_lattice
        else one
        for column, one, other in zip(program.relations[relation].columns, left, right, strict=True)
    )


def _needed(deriver: Deriver, atom: GroundAtom, chosen: list[Fact]) -> list[Fact]:
    kept = list(chosen)
    for fact in chosen:
        rest = [each for each in kept if each != fact]
        if rest and join_all(deriver, atom.relation, rest) == atom.fact:
            kept = rest
    return kept


def join_all(deriver: Deriver, relation: str, facts: Sequence[Fact]) -> Fact:
    """Return the least upper bound of facts that agree on the plain columns."""
    total = facts[0]
    for fact in facts[1:]:
        total = join_facts(deriver, relation, total, fact)
    return total


def asserted_facts(
    deriver: Deriver, atom: GroundAtom, below: Level | None, *, with_inputs: bool = True
) -> Iterator[Fact]:
    """Yield what inputs and rules assert of a fact's key, and what it was before if bounds do not move."""
    columns = deriver.book.program.relations[atom.relation].columns
    key = {place: atom.fact[place] for place, column in enumerate(columns) if not column.is_lattice}
    solver = deriver.solver
    for fact in solver.source.input_facts(atom.relation) if with_inputs else ():
        if all(fact[place] == value for place, value in key.items()):
            yield fact
    for rule in deriver.book.rules_of(atom.relation):
        yield from deriver.heads(rule, key, below)
    if below is not None and not deriver.book.has_moving_bounds(atom.relation):
        # What the fact was in earlier iterations, where that is known.
        yield from (fact for fact in solver.facts(atom.relation, key, below) if fact != atom.fact)
