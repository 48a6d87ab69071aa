"""Chains of operators: the order of atoms, keys, fused filters, layouts, and delta rules."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.programs import build
from tidelog.plan import plan_stratum
from tidelog.plan.operators import (
    Check,
    Comparison,
    Compute,
    Filter,
    Generate,
    IndexJoin,
    Rearrange,
    Reduce,
    RulePlan,
    ScanView,
    Start,
    Unpack,
    View,
)
from tidelog.plan.statistics import UNKNOWN_SIZE, KnownSizes, matches_per_key
from tidelog.program.nodes import Constant

DECLARATIONS = """
.type Pair = [a: number, b: number]
.decl a(x: number, y: number)
.input a
.decl b(x: number, y: number)
.input b
.decl c(x: number, y: number)
.input c
.decl t(x: number, y: number, z: number)
.input t
.decl name(x: number, s: symbol)
.input name
.decl boxed(p: Pair)
.input boxed
.decl r(x: number, y: number)
"""


def plans(rules: str, *, counting: bool = False, known: KnownSizes | None = None) -> list[RulePlan]:
    """Return the plans of the rules of `r`: those run once, then the delta rules."""
    program = build(DECLARATIONS + rules)
    stratum = next(stratum for stratum in program.strata if "r" in stratum.relations)
    plan = plan_stratum(stratum, program, known or KnownSizes(), counting=counting)
    return [*plan.once, *plan.repeated]


def plan(rule: str, **options: object) -> RulePlan:
    """Return the only plan of one rule."""
    (found,) = plans(rule, **options)
    return found


def order(found: RulePlan) -> list[str]:
    """Return the relations that the operators read, in their order."""
    return [x.relation for x in found.operators if isinstance(x, ScanView | IndexJoin | Check)]


def kinds(found: RulePlan) -> list[type]:
    """Return the kinds of the operators, in their order."""
    return [type(operator) for operator in found.operators]


def views(found: RulePlan) -> list[tuple[str, View]]:
    """Return which facts of which relation each operator sees."""
    return [(x.relation, x.view) for x in found.operators if isinstance(x, ScanView | IndexJoin | Check)]


# --- order -----------------------------------------------------------------------------------


def test_small_relations_come_first():
    """The scan is of the relation with the fewest facts."""
    rule = "r(x, z) :- a(x, y), b(y, z)."

    assert order(plan(rule, known=KnownSizes({"a": 10, "b": 10_000}))) == ["a", "b"]
    assert order(plan(rule, known=KnownSizes({"a": 10_000, "b": 10}))) == ["b", "a"]


def test_counted_keys_decide_between_equal_sizes():
    """Of two joins the one with fewer facts per key comes first."""
    rule = "r(x, z) :- a(x, x), b(x, y), c(x, z)."
    sizes = {"a": 10, "b": 1000, "c": 1000}

    few_per_b = plan(rule, known=KnownSizes(sizes, {("b", (0,)): 1000, ("c", (0,)): 10}))
    few_per_c = plan(rule, known=KnownSizes(sizes, {("b", (0,)): 10, ("c", (0,)): 1000}))

    assert order(few_per_b)[:2] == ["a", "b"]
    assert order(few_per_c)[:2] == ["a", "c"]


@pytest.mark.parametrize("written", ["3,1,2", "2,3,1", "1,2,3"])
def test_plan_directive_is_honoured(written):
    """A `.plan` says the order, whatever the sizes; atoms are counted from 1."""
    rule = f"r(x, w) :- a(x, y), b(y, z), c(z, w). .plan 0:({written})"

    found = plan(rule, known=KnownSizes({"a": 1, "b": 1e6, "c": 1e3}))

    assert order(found) == ["abc"[int(number) - 1] for number in written.split(",")]


def test_plan_directive_of_each_delta_rule():
    """Delta rules are counted from 0; one without an order is planned freely, delta first."""
    rule = "r(x, z) :- r(x, y), a(y, w), r(w, z). .plan 1:(2,1,3)"

    first, second = plans(rule)

    assert views(first)[0] == ("r", View.DELTA)
    assert views(second) == [("a", View.FULL), ("r", View.OLD), ("r", View.DELTA)]


@st.composite
def connected_bodies(draw):
    """Draw the body of a rule whose atoms hang together by variables, in any order."""
    count = draw(st.integers(2, 7))
    atoms = []
    for number in range(count):
        shared = f"v{draw(st.integers(0, number))}" if number else "v0"
        terms = draw(st.permutations([shared, f"v{number + 1}"]))
        atoms.append(f"{draw(st.sampled_from('abc'))}({', '.join(terms)})")
    return draw(st.permutations(atoms))


@given(body=connected_bodies(), counting=st.booleans())
def test_connected_atoms_are_joined_without_cross_products(body, counting):
    """Every atom after the first has a key, for few atoms and for many."""
    found = plan(f"r(v0, v1) :- {', '.join(body)}.", counting=counting)

    assert len(order(found)) == len(body)
    assert all(x.key for x in found.operators if isinstance(x, IndexJoin | Check))


def test_cross_product_where_nothing_else_is_possible():
    """Atoms without a common variable are joined nevertheless."""
    found = plan("r(x, y) :- a(x, _), b(y, _).")

    assert [x.key for x in found.operators if isinstance(x, IndexJoin)] == [()]


def test_delta_comes_first():
    """A delta rule scans the delta; atoms before it see old facts, atoms after it all facts."""
    first, second = plans("r(x, z) :- r(x, y), r(y, z).")

    assert views(first) == [("r", View.DELTA), ("r", View.FULL)]
    assert views(second) == [("r", View.DELTA), ("r", View.OLD)]
    assert (first.delta_atom, second.delta_atom) == (0, 1)


def test_rule_without_atoms_of_the_stratum_runs_once():
    """Such a rule has one plan, without a delta."""
    found = plan("r(x, y) :- a(x, y).")

    assert found.delta_atom is None
    assert views(found) == [("a", View.FULL)]


# --- what stands between atoms ---------------------------------------------------------------


def test_comparison_of_numbers_is_fused_with_the_operator_that_binds():
    """A constraint becomes a filter of the join that binds its last variable."""
    scan, join = plan("r(x, z) :- a(x, y), b(y, z), x < y, z >= x.", known=KnownSizes({"a": 1})).operators

    assert isinstance(scan, ScanView)
    assert scan.filters == (Comparison("<", "x", "y"),)
    assert isinstance(join, IndexJoin)
    assert join.filters == (Comparison("<=", "x", "z"),)


def test_order_of_texts_is_no_comparison_of_codes():
    """Equality of symbols is fused; `<` needs their texts and is an operator."""
    equal = plan("r(x, y) :- name(x, s), name(y, t), s != t.")
    less = plan("r(x, y) :- name(x, s), name(y, t), s < t.")

    assert Filter not in kinds(equal)
    assert kinds(less)[-1] is Filter


def test_arithmetic_is_an_operator():
    """A constraint over functors is not fused; an equality computes its free side."""
    filtered = plan("r(x, y) :- a(x, y), x + 1 < y.")
    computed = plan("r(x, z) :- a(x, y), z = x + y, z < 10.")

    assert kinds(filtered) == [ScanView, Filter]
    assert kinds(computed) == [ScanView, Compute]
    compute = computed.operators[1]
    assert isinstance(compute, Compute)
    assert [comparison.op for comparison in compute.filters] == ["<"]


def test_constants_and_repeated_variables_of_the_scan_are_filters():
    """A scanned atom has no key: its constants and repetitions filter."""
    found = plan("r(x, z) :- t(x, 5, x), b(x, z).", known=KnownSizes({"t": 1}))

    scan = found.operators[0]
    assert isinstance(scan, ScanView)
    assert len(scan.filters) == 2
    assert all(comparison.op == "=" for comparison in scan.filters)
    assert any(isinstance(comparison.right, Constant) for comparison in scan.filters)


def test_constants_of_a_join_are_part_of_its_key():
    """Bound variables and constants together are the key."""
    found = plan("r(x, z) :- a(x, y), t(y, 5, z).", known=KnownSizes({"a": 1}))

    join = found.operators[1]
    assert isinstance(join, IndexJoin)
    assert join.key == (0, 1)
    assert join.operands[0] == "y"
    assert isinstance(join.operands[1], Constant)


def test_negated_atom_is_checked_as_soon_as_it_can_be():
    """A negated atom stands right after the atom that binds its last variable."""
    found = plan("r(x, z) :- a(x, y), b(y, z), !c(x, y).", known=KnownSizes({"a": 1}))

    check = found.operators[1]
    assert order(found) == ["a", "c", "b"]
    assert isinstance(check, Check)
    assert check.is_negated


def test_wildcards_of_a_negated_atom_are_not_in_its_key():
    """Only the columns that are asked for are looked up."""
    found = plan("r(x, y) :- a(x, y), !t(_, x, _).")

    check = found.operators[-1]
    assert isinstance(check, Check)
    assert check.key == (1,)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("r(x, y) :- boxed([x, y]).", [ScanView, Unpack]),
        ("r(x, y) :- a(x, y), boxed([y, x]).", [ScanView, Compute, Check]),
        ("r(x, y) :- a(x, _), y = range(0, x).", [ScanView, Generate]),
        ("r(x, n) :- a(x, _), n = count : { b(x, _) }.", [ScanView, Reduce]),
        ("r(0, n) :- n = count : { b(_, _) }.", [Start, Reduce]),
    ],
)
def test_every_literal_has_its_operator(rule, expected):
    """Records are taken apart or made, ranges generate, aggregates reduce."""
    assert kinds(plan(rule, known=KnownSizes({"a": 1}))) == expected


# --- layouts ---------------------------------------------------------------------------------


def test_dead_variables_are_dropped():
    """A variable leaves the layout after the last operator that reads it."""
    found = plan("r(x, w) :- a(x, y), b(y, z), c(z, w).", known=KnownSizes({"a": 1, "b": 10, "c": 100}))

    assert [set(operator.outputs) for operator in found.operators] == [{"x", "y"}, {"x", "z"}, {"x", "w"}]


def test_outputs_are_the_columns_of_the_head():
    """The last layout has the head's columns in order, constants among them."""
    found = plan("r(7, x) :- a(x, _).")

    constant, variable = found.operators[-1].outputs
    assert isinstance(constant, Constant)
    assert constant.value == 7
    assert variable == "x"


