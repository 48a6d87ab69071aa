"""Which partner holds which facts of earlier strata, where the rules' own variables divide them.

    memory(x, y) :- assign(x, z), memory(z, y).

`z` decides which partner finds a derivation, so `assign` is kept by its second column. An atom without the
deciding variable, a negated one and one in an aggregate need all facts of their relation at every partner.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tidelog.engine.spark.routes import RelationRoute, Routes, RuleRoute, variable_columns
from tidelog.plan.flatten import FlatRule, flatten_rule, is_fact
from tidelog.program.nodes import Atom, Program, Stratum, Variable
from tidelog.program.walk_nodes import earlier_relations, relations_read

# A relation and one of its columns.
Kept = tuple[str, int]


def divide_outside(stratum: Stratum, program: Program, routes: Routes) -> Routes:
    """Return routes by which relations of earlier strata are kept in parts, where that suits all rules.

    Rules that only read earlier strata are divided by a variable too. Parts that never communicate derive
    from all facts of earlier strata, and keep them all.
    """
    if routes.is_decomposed:
        return routes
    rules = dict(routes.rules)
    wanted: set[Kept] = set()
    everywhere: set[str] = set()
    # Rules that have their variable already come first, so that the others can choose the same columns.
    for rule in sorted(stratum.rules, key=lambda rule: not routes.rules[rule.id].columns):
        if is_fact(rule):
            continue
        flat = flatten_rule(rule, program)
        atoms = flat.atoms
        columns = rules[rule.id].columns
        variable = _deciding(atoms, columns) if columns else _best(atoms, wanted)
        if variable is not None and not columns:
            columns = {n: found[variable] for n, found in _variables(atoms) if variable in found}
            rules[rule.id] = RuleRoute(columns, False)
        divided = [(atom, variable_columns(atom).get(variable or "")) for atom in atoms]
        wanted |= {(atom.relation, column) for atom, column in divided if column is not None}
        everywhere |= {atom.relation for atom, column in divided if column is None} | _hidden(flat)
    kept = {
        name: RelationRoute(min(places), tuple(sorted(places)))
        for name in earlier_relations(stratum) - everywhere
        if (places := {column for relation, column in wanted if relation == name})
    }
    return replace(routes, rules=rules, outside=kept)


def _variables(atoms: Sequence[Atom]) -> Iterator[tuple[int, dict[str, int]]]:
    for place, atom in enumerate(atoms):
        yield place, variable_columns(atom)


def _deciding(atoms: Sequence[Atom], columns: Mapping[int, int]) -> str | None:
    """Return the variable that decides which partner finds a derivation, or None if there is none."""
    place, column = next(iter(columns.items()))
    term = atoms[place].terms[column] if column >= 0 else None
    return term.name if isinstance(term, Variable) else None


def _best(atoms: Sequence[Atom], wanted: set[Kept]) -> str | None:
    """Return the variable in most atoms; among several, one whose columns are kept anyway."""

    def merit(name: str) -> tuple[int, int]:
        places = [
            (atom.relation, variable_columns(atom)[name]) for atom in atoms if name in variable_columns(atom)
        ]
        return len(places), sum(place in wanted for place in places)

    names = dict.fromkeys(name for _, found in _variables(atoms) for name in found)
    return max(names, key=merit, default=None)


def _hidden(rule: FlatRule) -> frozenset[str]:
    """Return the relations that a rule looks at in other ways than by an atom of its body."""
    others = tuple(literal for literal in rule.body if not isinstance(literal, Atom))
    terms = (term for atom in rule.atoms for term in atom.terms)
    return relations_read((*others, *terms, *rule.head.terms))
