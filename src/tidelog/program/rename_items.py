"""Items with every name in them replaced."""

from collections.abc import Callable
from dataclasses import replace

from tidelog.dataclass import dataclass
from tidelog.syntax import tree
from tidelog.syntax.walk_tree import map_atom, map_body, map_term

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
                body = None if item.body is None else self.body(item.body)
                return replace(item, heads=tuple(self.atom(head) for head in item.heads), body=body)
            case tree.Subsumption():
                less, greater = self.atom(item.less), self.atom(item.greater)
                return replace(item, less=less, greater=greater, body=self.body(item.body))

    def fields(self, fields: tuple[tree.Field, ...]) -> tuple[tree.Field, ...]:
        """Return columns or members with their types replaced."""
        return tuple(replace(field, type=self.type(field.type)) for field in fields)

    def atom(self, atom: tree.Atom) -> tree.Atom:
        """Return the atom with its names replaced."""
        return map_atom(replace(atom, relation=self.relation(atom.relation)), self.term)

    def term(self, term: tree.Term) -> tree.Term:
        """Return the term with its names replaced."""
        match term:
            case tree.BranchTerm():
                term = replace(term, name=self.branch(term.name))
            case tree.Lookup():
                term = replace(term, relation=self.relation(term.relation))
            case tree.Cast():
                term = replace(term, type=self.type(term.type))
            case _:
                pass
        return map_term(term, self.term, self.atom)

    def body(self, body: tree.Body) -> tree.Body:
        """Return the body with its names replaced."""
        return map_body(body, self.atom, self.term)
