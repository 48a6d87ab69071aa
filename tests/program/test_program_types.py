"""Types of columns, variables, constants and functors."""

import pytest

from support.building import build, core, diagnostics, mistakes
from tidelog.program.functor_types import FUNCTORS, Fixed, Overloaded
from tidelog.program.type_environment import make_environment
from tidelog.values import Kind
from tidelog.values.functors import SIGNATURES

NAMES = """
.type Person <: symbol
.type Pet <: symbol
.type Being = Person | Pet
.type Owner = Person
.decl person(x: Person)
.decl pet(x: Pet)
.decl being(x: Being)
.decl owner(x: Owner)
.decl text(x: symbol)
person("ann").
pet("rex").
"""


def test_a_subtype_can_be_written_to_a_wider_column() -> None:
    """A subtype fits its union and its primitive type."""
    program = build(NAMES + "being(x) :- person(x). text(x) :- being(x).")

    assert program.types["Being"].members == ("Person", "Pet")
    assert program.kind_of("Being") is Kind.SYMBOL


def test_a_wide_type_cannot_be_written_to_a_narrow_column() -> None:
    """A union, a primitive type and a sibling do not fit a subtype's column."""
    rules = "person(x) :- being(x). person(y) :- text(y). person(z) :- pet(z)."

    assert mistakes(NAMES + rules) == [("type-clash", "x"), ("type-clash", "y"), ("type-clash", "z")]


def test_a_variable_has_the_meet_of_the_columns_it_is_read_from() -> None:
    """A variable read from a union and one of its members is of the member's type."""
    assert (
        core(NAMES + "person(x) :- being(x), person(x).", "person")[1] == "person(x) :- being(x), person(x)."
    )


def test_columns_without_common_subtype_clash() -> None:
    """A variable cannot be read as two types that exclude each other."""
    assert mistakes(NAMES + "text(x) :- person(x), pet(x).") == [("type-clash", "x")]


def test_an_alias_is_the_type_it_stands_for() -> None:
    """`.type Owner = Person` makes two names of one type."""
    program = build(NAMES + "owner(x) :- person(x). person(x) :- owner(x).")

    assert program.relations["owner"].columns[0].type == "Person"


def test_constants_and_results_fit_every_type_of_their_kind() -> None:
    """A constant, or what a functor gives, may be written to a subtype's column."""
    rules = 'person(cat("a", x)) :- person(x). pet(y) :- y = cat("b", "c").'

    assert core(NAMES + rules, "person")[1] == 'person(cat("a", x)) :- person(x).'
    assert core(NAMES + rules, "pet")[1] == 'pet(y) :- y = cat("b", "c").'


def test_a_cast_changes_the_type() -> None:
    """`as` makes a wide value fit a narrow column; the value stays."""
    assert core(NAMES + "person(as(x, Person)) :- text(x).", "person")[1] == "person(x) :- text(x)."


@pytest.mark.parametrize(
    ("column", "term", "printed"),
    [
        ("number", "1", "1"),
        ("unsigned", "1", "1"),
        ("float", "1", "1.0"),
        ("number", "-9223372036854775808", "-9223372036854775808"),
        ("float", "-1", "-1.0"),
        ("float", "1 + 2", "(1.0 + 2.0)"),
        ("float", "max(1, 2)", "max(1.0, 2.0)"),
        ("symbol", "to_string(1)", "to_string(1)"),
        ("number", "to_number(2.5)", "ftoi(2.5)"),
        ("number", "to_number(1)", "1"),
        ("unsigned", "as(1, unsigned)", "1"),
        ("number", 'ord("a")', 'ord("a")'),
    ],
)
def test_literals_follow_their_place(column: str, term: str, printed: str) -> None:
    """A plain number is an unsigned or a float where its place asks for it."""
    assert core(f".decl a(x: {column}) a({term}).", "a") == [f"a({printed})."]


def test_operands_choose_the_overload() -> None:
    """A functor takes the kind of the operand that has one."""
    text = ".decl a(x: float) .decl b(x: float) a(1). b(1 + x) :- a(x), 2 < x, y = x * 3, y > 0."

    assert core(text, "b") == ["b((1.0 + x)) :- a(x), 2.0 < x, y = (x * 3.0), y > 0.0."]


@pytest.mark.parametrize(
    ("rule", "underlined"),
    [
        ("a(x + y) :- a(x), f(y).", "y"),
        ("a(1.5).", "1.5"),
        ('a("x").', '"x"'),
        ("a(strlen(x)) :- a(x).", "x"),
        ("a(x) :- a(x), s(y), x = y.", "x"),
        ("a(x) :- a(x), s(y), x < y.", "y"),
        ("a(x) :- s(t), x = sum t : { s(t) }.", "t"),
        ("a(x) :- a(x), r(p), r(q), p < q.", "p < q"),
        ("a(nil).", "nil"),
        ("a([1]).", "[1]"),
        ("f(x % 2.5) :- f(x).", "x % 2.5"),
    ],
)
def test_kinds_clash(rule: str, underlined: str) -> None:
    """A term of the wrong kind is underlined."""
    declared = ".type R = [x: number] .decl a(x: number) .decl f(x: float) .decl s(x: symbol) .decl r(x: R)"

    assert ("type-clash", underlined) in mistakes(declared + rule)


