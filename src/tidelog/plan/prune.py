"""Pass: remove literals that constants decide, and duplicates.

p(x) :- q(x), 1 < 2, q(x).     p(x) :- q(x).
p(x) :- q(x), 1 > 2.           (removed)
"""

from dataclasses import replace
from enum import Enum
from functools import partial

from tidelog.plan.fold import aggregate_of_nothing
from tidelog.plan.rules import has_part, map_rules
from tidelog.program import nodes
from tidelog.program.walk_nodes import keeps_state, map_literal, map_parts, walk
from tidelog.values import Kind, NoValueError
from tidelog.values.functors import canonical, compare


class Certainty(Enum):
    """What is known about a constraint before any fact is known."""

    ALWAYS = "always"
    NEVER = "never"
    OPEN = "open"


def prune_bodies(program: nodes.Program) -> nodes.Program:
    """Return the program without rules that never hold, constraints that always do, and duplicates."""

    def prune_rule(rule: nodes.Rule) -> nodes.Rule:
        body = _prune(rule.body, program, keeps_duplicates=bool(rule.plan))
        return replace(rule, head=map_literal(rule.head, partial(_inside, program=program)), body=body)

    def prune_subsumption(subsumption: nodes.Subsumption) -> nodes.Subsumption:
        return replace(subsumption, body=_prune(subsumption.body, program, keeps_duplicates=False))

    return map_rules(program, prune_rule, prune_subsumption)


def truth_of(literal: nodes.Literal, program: nodes.Program) -> Certainty:
    """Return whether a literal holds for all bindings, for none, or depends on facts."""
    if not isinstance(literal, nodes.Constraint):
        return Certainty.OPEN
    match literal.left, literal.right:
        case nodes.Constant() as left, nodes.Constant() as right:
            values = (canonical(term.value, program.kind_of(term.type)) for term in (left, right))
            try:
                return Certainty.ALWAYS if compare(literal.op, literal.kind, *values) else Certainty.NEVER
            except NoValueError:
                return Certainty.NEVER
        case nodes.Variable() as left, nodes.Variable() as right if left.name == right.name:
            return _truth_of_same(literal.op, literal.kind)
        case (nodes.Constant(value=None), nodes.RecordTerm()) | (
            nodes.RecordTerm(),
            nodes.Constant(value=None),
        ) if literal.op == "=":
            return Certainty.NEVER
        case nodes.BranchTerm() as left, nodes.BranchTerm() as right if (
            literal.op == "=" and left.name != right.name
        ):
            return Certainty.NEVER
    return Certainty.OPEN


def _truth_of_same(op: str, kind: Kind) -> Certainty:
    """Return the truth of `x op x`."""
    match op:
        case "=":
            return Certainty.ALWAYS
        case "!=" | "<" | ">":
            return Certainty.NEVER
        case "<=" | ">=":
            # NaN is not even `<=` itself.
            return Certainty.OPEN if kind is Kind.FLOAT else Certainty.ALWAYS
    return Certainty.OPEN


def _prune(
    body: tuple[nodes.Literal, ...], program: nodes.Program, *, keeps_duplicates: bool
) -> tuple[nodes.Literal, ...]:
    """Return the literals that matter, or raise `NoValueError` if the body never holds.

    With an order from `.plan`, atoms must keep their numbers.
    """
    kept: list[nodes.Literal] = []
    for literal in body:
        pruned = literal
        if has_part((literal,), (nodes.Aggregate,)):
            pruned = map_literal(literal, partial(_inside, program=program))
        truth = truth_of(pruned, program)
        if truth is Certainty.NEVER:
            raise NoValueError
        is_duplicate = pruned in kept and _is_same_each_time(pruned, program)
        if truth is Certainty.ALWAYS or (
            is_duplicate and not (keeps_duplicates and isinstance(pruned, nodes.Atom))
        ):
            continue
        kept.append(pruned)
    return tuple(kept)


def _inside(term: nodes.Term, program: nodes.Program) -> nodes.Term:
    """Return the term with the bodies of its aggregates pruned."""
    if not isinstance(term, nodes.Aggregate):
        return map_parts(term, partial(_inside, program=program))
    try:
        body = _prune(term.body, program, keeps_duplicates=False)
    except NoValueError:
        return aggregate_of_nothing(term)
    # A body needs a literal.
    return replace(term, body=body or term.body)


def _is_same_each_time(literal: nodes.Literal, program: nodes.Program) -> bool:
    """Say whether a second literal like this one adds no derivation and no number.

    Each wildcard stands for a column of its own, so `p(_), p(_)` has a derivation for each pair.
    """
    return not any(
        isinstance(part, nodes.Wildcard | nodes.Aggregate) or keeps_state(part, program)
        for part in walk((literal,), into_aggregates=False)
    )
