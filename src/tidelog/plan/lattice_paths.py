"""Lattice strata whose rules are arcs: from one value of the stratum to another, by a known step.

    dist(0, 0).                                             // a base value
    dist(y, d + w) :- dist(x, d), edge(x, y, w).            // an arc x -> y that adds w

Such a stratum is a graph, and its values are best paths. A step adds something that does not depend
on the value, or takes the smaller or the greater of the two.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum

from tidelog.dataclass import dataclass
from tidelog.plan.flatten import FlatRule, flatten_rule
from tidelog.program import nodes
from tidelog.program.binding import bound_variables
from tidelog.program.walk_nodes import deep_atoms, relations_read, variables_of
from tidelog.values import Kind

_WEIGHT = "%weight"


class ArcStep(Enum):
    """How an arc combines the value of its source with its own weight."""

    ADD = "add"
    SMALLER = "smaller"
    GREATER = "greater"


@dataclass(frozen=True, slots=True)
class ArcRule:
    """A rule whose head has the key of the source, the key of the target, and the weight if there is one."""

    rule: FlatRule
    source: str
    step: ArcStep
    has_weight: bool


@dataclass(frozen=True, slots=True)
class PathPlan:
    """A stratum as a graph: `columns` are the lattice columns of its relations."""

    columns: dict[str, int]
    kind: Kind
    is_greatest: bool
    bases: tuple[FlatRule, ...]
    arcs: tuple[ArcRule, ...]


def plan_paths(stratum: nodes.Stratum, program: nodes.Program) -> PathPlan | None:
    """Return a stratum as a graph, or None if it is not one."""
    columns = _lattice_columns(stratum, program)
    if columns is None or stratum.subsumptions:
        return None
    types = {program.relations[name].columns[place].type for name, place in columns.items()}
    lattices = [program.lattices[name] for name in types]
    if any(lattice.widen or lattice.narrow for lattice in lattices):
        return None
    kinds = {program.kind_of(name) for name in types}
    if len({lattice.extreme for lattice in lattices} | {None}) != 2 or len(kinds) != 1:
        return None
    bases: list[FlatRule] = []
    arcs: list[ArcRule] = []
    for rule in stratum.rules:
        flat = _opened(flatten_rule(rule, program), columns, lattices[0].extreme)
        read = [atom for atom, _ in deep_atoms(flat.body) if atom.relation in columns]
        if not read:
            bases.append(flat)
            continue
        arc = _arc(flat, columns, program)
        if arc is None:
            return None
        arcs.append(arc)
    return PathPlan(columns, kinds.pop(), lattices[0].extreme == "max", tuple(bases), tuple(arcs))


def _lattice_columns(stratum: nodes.Stratum, program: nodes.Program) -> dict[str, int] | None:
    """Return the one lattice column of each relation, or None if a relation has another law or no law."""
    columns: dict[str, int] = {}
    for name in stratum.relations:
        relation = program.relations[name]
        places = relation.lattice_columns
        has_other = bool(relation.choices) or relation.is_equivalence or relation.size_limit is not None
        if len(places) != 1 or has_other:
            return None
        columns[name] = places[0]
    return columns


def _opened(rule: FlatRule, columns: dict[str, int], extreme: str | None) -> FlatRule:
    """Return a flat rule with extremes over its own stratum opened: the head takes the extreme anyway.

        dist(y, d) :- node(y), d = min e + w : { dist(x, e), edge(x, y, w) }.

        dist(y, d) :- node(y), d = e + w, dist(x, e), edge(x, y, w).

    The value may also be an operand of a term in the head: checks have ensured that this is monotone.
    """
    written = rule.head.terms[columns[rule.head.relation]]
    body: list[nodes.Literal] = []
    for literal in rule.body:
        if _is_opened(literal, rule, written, columns, extreme):
            assert isinstance(literal, nodes.Constraint)
            assert isinstance(literal.right, nodes.Aggregate)
            assert literal.right.target is not None
            body.extend((replace(literal, right=literal.right.target), *literal.right.body))
        else:
            body.append(literal)
    return replace(rule, body=tuple(body))


def _is_opened(
    literal: nodes.Literal, rule: FlatRule, written: nodes.Term, columns: dict[str, int], extreme: str | None
) -> bool:
    """Say whether a literal binds an extreme that is used only for the head's value."""
    if (
        not isinstance(literal, nodes.Constraint)
        or literal.op != "="
        or not isinstance(literal.right, nodes.Aggregate)
    ):
        return False
    aggregate, value = literal.right, literal.left
    is_own = not relations_read((aggregate,)).isdisjoint(columns)
    if not is_own or aggregate.functor != extreme or not isinstance(value, nodes.Variable):
        return False
    others = [x for x in rule.body if x is not literal]
    uses = [x for x in others if value.name in variables_of(x)]
    if not uses:
        return written == value
    # There may be one more equality: `h = 1 + max k : { ... }`.
    use = uses[0]
    is_defining = isinstance(use, nodes.Constraint) and use.op == "=" and written in (use.left, use.right)
    return len(uses) == 1 and is_defining and written != value


