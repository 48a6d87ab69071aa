"""Rules for the sizes of smallest proofs: a metric is a lattice column whose join is `min`.

    path(x, z) :- path(x, y), edge(y, z).

    _size_1.path.path(x, z, 1 + max(n, 0)) :-
        path(x, y), edge(y, z), _size_1.path.path(x, y, n).

Where facts do not rest on each other, an aggregate finds the least size.

Of several metrics the second is minimal among the derivations that are minimal by the first, and so on.
Lattices and aggregates are followed under change, so that sizes are.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.program.flatten_bodies import FlatLiteral
from tidelog.program.flatten_rules import ConjunctiveRule
from tidelog.program.proof_cones import ProofCone
from tidelog.program.proof_options import HEIGHT, LEAVES, NODES, WEIGHTED
from tidelog.program.rename_items import Plain
from tidelog.program.written_names import made_name
from tidelog.source import Span
from tidelog.syntax import tree

SIZE: Final = "proof.size"
# Sizes count places in a tree, of which there may be more than a number holds; all from here on are equal.
LARGEST: Final = 10**18
_LEAF: Final = {HEIGHT: 0, LEAVES: 1, NODES: 1, WEIGHTED: 0}


@dataclass(frozen=True, slots=True)
class Sized:
    """A derivation with sizes: what binds those of its premises, and how large it is by each metric."""

    literals: tuple[tuple[FlatLiteral, ...], ...]
    costs: tuple[tree.Term, ...]


def size_type(span: Span) -> Iterator[Plain]:
    """Yield the type of sizes and its lattice."""
    yield tree.SubtypeDeclaration(SIZE, "number", span=span)
    wild = tree.Wildcard(span=span)
    least = tree.Application("min", (wild, wild), span=span)
    yield tree.LatticeDeclaration(SIZE, (("Lub", least),), span=span)


def declare_sizes(
    cone: ProofCone, relations: Sequence[tree.RelationDeclaration], fact_type: str
) -> Iterator[tree.RelationDeclaration]:
    """Yield the relations of sizes: one for each metric and derived relation, and one with all facts."""
    span = cone.span
    for number in range(len(cone.options.metrics)):
        for relation in (each for each in relations if each.name in cone.derived):
            plain = tuple(tree.Field(each.name, each.type, span=each.span) for each in relation.columns)
            is_recursive = relation.name in cone.recursive
            size = tree.Field("_size", SIZE, is_lattice=is_recursive, span=span)
            yield tree.RelationDeclaration(_name(cone, number, relation.name), (*plain, size), span=span)
            if not is_recursive:
                offered = _name(cone, number, relation.name, is_offer=True)
                yield tree.RelationDeclaration(offered, (*plain, size), span=span)
    sizes = tuple(tree.Field(name, "number", span=span) for name in _column_names(cone))
    columns = (tree.Field("fact", fact_type, span=span), *sizes)
    yield tree.RelationDeclaration(cone.size, columns, span=span)


def all_sizes(cone: ProofCone, relation: tree.RelationDeclaration) -> ConjunctiveRule:
    """Return the rule that gives the facts of a relation with their sizes.

    path.size($path(x, y), n) :- _size_1.path.path(x, y, n).
    path.size($edge(x, y), 0) :- edge(x, y).
    """
    span = cone.span
    columns = _columns(relation, span)
    fact = tree.BranchTerm(relation.name, columns, span=span)
    if relation.name in cone.leaves:
        whole = tree.Atom(relation.name, columns, span=span)
        return ConjunctiveRule(
            tree.Atom(cone.size, (fact, *leaf_costs(cone)), span=span), (whole,), span=span
        )
    numbers = range(len(cone.options.metrics))
    sizes = tuple(tree.Variable(made_name("size", number + 1), span=span) for number in numbers)
    body = tuple(
        _atom(_name(cone, number, relation.name), columns, sizes[number], span) for number in numbers
    )
    plain = tuple(tree.Cast(size, "number", span=span) for size in sizes)
    return ConjunctiveRule(tree.Atom(cone.size, (fact, *plain), span=span), body, span=span)


def least_offers(cone: ProofCone, relation: tree.RelationDeclaration) -> Iterator[ConjunctiveRule]:
    """Yield the rules by which facts that do not rest on each other have the least size that is offered.

    _size_1.far.far(x, n) :- far(x), n = min m : { _offer_1.far.far(x, m) }.
    """
    if relation.name not in cone.derived or relation.name in cone.recursive:
        return
    span = cone.span
    columns = _columns(relation, span)
    least, offer = tree.Variable("_least", span=span), tree.Variable("_offer", span=span)
    for number in range(len(cone.options.metrics)):
        read = _atom(_name(cone, number, relation.name, is_offer=True), columns, offer, span)
        conjunction = tree.Conjunction((read,), span=span)
        aggregate = tree.Aggregate("min", offer, tree.Disjunction((conjunction,), span=span), span=span)
        known = tree.Atom(relation.name, columns, span=span)
        body = (known, tree.Constraint("=", least, aggregate, span=span))
        yield ConjunctiveRule(
            _atom(_name(cone, number, relation.name), columns, least, span), body, span=span
        )


def leaf_costs(cone: ProofCone) -> tuple[tree.Term, ...]:
    """Return the size of a leaf by each metric."""
    return tuple(tree.NumberLiteral(_LEAF[metric], span=cone.span) for metric in cone.options.metrics)


def sized(
    cone: ProofCone, rule: str, premises: Sequence[tree.BranchTerm], sizes: Sequence[Sequence[tree.Variable]]
) -> Sized:
    """Return a derivation by a rule with sizes; `sizes` are variables, by metric and premise.

    All leaves have the same size, so that only derived premises need a variable.
    """
    literals: list[tuple[FlatLiteral, ...]] = []
    costs: list[tree.Term] = []
    for number, (metric, leaf) in enumerate(zip(cone.options.metrics, leaf_costs(cone), strict=True)):
        pairs = list(zip(premises, sizes[number], strict=True))
        derived = [pair for pair in pairs if pair[0].name in cone.derived]
        atoms = (_atom(_name(cone, number, each.name), each.terms, size, each.span) for each, size in derived)
        literals.append(tuple(atoms))
        terms = [size if each.name in cone.derived else leaf for each, size in pairs]
        costs.append(_cost(metric, cone.options.weight(rule), terms, cone.span))
    return Sized(tuple(literals), tuple(costs))


def tight(
    cone: ProofCone, head: tree.BranchTerm, sizes: Sized, upto: int, own: Sequence[tree.Variable]
) -> tuple[FlatLiteral, ...]:
    """Return the literals that hold of derivations as small as their fact, by the first `upto` metrics."""
    found: list[FlatLiteral] = []
    for number in range(upto):
        found.append(_atom(_name(cone, number, head.name), head.terms, own[number], head.span))
        found.append(tree.Constraint("=", own[number], sizes.costs[number], span=head.span))
    return tuple(found)


def size_rules(
    cone: ProofCone,
    head: tree.BranchTerm,
    body: tuple[FlatLiteral, ...],
    sizes: Sized,
    own: Sequence[tree.Variable],
) -> Iterator[ConjunctiveRule]:
    """Yield a rule for each metric that offers the size of a derivation to its fact."""
    span = head.span
    for number, cost in enumerate(sizes.costs):
        used = tuple(literal for part in sizes.literals[: number + 1] for literal in part)
        whole = (*body, *used, *tight(cone, head, sizes, number, own))
        offered = tree.Cast(cost, SIZE, span=span)
        is_offer = head.name not in cone.recursive
        atom = _atom(_name(cone, number, head.name, is_offer=is_offer), head.terms, offered, span)
        yield ConjunctiveRule(atom, whole, span=span)


def _cost(metric: str, weight: int, sizes: Sequence[tree.Term], span: Span) -> tree.Term:
    """Return the size of a derivation by one metric, of the sizes of its premises."""
    if metric == HEIGHT:
        zero: tree.Term = tree.NumberLiteral(0, span=span)
        return _plus(_one(span), reduce(lambda a, b: tree.Application("max", (a, b), span=span), sizes, zero))
    own = {LEAVES: 0, NODES: 1, WEIGHTED: weight}[metric]
    start: tree.Term = tree.NumberLiteral(min(own, LARGEST), span=span)
    return reduce(_plus, sizes, start)


def _one(span: Span) -> tree.Term:
    return tree.NumberLiteral(1, span=span)


def _plus(left: tree.Term, right: tree.Term) -> tree.Term:
    """Return a sum that stops at the largest size, so that none wraps around."""
    span = left.span
    total = tree.Application("+", (left, right), span=span)
    return tree.Application("min", (total, tree.NumberLiteral(LARGEST, span=span)), span=span)


def _name(cone: ProofCone, number: int, relation: str, *, is_offer: bool = False) -> str:
    return f"_{'offer' if is_offer else 'size'}_{number + 1}.{cone.relation}.{relation}"


def _columns(relation: tree.RelationDeclaration, span: Span) -> tuple[tree.Variable, ...]:
    return tuple(
        tree.Variable(made_name(column.name, place), span=span)
        for place, column in enumerate(relation.columns)
    )


def _column_names(cone: ProofCone) -> tuple[str, ...]:
    metrics = cone.options.metrics
    return metrics if len(set(metrics)) == len(metrics) else tuple(f"size_{n}" for n in range(len(metrics)))


def _atom(name: str, terms: Sequence[tree.Term], size: tree.Term, span: Span) -> tree.Atom:
    return tree.Atom(name, (*terms, size), span=span)
