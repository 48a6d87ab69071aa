"""Pass: values of keys, `price[item]`, become atoms.

costly(i) :- item(i), price[i] > 10.

costly(i) :- item(i), price(i, _price'1), _price'1 > 10.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from tidelog.errors import Diagnostic
from tidelog.program.flatten_rules import PLAIN
from tidelog.program.rename_items import Plain
from tidelog.program.written_names import made_name
from tidelog.source import Span
from tidelog.syntax import tree
from tidelog.syntax.walk_tree import Node, map_atom, map_term, walk


def expand_lookups(items: Iterable[Plain]) -> tuple[tuple[Plain, ...], list[Diagnostic]]:
    """Return the items without lookups, and a diagnostic for each relation that has no value for a key.

    The atom of a lookup joins the conjunction around it: what is inside `!` or an aggregate stays there.
    A rule in whose heads there are lookups becomes one rule for each head.
    """
    expanded: list[Plain] = []
    diagnostics: list[Diagnostic] = []
    functional: dict[str, bool] | None = None
    every = tuple(items)
    for item in every:
        if not isinstance(item, tree.Rule | tree.Subsumption) or not _has_lookup(item):
            expanded.append(item)
            continue
        if functional is None:
            declared = (each for each in every if isinstance(each, tree.RelationDeclaration))
            functional = {each.name: _has_value(each) for each in declared}
        diagnostics.extend(lookup_mistakes(item, functional))
        expanded.extend(_expand(item))
    return tuple(expanded), diagnostics


def expand_in_body(body: tree.Body) -> tree.Body:
    """Return a body without lookups."""
    return _Expander().body(body)


def lookup_mistakes(root: Node, functional: Mapping[str, bool]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each lookup in a relation that may have several values for a key.

    `functional` says of each relation whether it has one; others are reported elsewhere.
    """
    for node in walk((root,)):
        if isinstance(node, tree.Lookup | tree.Atom) and _is_lookup(node):
            if functional.get(node.relation, True):
                continue
            yield Diagnostic(
                code="no-key",
                message=f"`{node.relation}` may have several facts that differ in the last column alone",
                span=node.span,
                hint="declare it with `keys` and the names of all other columns,"
                f" or write `{node.relation}(...)`",
            )


def _has_lookup(item: tree.Rule | tree.Subsumption) -> bool:
    if isinstance(item, tree.Rule) and item.body is None:
        # Programs hold facts by the thousand.
        terms = [term for head in item.heads for term in head.terms if not isinstance(term, PLAIN)]
        return any(head.is_keyed for head in item.heads) or any(map(_is_lookup, walk(terms)))
    return any(map(_is_lookup, walk((item,))))


def _is_lookup(node: Node) -> bool:
    return isinstance(node, tree.Lookup) or (isinstance(node, tree.Atom) and node.is_keyed)


def _has_value(relation: tree.RelationDeclaration) -> bool:
    """Say whether no two facts of a relation differ in the last column alone."""
    names = [column.name for column in relation.columns]
    domains = [*relation.choices, *([relation.keys] if relation.keys else [])]
    is_lattice = bool(names) and relation.columns[-1].is_lattice
    return is_lattice or any(set(domain) <= set(names[:-1]) for domain in domains)


def _expand(item: tree.Rule | tree.Subsumption) -> Iterator[Plain]:
    if isinstance(item, tree.Subsumption):
        expander = _Expander()
        less, greater = expander.atom(item.less), expander.atom(item.greater)
        body = expander.with_found(expander.body(item.body))
        assert body is not None
        yield replace(item, less=less, greater=greater, body=body)
        return
    in_head = any(isinstance(node, tree.Lookup) for head in item.heads for node in walk(head.terms))
    for heads in [(head,) for head in item.heads] if in_head else [item.heads]:
        expander = _Expander()
        changed = tuple(map(expander.atom, heads))
        inside = None if item.body is None else expander.body(item.body)
        yield replace(item, heads=changed, body=expander.with_found(inside, item.span))


class _Expander:
    """Replaces the lookups of one rule; `found` are the atoms for the conjunction at hand."""

    def __init__(self) -> None:
        self.found: dict[tree.Lookup, tree.Atom] = {}
        self.number = 0

    def with_found(self, body: tree.Body | None, span: Span | None = None) -> tree.Body | None:
        """Return a body whose alternatives have the atoms found, None for a fact that needs none."""
        if not self.found:
            return body
        if body is None:
            assert span is not None
            body = tree.Disjunction((tree.Conjunction((), span=span),), span=span)
        atoms = tuple(self.found.values())
        alternatives = (replace(each, elements=(*each.elements, *atoms)) for each in body.alternatives)
        return replace(body, alternatives=tuple(alternatives))

    def body(self, body: tree.Body) -> tree.Body:
        """Return a body in which each conjunction has the atoms of its lookups."""
        return replace(body, alternatives=tuple(map(self.conjunction, body.alternatives)))

    def conjunction(self, conjunction: tree.Conjunction) -> tree.Conjunction:
        outer, self.found = self.found, {}
        elements = tuple(map(self.element, conjunction.elements))
        atoms = tuple(self.found.values())
        self.found = outer
        return replace(conjunction, elements=(*elements, *atoms))

    def element(self, element: tree.Element) -> tree.Element:
        match element:
            case tree.Atom():
                return self.atom(element)
            case (
                tree.Constraint(op="=", left=tree.Lookup() as lookup, right=value)
                | tree.Constraint(op="=", left=value, right=tree.Lookup() as lookup)
            ):
                terms = (*map(self.term, lookup.terms), self.term(value))
                return tree.Atom(lookup.relation, terms, span=element.span)
            case tree.Constraint():
                return replace(element, left=self.term(element.left), right=self.term(element.right))
            case tree.Negation():
                return replace(element, element=self.negated(element.element))
            case tree.Disjunction():
                return self.body(element)
            case tree.Truth():
                return element

    def negated(self, element: tree.Element) -> tree.Element:
        """Return what a negation holds: with its lookups it is a conjunction."""
        if isinstance(element, tree.Disjunction):
            return self.body(element)
        whole = self.conjunction(tree.Conjunction((element,), span=element.span))
        if len(whole.elements) == 1:
            return whole.elements[0]
        return tree.Disjunction((whole,), span=element.span)

    def atom(self, atom: tree.Atom) -> tree.Atom:
        return replace(map_atom(atom, self.term), is_keyed=False)

    def term(self, term: tree.Term) -> tree.Term:
        """Return the term with a variable for each lookup; equal ones share it."""
        if isinstance(term, tree.Aggregate):
            return self.aggregate(term)
        changed = map_term(term, self.term)
        if not isinstance(changed, tree.Lookup):
            return changed
        if changed not in self.found:
            self.number += 1
            value = tree.Variable(made_name(changed.relation, self.number), span=changed.span)
            self.found[changed] = tree.Atom(changed.relation, (*changed.terms, value), span=changed.span)
        return self.found[changed].terms[-1]

    def aggregate(self, term: tree.Aggregate) -> tree.Aggregate:
        """Return an aggregate whose body has the atoms of the lookups in its target."""
        init = None if term.init is None else self.term(term.init)
        outer, self.found = self.found, {}
        target = None if term.target is None else self.term(term.target)
        body = self.with_found(self.body(term.body))
        assert body is not None
        self.found = outer
        return replace(term, target=target, init=init, body=body)
