"""Items with every name in them replaced."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from tidelog.syntax import tree

Plain = (
    tree.SubtypeDeclaration
    | tree.UnionDeclaration
    | tree.RecordDeclaration
    | tree.AlgebraicDeclaration
    | tree.RelationDeclaration
    | tree.FunctorDeclaration
    | tree.LatticeDeclaration
    | tree.Directive
    | tree.Pragma
    | tree.Rule
    | tree.Subsumption
)
"""Items other than components and instances."""


@dataclass(frozen=True, slots=True)
class Renaming:
    """What each name of a relation, type or branch becomes."""

    relation: Callable[[str], str]
    type: Callable[[str], str]
    branch: Callable[[str], str]

    def item(self, item: Plain) -> Plain:  # noqa: C901 - one case per node
        """Return the item with its names replaced; functors and columns keep theirs."""
        match item:
            case tree.SubtypeDeclaration():
                return replace(item, name=self.type(item.name), base=self.type(item.base))
            case tree.UnionDeclaration():
                members = tuple(self.type(member) for member in item.members)
                return replace(item, name=self.type(item.name), members=members)
            case tree.RecordDeclaration():
                return replace(item, name=self.type(item.name), fields=self.fields(item.fields))
            case tree.AlgebraicDeclaration():
                branches = tuple(
                    replace(branch, name=self.branch(branch.name), fields=self.fields(branch.fields))
                    for branch in item.branches
                )
                return replace(item, name=self.type(item.name), branches=branches)
            case tree.RelationDeclaration():
                return replace(item, name=self.relation(item.name), columns=self.fields(item.columns))
            case tree.FunctorDeclaration():
                return replace(item, parameters=self.fields(item.parameters), result=self.type(item.result))
            case tree.LatticeDeclaration():
                operators = tuple((name, self.term(term)) for name, term in item.operators)
                return replace(item, type=self.type(item.type), operators=operators)
            case tree.Directive():
                return replace(item, relation=self.relation(item.relation))
            case tree.Pragma():
                return item
            case tree.Rule():
                body = None if item.body is None else self.disjunction(item.body)
                return replace(item, heads=tuple(self.atom(head) for head in item.heads), body=body)
            case tree.Subsumption():
                less, greater = self.atom(item.less), self.atom(item.greater)
                return replace(item, less=less, greater=greater, body=self.disjunction(item.body))

    def fields(self, fields: tuple[tree.Field, ...]) -> tuple[tree.Field, ...]:
        """Return columns or members with their types replaced."""
        return tuple(replace(field, type=self.type(field.type)) for field in fields)

    def atom(self, atom: tree.Atom) -> tree.Atom:
        """Return the atom with its names replaced."""
        return replace(atom, relation=self.relation(atom.relation), terms=self.terms(atom.terms))

    def terms(self, terms: tuple[tree.Term, ...]) -> tuple[tree.Term, ...]:
        """Return terms with their names replaced."""
        return tuple(self.term(term) for term in terms)

    def term(self, term: tree.Term) -> tree.Term:
        """Return the term with its names replaced."""
        match term:
            case tree.RecordTerm() | tree.Application() | tree.UserApplication():
                return replace(term, terms=self.terms(term.terms))
            case tree.BranchTerm():
                return replace(term, name=self.branch(term.name), terms=self.terms(term.terms))
            case tree.Cast():
                return replace(term, term=self.term(term.term), type=self.type(term.type))
            case tree.Aggregate():
                return replace(
                    term,
                    target=None if term.target is None else self.term(term.target),
                    init=None if term.init is None else self.term(term.init),
                    body=self.disjunction(term.body),
                )
            case _:
                return term

    def disjunction(self, body: tree.Disjunction) -> tree.Disjunction:
        """Return the body with its names replaced."""
        alternatives = tuple(
            replace(each, elements=tuple(self.element(element) for element in each.elements))
            for each in body.alternatives
        )
        return replace(body, alternatives=alternatives)

    def element(self, element: tree.Element) -> tree.Element:
        """Return the element of a body with its names replaced."""
        match element:
            case tree.Atom():
                return self.atom(element)
            case tree.Constraint():
                return replace(element, left=self.term(element.left), right=self.term(element.right))
            case tree.Negation():
                return replace(element, element=self.element(element.element))
            case tree.Disjunction():
                return self.disjunction(element)
            case tree.Truth():
                return element
