"""The meaning of intrinsic functors and comparisons, functor by functor."""

import ctypes
import math
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.values import Branch, Kind, NoValueError, Value
from tidelog.values.functors import (
    COMPARISONS,
    NAN,
    NUMBER_MAX,
    NUMBER_MIN,
    RANGE_SIGNATURES,
    SIGNATURES,
    UNSIGNED_MAX,
    apply,
    canonical_float,
    compare,
    exact_sum,
    float_range_length,
    order_key,
    range_values,
)

N, U, F, S = Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.SYMBOL
INF = math.inf

numbers = st.integers(NUMBER_MIN, NUMBER_MAX) | st.sampled_from([NUMBER_MIN, -1, 0, 1, 63, 64, NUMBER_MAX])
unsigneds = st.integers(0, UNSIGNED_MAX) | st.sampled_from([0, 1, 63, 64, UNSIGNED_MAX])
floats = st.floats().map(canonical_float)
symbols = st.text(max_size=8)
BY_KIND = {
    N: numbers,
    U: unsigneds,
    F: floats,
    S: symbols,
    Kind.RECORD: st.none() | st.tuples(numbers, symbols),
    Kind.ADT: st.builds(Branch, st.sampled_from(["A", "B"]), st.tuples(numbers)),
}


@pytest.mark.parametrize(
    ("functor", "kind", "arguments", "expected"),
    [
        ("+", N, (NUMBER_MAX, 1), NUMBER_MIN),
        ("-", N, (NUMBER_MIN, 1), NUMBER_MAX),
        ("*", N, (2**62, 2), NUMBER_MIN),
        ("/", N, (7, 2), 3),
        ("/", N, (-7, 2), -3),
        ("/", N, (7, -2), -3),
        ("/", N, (NUMBER_MIN, -1), NUMBER_MIN),
        ("%", N, (-7, 2), -1),
        ("%", N, (7, -2), 1),
        ("%", N, (NUMBER_MIN, -1), 0),
        ("^", N, (2, 10), 1024),
        ("^", N, (-2, 63), NUMBER_MIN),
        ("^", N, (2, 64), 0),
        ("^", N, (0, 0), 1),
        ("neg", N, (NUMBER_MIN,), NUMBER_MIN),
        ("band", N, (12, 10), 8),
        ("bor", N, (12, 10), 14),
        ("bxor", N, (12, 10), 6),
        ("bnot", N, (0,), -1),
        ("bshl", N, (1, 63), NUMBER_MIN),
        ("bshl", N, (1, 65), 2),
        ("bshl", N, (1, -1), NUMBER_MIN),
        ("bshr", N, (-8, 1), -4),
        ("bshru", N, (-8, 1), 2**63 - 4),
        ("bshru", N, (-8, 0), -8),
        ("land", N, (2, 3), 1),
        ("land", N, (2, 0), 0),
        ("lor", N, (0, 3), 1),
        ("lor", N, (0, 0), 0),
        ("lxor", N, (2, 3), 0),
        ("lxor", N, (2, 0), 1),
        ("lnot", N, (5,), 0),
        ("lnot", N, (0,), 1),
        ("max", N, (1, 3, 2), 3),
        ("min", N, (1,), 1),
        ("+", U, (UNSIGNED_MAX, 1), 0),
        ("-", U, (0, 1), UNSIGNED_MAX),
        ("/", U, (UNSIGNED_MAX, 2), 2**63 - 1),
        ("bnot", U, (0,), UNSIGNED_MAX),
        ("bshr", U, (UNSIGNED_MAX, 63), 1),
        ("bshru", U, (UNSIGNED_MAX, 63), 1),
        ("^", U, (3, 2), 9),
        ("/", F, (1.0, 0.0), INF),
        ("/", F, (-1.0, 0.0), -INF),
        ("/", F, (0.0, 0.0), NAN),
        ("*", F, (-1.0, 0.0), 0.0),
        ("*", F, (1e300, 1e300), INF),
        ("^", F, (2.0, 0.5), math.sqrt(2)),
        ("^", F, (0.0, -1.0), INF),
        ("^", F, (-8.0, 0.5), NAN),
        ("^", F, (-10.0, 309.0), -INF),
        ("^", F, (-10.0, 310.0), INF),
        ("neg", F, (0.0,), 0.0),
        ("max", F, (1.0, NAN), NAN),
        ("min", F, (NAN, 1.0), 1.0),
        ("max", S, ("b", "a", "ab"), "b"),
        ("min", S, ("b", "\U0001f600", "\uffff"), "b"),
        ("cat", S, ("a", "b", "c"), "abc"),
        ("strlen", S, ("\U0001f600é",), 2),
        ("substr", S, ("hello", 1, 3), "ell"),
        ("substr", S, ("hello", 3, 9), "lo"),
        ("substr", S, ("hello", 5, 1), ""),
        ("to_number", S, ("-12",), -12),
        ("to_number", S, ("+007",), 7),
        ("to_number", S, (str(NUMBER_MIN),), NUMBER_MIN),
        ("to_unsigned", S, (str(UNSIGNED_MAX),), UNSIGNED_MAX),
        ("to_float", S, ("1.5e3",), 1500.0),
        ("to_float", S, (".5",), 0.5),
        ("to_float", S, ("-inf",), -INF),
        ("to_string", N, (-5,), "-5"),
        ("to_string", F, (1.0,), "1.0"),
        ("to_string", F, (0.1,), "0.1"),
        ("to_string", F, (1e16,), "1e+16"),
        ("to_string", F, (NAN,), "nan"),
        ("itof", N, (2**53 + 1,), 2.0**53),
        ("itou", N, (-1,), UNSIGNED_MAX),
        ("utoi", U, (UNSIGNED_MAX,), -1),
        ("utof", U, (UNSIGNED_MAX,), 2.0**64),
        ("ftoi", F, (-1.9,), -1),
        ("ftoi", F, (-(2.0**63),), NUMBER_MIN),
        ("ftou", F, (-0.5,), 0),
        ("to_number", F, (2.5,), 2),
        ("to_number", U, (UNSIGNED_MAX,), -1),
        ("to_unsigned", N, (-1,), UNSIGNED_MAX),
        ("to_float", N, (3,), 3.0),
    ],
)
def test_functor_has_this_value(functor, kind, arguments, expected):
    """A functor gives the value its documentation promises, of the right Python type."""
    value = apply(functor, kind, arguments)

    assert order_key(value) == order_key(expected)
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("functor", "kind", "arguments"),
    [
        ("/", N, (1, 0)),
        ("%", N, (1, 0)),
        ("/", U, (1, 0)),
        ("%", U, (0, 0)),
        ("^", N, (0, -1)),
        ("^", N, (2, -1)),
        ("substr", S, ("hello", 6, 1)),
        ("substr", S, ("hello", -1, 1)),
        ("substr", S, ("hello", 1, -1)),
        ("to_number", S, ("",)),
        ("to_number", S, ("x",)),
        ("to_number", S, (" 1",)),
        ("to_number", S, ("1_000",)),
        ("to_number", S, ("٣",)),
        ("to_number", S, ("9223372036854775808",)),
        ("to_number", S, ("1" * 5000,)),
        ("to_unsigned", S, ("-1",)),
        ("to_unsigned", S, ("18446744073709551616",)),
        ("to_float", S, ("1.5.2",)),
        ("to_float", S, ("1_0",)),
        ("ftoi", F, (NAN,)),
        ("ftoi", F, (2.0**63,)),
        ("ftou", F, (-1.0,)),
        ("ftou", F, (INF,)),
    ],
)
def test_functor_has_no_value(functor, kind, arguments):
    """Where a functor has no value it says so, and nothing else happens."""
    with pytest.raises(NoValueError):
        apply(functor, kind, arguments)


