"""Plans that follow a change through the rules of a stratum.

Every chain starts from given facts of one literal (forward) or of the head (backward) and joins
the rest of the body over all rows, facts of the old epoch as well as of the new one. It yields the
head's columns and the row number of every literal; which of these derivations count is decided
afterwards, by the annotations of those rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tidelog.plan.body import Body, row_name
from tidelog.plan.flatten import flatten_rule
from tidelog.plan.operators import Layout, Leapfrog, Operator, View
from tidelog.plan.order import best_chain, best_chain_in_pairs, chains_by_first_atom
from tidelog.plan.statistics import Statistics
from tidelog.program.nodes import (
    Aggregate,
    Atom,
    Constant,
    Constraint,
    Counter,
    Literal,
    NegatedAtom,
    Program,
    Rule,
    Stratum,
    UserApplication,
    Variable,
    Wildcard,
)
from tidelog.program.walk_nodes import walk

HEAD_ROW = "%head"


@dataclass(frozen=True, slots=True)
class RuleLiteral:
    """An atom of a flat body, as maintenance sees it; `place` is its position in the body."""

    place: int
    relation: str
    is_negated: bool


@dataclass(frozen=True)
class MaintainedRule:
    """A flat rule and its atoms, positive ones first."""

    rule: Rule
    literals: tuple[RuleLiteral, ...]

    @property
    def relation(self) -> str:
        """Return the relation the rule derives."""
        return self.rule.head.relation


def maintained_rule(rule: Rule, program: Program) -> MaintainedRule:
    """Return the rule flattened, with its atoms numbered."""
    flat = flatten_rule(rule, program)
    positive = [
        RuleLiteral(place, x.relation, False) for place, x in enumerate(flat.body) if isinstance(x, Atom)
    ]
    negated = [
        RuleLiteral(place, x.atom.relation, True)
        for place, x in enumerate(flat.body)
        if isinstance(x, NegatedAtom)
    ]
    return MaintainedRule(flat, (*positive, *negated))


def forward_chain(
    rule: MaintainedRule, literal: RuleLiteral, program: Program, statistics: Statistics
) -> tuple[Operator, ...]:
    """Return the chain from facts of one literal to derivations; see `chain_variants`."""
    return best_chain(_forward_body(rule, literal, program, statistics)).operators


def backward_chain(rule: MaintainedRule, program: Program, statistics: Statistics) -> tuple[Operator, ...]:
    """Return the chain from facts of the head to their derivations; see `chain_variants`."""
    return best_chain(_backward_body(rule, program, statistics)).operators


def chain_variants(
    rule: MaintainedRule, literal: RuleLiteral | None, program: Program, statistics: Statistics
) -> tuple[tuple[Operator, ...], ...]:
    """Return chains from facts of a literal, or of the head, the one expected to be best first.

    Each further one joins another atom first; they yield the same derivations.
    """
    if literal is None:
        body = _backward_body(rule, program, statistics)
    else:
        body = _forward_body(rule, literal, program, statistics)
    best = best_chain(body).operators
    others = [chain.operators for chain in chains_by_first_atom(body)]
    if any(isinstance(operator, Leapfrog) for operator in best):
        # For those who join in pairs only.
        others.insert(0, best_chain_in_pairs(body).operators)
    return (best, *(operators for operators in others if operators != best))


def _forward_body(
    rule: MaintainedRule, literal: RuleLiteral, program: Program, statistics: Statistics
) -> Body:
    """Return the body to be joined to facts of one literal.

    A batch given to it has the literal's columns and then the row number. The outputs are the
    head's columns, then the row numbers of the rule's literals.
    """
    body = rule.rule.body
    start = body[literal.place]
    atom = start.atom if isinstance(start, NegatedAtom) else start
    assert isinstance(atom, Atom)
    given, equalities = _given_columns(atom, program)
    rest = {place: other for place, other in enumerate(body) if place != literal.place}
    outputs = (*_head_operands(rule.rule), *(row_name(other.place) for other in rule.literals))
    others = _body(rest, (*given, row_name(literal.place)), outputs, program, statistics)
    others = replace(others, head=rule.relation, is_leapfrog=rule.rule.is_leapfrog)
    return _with_equalities(others, equalities)


def _backward_body(rule: MaintainedRule, program: Program, statistics: Statistics) -> Body:
    """Return the body to be joined to facts of the head.

    A batch given to it has the head's columns and then the row number. The outputs are the head's
    row number, then the row numbers of the rule's literals.
    """
    given, equalities = _given_columns(rule.rule.head, program)
    outputs = (HEAD_ROW, *(row_name(literal.place) for literal in rule.literals))
    places = dict(enumerate(rule.rule.body))
    body = _body(places, (*given, HEAD_ROW), outputs, program, statistics)
    body = replace(body, head=rule.relation, is_leapfrog=rule.rule.is_leapfrog)
    return _with_equalities(body, equalities)


def _body(
    literals: Mapping[int, Literal],
    given: tuple[str, ...],
    outputs: Layout,
    program: Program,
    statistics: Statistics,
) -> Body:
    """Return literals, keyed by their places, as a body over all rows with row numbers."""
    views = tuple(View.FULL for literal in literals.values() if isinstance(literal, Atom))
    return Body(
        tuple(literals.values()), views, outputs, program, statistics, given,
        counting=True, numbered=True, places=tuple(literals),
    )  # fmt: skip


def _with_equalities(body: Body, equalities: tuple[Literal, ...]) -> Body:
    """Return the body with what must hold between given columns; such literals have no place."""
    places = (*body.places, *(-1 for _ in equalities))
    return replace(body, literals=(*body.literals, *equalities), places=places)


def _given_columns(atom: Atom, program: Program) -> tuple[tuple[str, ...], tuple[Literal, ...]]:
    """Return a variable for each column of an atom, and what must hold between them."""
    names: list[str] = []
    equalities: list[Literal] = []
    for column, term in enumerate(atom.terms):
        if isinstance(term, Variable) and term.name not in names:
            names.append(term.name)
            continue
        name = f"%given{column}"
        names.append(name)
        if not isinstance(term, Wildcard):
            made = Variable(name, term.type, span=term.span)
            equalities.append(Constraint("=", program.kind_of(term.type), made, term, span=term.span))
    return tuple(names), tuple(equalities)


def _head_operands(rule: Rule) -> Layout:
    return tuple(
        term.name if isinstance(term, Variable) else term
        for term in rule.head.terms
        if isinstance(term, Variable | Constant)
    )


def reason_to_recompute(stratum: Stratum, program: Program) -> str | None:
    """Return why a stratum can only be recomputed, None if its rules can be followed."""
    reason = program.law_of(stratum)
    if reason is not None:
        return reason
    return next(filter(None, (_reason_in_rule(rule, program) for rule in stratum.rules)), None)


def _reason_in_rule(rule: Rule, program: Program) -> str | None:
    for node in walk((rule,), into_aggregates=False):
        match node:
            case Aggregate():
                return f"a rule of `{rule.head.relation}` has an aggregate"
            case Counter():
                return f"a rule of `{rule.head.relation}` counts with autoinc()"
            case UserApplication(name=name) if program.functors[name].is_stateful:
                return f"the functor `{name}` is stateful"
            case _:
                continue
    for literal in flatten_rule(rule, program).body:
        if isinstance(literal, NegatedAtom) and any(isinstance(t, Wildcard) for t in literal.atom.terms):
            return f"a rule of `{rule.head.relation}` negates an atom with a wildcard"
        if isinstance(literal, Constraint) and isinstance(literal.right, Aggregate):
            return f"a rule of `{rule.head.relation}` negates an atom with a wildcard inside a record"
    return None


__all__ = [
    "HEAD_ROW",
    "MaintainedRule",
    "RuleLiteral",
    "backward_chain",
    "chain_variants",
    "forward_chain",
    "maintained_rule",
    "reason_to_recompute",
]
