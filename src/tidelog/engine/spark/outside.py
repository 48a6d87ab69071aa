"""Which partner holds which facts of earlier strata, where the rules' own variables divide them.

    memory(x, y) :- assign(x, z), memory(z, y).

`z` decides which partner finds a derivation, so `assign` is kept by its second column. So are negated atoms
and those in aggregates, which are then divided by their groups:

    total(x, n) :- shop(x), n = sum p : { sale(x, p) }.

An atom without the deciding variable needs all facts of its relation at every partner; `cut` avoids that
where the relation is large.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tidelog.dataclass import dataclass
from tidelog.engine.spark.routes import RelationRoute, Routes, RuleRoute, variable_columns
from tidelog.plan.flatten import FlatRule, flatten_rule, is_fact
from tidelog.program.nodes import Aggregate, Atom, Program, RuleId, Stratum, Variable
from tidelog.program.walk_nodes import Node, children, earlier_relations

# A relation and one of its columns.
Kept = tuple[str, int]


def divide_outside(
    stratum: Stratum,
    program: Program,
    routes: Routes,
    dividing: Mapping[RuleId, frozenset[str]] | None = None,
) -> Routes:
    """Return routes by which relations of earlier strata are kept in parts, where that suits all rules.

    Rules that only read earlier strata are divided by a variable too, one of `dividing` if there is one for
    the rule. Parts that never communicate derive from all facts of earlier strata, and keep them all.
    """
    if routes.is_decomposed:
        return routes
    rules = dict(routes.rules)
    wanted: set[Kept] = set()
    everywhere: set[str] = set()
    shared: set[Kept] = set()
    # Rules that have their variable already come first, so that the others can choose the same columns.
    for rule in sorted(stratum.rules, key=lambda rule: not routes.rules[rule.id].columns):
        if is_fact(rule):
            continue
        flat = flatten_rule(rule, program)
        atoms, hidden = flat.atoms, tuple(_hidden(flat))
        columns = rules[rule.id].columns
        better = (dividing or {}).get(rule.id, frozenset())
        variable = _deciding(atoms, columns) if columns else _best(atoms, hidden, wanted, better)
        if variable is not None and not columns:
            columns = {n: found[variable] for n, found in _variables(atoms) if variable in found}
            rules[rule.id] = RuleRoute(columns, False)
        divided = [(atom, variable_columns(atom).get(variable or "")) for atom in atoms]
        divided += [(each.atom, each.columns.get(variable or "")) for each in hidden]
        wanted |= {(atom.relation, column) for atom, column in divided if column is not None}
        shared |= {
            (atom.relation, column)
            for place, (atom, column) in enumerate(divided)
            if column is not None and place != min(columns)
        }
        everywhere |= {atom.relation for atom, column in divided if column is None}
    kept = {
        name: RelationRoute(min(places), tuple(sorted(places)))
        for name in earlier_relations(stratum) - everywhere
        if (places := {column for relation, column in wanted if relation == name})
    }
    both = {name: tuple(sorted(c for relation, c in shared if relation == name)) for name, _ in shared}
    return replace(routes, rules=rules, outside=kept, shared=both)


def _variables(atoms: Sequence[Atom]) -> Iterator[tuple[int, dict[str, int]]]:
    for place, atom in enumerate(atoms):
        yield place, variable_columns(atom)


def _deciding(atoms: Sequence[Atom], columns: Mapping[int, int]) -> str | None:
    """Return the variable that decides which partner finds a derivation, or None if there is none."""
    place, column = next(iter(columns.items()))
    term = atoms[place].terms[column] if column >= 0 else None
    return term.name if isinstance(term, Variable) else None


def _best(
    atoms: Sequence[Atom], hidden: Sequence["_HiddenAtom"], wanted: set[Kept], better: frozenset[str]
) -> str | None:
    """Return the variable in most atoms, of `better` ones first, and one whose columns are kept anyway."""
    found = [(atom.relation, variable_columns(atom)) for atom in atoms]
    others = [(each.atom.relation, each.columns) for each in hidden]

    def merit(name: str) -> tuple[bool, int, int]:
        places = [(relation, columns[name]) for relation, columns in (*found, *others) if name in columns]
        return name in better, len(places), sum(place in wanted for place in places)

    names = dict.fromkeys(name for _, columns in found for name in columns)
    return max(names, key=merit, default=None)


@dataclass(frozen=True, slots=True)
class _HiddenAtom:
    """An atom that a rule looks at without binding its variables; `columns` are those of the rule's own."""

    atom: Atom
    columns: Mapping[str, int]


def _hidden(rule: FlatRule) -> Iterator[_HiddenAtom]:
    """Yield the negated atoms of a rule and all atoms of its aggregates."""
    terms = (term for atom in (*rule.atoms, rule.head) for term in atom.terms)
    others = (literal for literal in rule.body if not isinstance(literal, Atom))
    waiting: list[tuple[Node, frozenset[str] | None]] = [(node, None) for node in (*terms, *others)]
    while waiting:
        node, shared = waiting.pop()
        if isinstance(node, Aggregate):
            # Variables of the body are the rule's own if they stand outside all the way up.
            outer = frozenset(node.outer)
            shared = outer if shared is None else shared & outer
        if isinstance(node, Atom):
            columns = variable_columns(node)
            yield _HiddenAtom(node, {n: c for n, c in columns.items() if shared is None or n in shared})
        waiting += [(child, shared) for child in children(node)]
