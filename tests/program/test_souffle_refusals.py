"""Programs that Soufflé refuses are refused here, each with a diagnostic, a place and a hint."""

import pytest

from support.programs import build
from tidelog.errors import Severity, TidelogError

N = ".decl n(x: number) n(1).\n"
REFUSED = {
    # Names that are declared twice.
    "two relations of one name": (".decl a(x: number)\n.decl a(y: symbol)", "redefined-relation"),
    "two types of one name": (".type T <: number\n.type T <: symbol", "redefined-type"),
    "a type called as a primitive one": (".type number <: symbol", "redefined-type"),
    "two functors of one name": (".functor f(x: number): number\n" * 2, "redefined-functor"),
    "two components of one name": (".comp C {}\n.comp C {}", "redefined-component"),
    "two instances of one name": (".comp C {}\n.init c = C\n.init c = C", "redefined-instance"),
    "two columns of one name": (".decl a(x: number, x: number)", "redefined-column"),
    "two members of one name": (".type R = [a: number, a: number]", "redefined-field"),
    "two branches of one name": (".type T = A {}\n.type U = A {}", "redefined-branch"),
    # Names that are not declared.
    "an undeclared relation": (".decl a(x: number)\na(x) :- b(x).", "undeclared-relation"),
    "an undeclared type": (".decl a(x: Foo)", "undeclared-type"),
    "an undeclared functor": (".decl a(x: number) a(@f(1)).", "undeclared-functor"),
    "an undeclared component": (".init c = C", "undeclared-component"),
    "an undeclared branch": (".type T = A {}\n.decl a(t: T) a($B).", "undeclared-branch"),
    # Types.
    "a union of two kinds": (".type U = number | unsigned", "mixed-union"),
    "a type that is its own": (".type A = B\n.type B = A", "cyclic-type"),
    "a text for a number": ('.decl a(x: number) a("x").', "type-clash"),
    "a negative number for an unsigned": (".decl a(x: unsigned) a(-1).", "number-too-large"),
    "a subtype for another": (
        ".type A <: number\n.type B <: number\n.decl a(x: A) a(1).\n.decl b(x: B) b(x) :- a(x).",
        "type-clash",
    ),
    "too many terms": (".decl a(x: number) a(1, 2).", "wrong-arity"),
    "too many operands": (
        ".functor f(x: number): number\n.decl a(x: number) a(@f(1, 2)).",
        "wrong-operand-count",
    ),
    # Rules.
    "a head variable that nothing binds": (f"{N}.decl a(x: number)\na(y) :- n(_).", "unbound-variable"),
    "a negated variable that nothing binds": (
        f"{N}.decl a(x: number)\na(x) :- n(x), !n(y).",
        "unbound-variable",
    ),
    "a fact with a variable": (".decl a(x: number) a(x).", "unbound-variable"),
    "a wildcard in a head": (f"{N}.decl a(x: number)\na(_) :- n(_).", "misplaced-wildcard"),
    "a cycle through negation": (f"{N}.decl a(x: number)\na(x) :- n(x), !a(x).", "unstratifiable"),
    "a cycle through an aggregate": (
        ".decl a(x: number) a(1).\na(x) :- x = sum y : { a(y) }.",
        "unstratifiable",
    ),
    "aggregates that need each other": (
        f"{N}.decl a(x: number)\na(x) :- x = sum z : {{ n(z), z < w }}, w = sum v : {{ n(v), v < x }}.",
        "cyclic-aggregate",
    ),
    "a witness of a sum": (
        ".decl c, a(x: number, y: number) c(1, 2).\na(x, y) :- x = sum z : { c(y, z) }.",
        "unbound-variable",
    ),
    "a counter in a recursion": (".decl a(x: number) a(1).\na(autoinc()) :- a(_).", "recursive-autoinc"),
    "a division by zero": (".decl a(x: number) a(1 / 0).", "division-by-zero"),
    "a remainder of zero": (".decl a(x: number) a(1 % 0).", "division-by-zero"),
    "a subsumption of another relation": (
        f"{N}.decl a(x: number) a(1).\na(x) <= n(y) :- x < y.",
        "bad-subsumption",
    ),
    "an order with an atom twice": (
        f"{N}.decl a(x: number)\na(x) :- n(x), n(x).\n.plan 0: (1, 1)",
        "bad-plan",
    ),
    # Relations and their qualifiers.
    "an equivalence of three columns": (".decl a(x: number, y: number, z: number) eqrel", "bad-eqrel"),
    "a key that is not a column": (".decl a(x: number) choice-domain y", "unknown-choice-column"),
    "an inlined relation that depends on itself": (
        ".decl a(x: number) inline\na(1). a(x + 1) :- a(x), x < 3.",
        "recursive-inline",
    ),
    "two data structures": (".decl a(x: number) btree brie", "syntax"),
    "a qualifier twice": (".decl a(x: number) overridable overridable", "syntax"),
    # Directives.
    "the output of an inlined relation": (".decl a(x: number) inline\na(1).\n.output a", "inlined-directive"),
    "the input of an inlined relation": (".decl a(x: number) inline\n.input a", "inlined-directive"),
    "a directive of no relation": (".output a", "undeclared-relation"),
    "a limit without a number": (f"{N}.limitsize n", "bad-limitsize"),
    "a negative limit": (f"{N}.limitsize n(n=-1)", "bad-limitsize"),
    "two limits": (f"{N}.limitsize n(n=1)\n.limitsize n(n=2)", "bad-limitsize"),
    "a directive that does not exist": (".foo a", "unknown-directive"),
    # Components.
    "an override of what is not overridable": (
        ".comp B { .decl r(x: number) }\n.comp S : B { .override r }\n.init s = S",
        "bad-override",
    ),
    "an override of what is not inherited": (
        ".comp B { .decl r(x: number) overridable }\n.comp S : B { .override q }\n.init s = S",
        "bad-override",
    ),
    "an override outside a component": (f"{N}.override n", "syntax"),
    "a component that inherits from itself": (
        ".comp A : B {}\n.comp B : A {}\n.init a = A",
        "cyclic-component",
    ),
    "too few parameters": (".comp C<T> { .decl a(x: T) }\n.init c = C", "wrong-parameter-count"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_souffle_refuses_is_refused(what: str) -> None:
    """The one error has a code of its own, says where, and says what to try."""
    text, code = REFUSED[what]

    with pytest.raises(TidelogError) as caught:
        build(text)

    errors = [each for each in caught.value.diagnostics if each.severity is Severity.ERROR]
    assert {each.code for each in errors} == {code}
    assert all(each.span is not None and each.hint for each in errors)
