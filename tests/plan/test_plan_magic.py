"""Relations restricted to what is asked for: fewer facts, the same answers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.programs import build, outputs, run_program
from support.strategies import RandomProgram, programs
from tidelog.engine.protocol import Settings
from tidelog.plan.dead import remove_dead
from tidelog.plan.magic import restrict_to_demand
from tidelog.plan.passes import keep_wanted, run_passes
from tidelog.program.nodes import Program
from tidelog.program.printing import print_rule

LIMIT = Settings(jobs=1, iteration_limit=500)

CLOSURE = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number) magic
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl out(y: number)
.output out
"""
EDGES = {"edge": [(1, 2), (2, 3), (3, 1), (4, 5), (5, 6)]}


def rules_of(program: Program) -> set[str]:
    """Return the rules of a program as text."""
    return {print_rule(rule) for rule in program.rules}


def test_only_demanded_facts_are_derived():
    """Paths from 1 are all that is derived when nobody asks for others."""
    program = keep_wanted(build(CLOSURE + "out(y) :- path(4, y)."))

    found = run_program(program, inputs=EDGES)

    assert found["out"] == {(5,), (6,)}
    assert found["path"] == {(4, 5), (4, 6)}


def test_rules_ask_for_the_columns_that_readers_bind():
    """The rules of a restricted relation read its demand first."""
    program = keep_wanted(build(CLOSURE + "out(y) :- path(1, y)."))

    assert rules_of(program) == {
        "path@demand(1).",
        "path(x, y) :- path@demand(x), edge(x, y).",
        "path(x, z) :- path@demand(x), path(x, y), edge(y, z).",
        "out(y) :- path(1, y).",
    }


def test_demand_is_passed_on_through_recursion():
    """A recursive reader asks for what it reads in turn."""
    text = CLOSURE.replace("path(x, z) :- path(x, y), edge(y, z).", "path(x, z) :- edge(x, y), path(y, z).")
    program = keep_wanted(build(text + "out(y) :- path(4, y)."))

    found = run_program(program, inputs=EDGES)

    assert found["path@demand"] == {(4,), (5,), (6,)}
    assert found["out"] == {(5,), (6,)}


@pytest.mark.parametrize(
    "reader",
    [
        "out(y) :- path(_, y).",
        "out(x) :- edge(x, _), !path(x, 1).",
        "out(n) :- n = count : { path(1, _) }.",
        "out(y) :- path(1, y). .output path",
        # Demanding the values that a functor makes might not end.
        "out(x) :- edge(x, _), path(x + 1, _).",
    ],
)
def test_relation_is_left_whole(reader: str):
    """What is shown, negated, aggregated or read without a bound column is derived as a whole."""
    program = keep_wanted(build(CLOSURE + reader))

    assert "path@demand" not in program.relations


def test_relations_below_a_negation_are_left_whole():
    """Nothing negated depends on a demand, so the program stays stratified."""
    program = build(
        """
        .pragma "magic-transform" "*"
        .decl base(x: number)
        .input base
        .decl p(x: number, y: number)
        p(x, y) :- base(x), base(y), x < y.
        .decl r(x: number)
        r(x) :- base(x), p(x, _).
        .decl t(x: number)
        t(x) :- base(x), !r(x).
        .decl out(x: number, y: number)
        .output out
        out(x, y) :- t(x), p(y, x).
        """
    )
    inputs = {"base": [(1,), (2,), (3,)]}

    found = run_program(keep_wanted(program), inputs=inputs)

    assert found["out"] == run_program(program, inputs=inputs)["out"]
    assert "p@demand" not in found


def test_timed_relations_are_left_whole():
    """Which fact a choice-domain keeps depends on when facts are found, so they are found as before."""
    program = keep_wanted(
        build(
            CLOSURE
            + """
            .decl pick(x: number, y: number) choice-domain x
            pick(x, y) :- path(x, y).
            out(y) :- pick(1, y).
            """
        )
    )

    assert "path@demand" not in program.relations


def test_program_without_magic_stays():
    """Without the qualifier nothing is restricted."""
    program = build(CLOSURE.replace(" magic", "") + "out(y) :- path(1, y).")

    assert restrict_to_demand(program, {"out"}) is program


def test_new_rules_have_ids_of_their_own():
    """A demand rule has the span of the rule that asks, and an id that no other rule has."""
    program = keep_wanted(build(CLOSURE + "out(y) :- path(1, y)."))

    ids = [rule.id for rule in program.rules]
    assert len(set(ids)) == len(ids)


# --- random programs in which demand is passed on ------------------------------------------------

VARIABLES = ("x", "y", "z", "w")
DERIVED = ("p", "q", "r")


@st.composite
def asking_programs(draw) -> RandomProgram:
    """Draw positive recursive rules over pairs of numbers, with a few negations, and a query."""
    lines = [".decl e(a: number, b: number)", ".input e"]
    lines += [f".decl {name}(a: number, b: number) magic" for name in DERIVED]
    lines += [".decl s(a: number)", "s(x) :- e(x, x).", ".decl out(a: number)", ".output out"]
    term = st.sampled_from((*VARIABLES * 3, "1", "2"))

    def atom(relations: tuple[str, ...]) -> str:
        return f"{draw(st.sampled_from(relations))}({draw(term)}, {draw(term)})"

    for name in (*DERIVED, "out"):
        for _ in range(draw(st.integers(1, 3))):
            body = [atom(("e", "e", *DERIVED)) for _ in range(draw(st.integers(1, 3)))]
            bound = [v for v in VARIABLES if any(v in part[1:] for part in body)] or ["3"]
            if draw(st.integers(0, 3)) == 0:
                body.append(f"!s({draw(st.sampled_from(bound))})")
            if draw(st.integers(0, 3)) == 0:
                body.append(f"{draw(st.sampled_from(bound))} < {draw(st.sampled_from((*bound, '2')))}")
            head = ", ".join(draw(st.sampled_from(bound)) for _ in range(1 if name == "out" else 2))
            lines.append(f"{name}({head}) :- {', '.join(draw(st.permutations(body)))}.")
    pairs = st.tuples(st.integers(0, 4), st.integers(0, 4))
    facts = tuple(draw(st.lists(pairs, min_size=2, max_size=8)))
    return RandomProgram("\n".join(lines), {"e": facts}, {"e": ("number", "number")})


def check(program: RandomProgram, engine: str) -> None:
    """Require each output, wanted alone, to have the same facts when all else is restricted."""
    written = build(f'{program.text}\n.pragma "magic-transform" "*"')
    expected = run_program(written, inputs=program.inputs, settings=LIMIT)
    for wanted in outputs(written)[-2:]:
        needed = remove_dead(run_passes(written), {wanted})

        restricted = restrict_to_demand(needed, {wanted})

        found = run_program(restricted, engine=engine, inputs=program.inputs, settings=LIMIT)
        assert found[wanted] == expected[wanted]


@settings(max_examples=100)
@given(program=asking_programs())
def test_restricted_program_gives_the_same_answers(program: RandomProgram):
    """Programs that pass demand on through recursion give the same outputs."""
    check(program, "reference")


@settings(max_examples=30)
@given(program=programs())
def test_restricted_program_of_the_whole_language(program: RandomProgram):
    """So do programs with everything the language has."""
    check(program, "reference")


@settings(max_examples=20)
@given(program=asking_programs())
def test_local_engine_gives_the_same_answers(program: RandomProgram):
    """The local engine runs restricted programs."""
    check(program, "local")
