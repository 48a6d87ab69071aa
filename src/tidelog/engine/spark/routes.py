"""Which partner holds which facts, so that every derivation is found by exactly one partner.

The atoms of a rule that read its stratum share a variable; its value says which partner finds the
derivation, and each relation is kept by the columns that have such variables:

    path(x, z) :- path(x, y), path(y, z).

`path` is kept once by its second and once by its first column, and `y` decides. Relations of earlier
strata are at every partner, unless `outside` divides them. Where a stratum's atoms share no variable
their relations are at every partner too, and the row that reads the delta decides.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
from math import prod

from tidelog.dataclass import dataclass
from tidelog.engine.spark.kernels import WHOLE_ROW
from tidelog.plan.flatten import flatten_rule
from tidelog.program.nodes import Atom, Program, Rule, RuleId, Stratum, Variable

# Beyond this many combinations the first suitable column is taken.
_TRIED = 4096


@dataclass(frozen=True, slots=True)
class RelationRoute:
    """Where a relation's facts are: at their owner, and at the partner of each of `columns`."""

    owner: int
    columns: tuple[int, ...]
    is_everywhere: bool = False
    # Values that occur often, see `skew`, and the columns whose facts with such a value are at all partners.
    heavy: tuple[int, ...] = ()
    shared: tuple[int, ...] = ()

    @property
    def has_no_copies(self) -> bool:
        """Say whether facts are nowhere but at their owners."""
        return (
            not self.is_everywhere
            and set(self.columns) == {self.owner}
            and not (self.heavy and self.owner in self.shared)
        )


@dataclass(frozen=True, slots=True)
class RuleRoute:
    """The column, of each atom in the flat body that reads the stratum, by which a rule is divided.

    Without such atoms, the columns of atoms of earlier strata; some rules are not divided at all.

    `is_local` says that the heads belong to the partner that derives them.
    """

    columns: Mapping[int, int]
    is_local: bool


@dataclass(frozen=True, slots=True)
class Routes:
    """Routes of a stratum; if it `is_decomposed` no fact ever leaves the partner that derives it.

    `outside` are the relations of earlier strata that are kept in parts; the others are at every partner.
    `shared` and `heavy` are those of all relations.
    """

    relations: Mapping[str, RelationRoute]
    rules: Mapping[RuleId, RuleRoute]
    is_decomposed: bool
    outside: Mapping[str, RelationRoute] = field(default_factory=dict)
    shared: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    heavy: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Flat:
    """A rule and the stratum's atoms in its flat body; `choices` are columns that may divide it."""

    id: RuleId
    head: Atom
    inside: tuple[tuple[int, Atom], ...]
    choices: tuple[tuple[int, ...], ...]


def find_routes(
    stratum: Stratum,
    program: Program,
    dividing: Mapping[RuleId, frozenset[str]] | None = None,
    owning: Mapping[str, frozenset[int]] | None = None,
) -> Routes:
    """Return the routes of a stratum: decomposed where its rules allow it, otherwise with few copies.

    `dividing` has the variables by which rules are better divided, because of what they read besides; it
    rules out that parts have all facts of earlier strata, and with that decomposition. `owning` has the
    columns that may decide who owns a fact, where not every column may: see `law_columns`.
    """
    rules = [_flat(rule, stratum, program, (dividing or {}).get(rule.id)) for rule in stratum.rules]
    owned_by = {
        name: sorted((owning or {}).get(name, range(program.relations[name].arity)))
        for name in stratum.relations
    }
    found = _decomposed(stratum, owned_by, rules) if dividing is None else None
    if found is not None:
        return found
    reading = [rule for rule in rules if rule.inside]
    everywhere = _everywhere(reading)
    chosen = dict(_choose([rule for rule in reading if rule.choices]))
    copies: dict[str, set[int]] = {name: set() for name in stratum.relations}
    for rule in reading:
        if rule.id in chosen:
            for (_, atom), column in zip(rule.inside, chosen[rule.id], strict=True):
                copies[atom.relation].add(column)
    owners = {
        name: _best_owner(name, copies[name], owned_by[name], rules, chosen) for name in stratum.relations
    }
    relations = {
        name: RelationRoute(owners[name], tuple(sorted(copies[name] | {owners[name]})), name in everywhere)
        for name in stratum.relations
    }
    return Routes(relations, {rule.id: _route(rule, chosen, owners) for rule in rules}, False)


def _flat(rule: Rule, stratum: Stratum, program: Program, dividing: frozenset[str] | None) -> _Flat:
    flat = flatten_rule(rule, program)
    atoms = enumerate(flat.atoms)
    inside = tuple((place, atom) for place, atom in atoms if atom.relation in stratum.relations)
    choices = tuple(_choices([atom for _, atom in inside]))
    better = tuple(each for each in choices if dividing and _variable_at(inside[0][1], each[0]) in dividing)
    return _Flat(rule.id, flat.head, inside, better or choices)


