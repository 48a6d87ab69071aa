"""The ways in which a fact can be proved."""

from tidelog.dataclass import dataclass
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.derivation import Derivation, Premise


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


Step = Input | Derivation | Equivalence | LatticeJoin


def premises_of(step: Step) -> tuple[GroundAtom, ...]:
    """Return the facts a step rests on, each once."""
    match step:
        case Input():
            return ()
        case Derivation():
            return step.premises
        case Equivalence():
            return tuple(dict.fromkeys(step.pairs))
        case LatticeJoin():
            return step.parts


def places_of(step: Step) -> tuple[GroundAtom, ...]:
    """Return the fact at every place of a step: one that stands twice in a body is there twice.

    The facts of an aggregate's group, and the pairs or parts of a law, have one place each.
    """
    if not isinstance(step, Derivation):
        return premises_of(step)
    positive = (part.atom for part in step.parts if isinstance(part, Premise))
    return (*positive, *(atom for aggregation in step.aggregations for atom in aggregation.group))


def is_asserted(step: Step) -> bool:
    """Say whether the premises of a step are to be proved without a law of their relation."""
    return isinstance(step, Equivalence | LatticeJoin)
