"""Mistakes are reported together, each where it is."""

import random
import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.building import build, diagnostics, mistakes, warnings
from tidelog.errors import TidelogError, render
from tidelog.program import build_program, print_program
from tidelog.program.build import CHECKS
from tidelog.program.type_environment import UNKNOWN
from tidelog.source import Source
from tidelog.syntax import parse

CASES = [
    path.read_text() for path in sorted((Path(__file__).parents[1] / "conformance" / "cases").glob("*.dl"))
]


def test_mistakes_of_all_stages_are_reported_at_once() -> None:
    """A mistake in one place hides no mistake elsewhere, and they come in the order of the text."""
    text = """
    .type A <: Nope
    .decl a(x: A)
    .decl n(x: number, y: number)
    .decl n(x: number)
    .output missing
    n(1).
    n(1, "a").
    n(x, y) :- n(x, _).
    n(x, y) :- m(x, y).
    n(x, y) :- n(x, y), !n(y, x).
    .init i = Nope
    """

    found = [each.code for each in diagnostics(text) if each.severity.value == "error"]

    assert found == [
        "undeclared-type",
        "redefined-relation",
        "undeclared-relation",
        "wrong-arity",
        "type-clash",
        "unbound-variable",
        "undeclared-relation",
        "unstratifiable",
        "undeclared-component",
    ]


def test_a_fold_begins_with_what_is_known_outside_it() -> None:
    """A variable that only the aggregate's body binds cannot be its first value."""
    text = (
        ".functor add(x: number, y: number): number .decl n(x: number) n(1). .decl t(x: number)"
        " t(s) :- s = @@add {}, x : {{ n(x) }}."
    )

    assert mistakes(text.format("x")) == [("unbound-variable", "x")]
    assert build(text.format("0")).functors.keys() == {"add"}


def test_a_close_name_is_suggested() -> None:
    """The hint for an unknown name is a known one that is spelt nearly the same."""
    found = diagnostics(".decl edge(x: number) .decl out(x: number) edge(1). out(x) :- edgee(x).")

    assert found[0].hint == "did you mean `edge`?"


def test_a_mistake_in_a_rule_with_alternatives_is_reported_once() -> None:
    """What several rules made of one repeat is told once."""
    text = ".decl a(x: number) .decl b(x: number) a(1). b(x), a(x) :- a(x), (c(x) ; x = 1 ; x = 2), d(x)."

    assert mistakes(text) == [("undeclared-relation", "c(x)"), ("undeclared-relation", "d(x)")]


def test_a_rendered_diagnostic_shows_the_line() -> None:
    """The text of a diagnostic has the place, the line, the underlining and the hint."""
    found = diagnostics(".decl e(x: number, y: number)\n.input e\ne(x, z) :- e(x, _).")

    assert render(found[0]) == (
        "test.dl:3:6: error[unbound-variable]: `z` is in the head but no positive atom binds it\n"
        "  3 | e(x, z) :- e(x, _).\n"
        "    |      ^\n"
        "  hint: add a positive atom over `z` to the body"
    )


def test_warnings_do_not_stop_anything() -> None:
    """A program with doubtful parts is built, and its warnings are returned."""
    text = ".decl e(x: number, y: number) .decl n(x: number) n(x) :- e(x, y), e(x, _y)."

    assert warnings(text) == [("no-source", ".decl e(x: number, y: number)"), ("single-variable", "y")]


def test_good_programs_have_no_warnings() -> None:
    """Inputs, facts, wildcards and repeated variables are nothing to warn of."""
    text = ".decl e(x: number, y: number) .input e .decl n(x: number) n(1). n(x) :- e(x, _), n(x)."

    assert warnings(text) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (".decl a(x: number) eqrel", "bad-eqrel"),
        (".decl a(x: number, y: symbol) eqrel", "bad-eqrel"),
        (
            ".decl a(x: number) a(1). .decl b(x: number) b(1). a(x) <= b(y) :- x < y.",
            "bad-subsumption",
        ),
        (".decl a(x: number) a(1). .decl b(x: number) b(x) :- a(x). .plan 0:(2)", "bad-plan"),
        (".decl a(x: number) a(1). .decl b(x: number) b(x) :- a(x). .plan 0:(1), 0:(1)", "bad-plan"),
        (".decl a(x: number) .limitsize a(n=many) a(1).", "bad-limitsize"),
        (".decl a(x: number, x: number)", "redefined-column"),
        (".decl a(x: number) choice-domain y", "unknown-choice-column"),
        (".decl a(x: number) a(1). a(x) :- a(x), x = @f(x).", "undeclared-functor"),
        (".functor f(x: number): number .decl a(x: number) a(@f(1, 2)).", "wrong-operand-count"),
        (".decl a(x: number) a(autoinc()) :- a(_).", "recursive-autoinc"),
    ],
)
def test_single_mistakes(text: str, code: str) -> None:
    """Each mistake has its own code."""
    assert [found for found, _ in mistakes(text)] == [code]


