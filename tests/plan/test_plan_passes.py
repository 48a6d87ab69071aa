"""Passes over checked programs: what each makes of a rule, and that answers stay the same."""

import pytest
from hypothesis import assume, given, settings

from support.programs import build, outputs, run_program
from support.strategies import RandomProgram, dense_programs, programs
from tidelog.engine.protocol import Settings
from tidelog.plan.dead import remove_dead, wanted_relations
from tidelog.plan.passes import PASSES, run_passes
from tidelog.program.nodes import Program
from tidelog.program.printing import print_rule

LIMIT = Settings(jobs=1, iteration_limit=500)

DECLARATIONS = """
.type List = [head: number, tail: List]
.type Shape = Dot {} | Box {w: number}
.decl edge(x: number, y: number)
.input edge
.decl name(x: number, s: symbol)
.input name
.decl list(l: List)
.decl shape(s: Shape)
.decl one(x: number)
.decl two(x: number, y: number)
.decl real(x: float)
.functor f(x: number): number
.functor g(x: number): number stateful
"""


def rules_of(program: Program) -> list[str]:
    """Return the rules of a program as text."""
    return [print_rule(rule) for rule in program.rules]


def passed(rule: str) -> list[str]:
    """Return what the passes make of one rule."""
    return rules_of(run_passes(build(DECLARATIONS + rule)))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("one(x + 2 * 3) :- edge(x, 1 + 1).", "one((x + 6)) :- edge(x, 2)."),
        ("two(x, y) :- x = 5, edge(x, y).", "two(5, y) :- edge(5, y)."),
        ("two(x, y) :- edge(x, z), z = y, edge(y, _).", "two(x, y) :- edge(x, y), edge(y, _)."),
        ("two(x, z) :- x = 2, y = x + 1, edge(y, z).", "two(2, z) :- edge(3, z)."),
        ("one(x) :- x = 5.", "one(5)."),
        ("one(x) :- edge(x, _), 1 < 2.", "one(x) :- edge(x, _)."),
        ("one(x) :- edge(x, y), edge(x, y).", "one(x) :- edge(x, y)."),
        ("one(x) :- edge(x, y), x < y, x < y.", "one(x) :- edge(x, y), x < y."),
        ('name(x, s) :- s = cat("a", "b"), name(x, s).', 'name(x, "ab") :- name(x, "ab").'),
    ],
)
def test_rule_becomes_simpler(rule: str, expected: str):
    """Constants are computed and put where their variables stood."""
    assert passed(rule) == [expected]


@pytest.mark.parametrize(
    "rule",
    [
        "one(x) :- edge(x, _), 2 < 1.",
        "one(1 / (1 - 1)).",
        "one(x) :- edge(x, _), x != 1 / (1 - 1).",
        "one(x) :- edge(x, y), !edge(y, 1 % (1 - 1)).",
        'one(x) :- edge(x, _), x = to_number("x").',
        "one(x) :- edge(x, y), x = y, x != y.",
        "one(x) :- x = 1, x = 2.",
        'one(x) :- edge(x, _), match(cat("(", ""), "a").',
        "one(x) :- edge(x, _), l = nil, list(l), l = [x, _].",
        "one(x) :- edge(x, _), x = min y : { edge(y, 1 / (1 - 1)) }.",
    ],
)
def test_rule_that_never_holds_is_gone(rule: str):
    """A false constraint or a term without a value removes its rule."""
    assert passed(rule) == []


@pytest.mark.parametrize(
    "rule",
    [
        # Each wildcard stands for a column of its own: there is a derivation for each pair.
        "one(n) :- n = count : { edge(x, _), edge(x, _) }.",
        # A functor of the user may fail, and a stateful one gives another value each time.
        "one(@f(1)).",
        "one(x) :- edge(x, _), x = @g(1), x = @g(1).",
        # Codes of values are the engine's.
        'one(ord("a")).',
        # NaN is not `<=` itself.
        "real(x) :- real(x), x <= x.",
        # A variable that the rest of the rule binds is only compared inside an aggregate.
        "one(n) :- edge(x, _), n = count : { edge(y, _), x = 5 }.",
    ],
)
def test_rule_stays(rule: str):
    """What constants do not decide is left alone."""
    assert passed(rule) == rules_of(build(DECLARATIONS + rule))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("one(n) :- n = count : { edge(x, y), x = 5 }.", "one(n) :- n = count : { edge(5, y) }."),
        ("one(n) :- z = 5, n = count : { edge(z, y) }.", "one(n) :- n = count : { edge(5, y) }."),
        ("one(n) :- n = sum x : { edge(x, y), x = y }.", "one(n) :- n = sum y : { edge(y, y) }."),
        ("one(n) :- n = count : { edge(x, _), 2 < 1 }.", "one(0)."),
        ("one(n) :- n = sum x : { edge(x, 1 / (1 - 1)) }.", "one(0)."),
        ("one(n) :- n = count : { edge(x, _), 1 < 2 }.", "one(n) :- n = count : { edge(x, _) }."),
    ],
)
def test_aggregates_keep_their_scope(rule: str, expected: str):
    """Own variables are replaced inside an aggregate; a body that never holds is empty."""
    assert passed(rule) == [expected]


