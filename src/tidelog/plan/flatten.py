"""Pass: give every nested term a variable of its own.

    p(x + 1, [a, b]) :- q(x, [a, 1]), b = 2 * x.

    p(%2, %3) :- q(x, %0), %0 = [a, %1], %1 = 1, b = 2 * x, %2 = x + 1, %3 = [a, b].

Afterwards atoms have variables, constants and wildcards; records and branches have variables and
wildcards; an aggregate is alone on one side of an equality; heads have variables and constants.
"""

from collections.abc import Iterator
from dataclasses import field, replace
from functools import cached_property

from tidelog.dataclass import dataclass
from tidelog.plan.operators import Layout, Operand
from tidelog.program import nodes
from tidelog.program.walk_nodes import aggregates_in, map_literal, map_terms, variables_of
from tidelog.source import Span
from tidelog.values import Kind


@dataclass(frozen=True, slots=True)
class RuleLiteral:
    """An atom of a flat body, perhaps negated; `place` is its position in the body."""

    place: int
    relation: str
    is_negated: bool


@dataclass(frozen=True)
class FlatRule:
    """A rule as planners read it; see above for what its head and its body may contain.

    Rules are equal if they have the same id and the same content, so plans can be kept by rule even where
    several forms of one rule are followed.
    """

    id: nodes.RuleId
    head: nodes.Atom
    body: tuple[nodes.Literal, ...]
    is_leapfrog: bool = False
    span: Span = field(compare=False, repr=False, kw_only=True)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.id, self.head, self.body))

    @property
    def relation(self) -> str:
        """Return the relation the rule derives."""
        return self.head.relation

    @cached_property
    def atoms(self) -> tuple[nodes.Atom, ...]:
        """Return the positive atoms, in their order."""
        return tuple(literal for literal in self.body if isinstance(literal, nodes.Atom))

    @cached_property
    def aggregates(self) -> tuple[nodes.Aggregate, ...]:
        """Return the aggregates of the body, in their order."""
        sides = (literal.right for literal in self.body if isinstance(literal, nodes.Constraint))
        return tuple(side for side in sides if isinstance(side, nodes.Aggregate))

    @cached_property
    def literals(self) -> tuple[RuleLiteral, ...]:
        """Return the atoms of the body with their places, the negated ones last."""
        places = list(enumerate(self.body))
        positive = (RuleLiteral(n, x.relation, False) for n, x in places if isinstance(x, nodes.Atom))
        negated = (
            RuleLiteral(n, x.atom.relation, True) for n, x in places if isinstance(x, nodes.NegatedAtom)
        )
        return (*positive, *negated)

    @cached_property
    def is_distinct(self) -> bool:
        """Say whether no two derivations yield the same fact: the head has all that the body binds freely."""
        if any(isinstance(literal, nodes.Generator) for literal in self.body):
            return False
        terms = (term for atom in self.atoms for term in atom.terms)
        return all(
            isinstance(term, nodes.Constant)
            or (isinstance(term, nodes.Variable) and term.name in self.outputs)
            for term in terms
        )

    @cached_property
    def outputs(self) -> Layout:
        """Return the columns of the head."""
        return tuple(as_operand(term) for term in self.head.terms)


def as_operand(term: nodes.Term) -> Operand:
    """Return a variable or a constant as operators have it."""
    assert isinstance(term, nodes.Variable | nodes.Constant), f"flat rules hold no {term} here"
    return term.name if isinstance(term, nodes.Variable) else term


