"""Aggregates over groups equal the plain definition over lists of values."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.kernel_oracles import oracle_of
from tidelog.engine.local import aggregates as aggregates_module
from tidelog.engine.local.aggregates import (
    _insert_partial,
    _round_partials,
    _sum_exactly,
    fold_groups,
    reduce_groups,
)
from tidelog.engine.local.expressions import Expressions
from tidelog.program.nodes import Program, UserApplication, UserFunctor, Variable
from tidelog.source import Source, Span
from tidelog.values import PRIMITIVES, Codec, Kind, NoValueError, Value, functors
from tidelog.values.aggregates import combine

SPAN = Span(Source("test.dl", "r(@f(x))."), 2, 7)
NONE = "no value"

numbers = st.one_of(st.sampled_from([-(2**63), 2**63 - 1, 0, 2**53 + 1]), st.integers(-(2**63), 2**63 - 1))
unsigneds = st.one_of(st.sampled_from([2**64 - 1, 2**63, 0]), st.integers(0, 2**64 - 1), st.integers(0, 9))
finite = st.one_of(
    st.sampled_from([1e308, -1e308, 1.7e308, 5e-324, 1e16, 1.0, -1e16, 2.0**-53, 2.0**-106]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-9, 9).map(float),
).map(functors.canonical_float)
floats = st.one_of(finite, finite, finite, st.sampled_from([math.inf, -math.inf, math.nan]))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
VALUES = {Kind.NUMBER: numbers, Kind.UNSIGNED: unsigneds, Kind.FLOAT: floats, Kind.SYMBOL: texts}


def expected_of(functor: str, kind: Kind, values: Sequence[Value]) -> Value:
    """Return what the reference engine makes of the values, or `NONE`."""
    try:
        return combine(functor, kind, values)
    except NoValueError:
        return NONE


def found_of(codes, mask, type_name: str, codec: Codec) -> list[Value]:
    """Return what each group gave, `NONE` where there is no value."""
    assert codes.dtype == np.int64
    has_value = [True] * len(codes) if mask is None else mask.tolist()
    return [
        codec.decode(code, type_name) if has else NONE
        for code, has in zip(codes.tolist(), has_value, strict=True)
    ]


@st.composite
def groupings(draw):
    """Draw a functor, a kind, and derivations as rows of group, value and weight."""
    functor = draw(st.sampled_from(["count", "sum", "min", "max", "mean"]))
    kinds = [Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT]
    kind = draw(st.sampled_from([*kinds, Kind.SYMBOL] if functor in ("min", "max") else kinds))
    rows = draw(st.lists(st.tuples(st.integers(0, 3), VALUES[kind], st.integers(1, 5)), max_size=25))
    return functor, kind, rows


@pytest.mark.parametrize("few_floats", [0, 1000])
@given(case=groupings(), is_weighted=st.booleans())
def test_groups_reduce_as_lists_do(few_floats, case, is_weighted):
    """Every aggregate of every group is that of the list of its values, each as often as it counts."""
    functor, kind, rows = case
    codec = Codec(PRIMITIVES)
    groups = np.array([row[0] for row in rows], dtype=np.int64)
    codes = codec.encode_column([row[1] for row in rows], kind.value)
    weights = np.array([row[2] for row in rows], dtype=np.int64) if is_weighted else None
    order = codec.order_keys(codes, "symbol") if kind is Kind.SYMBOL else None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aggregates_module, "_FEW_FLOATS", few_floats)
        found = reduce_groups(functor, kind, groups, codes, 5, weights, order=order)

    lists: list[list[Value]] = [[], [], [], [], []]
    for group, value, weight in rows:
        lists[group].extend([value] * (weight if is_weighted else 1))
    result_type = {"count": "number", "mean": "float"}.get(functor, kind.value)
    expected = [expected_of(functor, kind, values) for values in lists]
    assert list(map(repr, found_of(*found, result_type, codec))) == list(map(repr, expected))


def test_count_needs_no_target():
    """A count looks at derivations only, and an empty group counts 0."""
    codes, mask = reduce_groups("count", Kind.NUMBER, np.array([2, 0, 2]), None, 4, None)

    assert (codes.tolist(), mask) == ([1, 0, 2, 0], None)


def test_no_groups_reduce_to_nothing():
    """Aggregates of no groups are empty."""
    nothing = np.empty(0, dtype=np.int64)

    for functor in ("count", "sum", "min", "max", "mean"):
        for kind in (Kind.NUMBER, Kind.FLOAT):
            assert reduce_groups(functor, kind, nothing, nothing, 0, None)[0].size == 0


@given(st.lists(finite, min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_float_sums_do_not_depend_on_order(values, random):
    """The kernel's sum is that of `math.fsum` and of exact fractions, whatever the order."""
    total = sum(map(Fraction, values), Fraction(0))
    random.shuffle(values)
    codes = np.array(values).view(np.int64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aggregates_module, "_FEW_FLOATS", 0)
        found, _ = reduce_groups("sum", Kind.FLOAT, np.zeros(len(values), dtype=np.int64), codes, 1, None)

    try:
        expected = float(total)
    except OverflowError:
        expected = math.inf if total > 0 else -math.inf
    assert found.view(np.float64).tolist() == [expected]


