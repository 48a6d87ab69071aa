"""Vectorised terms, constraints and ranges mean what `values.functors` says."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.kernel_oracles import oracle_of
from tidelog.engine.local import ranges as ranges_module
from tidelog.engine.local.arithmetic import float_powers
from tidelog.engine.local.expressions import Expressions
from tidelog.errors import TidelogError
from tidelog.program.nodes import (
    Application,
    BranchTerm,
    Constant,
    Constraint,
    Generator,
    Program,
    RecordTerm,
    Term,
    UserApplication,
    UserFunctor,
    Variable,
)
from tidelog.source import Source, Span
from tidelog.values import (
    PRIMITIVES,
    Branch,
    BranchType,
    Codec,
    Field,
    Kind,
    NoValueError,
    Value,
    ValueType,
    functors,
)

SPAN = Span(Source("test.dl", "r(@f(x))."), 2, 7)
TYPES = {
    **PRIMITIVES,
    "Pair": ValueType("Pair", Kind.RECORD, fields=(Field("a", "number"), Field("b", "symbol"))),
    "Shape": ValueType(
        "Shape",
        Kind.ADT,
        branches=(
            BranchType("Dot", ()),
            BranchType("Line", (Field("length", "number"),)),
            BranchType("Ring", (Field("radius", "number"),)),
        ),
    ),
}
NONE = "no value"

numbers = st.one_of(
    st.sampled_from([0, 1, -1, 2, -2, 63, 64, 65, -(2**63), 2**63 - 1, 2**53 + 1, 2**32]),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-20, 20),
)
unsigneds = st.one_of(
    st.sampled_from([0, 1, 2, 63, 64, 65, 2**63, 2**64 - 1, 2**53 + 1]),
    st.integers(0, 2**64 - 1),
    st.integers(0, 20),
)
floats = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 0.5, -0.5, 2.0**63, -(2.0**63), 2.0**64, 1e308, 5e-324]),
    st.sampled_from([math.inf, -math.inf, math.nan, -(2.0**63) - 2048, 2.0**64 - 2048]),
    st.floats().map(functors.canonical_float),
)
texts = st.one_of(
    st.sampled_from(["", "a", "ab", "b", "12", "-7", "+3", "1.5", "nan", "x.*", "(", "Ω", "😀a", "\ue000"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    st.integers().map(str),
)
VALUES = {Kind.NUMBER: numbers, Kind.UNSIGNED: unsigneds, Kind.FLOAT: floats, Kind.SYMBOL: texts}
APPLICATIONS = [
    (functor, signature)
    for functor, signatures in functors.SIGNATURES.items()
    for signature in signatures
    if functor != "ord"
]


def make(
    codec: Codec | None = None,
    functions: dict[str, Callable[..., Value]] | None = None,
    declared: Sequence[UserFunctor] = (),
) -> Expressions:
    """Return expressions of a program that declares only functors."""
    program = Program(TYPES, {}, (), (), {functor.name: functor for functor in declared}, {}, {})
    return Expressions(program, codec or Codec(TYPES), functions or {})


def variable(name: str, type_name: str) -> Variable:
    """Return a variable."""
    return Variable(name, type_name, span=SPAN)


def constant(value: Value, type_name: str) -> Constant:
    """Return a constant."""
    return Constant(value, type_name, span=SPAN)


def application(functor: str, kind: Kind, terms: Sequence[Term], result: Kind) -> Application:
    """Return an application of an intrinsic functor."""
    return Application(functor, kind, tuple(terms), result.value, span=SPAN)


def values_of(evaluated: tuple, type_name: str, codec: Codec) -> list[Value]:
    """Return what a term gave in each row, `NONE` where there is no value."""
    codes, mask = evaluated
    assert codes.dtype == np.int64
    has_value = [True] * len(codes) if mask is None else mask.tolist()
    assert len(has_value) == len(codes)
    return [
        codec.decode(code, type_name) if has else NONE
        for code, has in zip(codes.tolist(), has_value, strict=True)
    ]


def shown(values: Sequence[Value]) -> list[str]:
    """Return values as texts in which NaN equals itself."""
    return [repr(value) for value in values]


def expected_value(functor: str, kind: Kind, arguments: tuple[Value, ...]) -> Value:
    """Return what `functors.apply` gives, or `NONE`."""
    try:
        return functors.apply(functor, kind, arguments)
    except NoValueError:
        return NONE


@st.composite
def applications(draw):
    """Draw a functor, its signature, operand kinds, rows of operands, and which operands are constants."""
    functor, signature = draw(st.sampled_from(APPLICATIONS))
    width = draw(st.integers(1, 3)) if signature.is_variadic else len(signature.operands)
    kinds = signature.operands * width if signature.is_variadic else signature.operands
    rows = draw(st.lists(st.tuples(*(VALUES[kind] for kind in kinds)), min_size=0, max_size=5))
    # Some operands are constants, and some batches are too large to go row by row.
    constants = draw(st.lists(st.booleans(), min_size=width, max_size=width))
    repeats = draw(st.sampled_from([1, 1, 40]))
    return functor, signature, kinds, rows * repeats, constants


@given(applications())
def test_every_functor_agrees_with_its_meaning(case):
    """A functor over columns gives row by row what `functors.apply` gives."""
    functor, signature, kinds, rows, constants = case
    codec = Codec(TYPES)
    if rows:
        rows = [tuple(rows[0][i] if constants[i] else value for i, value in enumerate(row)) for row in rows]
    terms = [
        constant(rows[0][i], kind.value) if rows and constants[i] else variable(f"x{i}", kind.value)
        for i, kind in enumerate(kinds)
    ]
    columns = {
        f"x{i}": codec.encode_column([row[i] for row in rows], kind.value) for i, kind in enumerate(kinds)
    }
    term = application(functor, signature.kind, terms, signature.result)

    found = make(codec).term(term, columns, len(rows))

    expected = [expected_value(functor, signature.kind, row) for row in rows]
    assert shown(values_of(found, signature.result.value, codec)) == shown(expected)


@st.composite
def comparisons(draw):
    """Draw a comparison, a kind, and pairs of values."""
    op, kinds = draw(st.sampled_from(sorted(functors.COMPARISONS.items())))
    kind = draw(st.sampled_from(sorted(kinds & VALUES.keys(), key=lambda kind: kind.value)))
    pairs = draw(st.lists(st.tuples(VALUES[kind], VALUES[kind]), max_size=6))
    return op, kind, pairs * draw(st.sampled_from([1, 1, 30]))


@given(comparisons(), st.booleans())
def test_every_comparison_agrees_with_its_meaning(case, is_constant):
    """A constraint over columns holds exactly in the rows in which `functors.compare` holds."""
    op, kind, pairs = case
    codec = Codec(TYPES)
    name = kind.value
    left: Term = variable("x", name)
    if is_constant and pairs:
        left = constant(pairs[0][0], name)
        pairs = [(pairs[0][0], right) for _, right in pairs]
    columns = {
        "x": codec.encode_column([pair[0] for pair in pairs], name),
        "y": codec.encode_column([pair[1] for pair in pairs], name),
    }

    found = make(codec).constraint(
        Constraint(op, kind, left, variable("y", name), span=SPAN), columns, len(pairs)
    )

    def holds(pair):
        try:
            return functors.compare(op, kind, *pair)
        except NoValueError:
            return False

    assert found.dtype == np.bool_
    assert found.tolist() == [holds(pair) for pair in pairs]


LIMITS = {Kind.NUMBER: (-(2**63), 2**63 - 1), Kind.UNSIGNED: (0, 2**64 - 1)}


@st.composite
def integer_ranges(draw, kind):
    """Draw start, stop and step of a range of few values, anywhere among the 64-bit values."""
    least, most = LIMITS[kind]
    near_ends = st.one_of(st.integers(least, least + 9), st.integers(most - 9, most))
    start = draw(st.one_of(near_ends, st.integers(max(least, -9), 9)))
    step = draw(st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([2**61, -(2**61), least])))
    stop = start + (step or 1) * draw(st.integers(-4, 9)) + draw(st.integers(-1, 1))
    step = None if step is None else max(step, least)
    return start, min(max(stop, least), most), step


@st.composite
def float_ranges(draw):
    """Draw start, stop and step of a range of few values, also without end or without order."""
    special = st.sampled_from([math.nan, math.inf, -math.inf])
    start = draw(st.one_of(special, st.sampled_from([0.0, 0.3, -2.5, 1e16])))
    step = draw(st.one_of(st.none(), special, st.sampled_from([0.0, 0.1, -0.7, 3.0])))
    is_short = step is not None and not 0 < abs(step) < math.inf
    stop = start + draw(st.integers(-4, 9)) * (0.7 if step is None else step)
    return start, draw(st.one_of(st.just(stop), special)) if is_short else stop, step


@st.composite
def ranges(draw):
    """Draw a kind, rows of bounds, and whether they have steps."""
    kind = draw(st.sampled_from([Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT]))
    rows = draw(st.lists(float_ranges() if kind is Kind.FLOAT else integer_ranges(kind), max_size=6))
    with_step = draw(st.booleans())
    return kind, [row for row in rows if (row[2] is not None) == with_step], with_step


@given(ranges())
def test_ranges_agree_with_their_meaning(case):
    """A range gives each row's values in order, without wrapping around."""
    kind, rows, with_step = case
    codec = Codec(TYPES)
    name = kind.value
    names = "abc" if with_step else "ab"
    columns = {x: codec.encode_column([row[i] for row in rows], name) for i, x in enumerate(names)}
    generator = Generator(
        variable("t", name),
        kind,
        variable("a", name),
        variable("b", name),
        variable("c", name) if with_step else None,
        span=SPAN,
    )

    places, codes = make(codec).generate(generator, columns, len(rows))

    expected = [
        (place, value)
        for place, (start, stop, step) in enumerate(rows)
        for value in functors.range_values(kind, start, stop, step)
    ]
    assert shown(list(zip(places.tolist(), codec.decode_column(codes, name), strict=True))) == shown(expected)


