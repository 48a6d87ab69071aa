"""The walk over the nodes of a checked program: what is below a node, and a node with that replaced.

`children` and `map_terms` alone know which fields of a node hold nodes; everything else here, and
every other walk, is written with them. A test compares both with the fields of `nodes.py`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar, assert_never

from tidelog.program import nodes
from tidelog.syntax.walk_tree import walk_down

Node = (
    nodes.Term
    | nodes.Literal
    | nodes.Rule
    | nodes.Subsumption
    | nodes.Stratum
    | nodes.Lattice
    | nodes.Program
)
ChangeTerm = Callable[[nodes.Term], nodes.Term]
AnyLiteral = TypeVar("AnyLiteral", nodes.Atom, nodes.Literal)


# --- one step ------------------------------------------------------------------------------


def children(node: Node) -> tuple[Node, ...]:  # noqa: C901 - one case per node
    """Return the nodes directly below a node, in the order of the text."""
    match node:
        case nodes.Variable() | nodes.Wildcard() | nodes.Constant() | nodes.Counter():
            return ()
        case (
            nodes.RecordTerm()
            | nodes.BranchTerm()
            | nodes.Application()
            | nodes.UserApplication()
            | nodes.Atom()
        ):
            return node.terms
        case nodes.Aggregate():
            return (*_present(node.target, node.init), *node.body)
        case nodes.NegatedAtom():
            return (node.atom,)
        case nodes.Constraint():
            return (node.left, node.right)
        case nodes.Generator():
            return (node.target, node.start, node.stop, *_present(node.step))
        case nodes.Rule():
            return (node.head, *node.body)
        case nodes.Subsumption():
            return (node.less, node.greater, *node.body)
        case nodes.Stratum():
            return (*node.rules, *node.subsumptions)
        case nodes.Lattice():
            return tuple(_present(node.bottom))
        case nodes.Program():
            return (*node.lattices.values(), *node.strata)
        case _:
            assert_never(node)


def map_parts(term: nodes.Term, change: ChangeTerm) -> nodes.Term:
    """Return the term with the terms directly below it replaced; an aggregate stays as it is."""
    return term if isinstance(term, nodes.Aggregate) else map_terms(term, change)


def map_terms(term: nodes.Term, change: ChangeTerm) -> nodes.Term:
    """Return the term with the terms below it replaced by `change(term)`, those in its literals too."""
    match term:
        case nodes.Variable() | nodes.Wildcard() | nodes.Constant() | nodes.Counter():
            return term
        case nodes.RecordTerm() | nodes.BranchTerm() | nodes.Application() | nodes.UserApplication():
            return replace(term, terms=tuple(map(change, term.terms)))
        case nodes.Aggregate():
            return replace(
                term,
                target=None if term.target is None else change(term.target),
                init=None if term.init is None else change(term.init),
                body=tuple(map_literal(literal, change) for literal in term.body),
            )
        case _:
            assert_never(term)


def map_literal(literal: AnyLiteral, change: ChangeTerm) -> AnyLiteral:
    """Return the literal with every term directly in it replaced by `change(term)`."""
    match literal:
        case nodes.Atom():
            return replace(literal, terms=tuple(map(change, literal.terms)))
        case nodes.NegatedAtom():
            return replace(literal, atom=map_literal(literal.atom, change))
        case nodes.Constraint():
            return replace(literal, left=change(literal.left), right=change(literal.right))
        case nodes.Generator():
            return replace(
                literal,
                target=change(literal.target),
                start=change(literal.start),
                stop=change(literal.stop),
                step=None if literal.step is None else change(literal.step),
            )
        case _:
            assert_never(literal)


def _present(*terms: nodes.Term | None) -> Iterator[nodes.Term]:
    return (term for term in terms if term is not None)


# --- all the way down ----------------------------------------------------------------------


def walk(roots: Iterable[Node], *, into_aggregates: bool = True) -> Iterator[Node]:
    """Yield every node of the trees, each before what is below it, in the order of the text.

    Without `into_aggregates` an aggregate is yielded but nothing below it.
    """
    return walk_down(roots, children, () if into_aggregates else nodes.Aggregate)


def subterms(term: nodes.Term) -> Iterator[nodes.Term]:
    """Yield the term and all terms inside it, except what is inside an aggregate."""
    # Below a term there are only terms as long as aggregates are not entered.
    return walk((term,), into_aggregates=False)  # type: ignore[return-value]


def terms_of(literal: nodes.Literal) -> tuple[nodes.Term, ...]:
    """Return the terms directly in a literal, those of a generator with its target first."""
    # Below an atom, a constraint and a generator there are only terms.
    return children(literal.atom if isinstance(literal, nodes.NegatedAtom) else literal)  # type: ignore[return-value]


def aggregates_in(roots: Iterable[Node]) -> Iterator[nodes.Aggregate]:
    """Yield the aggregates in the trees, without those inside other aggregates."""
    for node in walk(roots, into_aggregates=False):
        if isinstance(node, nodes.Aggregate):
            yield node


def keeps_state(node: Node, program: nodes.Program) -> bool:
    """Say whether what a node is worth depends on which derivation asks: `autoinc()`, a stateful functor."""
    if isinstance(node, nodes.UserApplication):
        return program.functors[node.name].is_stateful
    return isinstance(node, nodes.Counter)


def variables_of(*roots: Node) -> frozenset[str]:
    """Return the variables that the trees need from outside: of an aggregate, its outer variables."""
    names: set[str] = set()
    for part in walk(roots, into_aggregates=False):
        if isinstance(part, nodes.Variable):
            names.add(part.name)
        elif isinstance(part, nodes.Aggregate):
            names.update(part.outer)
            if part.init is not None:
                names |= variables_of(part.init)
    return frozenset(names)


def needed_variables(roots: Iterable[Node]) -> Iterator[nodes.Variable]:
    """Yield the variables that must be bound to compute the trees: outer ones of aggregates too."""
    for part in walk(roots, into_aggregates=False):
        if isinstance(part, nodes.Variable):
            yield part
        elif isinstance(part, nodes.Aggregate):
            outer = frozenset(part.outer)
            yield from (variable for variable in deep_variables(children(part)) if variable.name in outer)


def deep_variables(roots: Iterable[Node]) -> Iterator[nodes.Variable]:
    """Yield every variable in the trees, those inside aggregates included."""
    for node in walk(roots):
        if isinstance(node, nodes.Variable):
            yield node


def deep_atoms(roots: Iterable[Node]) -> Iterator[tuple[nodes.Atom, bool]]:
    """Yield every atom in the trees, and whether it is read positively: not negated, not in an aggregate."""
    waiting = [(root, True) for root in roots]
    waiting.reverse()
    while waiting:
        node, is_positive = waiting.pop()
        if isinstance(node, nodes.Atom):
            yield node, is_positive
        stays = is_positive and not isinstance(node, nodes.NegatedAtom | nodes.Aggregate)
        waiting.extend((child, stays) for child in reversed(children(node)))


def relations_read(roots: Iterable[Node]) -> frozenset[str]:
    """Return the relations of all atoms in the trees."""
    return frozenset(node.relation for node in walk(roots) if isinstance(node, nodes.Atom))


def earlier_relations(stratum: nodes.Stratum) -> frozenset[str]:
    """Return the relations of earlier strata that a stratum's rules and subsumptions look at."""
    return relations_read((stratum,)) - frozenset(stratum.relations)


def last_used(strata: Sequence[nodes.Stratum]) -> list[list[str]]:
    """Return for each stratum the relations that no later one looks at, but this one does."""
    last = {name: number for number, each in enumerate(strata) for name in relations_read((each,))}
    for number, stratum in enumerate(strata):
        for name in stratum.relations:
            last.setdefault(name, number)
    found: list[list[str]] = [[] for _ in strata]
    for name, number in last.items():
        found[number].append(name)
    return found


def counts(rule: nodes.Rule) -> bool:
    """Say whether a rule holds an `autoinc()`."""
    return any(isinstance(node, nodes.Counter) for node in walk((rule,)))
