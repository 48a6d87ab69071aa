"""Aggregates that take the values of a group one by one, in value order: folds, classes, concat."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from tidelog.engine.local.aggregates import fold_groups
from tidelog.engine.local.evaluated import Bindings, Evaluated
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.protocol import Codes
from tidelog.engine.user_aggregates import UserAggregate, concatenated
from tidelog.program.nodes import CONCAT, Term, UserApplication, Variable
from tidelog.source import Source, Span
from tidelog.values import NoValueError, Value

# Takes group numbers, target codes, the number of groups, and the columns that make up the groups.
Combine = Callable[[Codes, Codes, int, Bindings], Evaluated]

_NOWHERE = Span(Source("aggregate", ""), 0, 0)


def combiner(
    functor: str, target_type: str, result_type: str, init: Term | None, expressions: Expressions
) -> Combine | None:
    """Return the function that combines the values of groups, or None if the aggregate needs no order."""
    if functor == CONCAT:
        assert init is not None
        return _concat(target_type, init, expressions)
    if not functor.startswith("@"):
        return None
    if init is None:
        aggregate = UserAggregate(functor[1:], expressions.functions[functor[1:]])
        return _objects(aggregate, target_type, result_type, expressions)
    return _fold(functor[1:], (target_type, result_type), init, expressions)


def _fold(name: str, types: tuple[str, str], init: Term, expressions: Expressions) -> Combine:
    target_type, result_type = types
    so_far = Variable("left", result_type, span=_NOWHERE)
    following = Variable("right", target_type, span=_NOWHERE)
    step = expressions.compile_term(UserApplication(name, (so_far, following), result_type, span=_NOWHERE))
    first = expressions.compile_term(init)

    def combine(groups: Codes, values: Codes, count: int, columns: Bindings) -> Evaluated:
        order = expressions.codec.order_keys(values, target_type)
        codes, has_init = first(columns, count)
        folded, has_value = fold_groups(step, codes, groups, values, order)
        if has_init is None:
            return folded, has_value
        return folded, has_init if has_value is None else has_init & has_value

    return combine


def _objects(
    aggregate: UserAggregate, target_type: str, result_type: str, expressions: Expressions
) -> Combine:
    codec = expressions.codec

    def combine(groups: Codes, values: Codes, count: int, _columns: Bindings) -> Evaluated:
        codes, has_value = np.zeros(count, np.int64), np.zeros(count, np.bool_)
        for group, members in _members(groups, values, target_type, expressions):
            try:
                codes[group] = codec.encode(aggregate.combine(members), result_type)
            except NoValueError:
                continue
            has_value[group] = True
        return codes, has_value

    return combine


def _concat(target_type: str, init: Term, expressions: Expressions) -> Combine:
    codec = expressions.codec
    separator = expressions.compile_term(init)

    def combine(groups: Codes, values: Codes, count: int, columns: Bindings) -> Evaluated:
        separators, has_separator = separator(columns, count)
        codes = np.full(count, codec.encode("", target_type), np.int64)
        for group, members in _members(groups, values, target_type, expressions):
            between = codec.decode(int(separators[group]), init.type)
            codes[group] = codec.encode(concatenated(between, members), target_type)
        return codes, has_separator

    return combine


def _members(
    groups: Codes, values: Codes, type_name: str, expressions: Expressions
) -> Sequence[tuple[int, list[Value]]]:
    """Return the values of each group that has any, in value order."""
    codec = expressions.codec
    rows = np.lexsort((codec.order_keys(values, type_name), groups))
    decoded = codec.decode_column(values[rows], type_name)
    ordered = groups[rows]
    starts = [*np.flatnonzero(np.diff(ordered, prepend=-1)).tolist(), len(decoded)]
    return [(int(ordered[start]), decoded[start:end]) for start, end in pairwise(starts)]
