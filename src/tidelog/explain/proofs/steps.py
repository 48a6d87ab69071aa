"""The ways in which a fact can be proved."""

from typing import Literal

from tidelog.dataclass import dataclass
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.derivation import Derivation, Premise
from tidelog.values import Value
from tidelog.views.fact_text import write_value


@dataclass(frozen=True, slots=True)
class Input:
    """The fact is an input fact."""


@dataclass(frozen=True, slots=True)
class Equivalence:
    """The relation is an equivalence, and these pairs of it lead from one value to the other.

    Each pair is asserted by a rule or by an input; `turned` says which are read from right to left.
    One pair for a fact such as `same(a, a)` says that the value occurs in it.
    """

    pairs: tuple[GroundAtom, ...]
    turned: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class LatticeJoin:
    """The relation has lattice columns, and the fact is the least upper bound of these."""

    parts: tuple[GroundAtom, ...]


MoveKind = Literal["join", "widening", "narrowing"]


@dataclass(frozen=True, slots=True)
class AppliedFunctor:
    """A widening or a narrowing, and the values it was applied to: the one before, and the joined one."""

    functor: str
    before: Value
    joined: Value

    def __str__(self) -> str:
        return f"{self.functor}({write_value(self.before)}, {write_value(self.joined)})"


@dataclass(frozen=True, slots=True)
class LatticeMove:
    """The key had the fact `before` until an iteration made this one of it.

    Until the fixpoint the parts, which inputs or rules assert in that iteration, are joined with the fact
    before, and what differs is widened if the lattice has a widening; behind the fixpoint the fact before is
    narrowed to what the parts are joined to. `applied` are the functors with their values.
    """

    kind: MoveKind
    before: GroundAtom
    parts: tuple[GroundAtom, ...]
    applied: tuple[AppliedFunctor, ...]


Step = Input | Derivation | Equivalence | LatticeJoin | LatticeMove


def premises_of(step: Step) -> tuple[GroundAtom, ...]:
    """Return the facts a step rests on, each once; a fact before may be asserted again as a part."""
    match step:
        case Input():
            return ()
        case Derivation():
            return step.premises
        case Equivalence():
            return tuple(dict.fromkeys(step.pairs))
        case LatticeJoin():
            return step.parts
        case LatticeMove():
            return (step.before, *step.parts)


def places_of(step: Step) -> tuple[GroundAtom, ...]:
    """Return the fact at every place of a step: one that stands twice in a body is there twice.

    The facts of an aggregate's group, and the pairs or parts of a law, have one place each.
    """
    if not isinstance(step, Derivation):
        return premises_of(step)
    positive = (part.atom for part in step.parts if isinstance(part, Premise))
    return (*positive, *(atom for aggregation in step.aggregations for atom in aggregation.group))


def asserted_from(step: Step) -> int:
    """Return from which premise on they are to be proved without a law of their relation."""
    match step:
        case Equivalence() | LatticeJoin():
            return 0
        case LatticeMove():
            return 1
        case _:
            return len(places_of(step))
