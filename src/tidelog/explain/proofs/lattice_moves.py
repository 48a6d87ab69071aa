"""How a value of a lattice moved on in one iteration: joined with others, widened or narrowed."""

from collections.abc import Sequence

from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.derivations import Deriver
from tidelog.explain.proofs.lattice import asserted_facts, join_all
from tidelog.explain.proofs.source import Level
from tidelog.explain.proofs.steps import AppliedFunctor, LatticeMove, MoveKind
from tidelog.program.nodes import Lattice
from tidelog.values import Fact, Value

# How functors that come with the language are named inside.
_INTRINSIC = "%"


def find_move(
    deriver: Deriver, atom: GroundAtom, before: Fact, level: Level, *, is_narrowed: bool
) -> LatticeMove | None:
    """Return how the fact before became the fact in the iteration of a level, None if it did not.

    The parts are a few of those that rules, and behind the fixpoint inputs, assert in that iteration: the
    others change nothing.
    """
    relation = atom.relation
    parts = list(dict.fromkeys(asserted_facts(deriver, atom, level, with_inputs=is_narrowed)))
    if not parts:
        return None
    found, applied = moved(deriver, relation, before, parts, is_narrowed=is_narrowed)
    if found != atom.fact:
        return None
    for part in tuple(parts):
        rest = [each for each in parts if each != part]
        if rest and moved(deriver, relation, before, rest, is_narrowed=is_narrowed) == (found, applied):
            parts = rest
    atoms = tuple(GroundAtom(relation, part) for part in parts)
    return LatticeMove(
        kind_of(applied, is_narrowed=is_narrowed), GroundAtom(relation, before), atoms, applied
    )


def kind_of(applied: Sequence[AppliedFunctor], *, is_narrowed: bool) -> MoveKind:
    """Return what a move is called."""
    if is_narrowed:
        return "narrowing"
    return "widening" if applied else "join"


def moved(
    deriver: Deriver, relation: str, before: Fact, parts: Sequence[Fact], *, is_narrowed: bool
) -> tuple[Fact, tuple[AppliedFunctor, ...]]:
    """Return what a fact becomes by parts of the same key, and which functors were applied."""
    program = deriver.book.program
    joined = join_all(deriver, relation, parts if is_narrowed else (before, *parts))
    values: list[Value] = []
    applied: list[AppliedFunctor] = []
    for column, old, new in zip(program.relations[relation].columns, before, joined, strict=True):
        functor = _operator(program.lattices[column.type], is_narrowed) if column.is_lattice else None
        if functor is None or (old == new and not is_narrowed):
            values.append(new)
            continue
        values.append(deriver.solver.terms.call(functor, (old, new), None))
        shown = functor.removeprefix(_INTRINSIC) if functor.startswith(_INTRINSIC) else f"@{functor}"
        applied.append(AppliedFunctor(shown, old, new))
    return tuple(values), tuple(applied)


def _operator(lattice: Lattice, is_narrowed: bool) -> str | None:  # noqa: FBT001 - one of two
    return lattice.narrow if is_narrowed else lattice.widen