def test_filtered_variable_needs_no_place_in_the_layout():
    """A column read only by a fused filter does not leave its operator."""
    found = plan("r(x, x) :- a(x, y), y < 10.")

    assert found.operators[0].outputs == ("x", "x")


def test_join_that_binds_nothing_needed_becomes_a_check():
    """Whether a fact exists is enough, unless derivations are counted."""
    rule = "r(x, y) :- a(x, y), b(y, _)."
    known = KnownSizes({"a": 1})

    assert kinds(plan(rule, known=known)) == [ScanView, Check]
    assert kinds(plan(rule, known=known, counting=True)) == [ScanView, IndexJoin]


def test_head_in_another_order_needs_no_operator():
    """The last operator yields the head's layout itself."""
    found = plan("r(y, x) :- a(x, y).")

    assert kinds(found) == [ScanView]
    assert found.operators[0].outputs == ("y", "x")
    assert Rearrange not in kinds(found)


@given(body=connected_bodies(), counting=st.booleans())
def test_operators_read_only_what_the_layout_before_holds(body, counting):
    """Every key is in the layout of the operator before, and nothing is carried that nobody reads."""
    found = plan(f"r(v0, v1) :- {', '.join(body)}.", counting=counting)

    for number, (before, operator) in enumerate(pairwise(found.operators)):
        assert isinstance(operator, IndexJoin | Check)
        assert set(operator.operands) <= set(before.outputs)
        later = {
            name
            for other in found.operators[number + 1 :]
            if isinstance(other, IndexJoin | Check)
            for name in other.operands
        }
        assert set(before.outputs) <= later | {"v0", "v1"}


# --- statistics ------------------------------------------------------------------------------


def test_expected_matches_fall_with_the_key():
    """More key columns leave fewer facts; a count of keys replaces the guess."""
    known = KnownSizes({"t": 1000.0}, {("t", (1,)): 500.0})

    guesses = [matches_per_key(known, "t", 3, key) for key in ((), (0,), (0, 1), (0, 1, 2))]

    assert guesses == sorted(guesses, reverse=True)
    assert guesses[0] == 1000
    assert matches_per_key(known, "t", 3, (1,)) == 2
    assert matches_per_key(known, "unknown", 2, ()) == UNKNOWN_SIZE