@given(data=st.data())
def test_every_signature_gives_its_result_kind(data):
    """Every functor, for every signature and any arguments, gives a value of its result kind."""
    functor = data.draw(st.sampled_from(sorted(SIGNATURES)))
    signature = data.draw(st.sampled_from(SIGNATURES[functor]))
    kinds = signature.operands * (data.draw(st.integers(1, 3)) if signature.is_variadic else 1)
    arguments = tuple(data.draw(BY_KIND[kind]) for kind in kinds)

    try:
        value = apply(functor, signature.kind, arguments)
    except NoValueError:
        return

    assert signature.accepts(len(arguments))
    assert _is_of(value, signature.result)


def _is_of(value: Value, kind: Kind) -> bool:
    match kind:
        case Kind.NUMBER:
            return type(value) is int and NUMBER_MIN <= value <= NUMBER_MAX
        case Kind.UNSIGNED:
            return type(value) is int and 0 <= value <= UNSIGNED_MAX
        case Kind.FLOAT:
            is_negative_zero = value == 0.0 and math.copysign(1.0, value) < 0
            return type(value) is float and not is_negative_zero and (value is NAN or not math.isnan(value))
        case _:
            return type(value) is str


def test_no_signature_is_ambiguous():
    """The kind of its first operand tells a functor's signatures apart."""
    for signatures in (*SIGNATURES.values(), RANGE_SIGNATURES[:3], RANGE_SIGNATURES[3:]):
        kinds = [signature.kind for signature in signatures]

        assert len(set(kinds)) == len(kinds)


@given(left=numbers, right=numbers)
def test_numbers_are_those_of_c(left, right):
    """Sums and products wrap as the machine's do; quotient and remainder rebuild the dividend."""
    assert apply("+", N, (left, right)) == ctypes.c_int64(left + right).value
    assert apply("*", N, (left, right)) == ctypes.c_int64(left * right).value
    if right != 0:
        quotient, remainder = apply("/", N, (left, right)), apply("%", N, (left, right))
        assert ctypes.c_int64(quotient * right + remainder).value == left
        assert abs(remainder) < abs(right)
        assert remainder == 0 or (remainder < 0) == (left < 0)