def test_rules_keep_id_and_span():
    """A rule after all passes is still the rule the user wrote."""
    program = build(DECLARATIONS + "one(1 / (1 - 1)).\none(x) :- x = 5.\ntwo(x, y) :- edge(x, y), 1 < 2.")

    result = run_passes(program)

    kept = {rule.id: rule.span for rule in program.rules}
    assert len(result.rules) == 2
    assert all(kept[rule.id] == rule.span for rule in result.rules)


def test_planned_rule_keeps_its_atoms():
    """Orders of `.plan` count atoms, so none of them is removed."""
    rule = "two(x, y) :- edge(x, y), edge(x, y), two(y, x).\n.plan 0:(3,1,2)"

    assert passed(rule) == ["two(x, y) :- edge(x, y), edge(x, y), two(y, x)."]


def test_dead_relations_and_rules_are_left_out():
    """What no wanted relation reads goes, except inputs, whose facts are still checked."""
    program = build(
        DECLARATIONS
        + """
        .output one
        one(x) :- two(x, _).
        two(x, y) :- edge(x, y).
        real(x) :- real(x).
        list([x, nil]) :- name(x, _).
        """
    )

    kept = remove_dead(program, wanted_relations(program))

    assert set(kept.relations) == {"edge", "name", "one", "two"}
    assert rules_of(kept) == ["two(x, y) :- edge(x, y).", "one(x) :- two(x, _)."]


def test_relations_inside_aggregates_are_needed():
    """An aggregate or a negation reads a relation like any atom."""
    program = build(
        DECLARATIONS
        + """
        .output one
        one(n) :- n = count : { two(_, y), !edge(y, y) }.
        two(x, y) :- edge(x, y).
        """
    )

    assert "two" in remove_dead(program, {"one"}).relations


def test_nothing_wanted_leaves_everything():
    """A program without outputs is run as a whole."""
    program = build(DECLARATIONS + "one(1).")

    assert remove_dead(program, wanted_relations(program)) is program


def check(program: RandomProgram, result: Program) -> None:
    """Require a program after a pass to give what the program as written gives."""
    written = build(program.text)
    expected = run_program(written, inputs=program.inputs, settings=LIMIT)

    found = run_program(result, inputs=program.inputs, settings=LIMIT)

    assert {name: found[name] for name in outputs(written)} == {
        name: expected[name] for name in outputs(written)
    }


@pytest.mark.parametrize("each", PASSES)
@settings(max_examples=25)
@given(program=programs())
def test_pass_keeps_answers(each, program: RandomProgram):
    """A pass changes no answer of the reference engine."""
    check(program, each(build(program.text)))


@settings(max_examples=40)
@given(program=dense_programs())
def test_passes_keep_answers(program: RandomProgram):
    """All passes together change no answer, in no relation."""
    check(program, run_passes(build(program.text)))


@settings(max_examples=25)
@given(program=programs())
def test_removing_dead_rules_keeps_answers(program: RandomProgram):
    """The wanted relation has the same facts when all that it does not need is gone."""
    written = build(program.text)
    assume(outputs(written))
    wanted = outputs(written)[-1]
    expected = run_program(written, inputs=program.inputs, settings=LIMIT)[wanted]

    found = run_program(remove_dead(written, {wanted}), inputs=program.inputs, settings=LIMIT)

    assert found[wanted] == expected


@settings(max_examples=15)
@given(program=programs())
def test_local_engine_runs_what_the_passes_make(program: RandomProgram):
    """The local engine plans and runs every program that comes out of the passes."""
    written = build(program.text)
    expected = run_program(written, inputs=program.inputs, settings=LIMIT)

    found = run_program(run_passes(written), engine="local", inputs=program.inputs, settings=LIMIT)

    assert found == expected