def test_a_range_without_bounds_has_no_values():
    """A row whose bound has no value has no range; the other rows keep their numbers."""
    divided = application("/", Kind.NUMBER, [constant(4, "number"), variable("x", "number")], Kind.NUMBER)
    generator = Generator(
        variable("t", "number"), Kind.NUMBER, constant(0, "number"), divided, None, span=SPAN
    )

    places, values = make().generate(generator, {"x": np.array([2, 0, 4])}, 3)

    assert places.tolist() == [0, 0, 2]
    assert values.tolist() == [0, 1, 0]


@pytest.mark.parametrize("kind", [Kind.NUMBER, Kind.FLOAT])
def test_a_range_that_fits_no_memory_is_a_diagnostic(kind, monkeypatch):
    """A range of too many values is refused before it is made."""
    monkeypatch.setattr(ranges_module, "_FLOAT_RANGE_LIMIT", 1000)
    codec = Codec(TYPES)
    stop = {Kind.NUMBER: 2**62, Kind.FLOAT: 1e12}[kind]
    zero = {Kind.NUMBER: 0, Kind.FLOAT: 0.0}[kind]
    generator = Generator(
        variable("t", kind.value),
        kind,
        constant(zero, kind.value),
        constant(stop, kind.value),
        None,
        span=SPAN,
    )

    with pytest.raises(TidelogError) as raised:
        make(codec).generate(generator, {}, 1)

    assert [d.code for d in raised.value.diagnostics] == ["range-too-large"]