def test_records_take_their_type_from_their_place() -> None:
    """A record and the variables in it get the types of the record's members."""
    text = """
    .type List = [head: symbol, tail: List]
    .decl list(l: List)
    .decl head(h: symbol)
    list(["a", ["b", nil]]).
    head(h) :- list(l), l = [h, _].
    list(t) :- list([_, t]).
    """

    assert core(text, "head") == ["head(h) :- list(l), l = [h, _]."]
    assert build(text).types["List"].fields[1].type == "List"


def test_equal_records_are_compared_by_part() -> None:
    """`[a, b] = [c, d]` binds in both directions, member by member."""
    declared = ".decl a(x: number, y: number) .decl b(x: number, y: number) a(1, 2)."
    text = declared + " b(u, v) :- a(x, y), [x, v] = [u, y]."

    assert core(text, "b") == ["b(u, v) :- a(x, y), x = u, v = y."]


def test_branches_know_their_type() -> None:
    """A branch has the algebraic type that declares it."""
    text = (
        ".type T = Leaf {} | Node {l: T, r: T} .decl t(x: T) t($Leaf). t($Node(x, x)) :- t(x), x = $Leaf()."
    )

    assert core(text, "t") == ["t($Leaf).", "t($Node(x, x)) :- t(x), x = $Leaf."]


def test_one_wrong_declaration_is_reported_once() -> None:
    """What depends on a wrong type is not reported again."""
    text = ".type A <: Nothing .decl a(x: A) .decl b(x: number) b(x) :- a(x), x < 3, a(y), y = x."

    assert mistakes(text) == [("undeclared-type", ".type A <: Nothing")]


def test_meets_are_the_widest_common_subtypes() -> None:
    """Two unions meet in the union or member they share."""
    program = build(
        ".type A <: number .type B <: number .type C <: number "
        ".type AB = A | B .type BC = B | C .type N = A | B | C"
    )
    types = make_environment(program.types, {})

    assert types.meet("AB", "BC") == "B"
    assert types.meet("A", "C") is None
    assert types.meet("N", "AB") == "AB"
    assert types.meet("N", "number") == "N"
    assert types.is_subtype("AB", "N")
    assert not types.is_subtype("number", "N")


def test_functors_have_the_signatures_of_their_values() -> None:
    """What the checker lets pass is what the functors can compute."""
    assert set(FUNCTORS) - {"range"} == set(SIGNATURES)
    for name, signatures in SIGNATURES.items():
        functor = FUNCTORS[name]
        kinds = {signature.operands[0] for signature in signatures}
        if isinstance(functor, Overloaded):
            # The negative of an unsigned wraps, although no signature names it; symbols are joined by `cat`.
            others = {"neg": {Kind.UNSIGNED}, "+": {Kind.SYMBOL}}
            assert kinds == set(functor.kinds) - others.get(name, set())
        elif isinstance(functor, Fixed):
            assert [signature.operands for signature in signatures] == [functor.operands]
        else:
            assert kinds == set(functor.kinds)
            assert {signature.result for signature in signatures} == {functor.result}


@pytest.mark.parametrize("term", ['x + "b"', '"b" + x', 'x + ("b" + x)', 'cat(x, "b") + x'])
def test_plus_joins_symbols(term: str) -> None:
    """Between symbols `+` is `cat`."""
    rules = core(f'.decl s(x: symbol)\n.decl t(x: symbol)\ns("a").\nt({term}) :- s(x).', "t")

    assert "cat(" in rules[0]
    assert "+" not in rules[0]


@pytest.mark.parametrize("term", ["x + n", "n + x", "x + 1", "1 + x", 'n + "b"'])
def test_plus_does_not_add_symbols_and_numbers(term: str) -> None:
    """What is meant is unclear, and the hint has `cat`."""
    found = diagnostics(
        f'.decl s(x: symbol, n: number)\n.decl t(x: symbol)\ns("a", 1).\nt({term}) :- s(x, n), s(x, n).'
    )

    assert [(each.code, each.span and each.span.text) for each in found] == [("type-clash", term)]
    assert "`cat(text, to_string(number))`" in str(found[0].hint)


def test_members_of_a_written_record_may_be_of_a_wider_type() -> None:
    """As in Soufflé a number stands in a member of a subtype of number, but no value of another subtype."""
    base = """
.type A <: number
.type B <: number
.type P = [a: A]
.decl n(x: number)
.decl b(x: B)
.decl p(p: P)
n(1). b(2).
"""

    assert core(base + "p([x]) :- n(x).", "p") == ["p([x]) :- n(x)."]
    assert mistakes(base + "p([x]) :- b(x).") == [("type-clash", "x")]
