"""Lattices: how values of one type combine."""

from tidelog.errors import Diagnostic
from tidelog.program import nodes
from tidelog.program.declare_relations import Declarations
from tidelog.program.flatten_rules import ConjunctiveRule
from tidelog.program.infer_types import infer_types
from tidelog.program.lattice_tables import table_functor
from tidelog.program.resolve_terms import TermPlace, TermResolver
from tidelog.program.suggest import did_you_mean
from tidelog.syntax import tree

OPERATORS = ("Bottom", "Top", "Lub", "Glb", "Leq", "Widen", "Narrow")


def declare_lattices(declarations: Declarations) -> tuple[dict[str, nodes.Lattice], list[Diagnostic]]:
    """Return the lattice of each type that has one, and what is wrong with the declarations.

    .lattice T<> { Bottom -> $None(), Lub -> @lub(_, _), Glb -> @glb(_, _) }
    """
    found: dict[str, nodes.Lattice] = {}
    diagnostics: list[Diagnostic] = []
    for name, item in declarations.lattices.items():
        builder = _Builder(declarations, item, name)
        lattice = builder.lattice()
        diagnostics.extend(builder.diagnostics)
        if lattice is not None:
            found[name] = lattice
    diagnostics.extend(_columns_without_lattice(declarations))
    return found, diagnostics


def _columns_without_lattice(declarations: Declarations) -> list[Diagnostic]:
    return [
        Diagnostic(
            code="undeclared-lattice",
            message=f"column `{column.name}` of `{relation.name}` needs a lattice for `{column.type}`",
            span=relation.span,
            hint=f"declare it: `.lattice {column.type}<> {{ Lub -> @lub(_, _) }}`",
        )
        for relation in declarations.relations.values()
        for column in relation.columns
        if column.is_lattice and column.type not in declarations.lattices
    ]


class _Builder:
    """Reads one declaration."""

    def __init__(self, declarations: Declarations, item: tree.LatticeDeclaration, name: str) -> None:
        self.declarations = declarations
        self.item = item
        self.name = name
        self.diagnostics: list[Diagnostic] = []

    def report(self, message: str, hint: str | None = None) -> None:
        """Add an error about the declaration."""
        self.diagnostics.append(
            Diagnostic(code="bad-lattice", message=message, span=self.item.span, hint=hint)
        )

    def lattice(self) -> nodes.Lattice | None:
        """Return the lattice; None without a usable `Lub`."""
        operators: dict[str, tree.Term] = {}
        for operator, term in self.item.operators:
            if operator not in OPERATORS:
                hint = did_you_mean(operator, OPERATORS, f"the operators are {', '.join(OPERATORS)}")
                self.report(f"a lattice has no operator `{operator}`", hint)
            elif operator in operators:
                self.report(f"operator `{operator}` is given twice")
            operators.setdefault(operator, term)
        if "Lub" not in operators:
            self.report(f"the lattice of `{self.name}` has no `Lub`", "add `Lub -> @lub(_, _)`")
        lub = self.function(operators.get("Lub"), "Lub")
        glb = self.function(operators.get("Glb"), "Glb")
        bottom = self.constant(operators.get("Bottom"))
        widen = self.function(operators.get("Widen"), "Widen")
        narrow = self.function(operators.get("Narrow"), "Narrow")
        return None if lub is None else nodes.Lattice(self.name, lub, glb, bottom, widen, narrow)

    def function(self, term: tree.Term | None, operator: str) -> str | None:
        """Return the name of the functor of an operator, which takes and gives two values."""
        if term is None:
            return None
        if isinstance(term, tree.Application) and f"%{term.functor}" in nodes.INTRINSIC_JOINS:
            if not self.declarations.types.kind(self.name).is_numeric:
                self.report(f"`{operator}` of `{self.name}` is `{term.functor}`, which needs numbers")
                return None
            return f"%{term.functor}"
        if isinstance(term, tree.Lookup):
            return self.table(term, operator)
        if not isinstance(term, tree.UserApplication):
            self.report(
                f"`{operator}` must be `min`, `max`, a functor or a relation of yours",
                f"write `{operator} -> @f(_, _)`, `{operator} -> min(_, _)` or `{operator} -> r[_, _]`",
            )
            return None
        functor = self.declarations.functors.get(term.name)
        if functor is None:
            hint = did_you_mean(
                term.name, self.declarations.functors, f"declare it: `.functor {term.name}(...)`"
            )
            self.report(f"`{operator}` names `@{term.name}`, which is not declared", hint)
            return None
        if len(functor.parameters) != 2:
            self.report(
                f"`{operator}` needs two operands, but `@{term.name}` takes {len(functor.parameters)}"
            )
            return None
        fits = self.declarations.types.same_root
        if not all(fits(self.name, each) for each in (*functor.parameters, functor.result)):
            self.report(f"`@{term.name}` does not take and return values of `{self.name}`")
            return None
        return term.name

    def table(self, term: tree.Lookup, operator: str) -> str | None:
        """Return the name of the functor that looks values up in a relation with one value for two."""
        relation = self.declarations.relations.get(term.relation)
        if relation is None:
            hint = did_you_mean(
                term.relation, self.declarations.relations, f"declare it: `.decl {term.relation}(...)`"
            )
            self.report(f"`{operator}` names `{term.relation}`, which is not declared", hint)
            return None
        same_root = self.declarations.types.same_root
        fits = all(same_root(self.name, each.type) and not each.is_lattice for each in relation.columns)
        if relation.arity != 3 or len(term.terms) != 2 or not fits:
            self.report(f"`{term.relation}` does not have three columns of `{self.name}`")
            return None
        if not relation.keys or not set(relation.keys) <= {0, 1}:
            names = ", ".join(each.name for each in relation.columns[:2])
            self.report(
                f"`{term.relation}` may have several values for two others", f"declare it with `keys {names}`"
            )
            return None
        return table_functor(term.relation)

    def constant(self, term: tree.Term | None) -> nodes.Term | None:
        """Return the least value with its type."""
        if term is None:
            return None
        nothing = ConjunctiveRule(tree.Atom("", (), span=self.item.span), (), span=self.item.span)
        resolver = TermResolver(self.declarations, infer_types(nothing, self.declarations))
        found = resolver.term(term, self.name, TermPlace.COMPUTED)
        self.diagnostics.extend(resolver.diagnostics)
        return found
