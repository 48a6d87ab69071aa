"""Equalities solved for the one variable in them that has no value yet.

    fib(n + 1, x + y) :- fib(n, x), fib(n - 1, y), n < 50.

Where the second atom reads the delta, a new fact has a value for `n - 1`. Solved for `n`, this is the key by
which the first atom is looked up; otherwise each new fact would be paired with all facts.
"""

from collections.abc import Set as AbstractSet
from dataclasses import replace

from tidelog.program.nodes import Application, Term, Variable
from tidelog.program.walk_nodes import variables_of
from tidelog.values import Kind

# What each gives back its operand, applied once more.
_OWN_INVERSES = frozenset({"neg", "bnot"})
_INTEGERS = frozenset({Kind.NUMBER, Kind.UNSIGNED})


def solve(term: Term, value: Term, bound: AbstractSet[str]) -> tuple[str, Term] | None:
    """Return a variable and the term that it equals where `term` equals `value`, None if that is not sure.

    Integers wrap, so each step back has exactly one result:

        solve(n - 2, m, {"m"})  # "n", m + 2
    """
    match term:
        case Variable() if term.name not in bound:
            return term.name, value
        case Application(functor=functor, terms=(inner,)) if functor in _OWN_INVERSES and _is_integer(term):
            return solve(inner, replace(term, terms=(value,)), bound)
        case Application(functor=functor, terms=(left, right)) if _is_integer(term):
            if variables_of(left) <= bound:
                back = {"+": (value, "-", left), "-": (left, "-", value), "bxor": (value, "bxor", left)}
                unsolved = right
            elif variables_of(right) <= bound:
                back = {"+": (value, "-", right), "-": (value, "+", right), "bxor": (value, "bxor", right)}
                unsolved = left
            else:
                return None
            if functor not in back:
                return None
            one, inverse, other = back[functor]
            return solve(unsolved, replace(term, functor=inverse, terms=(one, other)), bound)
        case _:
            return None


def _is_integer(term: Application) -> bool:
    return term.kind in _INTEGERS