def test_missing_values_spread_through_terms():
    """A term over a term without a value has none, whether numbers, texts or records are made."""
    codec = Codec(TYPES)
    x = variable("x", "number")
    divided = application("/", Kind.NUMBER, [constant(8, "number"), x], Kind.NUMBER)
    text = application("to_string", Kind.NUMBER, [divided], Kind.SYMBOL)
    doubled = application("cat", Kind.SYMBOL, [text, text], Kind.SYMBOL)
    pair = RecordTerm((divided, doubled), "Pair", span=SPAN)
    columns = {"x": np.array([2, 0, 4])}

    found = values_of(make(codec).term(pair, columns, 3), "Pair", codec)

    assert found == [(4, "44"), NONE, (2, "22")]


@pytest.mark.parametrize("op", ["=", "!=", "<", ">=", "match", "!match", "contains", "!contains"])
def test_no_constraint_holds_without_a_value(op):
    """A constraint fails where an operand has no value, also when it says that something differs."""
    codec = Codec(TYPES)
    part = application(
        "substr",
        Kind.SYMBOL,
        [variable("s", "symbol"), constant(2, "number"), constant(1, "number")],
        Kind.SYMBOL,
    )
    columns = {"s": codec.encode_column(["a", "b"], "symbol")}

    found = make(codec).constraint(Constraint(op, Kind.SYMBOL, part, part, span=SPAN), columns, 2)

    assert found.tolist() == [False, False]


