"""Functors bound to Python functions."""

import pytest

import tidelog
from tidelog import TidelogError

PROGRAM = """
.functor twice(x: number): number
.decl a(x: number)
.decl b(x: number)
a(1). a(2).
b(@twice(x)) :- a(x).
"""


def test_functions_are_passed_by_name() -> None:
    """A `.functor` calls the Python function of its name."""
    db = tidelog.open(PROGRAM, functions={"twice": lambda x: 2 * x}, engine="reference")

    assert list(db["b"]) == [(2,), (4,)]


def test_the_decorator_registers_a_function() -> None:
    """A decorated function is found without being passed, also under another name."""

    @tidelog.functor(name="thrice")
    def times_three(x: int) -> int:
        return 3 * x

    db = tidelog.open(PROGRAM.replace("twice", "thrice"), engine="reference")

    assert list(db["b"]) == [(3,), (6,)]
    assert times_three(2) == 6


def test_a_functor_without_a_function_is_a_diagnostic() -> None:
    """The use is underlined and the closest known function suggested."""
    with pytest.raises(TidelogError) as error:
        tidelog.open(PROGRAM, functions={"twic": abs}, engine="reference")

    assert error.value.diagnostics[0].code == "missing-function"
    assert "@twice(x)" in str(error.value)
    assert "`twic`" in str(error.value)


def test_a_function_of_the_wrong_arity_is_a_diagnostic() -> None:
    """It is found before anything is evaluated."""
    with pytest.raises(TidelogError) as error:
        tidelog.open(PROGRAM, functions={"twice": lambda x, y: x + y}, engine="reference")

    assert error.value.diagnostics[0].code == "wrong-function-arity"


def test_a_declared_functor_that_is_not_used_needs_no_function() -> None:
    """Only what is called must be there."""
    db = tidelog.open(".functor never(x: number): number\n.decl a(x: number)\na(1).\n", engine="reference")

    assert list(db["a"]) == [(1,)]
