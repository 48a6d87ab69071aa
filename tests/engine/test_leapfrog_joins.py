"""Leapfrog joins find what joins in pairs and the reference engine find, each derivation once."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.epochs import Maintained, each_strategy, examples, follow
from support.epochs_programs import tangled_epochs, tangled_programs
from support.join_bodies import INPUTS, bodies, inputs
from support.programs import build, run
from support.strategies import RandomProgram, dense_programs, programs
from tidelog.engine.epoch import Strategy
from tidelog.engine.local.chains import SinkStep, make_chain
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.plan import plan_stratum
from tidelog.plan.body import Body, OperatorChain
from tidelog.plan.flatten import flatten_rule
from tidelog.plan.leapfrog_bounds import is_cyclic, most_bindings
from tidelog.plan.operators import Leapfrog, ScanView, Start, View
from tidelog.plan.order import best_chain
from tidelog.plan.statistics import KnownSizes
from tidelog.program.nodes import Atom, Program, Variable
from tidelog.source import Source
from tidelog.syntax import parse, print_tree
from tidelog.values import Codec

LEAPFROG = '.pragma "leapfrog" "*"\n'
PAIRS = '.pragma "leapfrog-exclude" "*"\n'


@settings(max_examples=examples(120))
@given(body=bodies(), facts=inputs)
def test_leapfrog_pairs_and_reference_agree(body, facts):
    """Repeated variables, constants, wildcards, negation, comparisons and sums: the same answers."""
    expected = run(INPUTS + body, inputs=facts)["r"]

    assert run(LEAPFROG + INPUTS + body, engine="local", inputs=facts)["r"] == expected
    assert run(PAIRS + INPUTS + body, engine="local", inputs=facts)["r"] == expected


@settings(max_examples=examples(60))
@given(body=bodies(), facts=inputs)
def test_leapfrog_counts_every_derivation_once(body, facts):
    """A session's counts of derivations are those found by brute force."""
    Maintained(build(LEAPFROG + INPUTS + body)).start(facts).check()


def _leaping(program: RandomProgram) -> str:
    return LEAPFROG + program.text


@settings(max_examples=examples(25))
@given(program=programs() | dense_programs())
def test_whole_language_with_leapfrog(program: RandomProgram):
    """Programs of the whole language, recursive ones too, have the reference engine's answers."""
    expected = run(program.text, inputs=program.inputs)

    assert run(_leaping(program), engine="local", inputs=program.inputs) == expected


@pytest.mark.parametrize("strategy", each_strategy())
@settings(max_examples=examples(10))
@given(data=st.data())
def test_strategies_with_leapfrog(strategy: Strategy, data: st.DataObject):
    """Every strategy follows changes through leapfrog joins, level by level and count by count."""
    program = data.draw(tangled_programs())
    drawn = data.draw(tangled_epochs(program))

    changes = [(epoch.inserts, epoch.deletes) for epoch in drawn]
    follow(_leaping(program), program.inputs, changes, strategy)


def test_triangles_in_a_growing_closure():
    """Inside recursion the delta takes part as a small trie, and old and new facts are told apart."""
    text = """
    .decl e(x: number, y: number)
    .input e
    .decl p(x: number, y: number)
    p(x, y) :- e(x, y).
    p(x, z) :- p(x, y), p(y, z), p(z, x).
    p(x, z) :- p(x, y), e(y, w), p(w, z), !e(x, z).
    """
    edges = {"e": (*((i, (i * i + 1) % 23) for i in range(23)), (3, 4), (4, 3), (3, 3))}

    found = run(LEAPFROG + text, engine="local", inputs=edges)

    assert found == run(text, inputs=edges)
    Maintained(build(LEAPFROG + text)).start(edges).check()


@example(first=1, second=2**31 - 1)
@given(first=st.integers(-(2**63), 2**63 - 1), second=st.integers(-(2**63), 2**63 - 1))
def test_any_number_is_found(first, second):
    """Codes of either width and any sign are sorted and found."""
    text = INPUTS + ".decl r(x: number)\nr(x) :- a(x, y), b(x, y, z), c(z), z <= y."
    facts = {"a": [(first, second)], "b": [(first, second, first), (first, second, second)], "c": [(second,)]}

    assert run(LEAPFROG + text, engine="local", inputs=facts)["r"] == frozenset({(first,)})


def test_plan_asks_for_leapfrog():
    """`.plan leapfrog` behind a rule is parsed, printed, and obeyed by this rule alone."""
    text = INPUTS + (
        ".decl r(x: number)\nr(x) :- a(x, y), b(y, x, z). .plan leapfrog\nr(y) :- a(x, y), b(y, x, z).\n"
    )

    first, second = plan_stratum(build(text).strata[-1], build(text), KnownSizes()).once

    assert [type(operator) for operator in first.operators] == [Start, Leapfrog]
    assert first.reason == "leapfrog: the rule asks for it"
    assert not any(isinstance(operator, Leapfrog) for operator in second.operators)
    assert ".plan leapfrog" in print_tree(parse(Source("a.dl", text)))


