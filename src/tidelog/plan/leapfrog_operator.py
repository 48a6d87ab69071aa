"""The leapfrog operator of a group of atoms, for an order of its variables."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from tidelog.dataclass import dataclass
from tidelog.plan.flatten import as_operand
from tidelog.plan.operators import Comparison, Layout, Leapfrog, Operand, TrieAtom, View
from tidelog.program.nodes import Atom, Wildcard


@dataclass(frozen=True, slots=True)
class AtomGroup:
    """Atoms to be joined at once, by their numbers, with the order of the variables they bind."""

    atoms: tuple[int, ...]
    variables: tuple[str, ...]


def free_variables(atoms: Mapping[int, Atom], bound: Collection[str]) -> tuple[str, ...]:
    """Return the variables that atoms bind, in the order written; a wildcard counts as one of its own."""
    operands = (each for number, atom in atoms.items() for each in operands_of(number, atom))
    return tuple(dict.fromkeys(each for each in operands if isinstance(each, str) and each not in bound))


def operands_of(number: int, atom: Atom) -> tuple[Operand, ...]:
    """Return what is in each column of an atom; wildcards get names."""
    return tuple(
        f"%any{number}.{column}" if isinstance(term, Wildcard) else as_operand(term)
        for column, term in enumerate(atom.terms)
    )


def leapfrog_operator(
    atoms: Iterable[tuple[int, Atom, View, str | None]],
    order: Sequence[str],
    filters: Sequence[Comparison],
    outputs: Layout,
) -> Leapfrog:
    """Return the operator over (number, atom, view, name of the row number).

    The levels of each trie are the columns with a known value, then the others in the order of their
    variables; a variable that occurs twice in an atom gives two neighbouring levels:

        e(y, 3, x), order x, y    →    levels 3, x, y: columns 1, 2, 0
    """
    places = {name: place for place, name in enumerate(order)}
    made = []
    for number, atom, view, row in atoms:
        operands = operands_of(number, atom)
        levels = sorted(
            (places.get(operand, -1) if isinstance(operand, str) else -1, column)
            for column, operand in enumerate(operands)
        )
        columns = tuple(column for _, column in levels)
        made.append(TrieAtom(atom.relation, view, columns, tuple(operands[c] for c in columns), row))
    return Leapfrog(tuple(made), tuple(order), len(order), tuple(filters), outputs)
