"""Pass: compute the functors whose operands are constants.

    p(x + 1 * 2) :- q(x, 3 - 1).     p(x + 2) :- q(x, 2).

A term without a value, such as `1 / 0`, leads to no derivation wherever it is: its rule is dropped, or
the body of its aggregate never holds.
"""

from dataclasses import replace
from functools import partial
from typing import Final

from tidelog.plan.rules import has_part, map_body, map_rules
from tidelog.program import nodes
from tidelog.program.walk_nodes import map_literal, map_parts
from tidelog.values import Kind, NoValueError
from tidelog.values.functors import apply, canonical

# `ord` gives a value's code, which only an engine knows.
_NOT_FOLDED: Final = frozenset({"ord"})


def fold_constants(program: nodes.Program) -> nodes.Program:
    """Return the program without functors of constants and without rules that need a missing value."""
    fold = partial(_fold, program=program)

    def fold_rule(rule: nodes.Rule) -> nodes.Rule:
        if not has_part((rule.head, *rule.body), (nodes.Application, nodes.Aggregate)):
            return rule
        return replace(rule, head=map_literal(rule.head, fold), body=map_body(rule.body, fold))

    def fold_subsumption(each: nodes.Subsumption) -> nodes.Subsumption:
        less, greater = map_literal(each.less, fold), map_literal(each.greater, fold)
        return replace(each, less=less, greater=greater, body=map_body(each.body, fold))

    return map_rules(program, fold_rule, fold_subsumption)


def aggregate_of_nothing(aggregate: nodes.Aggregate) -> nodes.Term:
    """Return the value of an aggregate whose body never holds, or raise `NoValueError`.

    A user's aggregate stays: its value is up to its function.
    """
    match aggregate.functor:
        case "count":
            return nodes.Constant(0, aggregate.type, span=aggregate.span)
        case "sum":
            zero = 0.0 if aggregate.kind is Kind.FLOAT else 0
            return nodes.Constant(zero, aggregate.type, span=aggregate.span)
        case "min" | "max" | "mean":
            raise NoValueError
        case _:
            return aggregate


def _fold(term: nodes.Term, program: nodes.Program) -> nodes.Term:
    """Return the term with its functors of constants computed, or raise `NoValueError`."""
    if isinstance(term, nodes.Aggregate):
        return _aggregate(term, program)
    folded = map_parts(term, partial(_fold, program=program))
    if not isinstance(folded, nodes.Application) or folded.functor in _NOT_FOLDED:
        return folded
    operands = [part for part in folded.terms if isinstance(part, nodes.Constant)]
    if len(operands) < len(folded.terms):
        return folded
    values = tuple(canonical(part.value, program.kind_of(part.type)) for part in operands)
    value = canonical(apply(folded.functor, folded.kind, values), program.kind_of(folded.type))
    return nodes.Constant(value, folded.type, span=folded.span)


def _aggregate(aggregate: nodes.Aggregate, program: nodes.Program) -> nodes.Term:
    init = None if aggregate.init is None else _fold(aggregate.init, program)
    try:
        target = None if aggregate.target is None else _fold(aggregate.target, program)
        body = map_body(aggregate.body, partial(_fold, program=program))
    except NoValueError:
        return aggregate_of_nothing(aggregate)
    return replace(aggregate, target=target, body=body, init=init)