def _variable_at(atom: Atom, column: int) -> str | None:
    term = atom.terms[column]
    return term.name if isinstance(term, Variable) else None


def _choices(atoms: list[Atom]) -> Iterator[tuple[int, ...]]:
    """Yield the columns, one for each atom, that have the same variable; any column of a single atom."""
    if len(atoms) == 1:
        yield from ((column,) for column in range(len(atoms[0].terms)))
        return
    columns = [variable_columns(atom) for atom in atoms]
    for name in columns[0] if columns else ():
        if all(name in others for others in columns):
            yield tuple(others[name] for others in columns)


def variable_columns(atom: Atom) -> dict[str, int]:
    """Return the first column of each variable."""
    found: dict[str, int] = {}
    for column, term in enumerate(atom.terms):
        if isinstance(term, Variable):
            found.setdefault(term.name, column)
    return found


def _decomposed(stratum: Stratum, owned_by: Mapping[str, Sequence[int]], rules: list[_Flat]) -> Routes | None:
    """Return routes with one column for each relation, kept by every rule from body to head."""
    possible = [owned_by[name] for name in stratum.relations]
    if not stratum.is_recursive or not all(possible) or prod(map(len, possible)) > _TRIED:
        return None
    for columns in product(*possible):
        column = dict(zip(stratum.relations, columns, strict=True))
        if all(_keeps(rule, column) for rule in rules):
            relations = {name: RelationRoute(column[name], (column[name],)) for name in column}
            routes = {
                rule.id: RuleRoute(
                    {place: column[atom.relation] for place, atom in rule.inside}, bool(rule.inside)
                )
                for rule in rules
            }
            return Routes(relations, routes, True)
    return None


def _keeps(rule: _Flat, column: Mapping[str, int]) -> bool:
    terms = [atom.terms[column[atom.relation]] for _, atom in rule.inside]
    if not terms:
        return True
    first = terms[0]
    head = rule.head.terms[column[rule.head.relation]]
    return isinstance(first, Variable) and all(
        isinstance(term, Variable) and term.name == first.name for term in (*terms, head)
    )


def _everywhere(rules: list[_Flat]) -> set[str]:
    """Return the relations that every partner needs: those of rules that no variable divides."""
    return {atom.relation for rule in rules if not rule.choices for _, atom in rule.inside}


def _choose(rules: list[_Flat]) -> Iterator[tuple[RuleId, tuple[int, ...]]]:
    """Yield the columns that divide each rule, so that relations are kept by few columns."""
    # Rules that read one fact of the stratum can be divided by whatever column the others need.
    several = [rule for rule in rules if len(rule.inside) > 1]
    best: tuple[tuple[int, ...], ...] = tuple(rule.choices[0] for rule in several)
    if prod(len(rule.choices) for rule in several) <= _TRIED:
        best = min(product(*(rule.choices for rule in several)), key=lambda c: len(_kept(several, c)))
    kept = _kept(several, best)
    for rule, columns in zip(several, best, strict=True):
        yield rule.id, columns
    for rule in rules:
        if len(rule.inside) == 1:
            relation = rule.inside[0][1].relation
            known = [columns for columns in rule.choices if (relation, columns[0]) in kept]
            columns = (known or rule.choices)[0]
            kept.add((relation, columns[0]))
            yield rule.id, columns


def _kept(rules: list[_Flat], columns: tuple[tuple[int, ...], ...]) -> set[tuple[str, int]]:
    return {
        (atom.relation, column)
        for rule, chosen in zip(rules, columns, strict=True)
        for (_, atom), column in zip(rule.inside, chosen, strict=True)
    }


def _best_owner(
    name: str,
    copies: set[int],
    possible: Sequence[int],
    rules: list[_Flat],
    chosen: Mapping[RuleId, tuple[int, ...]],
) -> int:
    """Return the column of the owner: one that leaves many heads where they are derived."""
    if not possible:
        return WHOLE_ROW

    def local(column: int) -> int:
        return sum(
            _is_local(rule, chosen[rule.id], column)
            for rule in rules
            if rule.head.relation == name and rule.id in chosen
        )

    return max(sorted(copies.intersection(possible)) or possible, key=local)


def _is_local(rule: _Flat, columns: tuple[int, ...], owner: int) -> bool:
    if owner == WHOLE_ROW:
        return False
    dividing = rule.inside[0][1].terms[columns[0]]
    head = rule.head.terms[owner]
    return isinstance(dividing, Variable) and isinstance(head, Variable) and dividing.name == head.name


def _route(rule: _Flat, chosen: Mapping[RuleId, tuple[int, ...]], owners: Mapping[str, int]) -> RuleRoute:
    if rule.id not in chosen:
        return RuleRoute({place: WHOLE_ROW for place, _ in rule.inside}, False)
    columns = chosen[rule.id]
    places = {place: column for (place, _), column in zip(rule.inside, columns, strict=True)}
    return RuleRoute(places, _is_local(rule, columns, owners[rule.head.relation]))
