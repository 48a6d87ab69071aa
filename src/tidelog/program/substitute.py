"""Rules with variables replaced by terms."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tidelog.program import nodes
from tidelog.program.walk_nodes import deep_variables, map_literal, map_terms
from tidelog.program.written_names import made_name

Substitution = Mapping[str, nodes.Term]


def substitute(term: nodes.Term, by: Substitution) -> nodes.Term:
    """Return the term with its variables replaced, inside aggregates too."""
    match term:
        case nodes.Variable():
            return by.get(term.name, term)
        case nodes.Aggregate():
            return map_terms(replace(term, outer=_outer(term, by)), lambda part: substitute(part, by))
        case _:
            return map_terms(term, lambda part: substitute(part, by))


def substitute_literal(literal: nodes.Literal, by: Substitution) -> nodes.Literal:
    """Return the literal with its variables replaced."""
    return map_literal(literal, lambda term: substitute(term, by))


def _outer(aggregate: nodes.Aggregate, by: Substitution) -> tuple[str, ...]:
    """Return the outer variables after the replacement; one replaced by a constant is gone."""
    names: dict[str, None] = {}
    for name in aggregate.outer:
        if name in by:
            names.update((variable.name, None) for variable in deep_variables((by[name],)))
        else:
            names[name] = None
    return tuple(names)


def names_in(literals: Iterable[nodes.Literal]) -> dict[str, nodes.Variable]:
    """Return all variables in literals by name, those inside aggregates included."""
    return {variable.name: variable for variable in deep_variables(literals)}


class FreshNames:
    """Gives names that a rule does not use yet."""

    def __init__(self, used: Iterable[str]) -> None:
        self.used = set(used)

    def like(self, name: str) -> str:
        """Return a new name that shows the written one."""
        number = 1
        while made_name(name, number) in self.used:
            number += 1
        found = made_name(name, number)
        self.used.add(found)
        return found