def test_huge_weights_stay_exact():
    """A derivation may count more often than could be listed."""
    groups = np.zeros(2, dtype=np.int64)
    weights = np.array([2**40 + 1, 3])
    numbers_ = np.array([2**62 + 1, -7])
    floats_ = np.array([0.1, 1e300]).view(np.int64)

    mean, _ = reduce_groups("mean", Kind.NUMBER, groups, numbers_, 1, weights)
    total, _ = reduce_groups("sum", Kind.FLOAT, groups, floats_, 1, weights)

    assert mean.view(np.float64)[0] == ((2**62 + 1) * (2**40 + 1) - 21) / (2**40 + 4)
    assert total.view(np.float64)[0] == float(Fraction(0.1) * (2**40 + 1) + Fraction(1e300) * 3)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-9, 9)), max_size=20))
def test_user_aggregates_fold_in_value_order(rows):
    """A user's aggregate starts with `init` and takes the values of each group from the least on."""
    codec = Codec(PRIMITIVES)
    functor = UserFunctor("f", ("symbol", "number"), "symbol")
    program = Program(PRIMITIVES, {}, (), (), {"f": functor}, {}, {})

    def append(left: str, right: int) -> str:
        if right == 0:
            raise NoValueError
        return f"{left} {right}"

    operands = (Variable("left", "symbol", span=SPAN), Variable("right", "number", span=SPAN))
    term = UserApplication("f", operands, "symbol", span=SPAN)
    step = Expressions(program, codec, {"f": append}).compile_term(term)
    groups = np.array([row[0] for row in rows], dtype=np.int64)
    values = np.array([row[1] for row in rows], dtype=np.int64)
    init = codec.encode_column(["a", "b", "c", "d"], "symbol")

    found = fold_groups(step, init, groups, values, values)

    members = [sorted(value for group, value in rows if group == place) for place in range(4)]
    expected = [
        NONE if 0 in values else " ".join([start, *map(str, values)])
        for start, values in zip("abcd", members, strict=True)
    ]
    assert found_of(*found, "symbol", codec) == expected


# --- kernels of exact sums -------------------------------------------------------------------------


def partials_of(terms):
    """Return the partial sums of terms, None once something is not finite."""
    partials, count = np.empty(64), 0
    with np.errstate(all="ignore"):
        for term in terms:
            count = _insert_partial(partials, count, term)
    return None if count < 0 else partials[:count]


def rounded(total):
    """Return a fraction as the nearest float, None where there is none."""
    try:
        return float(total)
    except OverflowError:
        return None


@oracle_of(_insert_partial, _round_partials)
@given(st.lists(floats, max_size=12))
def test_partial_sums_keep_the_exact_sum(terms):
    """Partial sums do not overlap, grow, and add up to what was added; rounded once they are the sum."""
    partials = partials_of(terms)

    if partials is None:
        # Something was not finite, or so large that a sum of some terms was not.
        assert sum(map(abs, terms)) > 1e308 or not all(map(math.isfinite, terms))
        return
    exact = [Fraction(partial) for partial in partials.tolist()]
    assert sum(exact) == sum(map(Fraction, terms))
    nonzero = [partial for partial in exact if partial]
    assert all(abs(low) < abs(high) for low, high in itertools.pairwise(nonzero))
    if len(partials):
        assert _round_partials(np.array(partials), len(partials)) == rounded(sum(exact))


@oracle_of(_sum_exactly)
@given(st.lists(st.lists(st.tuples(floats, st.integers(1, 5)), max_size=6), max_size=4))
def test_settled_sums_are_exact(groups):
    """Each group has its own sum; one that is not finite on the way is not settled, and harms no other."""
    every = [pair for group in groups for pair in group]
    ends = np.cumsum([len(group) for group in groups], dtype=np.int64)

    with np.errstate(all="ignore"):
        sums, is_settled = _sum_exactly(
            np.array([value for value, _ in every]), np.array([weight for _, weight in every], np.int64), ends
        )

    for group, found, settled in zip(groups, sums.tolist(), is_settled.tolist(), strict=True):
        is_small = all(math.isfinite(value) and abs(value) < 1e300 for value, _ in group)
        assert settled or not is_small
        if settled:
            assert found == rounded(sum(Fraction(value) * weight for value, weight in group))