def test_variables_that_nobody_asks_for_come_last():
    """Without counting, the search for them ends at the first witness."""
    text = LEAPFROG + INPUTS + ".decl r(x: number, y: number)\nr(x, y) :- a(x, y), b(x, z, w), a(y, w)."

    (plan,) = plan_stratum(build(text).strata[-1], build(text), KnownSizes()).once

    leapfrog = plan.operators[-1]
    assert isinstance(leapfrog, Leapfrog)
    assert set(leapfrog.order[: leapfrog.witness]) == {"x", "y"}
    assert set(leapfrog.order[leapfrog.witness :]) == {"z", "w"}


@pytest.mark.parametrize(
    ("keys", "head", "reason"),
    [
        (2, "r(x, y, z)", "by choice: the body is cyclic"),
        (1_000, "r(x, y, z)", "by choice: the body is cyclic"),
        (1_000, "r(x, x, x)", "leapfrog: the body is cyclic"),
    ],
)
def test_all_triangles_are_found_by_choice_and_one_of_each_vertex_by_leapfrog(keys, head, reason):
    """A binding that may choose never does more than a leapfrog join, but does not stop at the first fact."""
    text = INPUTS + f".decl r(x: number, y: number, z: number)\n{head} :- a(x, y), a(y, z), a(z, x)."
    known = KnownSizes({"a": 100_000}, {("a", (0,)): keys, ("a", (1,)): keys})

    (plan,) = plan_stratum(build(text).strata[-1], build(text), known).once

    assert plan.reason.startswith(reason)


@pytest.mark.parametrize(("keys", "reason"), [(2, "leapfrog: "), (90_000, "in pairs: ")])
def test_bodies_without_a_choice_are_joined_at_once_where_keys_are_few(keys, reason):
    """Bounds are looked up in ordered indexes, without a choice: skew is then left to leapfrog joins."""
    text = INPUTS + ".decl r(x: number, z: number)\nr(x, z) :- a(x, y), a(y, z), a(x, z), x < y, y < z."
    known = KnownSizes({"a": 10_000_000}, {("a", (0,)): keys, ("a", (1,)): keys})

    (plan,) = plan_stratum(build(text).strata[-1], build(text), known).once

    assert plan.reason.startswith(reason)


@pytest.mark.parametrize(
    ("edges", "cyclic"),
    [
        (["xy", "yz"], False),
        (["xy", "yz", "zx"], True),
        (["xyz", "xy", "yz", "zx"], False),
        (["xy", "yz", "zw", "wx"], True),
        (["xy", "zw"], False),
        ([], False),
    ],
)
def test_cyclic_bodies(edges, cyclic):
    """A body is acyclic if it can be taken apart edge by edge."""
    assert is_cyclic([frozenset(edge) for edge in edges]) is cyclic


@pytest.mark.parametrize(
    ("edges", "exponent"),
    [
        (["xy"], 1),
        (["xy", "yz"], 2),
        (["xy", "yz", "zx"], 1.5),
        (["xy", "yz", "zw", "wx"], 2),
        (["xyz", "xy"], 1),
    ],
)
def test_most_bindings(edges, exponent):
    """The bound is the size to the power of the least weights that cover all variables."""
    found = most_bindings([frozenset(edge) for edge in edges], [10_000.0] * len(edges))

    assert found == pytest.approx(10_000.0**exponent)


@settings(max_examples=examples(25))
@given(body=bodies(), facts=inputs)
def test_scanning_the_delta_first_finds_the_same(body, facts):
    """Chains that begin with a scan, so that its rows can be divided, have the same answers."""
    program = build(LEAPFROG + INPUTS + body)
    stratum = next(s for s in program.strata if s.relations == ("r",))
    rule = flatten_rule(stratum.rules[0], program)
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    views = (View.DELTA, *(View.FULL for _ in atoms[1:]))
    outputs = tuple(term.name if isinstance(term, Variable) else term for term in rule.head.terms)

    chain = best_chain(Body(rule.body, views, outputs, program, KnownSizes(), head="r", scans_delta=True))

    assert isinstance(chain.operators[0], ScanView)
    assert _answers(program, chain, facts) == run(INPUTS + body, inputs=facts)["r"]


def _answers(program: Program, chain: OperatorChain, facts: Any) -> frozenset[tuple[int, ...]]:
    """Return what a chain derives from facts that are all in the delta."""
    codec = Codec(program.types)
    state = LocalState(program, dtype=np.int64)
    for name, of in facts.items():
        if of:
            state.insert(name, [np.array(column, np.int64) for column in zip(*of, strict=True)])
        state.visible[name].delta = 0
    end = SinkStep()
    found: set[tuple[int, ...]] = set()
    end.sink = lambda batch: found.update(map(tuple, batch.tolist()))
    made = make_chain(chain.operators, state, Expressions(program, codec, {}), end)
    made.run(*made.rows())
    return frozenset(found)
