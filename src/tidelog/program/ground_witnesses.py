"""Variables that take the values for which a `min` or `max` is reached."""

from dataclasses import replace

from tidelog.program import nodes
from tidelog.program.binding import bound_variables
from tidelog.program.resolve_rules import TypedRule
from tidelog.program.scope_aggregates import SELECTING
from tidelog.program.substitute import FreshNames, names_in, substitute, substitute_literal
from tidelog.program.walk_nodes import aggregates_in, map_literal, map_parts
from tidelog.syntax import tree

Body = tuple[nodes.Literal, ...]


def ground_witnesses(rule: TypedRule) -> TypedRule:
    """Return the rule in which no variable needs an aggregate to bind it.

    A variable that stands outside a `min` or `max`, where nothing binds it, and in the aggregate's body,
    which binds it, is a witness. It gets every value for which the body gives the aggregate's value:

        tallest(s, h) :- h = max y : { student(s, y) }.

        tallest(s, h) :- h = max y : { student(_s'1, y) }, student(s, h).

    The aggregates of a rule are looked at together, so the order of its body has no effect.
    """
    atoms = (rule.head,) if rule.greater is None else (rule.head, rule.greater)
    if not any(True for _ in aggregates_in((*atoms, *rule.body))):
        return rule
    read = rule.body if rule.greater is None else (*atoms, *rule.body)
    grounder = _Grounder(FreshNames(names_in((*atoms, *rule.body))), bound_variables(read))
    head = map_literal(rule.head, grounder.term)
    body = tuple(map(grounder.literal, rule.body))
    if not grounder.found:
        return replace(rule, head=head, body=body)
    plan = None if rule.plan is None else _longer(rule.plan, body, grounder.found)
    return replace(rule, head=head, body=(*body, *grounder.found), plan=plan)


class _Grounder:
    """Takes witnesses out of the aggregates directly in one body; `found` gathers what binds them."""

    def __init__(self, fresh: FreshNames, bound: frozenset[str]) -> None:
        self.fresh = fresh
        self.bound = bound
        self.found: list[nodes.Literal] = []

    def literal(self, literal: nodes.Literal) -> nodes.Literal:
        """Return the literal; `variable = aggregate` already names the value."""
        match literal:
            case nodes.Constraint(op="=", left=nodes.Variable() as value, right=nodes.Aggregate() as term):
                return replace(literal, right=self.aggregate(term, value))
            case nodes.Constraint(op="=", left=nodes.Aggregate() as term, right=nodes.Variable() as value):
                return replace(literal, left=self.aggregate(term, value))
        return map_literal(literal, self.term)

    def term(self, term: nodes.Term) -> nodes.Term:
        """Return the term, in which a variable takes the place of an aggregate with witnesses."""
        if not isinstance(term, nodes.Aggregate):
            return map_parts(term, self.term)
        value = nodes.Variable(self.fresh.like(term.functor), term.type, span=term.span)
        before = len(self.found)
        aggregate = self.aggregate(term, value)
        if len(self.found) == before:
            return aggregate
        self.found.append(nodes.Constraint("=", aggregate.kind, value, aggregate, span=term.span))
        return value

    def aggregate(self, term: nodes.Aggregate, value: nodes.Variable) -> nodes.Aggregate:
        """Return the aggregate without witnesses, and find the derivations of its body that reach `value`."""
        inner = _Grounder(self.fresh, bound_variables(term.body, self.bound))
        body = tuple(map(inner.literal, term.body))
        target = None if term.target is None else inner.term(term.target)
        body = (*body, *inner.found)
        # A witness of an aggregate inside this one is bound only now.
        bound = bound_variables(body, self.bound)
        witnesses = [name for name in term.outer if name in bound and name not in self.bound]
        if term.functor not in SELECTING or target is None or not witnesses:
            return replace(term, target=target, body=body)
        variables = names_in((*body, nodes.Constraint("=", term.kind, target, value, span=term.span)))
        own = self.renamed(variables, set(variables).difference(term.outer, (value.name,)))
        if isinstance(target, nodes.Variable) and target.name in own:
            own[target.name] = value
        self.found.extend(substitute_literal(literal, own) for literal in body)
        if (reached := substitute(target, own)) != value:
            self.found.append(nodes.Constraint("=", term.kind, reached, value, span=term.span))
        apart = self.renamed(variables, set(witnesses))
        return replace(
            term,
            target=substitute(target, apart),
            body=tuple(substitute_literal(literal, apart) for literal in body),
            outer=tuple(name for name in term.outer if name not in witnesses),
        )

    def renamed(self, variables: dict[str, nodes.Variable], names: set[str]) -> dict[str, nodes.Term]:
        """Return a new variable for each of these names."""
        return {
            name: replace(variable, name=self.fresh.like(name))
            for name, variable in variables.items()
            if name in names
        }


def _longer(plan: tree.PlanOrder, body: Body, found: list[nodes.Literal]) -> tree.PlanOrder:
    """Return the orders of `.plan` with the atoms that were found joined last."""
    atoms = sum(isinstance(literal, nodes.Atom) for literal in body)
    more = sum(isinstance(literal, nodes.Atom) for literal in found)
    last = tuple(range(atoms + 1, atoms + more + 1))
    return replace(plan, orders=tuple((number, (*order, *last)) for number, order in plan.orders))