def test_symbols_learnt_later_are_compared_by_text():
    """The order of symbols is that of their texts, also for texts met after the first comparison."""
    codec = Codec(TYPES)
    expressions = make(codec)
    less = Constraint("<", Kind.SYMBOL, variable("x", "symbol"), variable("y", "symbol"), span=SPAN)

    def is_less(left: str, right: str) -> bool:
        columns = {"x": codec.encode_column([left], "symbol"), "y": codec.encode_column([right], "symbol")}
        return bool(expressions.constraint(less, columns, 1)[0])

    assert [is_less("b", "c"), is_less("a", "b"), is_less("c", "b"), is_less("a", "Z")] == [
        True,
        True,
        False,
        False,
    ]


def test_a_constant_fills_the_batch():
    """A term without variables has one code per row, even where there is no row."""
    expressions = make()
    term = constant(7, "number")

    assert [expressions.term(term, {}, count)[0].tolist() for count in (0, 1, 3)] == [[], [7], [7, 7, 7]]


def test_records_are_built_and_taken_apart():
    """Taking a record apart gives back the fields it was built from, and nil never matches."""
    codec = Codec(TYPES)
    expressions = make(codec)
    pattern = RecordTerm((variable("a", "number"), variable("b", "symbol")), "Pair", span=SPAN)
    columns = {"a": np.array([1, 2]), "b": codec.encode_column(["x", "y"], "symbol")}

    codes, mask = expressions.term(pattern, columns, 2)
    matches, fields = expressions.take_apart(pattern, np.append(codes, codec.encode(None, "Pair")))

    assert mask is None
    assert codec.decode_column(codes, "Pair") == [(1, "x"), (2, "y")]
    assert matches.tolist() == [True, True, False]
    assert fields[0].tolist() == [1, 2, 0]
    assert codec.decode_column(fields[1][:2], "symbol") == ["x", "y"]


def test_branches_match_their_own_kind_only():
    """A branch pattern matches by its name, also beside branches of the same width."""
    codec = Codec(TYPES)
    expressions = make(codec)
    values = [Branch("Ring", (5,)), Branch("Dot"), Branch("Line", (5,)), Branch("Ring", (7,))]
    codes = codec.encode_column(values, "Shape")
    ring = BranchTerm("Ring", (variable("r", "number"),), "Shape", span=SPAN)
    dot = BranchTerm("Dot", (), "Shape", span=SPAN)

    matches, fields = expressions.take_apart(ring, codes)
    dots, no_fields = expressions.take_apart(dot, codes)

    assert matches.tolist() == [True, False, False, True]
    assert fields[0][matches].tolist() == [5, 7]
    assert (dots.tolist(), no_fields) == ([False, True, False, False], [])
    assert expressions.term(ring, {"r": np.array([7, 5])}, 2)[0].tolist() == [codes[3], codes[0]]
    assert expressions.term(dot, {}, 2)[0].tolist() == [codes[1]] * 2


def user_functor(function, *, is_stateful=False, parameters=("number",), result="number", codec=None):
    """Return expressions of a program with the functor `f`."""
    declared = UserFunctor("f", parameters, result, is_stateful)
    return make(codec, {"f": function}, [declared])