def _arc(rule: FlatRule, columns: dict[str, int], program: nodes.Program) -> ArcRule | None:
    """Return a rule as an arc, or None if it is not one."""
    if rule.aggregates:
        return None
    inside = [atom for atom in rule.atoms if atom.relation in columns]
    negated = [x for x in rule.body if isinstance(x, nodes.NegatedAtom) and x.atom.relation in columns]
    if len(inside) != 1 or negated:
        return None
    read = inside[0]
    value = read.terms[columns[read.relation]]
    written = rule.head.terms[columns[rule.head.relation]]
    if not isinstance(value, nodes.Variable) or not isinstance(written, nodes.Variable):
        return None
    rest = [literal for literal in rule.body if literal is not read]
    found = _step(value.name, written, rest)
    if found is None:
        return None
    step, weight, rest = found
    keys = (*_key(read, columns), *_key(rule.head, columns))
    head: tuple[nodes.Term, ...] = keys
    if weight is not None:
        kind = program.kind_of(weight.type)
        variable = nodes.Variable(_WEIGHT, weight.type, span=weight.span)
        rest.append(nodes.Constraint("=", kind, variable, weight, span=weight.span))
        head = (*keys, variable)
    used = variables_of(*rest)
    needed = variables_of(*head)
    if value.name in used | needed or not needed <= bound_variables(rest):
        return None
    if any(isinstance(term, nodes.Wildcard) for term in keys):
        return None
    made = replace(rule, head=replace(rule.head, terms=head), body=tuple(rest))
    return ArcRule(made, read.relation, step, weight is not None)


def _key(atom: nodes.Atom, columns: dict[str, int]) -> Iterator[nodes.Term]:
    return (term for place, term in enumerate(atom.terms) if place != columns[atom.relation])


def _step(
    name: str, written: nodes.Variable, rest: Sequence[nodes.Literal]
) -> tuple[ArcStep, nodes.Term | None, list[nodes.Literal]] | None:
    """Return the step from the value that a rule reads, its weight, and the remaining literals."""
    used: list[nodes.Literal] = []
    term = _expanded(written, name, rest, used)
    if term is None:
        return None
    found = _taken_apart(term, name)
    if found is None:
        return None
    return (*found, [literal for literal in rest if not any(literal is other for other in used)])


def _expanded(
    term: nodes.Term, name: str, rest: Sequence[nodes.Literal], used: list[nodes.Literal]
) -> nodes.Term | None:
    """Return a term over the value called `name`, with variables that depend on it replaced, or None."""
    if isinstance(term, nodes.Variable):
        if term.name == name:
            return term
        for literal in rest:
            if (
                not isinstance(literal, nodes.Constraint)
                or literal.op != "="
                or any(literal is x for x in used)
            ):
                continue
            for left, right in ((literal.left, literal.right), (literal.right, literal.left)):
                if left != term:
                    continue
                tried = [*used, literal]
                found = _expanded(right, name, rest, tried)
                if found is not None:
                    used[:] = tried
                    return found
        return None
    if not isinstance(term, nodes.Application):
        return None
    parts = [(part, _expanded(part, name, rest, used)) for part in term.terms]
    if all(found is None for _, found in parts):
        return None
    return replace(term, terms=tuple(part if found is None else found for part, found in parts))


def _taken_apart(term: nodes.Term, name: str) -> tuple[ArcStep, nodes.Term | None] | None:
    """Return a term over a value as a step and its weight."""
    if isinstance(term, nodes.Variable) and term.name == name:
        return ArcStep.ADD, None
    if not isinstance(term, nodes.Application) or len(term.terms) != 2:
        return None
    left, right = term.terms
    is_left = name in variables_of(left)
    if is_left == (name in variables_of(right)):
        return None
    inner, other = (left, right) if is_left else (right, left)
    found = _taken_apart(inner, name)
    if found is None or found[0] is not ArcStep.ADD:
        return None
    weight = found[1]
    match term.functor:
        case "+" if weight is None:
            return ArcStep.ADD, other
        case "+" if weight is not None and term.kind is not Kind.FLOAT:
            # Sums of floats depend on their order, those of integers do not.
            return ArcStep.ADD, replace(term, terms=(weight, other))
        case "-" if (
            is_left and term.kind is not Kind.UNSIGNED and (weight is None or term.kind is Kind.NUMBER)
        ):
            zero = nodes.Constant(0.0 if term.kind is Kind.FLOAT else 0, term.type, span=term.span)
            return ArcStep.ADD, replace(term, terms=(zero if weight is None else weight, other))
        case "min" | "max" if weight is None:
            return ArcStep.SMALLER if term.functor == "min" else ArcStep.GREATER, other
        case _:
            return None
