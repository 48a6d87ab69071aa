"""Operators of lattices that are relations: `.lattice Sign<> { Lub -> join[_, _] }`.

Such a relation has one value for two others. It follows from rules and facts of the program alone, so it is
found before anything else runs, and is a function from then on: under the name of a functor that no program
can declare, `join[]`.
"""

from collections.abc import Collection, Mapping
from typing import Final

from tidelog.program import nodes
from tidelog.program.walk_nodes import earlier_relations

_MARK: Final = "[]"


def table_functor(relation: str) -> str:
    """Return the name of the functor that looks values up in a relation."""
    return relation + _MARK


def table_of(functor: str) -> str | None:
    """Return the relation in which a functor looks values up, None if it is another functor."""
    return functor.removesuffix(_MARK) if functor.endswith(_MARK) else None


def tables_of(lattice: nodes.Lattice) -> dict[str, str]:
    """Return the relations in which operators of a lattice look values up, by operator."""
    operators = {"Lub": lattice.lub, "Glb": lattice.glb, "Widen": lattice.widen, "Narrow": lattice.narrow}
    found = {name: table_of(functor) for name, functor in operators.items() if functor is not None}
    return {name: relation for name, relation in found.items() if relation is not None}


def table_functors(lattices: Mapping[str, nodes.Lattice]) -> dict[str, nodes.UserFunctor]:
    """Return the functors that look values up."""
    return {
        table_functor(relation): nodes.UserFunctor(table_functor(relation), (name, name), name)
        for name, lattice in lattices.items()
        for relation in tables_of(lattice).values()
    }


def below(names: Collection[str], strata: Collection[nodes.Stratum]) -> frozenset[str]:
    """Return relations with all that they depend on."""
    found = set(names)
    for stratum in reversed(tuple(strata)):
        if not found.isdisjoint(stratum.relations):
            found |= {*stratum.relations, *earlier_relations(stratum)}
    return frozenset(found)


def fixed_relations(program: nodes.Program) -> frozenset[str]:
    """Return the relations that operators of lattices depend on, whose facts are those of the program."""
    tables = {name for lattice in program.lattices.values() for name in tables_of(lattice).values()}
    return below(tables, program.strata) if tables else frozenset()