@dataclass
class _Flattener:
    program: nodes.Program
    made: list[nodes.Literal] = field(default_factory=list)
    count: int = 0

    def fresh(self, term: nodes.Term) -> nodes.Variable:
        """Return a new variable with the type of `term`."""
        self.count += 1
        return nodes.Variable(f"%{self.count - 1}", term.type, span=term.span)

    def simple(self, term: nodes.Term) -> nodes.Term:
        """Return `term` if an atom may have it, otherwise a variable that equals it."""
        if isinstance(term, nodes.Variable | nodes.Constant | nodes.Wildcard):
            return term
        return self.named(term)

    def named(self, term: nodes.Term) -> nodes.Variable:
        """Return a variable that equals `term`, or `term` if it is a variable."""
        if isinstance(term, nodes.Variable):
            return term
        variable = self.fresh(term)
        kind = self.program.kind_of(term.type)
        self.made.append(nodes.Constraint("=", kind, variable, self.inner(term), span=term.span))
        return variable

    def part(self, term: nodes.Term) -> nodes.Term:
        """Return `term` in the form that a record or a branch may have."""
        return term if isinstance(term, nodes.Wildcard) else self.named(term)

    def around(self, term: nodes.Term) -> nodes.Term:
        """Return `term` with only wildcards, variables and constants in patterns."""
        if isinstance(term, nodes.RecordTerm | nodes.BranchTerm) and _has_open_part(term):
            return map_terms(term, self.around)
        return self.simple(term)

    def inner(self, term: nodes.Term) -> nodes.Term:
        """Return `term` with everything below it as flat as an operator needs it."""
        match term:
            case nodes.RecordTerm() | nodes.BranchTerm():
                return replace(term, terms=tuple(self.part(t) for t in term.terms))
            case nodes.Application() | nodes.UserApplication():
                return replace(term, terms=tuple(self.operand(t) for t in term.terms))
            case nodes.Aggregate():
                return self.aggregate(term)
            case _:
                return term

    def operand(self, term: nodes.Term) -> nodes.Term:
        """Return `term` in the form that a functor may have: nested functors stay nested."""
        if isinstance(term, nodes.Aggregate | nodes.RecordTerm | nodes.BranchTerm):
            return self.named(term)
        return self.inner(term)

    def aggregate(self, term: nodes.Aggregate) -> nodes.Aggregate:
        """Return the aggregate with a flat body and a target that is a variable."""
        inside = _Flattener(self.program, count=self.count)
        body = [flat for literal in term.body for flat in inside.literal(literal)]
        target = None if term.target is None else inside.named(term.target)
        body.extend(inside.take())
        self.count = inside.count
        # What the aggregate starts with is computed outside it, once for all its derivations.
        init = None if term.init is None else self.operand(term.init)
        return replace(term, body=tuple(body), target=target, init=init)

    def take(self) -> list[nodes.Literal]:
        """Remove and return the equalities made so far."""
        made, self.made = self.made, []
        return made

    def atom(self, atom: nodes.Atom) -> nodes.Atom:
        """Return the atom with simple terms."""
        return replace(atom, terms=tuple(self.simple(term) for term in atom.terms))

    def literal(self, literal: nodes.Literal) -> Iterator[nodes.Literal]:
        """Yield the flat literal and the equalities it needs."""
        flat: nodes.Literal
        match literal:
            case nodes.Atom():
                flat = self.atom(literal)
            case nodes.NegatedAtom() if any(_has_open_part(term) for term in literal.atom.terms):
                # Terms are evaluated outside: if one has no value, the literal does not hold.
                flat = self.constraint(none_of(map_literal(literal.atom, self.around)))
            case nodes.NegatedAtom():
                flat = replace(literal, atom=self.atom(literal.atom))
            case nodes.Constraint():
                flat = self.constraint(literal)
            case nodes.Generator():
                flat = replace(
                    literal,
                    target=self.named(literal.target),
                    start=self.operand(literal.start),
                    stop=self.operand(literal.stop),
                    step=None if literal.step is None else self.operand(literal.step),
                )
        made = self.take()
        if isinstance(literal, nodes.Atom):
            yield flat
            yield from made
        else:
            yield from made
            yield flat

    def constraint(self, constraint: nodes.Constraint) -> nodes.Constraint:
        """Return the constraint with at most one side that is not a plain operand."""
        left, right = constraint.left, constraint.right
        alone = nodes.Aggregate | nodes.RecordTerm | nodes.BranchTerm
        if constraint.op == "=" and isinstance(right, alone):
            return replace(constraint, left=self.named(left), right=self.inner(right))
        if constraint.op == "=" and isinstance(left, alone):
            return replace(constraint, left=self.named(right), right=self.inner(left))
        return replace(constraint, left=self.operand(left), right=self.operand(right))


def flatten_rule(rule: nodes.Rule, program: nodes.Program) -> FlatRule:
    """Return the rule with flat literals and a head of variables and constants."""
    flattener = _Flattener(program)
    body = [flat for literal in rule.body for flat in flattener.literal(literal)]
    head = flattener.atom(rule.head)
    body.extend(flattener.take())
    return FlatRule(rule.id, head, tuple(body), rule.is_leapfrog, span=rule.span)


def flatten_body(body: tuple[nodes.Literal, ...], program: nodes.Program) -> tuple[nodes.Literal, ...]:
    """Return flat literals equivalent to `body`."""
    flattener = _Flattener(program)
    return tuple(flat for literal in body for flat in flattener.literal(literal))


def _has_open_part(term: nodes.Term) -> bool:
    """Say whether a wildcard is inside a record or a branch, so that no code equals the term."""
    match term:
        case nodes.RecordTerm() | nodes.BranchTerm():
            return any(isinstance(part, nodes.Wildcard) or _has_open_part(part) for part in term.terms)
        case _:
            return False


def none_of(atom: nodes.Atom) -> nodes.Constraint:
    """Return the constraint that no fact matches the atom: `0 = count : { atom }`."""
    outer = tuple(sorted(variables_of(atom)))
    count = nodes.Aggregate("count", Kind.NUMBER, None, (atom,), outer, "number", span=atom.span)
    return nodes.Constraint(
        "=", Kind.NUMBER, nodes.Constant(0, "number", span=atom.span), count, span=atom.span
    )


def is_fact(rule: nodes.Rule) -> bool:
    """Say whether a rule is a fact: no body, and nothing in its head to look up."""
    return not rule.body and not any(True for _ in aggregates_in((rule.head,)))