@pytest.mark.parametrize(
    ("op", "kind", "left", "right", "expected"),
    [
        ("=", F, NAN, float("nan"), True),
        ("!=", F, NAN, NAN, False),
        ("<", F, NAN, 1.0, False),
        (">=", F, NAN, NAN, False),
        ("<", S, "Z", "a", True),
        ("<", S, "\uffff", "\U0001f600", True),
        ("<", U, 1, UNSIGNED_MAX, True),
        ("=", Kind.RECORD, (1, None), (1, None), True),
        ("=", Kind.RECORD, None, (1, None), False),
        ("<", Kind.RECORD, None, (NUMBER_MIN,), True),
        ("=", Kind.RECORD, (NAN,), (float("nan"),), True),
        ("<", Kind.ADT, Branch("A", (9,)), Branch("B", (1,)), True),
        ("match", S, "a.*", "abc", True),
        ("match", S, "b", "abc", False),
        ("!match", S, "b", "abc", True),
        ("match", S, "[[a]]", "a]", True),
        ("contains", S, "bc", "abcd", True),
        ("contains", S, "abcd", "bc", False),
        ("!contains", S, "x", "abc", True),
        ("contains", S, "", "", True),
    ],
)
def test_comparison(op, kind, left, right, expected):
    """A comparison holds exactly where its documentation says."""
    assert compare(op, kind, left, right) is expected


@pytest.mark.parametrize("op", ["match", "!match"])
@pytest.mark.parametrize("pattern", ["(", "**a", "[z-a]", "a{99999999999}"])
def test_unreadable_pattern_neither_matches_nor_fails(op, pattern):
    """A pattern that cannot be read has no value, so not even its negation holds."""
    with pytest.raises(NoValueError):
        compare(op, S, pattern, "text")


@given(data=st.data(), kind=st.sampled_from(list(Kind)))
def test_order_is_total(data, kind):
    """Of two values exactly one of before, same, after is true."""
    left, right = (order_key(data.draw(BY_KIND[kind])) for _ in range(2))

    assert [left < right, left == right, left > right].count(True) == 1


def test_every_comparison_is_defined_for_its_kinds():
    """`compare` answers for every operator and kind the table promises."""
    examples = {N: 1, U: 1, F: 1.0, S: "a", Kind.RECORD: (1,), Kind.ADT: Branch("A")}
    for op, kinds in COMPARISONS.items():
        for kind in kinds:
            assert compare(op, kind, examples[kind], examples[kind]) in (True, False)


@pytest.mark.parametrize(
    ("kind", "start", "stop", "step", "expected"),
    [
        (N, 1, 4, None, [1, 2, 3]),
        (N, 4, 1, None, [4, 3, 2]),
        (N, 1, 1, None, []),
        (N, 1, 8, 3, [1, 4, 7]),
        (N, 8, 1, -3, [8, 5, 2]),
        (N, 1, 8, -1, []),
        (N, 1, 8, 0, [1]),
        (N, 1, 1, 0, []),
        (N, NUMBER_MAX - 1, NUMBER_MAX, 5, [NUMBER_MAX - 1]),
        (U, 3, 0, None, [3, 2, 1]),
        (U, UNSIGNED_MAX - 1, UNSIGNED_MAX, None, [UNSIGNED_MAX - 1]),
        (F, 0.0, 1.0, 0.25, [0.0, 0.25, 0.5, 0.75]),
        (F, 1e300, 2e300, 1.0, [1e300]),
        (F, NAN, 1.0, None, []),
        (F, -INF, 0.0, 1.0, [-INF]),
    ],
)
def test_range(kind, start, stop, step, expected):
    """A range counts from its start towards its stop, which is left out, and always ends."""
    assert list(range_values(kind, start, stop, step)) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], 0.0),
        ([0.1] * 10, 1.0),
        ([1e308, 1e308, -1e308], 1e308),
        ([1e308, 1e308], INF),
        ([-1e308, -1e308], -INF),
        ([INF, 1.0], INF),
        ([1e16, 1.0, -1e16], 1.0),
    ],
)
def test_exact_sum(values, expected):
    """A sum of floats is rounded once, and beyond the largest float it is infinite."""
    assert exact_sum(values) == expected


@pytest.mark.parametrize("values", [[INF, -INF], [NAN, 1.0], [NAN, INF]])
def test_exact_sum_that_is_no_number(values):
    """Opposite infinities, or a NaN among the values, make the sum NaN."""
    assert exact_sum(values) is NAN


@given(
    start=st.sampled_from([0.0, -1.5, 2.0**53, -1e300, 7.25]) | st.floats(-100, 100),
    stop=st.sampled_from([0.0, 1e300, -1e300, NAN, float("inf")]) | st.floats(-100, 100),
    step=st.none() | st.sampled_from([0.0, 1.0, -0.5, 1e-300, 3.0, 1e300]),
)
def test_the_length_of_a_float_range_is_known_before_it_is_made(start, stop, step):
    """What is foretold is never notably more than the values there are, and right where they are few."""
    foretold = float_range_length(start, stop, step)

    values = len(list(islice(range_values(Kind.FLOAT, start, stop, step), 1000)))
    assert values == 1000 or foretold <= values + 1
    assert foretold >= 990 or values <= foretold + 1 or abs(start) >= 2.0**52 * abs(step or 1.0)
