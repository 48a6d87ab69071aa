"""The walk over the tree of a program as written: what is below a node, and a node with that replaced.

`children`, `map_term` and `map_element` alone know which fields of a node hold nodes; everything else
here, and every other walk over the tree, is written with them. A test compares them with the fields of
`tree.py`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar, assert_never

from tidelog.syntax import tree

Node = (
    tree.Term
    | tree.Element
    | tree.Conjunction
    | tree.Item
    | tree.Field
    | tree.BranchDeclaration
    | tree.PlanOrder
    | tree.ComponentReference
)
ChangeTerm = Callable[[tree.Term], tree.Term]
ChangeAtom = Callable[[tree.Atom], tree.Atom]
AnyNode = TypeVar("AnyNode")


# --- one step ------------------------------------------------------------------------------


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below a node, in the order of the text."""
    if isinstance(node, tree.Term):
        return _in_term(node)
    if isinstance(node, tree.Element | tree.Conjunction):
        return _in_element(node)
    return _in_item(node)


def _in_term(term: tree.Term) -> tuple[Node, ...]:
    match term:
        case (
            tree.Variable()
            | tree.Wildcard()
            | tree.NumberLiteral()
            | tree.UnsignedLiteral()
            | tree.FloatLiteral()
            | tree.StringLiteral()
            | tree.NilLiteral()
            | tree.Counter()
        ):
            return ()
        case (
            tree.RecordTerm()
            | tree.BranchTerm()
            | tree.Application()
            | tree.UserApplication()
            | tree.Lookup()
        ):
            return term.terms
        case tree.Cast():
            return (term.term,)
        case tree.Aggregate():
            return (*_present(term.target, term.init), term.body)
        case _:
            assert_never(term)


def _in_element(element: tree.Element | tree.Conjunction) -> tuple[Node, ...]:
    match element:
        case tree.Atom():
            return element.terms
        case tree.Constraint():
            return (element.left, element.right)
        case tree.Truth():
            return ()
        case tree.Negation():
            return (element.element,)
        case tree.Disjunction():
            return element.alternatives
        case tree.Conjunction():
            return element.elements
        case _:
            assert_never(element)


_Other = tree.Item | tree.Field | tree.BranchDeclaration | tree.PlanOrder | tree.ComponentReference


def _in_item(item: _Other) -> tuple[Node, ...]:  # noqa: C901 - one case per node
    match item:
        case (
            tree.SubtypeDeclaration()
            | tree.UnionDeclaration()
            | tree.Directive()
            | tree.Pragma()
            | tree.Field()
            | tree.PlanOrder()
            | tree.ComponentReference()
        ):
            return ()
        case tree.RecordDeclaration() | tree.BranchDeclaration():
            return item.fields
        case tree.AlgebraicDeclaration():
            return item.branches
        case tree.RelationDeclaration():
            return item.columns
        case tree.FunctorDeclaration():
            return item.parameters
        case tree.LatticeDeclaration():
            return tuple(term for _, term in item.operators)
        case tree.Rule():
            return (*item.heads, *_present(item.body, item.plan))
        case tree.Subsumption():
            return (item.less, item.greater, item.body, *_present(item.plan))
        case tree.Component():
            return (*item.bases, *item.items)
        case tree.Instance():
            return (item.component,)
        case _:
            assert_never(item)


def map_term(term: tree.Term, change: ChangeTerm, change_atom: ChangeAtom | None = None) -> tree.Term:
    """Return the term with the terms below it replaced by `change(term)`, those in its body too.

    By default atoms in its body keep their relation and have their terms changed.
    """
    match term:
        case (
            tree.Variable()
            | tree.Wildcard()
            | tree.NumberLiteral()
            | tree.UnsignedLiteral()
            | tree.FloatLiteral()
            | tree.StringLiteral()
            | tree.NilLiteral()
            | tree.Counter()
        ):
            return term
        case (
            tree.RecordTerm()
            | tree.BranchTerm()
            | tree.Application()
            | tree.UserApplication()
            | tree.Lookup()
        ):
            return replace(term, terms=tuple(map(change, term.terms)))
        case tree.Cast():
            return replace(term, term=change(term.term))
        case tree.Aggregate():
            return replace(
                term,
                target=None if term.target is None else change(term.target),
                init=None if term.init is None else change(term.init),
                body=map_body(term.body, change_atom or (lambda atom: map_atom(atom, change)), change),
            )
        case _:
            assert_never(term)


def map_atom(atom: tree.Atom, change: ChangeTerm) -> tree.Atom:
    """Return the atom with its terms replaced by `change(term)`."""
    return replace(atom, terms=tuple(map(change, atom.terms)))


def map_element(element: tree.Element, change_atom: ChangeAtom, change: ChangeTerm) -> tree.Element:
    """Return the element with its atoms replaced by `change_atom(atom)` and its other terms changed."""
    match element:
        case tree.Atom():
            return change_atom(element)
        case tree.Constraint():
            return replace(element, left=change(element.left), right=change(element.right))
        case tree.Negation():
            return replace(element, element=map_element(element.element, change_atom, change))
        case tree.Disjunction():
            return map_body(element, change_atom, change)
        case tree.Truth():
            return element
        case _:
            assert_never(element)


def map_body(body: tree.Body, change_atom: ChangeAtom, change: ChangeTerm) -> tree.Body:
    """Return the body with its atoms replaced by `change_atom(atom)` and its other terms changed."""
    alternatives = tuple(
        replace(each, elements=tuple(map_element(x, change_atom, change) for x in each.elements))
        for each in body.alternatives
    )
    return replace(body, alternatives=alternatives)


def _present(*found: Node | None) -> Iterator[Node]:
    return (node for node in found if node is not None)


# --- all the way down ----------------------------------------------------------------------


def walk(roots: Iterable[Node], *, into_aggregates: bool = True) -> Iterator[Node]:
    """Yield every node of the trees, each before what is below it, in the order of the text.

    Without `into_aggregates` an aggregate is yielded but nothing below it.
    """
    return walk_down(roots, children, () if into_aggregates else tree.Aggregate)


def walk_down(
    roots: Iterable[AnyNode],
    below: Callable[[AnyNode], Sequence[AnyNode]],
    ends: type | tuple[type, ...] = (),
) -> Iterator[AnyNode]:
    """Yield every node of any trees, each before what is `below` it; nothing below `ends` is yielded."""
    waiting = list(roots)
    waiting.reverse()
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ends) and (inner := below(node)):
            waiting.extend(reversed(inner))


def subterms(term: tree.Term) -> Iterator[tree.Term]:
    """Yield the term and all terms inside it, except what is inside an aggregate."""
    # Below a term there are only terms as long as aggregates are not entered.
    return walk((term,), into_aggregates=False)  # type: ignore[return-value]


def deep_variables(roots: Iterable[Node]) -> Iterator[tree.Variable]:
    """Yield every variable in the trees, those inside aggregates included."""
    for node in walk(roots):
        if isinstance(node, tree.Variable):
            yield node


def deep_atoms(roots: Iterable[Node]) -> Iterator[tree.Atom]:
    """Yield every atom in the trees, those inside aggregates included."""
    for node in walk(roots):
        if isinstance(node, tree.Atom):
            yield node