@pytest.mark.parametrize("repeats", [1, 100])
def test_a_functor_is_called_once_for_equal_arguments(repeats):
    """A functor that keeps no state is called once for each distinct combination of arguments."""
    calls: list[int] = []

    def square(x: int) -> int:
        calls.append(x)
        return x * x

    term = UserApplication("f", (variable("x", "number"),), "number", span=SPAN)
    column = np.array([3, 1, 3] * repeats)

    codes, mask = user_functor(square).term(term, {"x": column}, column.size)

    assert (codes.tolist(), mask) == ([9, 1, 9] * repeats, None)
    assert sorted(calls) == [1, 3]


def test_a_stateful_functor_is_called_for_every_row():
    """A functor that keeps state is called row by row, even with constant arguments."""
    state = iter(range(100))
    term = UserApplication("f", (constant(1, "number"),), "number", span=SPAN)
    expressions = user_functor(lambda _: next(state), is_stateful=True)

    found = [expressions.term(term, {}, count)[0].tolist() for count in (3, 0, 2)]

    assert found == [[0, 1, 2], [], [3, 4]]


def test_a_functor_without_arguments_is_called():
    """A functor may take nothing."""
    term = UserApplication("f", (), "number", span=SPAN)

    codes, _ = user_functor(lambda: 5, parameters=()).term(term, {}, 3)

    assert codes.tolist() == [5, 5, 5]


def test_a_functor_may_have_no_value():
    """A functor that raises NoValueError has no value in that row."""

    def only_even(x: int) -> int:
        if x % 2:
            raise NoValueError
        return x

    term = UserApplication("f", (variable("x", "number"),), "number", span=SPAN)

    codes, mask = user_functor(only_even).term(term, {"x": np.array([2, 3])}, 2)

    assert mask.tolist() == [True, False]
    assert codes[0] == 2


def test_a_failing_functor_is_named_with_its_arguments():
    """An exception in a functor is a diagnostic with the functor, its arguments and the place."""
    codec = Codec(TYPES)
    expressions = user_functor(lambda x, s: x // len(s), parameters=("number", "symbol"), codec=codec)
    term = UserApplication("f", (variable("x", "number"), variable("s", "symbol")), "number", span=SPAN)
    columns = {"x": np.array([4]), "s": codec.encode_column([""], "symbol")}

    with pytest.raises(TidelogError) as raised:
        expressions.term(term, columns, 1)

    [diagnostic] = raised.value.diagnostics
    assert (diagnostic.code, diagnostic.span) == ("functor-failed", SPAN)
    assert "f(4, '')" in diagnostic.message
    assert "ZeroDivisionError" in diagnostic.message


def test_a_functor_that_gives_another_type_is_named():
    """A result that is no value of the declared type is a diagnostic that names the functor."""
    term = UserApplication("f", (variable("x", "number"),), "number", span=SPAN)

    with pytest.raises(TidelogError) as raised:
        user_functor(lambda _: "text").term(term, {"x": np.array([4])}, 1)

    [diagnostic] = raised.value.diagnostics
    assert (diagnostic.code, diagnostic.span) == ("wrong-value-type", SPAN)
    assert "f(4)" in diagnostic.message


def test_a_functor_without_a_function_is_a_diagnostic():
    """A declared functor to which no Python function is bound is reported when it is needed."""
    term = UserApplication("f", (variable("x", "number"),), "number", span=SPAN)
    expressions = make(None, {}, [UserFunctor("f", ("number",), "number")])

    with pytest.raises(TidelogError) as raised:
        expressions.compile_term(term)

    assert [d.code for d in raised.value.diagnostics] == ["missing-function"]


@oracle_of(float_powers)
@given(base=floats, exponent=floats)
def test_powers_of_floats_are_those_of_the_c_library(base, exponent):
    """Every bit is that of `math.pow`, where it gives a number; beyond the floats a power is infinite."""
    with np.errstate(all="ignore"):
        found = float(float_powers(np.array([base]), np.array([exponent]))[0])

    try:
        expected = math.pow(base, exponent)
    except ValueError:
        # A root of a negative number has no value, and zero has no inverse.
        assert math.isnan(found) or math.isinf(found)
    except OverflowError:
        assert math.isinf(found)
    else:
        assert found == expected or (math.isnan(found) and math.isnan(expected))
