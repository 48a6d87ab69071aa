"""All that a fact can rest on: the graph of every derivation below it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.derivation import Derivation
from tidelog.explain.proofs.prover import Prover
from tidelog.explain.proofs.source import Level
from tidelog.explain.proofs.steps import Input, Step, asserted_from, places_of

FACT_LIMIT: Final = 100_000
Cycles = Literal["refuse", "levels"]
# A fact; the level its premises must stay below, and whether a law is to be left aside.
Place = tuple[GroundAtom, Level | None, bool]


@dataclass(frozen=True)
class Cone:
    """The steps of every fact below a root, and what each step rests on.

    A positive atom that stands twice in a body counts twice.
    """

    root: Place
    steps: Mapping[Place, tuple[tuple[Step, tuple[Place, ...]], ...]]


def explore_cone(
    prover: Prover,
    atom: GroundAtom,
    *,
    by_levels: bool = False,
    limit: int = FACT_LIMIT,
    is_end: Callable[[GroundAtom], bool] = lambda _atom: False,
) -> Cone:
    """Return the cone of a fact; facts that `is_end` names are not looked into.

    With `by_levels` only derivations count whose premises have smaller levels than their head, so
    that no fact rests on itself. A fact that a law of its relation adds, an equivalence or a lattice,
    has one step there, the one of its default proof. More than `limit` facts are refused.
    """
    root: Place = (atom, None, False)
    steps: dict[Place, tuple[tuple[Step, tuple[Place, ...]], ...]] = {}
    waiting = [root]
    while waiting:
        place = waiting.pop()
        if place in steps:
            continue
        if len(steps) >= limit:
            raise TidelogError([_too_large(atom, limit)])
        if not place[2] and is_end(place[0]):
            steps[place] = ()
            continue
        steps[place] = tuple(_steps(prover, place, by_levels=by_levels))
        waiting.extend(below for _, premises in steps[place] for below in premises)
    return Cone(root, steps)


def _steps(prover: Prover, place: Place, *, by_levels: bool) -> Iterator[tuple[Step, tuple[Place, ...]]]:
    atom, below, asserted = place
    is_stored = prover.book.is_stored(atom.relation)
    if prover.book.has_moving_bounds(atom.relation):
        # What a fact may rest on depends on when it held.
        level = below if asserted else prover.level(atom, below)
        step = prover.step(atom, below, asserted=asserted)
        yield step, _places(prover, step, level)
        return
    if is_stored and prover.source.is_input(atom.relation, atom.fact):
        yield Input(), ()
    if by_levels and is_stored and not asserted:
        below = prover.level(atom)
    is_found = False
    for derivation in prover.deriver.derivations(atom, below if by_levels else None):
        is_found = True
        yield derivation, _places(prover, derivation, below if by_levels else None)
    if not is_found and not asserted:
        step = prover.step(atom, below)
        if not isinstance(step, Input | Derivation):
            yield step, _places(prover, step, prover.level(atom))


def _places(prover: Prover, step: Step, below: Level | None) -> tuple[Place, ...]:
    first = asserted_from(step)
    return tuple(
        (atom, prover.limit_of(atom, below, asserted=place >= first), place >= first)
        for place, atom in enumerate(places_of(step))
    )


def _too_large(atom: GroundAtom, limit: int) -> Diagnostic:
    return Diagnostic(
        code="too-many-proofs",
        message=f"{atom} rests on more than {limit:,} facts",
        hint="ask about a fact nearer to the inputs, or for a proof without a metric, which has no limit",
    )