def test_an_order_of_a_delta_rule_that_is_not_there_is_a_warning() -> None:
    """Soufflé ignores it, so the program runs."""
    text = ".decl a(x: number) a(1). .decl b(x: number) b(x) :- a(x). .plan 0:(1), 1:(1)"

    assert [code for code, _ in warnings(text)] == ["plan-without-effect"]


@pytest.mark.parametrize("order", ["0:(1)", "0:(3, 1, 2)", "0:(1, 2, 3), 1:(2, 1, 3), 2:(3, 2, 1)"])
def test_plans_of_subsumptions(order: str) -> None:
    """An order has the atoms of the body, or before them both heads, which Soufflé counts too."""
    text = (
        f".decl a(x: number) a(1). a(2). .decl b(x: number) b(2). a(x) <= a(y) :- b(y), x < y. .plan {order}"
    )

    assert warnings(text) == []
    assert {code for code, _ in mistakes(text.replace("b(y), ", "b(y), b(x), "))} == {"bad-plan"}


def test_each_check_is_named_for_its_file() -> None:
    """The tuple of checks is the list of what is checked, one file each."""
    for check in CHECKS:
        assert check.__module__ == f"tidelog.program.{check.__name__}"
        assert check.__doc__


@pytest.mark.parametrize("text", CASES[:60])
def test_a_program_has_no_unknown_type(text: str) -> None:
    """Every term of a checked program has a type of the program."""
    program = build(text)

    assert UNKNOWN not in program.types
    assert f"type='{UNKNOWN}'" not in repr(program.strata)
    assert all(
        column.type in program.types for relation in program.relations.values() for column in relation.columns
    )


TOKENS = re.compile(r'//[^\n]*|"[^"\n]*"|\.[a-z]\w*|[$@]+\w+|\w+(?:\.\w+)*|choice-domain|:-|<=|!=|\S')


@settings(max_examples=150)
@given(case=st.sampled_from(CASES), seed=st.integers(0, 2**32))
def test_changed_programs_are_built_or_reported(case: str, seed: int) -> None:
    """Whatever is swapped, repeated, dropped or renamed: a program or diagnostics come out."""
    chance = random.Random(seed)  # noqa: S311 - only tests are made of it
    tokens = [token for token in TOKENS.findall(case) if not token.startswith("//")]
    for _ in range(chance.choice((1, 1, 2, 3))):
        place = chance.randrange(len(tokens))
        other = chance.choice(tokens)
        change = chance.randrange(3)
        tokens[place : place + (change > 0)] = [other] if change < 2 else []
        tokens = tokens or ["."]

    with suppress(TidelogError):
        program, _ = build_program(parse(Source("changed.dl", " ".join(tokens))))
        assert print_program(program)


@pytest.mark.parametrize(
    "directive",
    [
        '.input e(delimeter=",")',
        '.input e(output-dir="out")',
        ".output e(columns=0)",
        '.input e(IO=json, filename="e.json")',
        '.output e(IO=stdout, filename="e.csv")',
    ],
)
def test_a_parameter_without_effect_is_warned_of(directive: str) -> None:
    """A misspelt parameter would show only in the facts."""
    text = f".decl e(x: number)\ne(1).\n{directive}\n"

    assert warnings(text) == [("parameter-without-effect", directive)]


def test_standard_input_is_read_once() -> None:
    """A second relation gets nothing, which is a warning."""
    text = """.decl e, f(x: number)
.input e(IO=stdin)
.input f(IO=json)
.output e, f
"""

    assert warnings(text) == [("standard-input-twice", ".input f(IO=json)")]


@pytest.mark.parametrize("term", ["recursive_iteration_cnt()", "iteration()"])
def test_iterations_cannot_be_asked_for(term: str) -> None:
    """They say how a program is evaluated; the hint says what to write instead."""
    assert mistakes(f".decl a(x: number) a({term}).") == [("unsupported", term.removesuffix("()"))]
    assert mistakes(f".decl a(x: number) a(1). a(x) :- a(x), {term} < 2.") == [("unsupported", term)]


def test_parameters_with_an_effect_are_not_warned_of() -> None:
    """Every parameter that is read is known."""
    text = """
    .decl e(x: number)
    .input e(IO=file, filename="e.csv", delimiter=",", headers=true, rfc4180=true, columns="0", fact-dir="f")
    .output e(IO=jsonfile, filename="e.json", format=object, output-dir="o", compress=true, name="f")
    .output e(IO=sqlite, dbname="e.db")
    .output e(IO=stdoutprintsize)
    """

    assert warnings(text) == []
