"""What the parser makes of each form of the language."""

import pytest

from tidelog.errors import TidelogError
from tidelog.source import Source
from tidelog.syntax import parse, parse_atom, print_node
from tidelog.syntax import tree as t


def items(text):
    """Return the items of a program."""
    return parse(Source("test.dl", text)).items


def mistakes(text):
    """Return the code of every diagnostic with the text it underlines."""
    with pytest.raises(TidelogError) as caught:
        parse(Source("test.dl", text))
    return [(found.code, found.span.text) for found in caught.value.diagnostics]


def term(text):
    """Return a term, every operator in brackets, to show how operands were joined."""

    def shown(node):
        if isinstance(node, t.Application) and len(node.terms) == 2 and not node.functor.isidentifier():
            return f"({shown(node.terms[0])} {node.functor} {shown(node.terms[1])})"
        if isinstance(node, t.Application):
            return f"{node.functor}({', '.join(map(shown, node.terms))})"
        return print_node(node)

    return shown(parse_atom(f"a({text})").terms[0])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1 + 2 * 3", "(1 + (2 * 3))"),
        ("1 - 2 - 3", "((1 - 2) - 3)"),
        ("2 ^ 3 ^ 4", "(2 ^ (3 ^ 4))"),
        ("-x ^ 2", "neg((x ^ 2))"),
        ("-x * y", "(neg(x) * y)"),
        ("2 ^ -x * y", "((2 ^ neg(x)) * y)"),
        ("- - x", "neg(neg(x))"),
        ("a lor b land c", "lor(a, land(b, c))"),
        ("a lor b lxor c", "lor(a, lxor(b, c))"),
        ("a bor b bxor c band d", "bor(a, bxor(b, band(c, d)))"),
        ("a band b bshl 1 + 2", "band(a, bshl(b, (1 + 2)))"),
        ("a bshr b bshru c", "bshru(bshr(a, b), c)"),
        ("bnot a + lnot b", "(bnot(a) + lnot(b))"),
        ("(1 + 2) * 3 % 4 / 5", "((((1 + 2) * 3) % 4) / 5)"),
        ("x-1", "(x - 1)"),
        ("[] + nil", "([] + nil)"),
    ],
)
def test_operators_bind_as_in_souffle(text, shown):
    """Powers bind tightest and to the right, then prefixes, then the binary levels, to the left."""
    assert term(text) == shown


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("12", t.NumberLiteral(12, span=None)),
        ("007", t.NumberLiteral(7, span=None)),
        ("0x1F", t.NumberLiteral(31, span=None)),
        ("0b101", t.NumberLiteral(5, span=None)),
        ("12u", t.UnsignedLiteral(12, span=None)),
        ("0xffu", t.UnsignedLiteral(255, span=None)),
        ("18446744073709551615u", t.UnsignedLiteral(2**64 - 1, span=None)),
        ("9223372036854775807", t.NumberLiteral(2**63 - 1, span=None)),
        ("-9223372036854775808", t.NumberLiteral(-(2**63), span=None)),
        ("127.0.0.1", t.NumberLiteral(0x7F000001, span=None)),
        ("1.50", t.FloatLiteral(1.5, span=None)),
        ("1e3", t.FloatLiteral(1000.0, span=None)),
        (r'"a\t\"b\"\\"', t.StringLiteral('a\t"b"\\', span=None)),
        ("nil", t.NilLiteral(span=None)),
        ("_", t.Wildcard(span=None)),
        ("?x", t.Variable("?x", span=None)),
        ("_x1", t.Variable("_x1", span=None)),
        ("autoinc()", t.Counter(span=None)),
        ("$", t.Counter(span=None)),
        ("$A.None", t.BranchTerm("A.None", (), span=None)),
    ],
)
def test_literals(text, literal):
    """Every literal has the value it shows."""
    assert parse_atom(f"a({text})").terms == (literal,)


@pytest.mark.parametrize(
    "text",
    [
        "9223372036854775808",
        "0xffffffffffffffff",
        "18446744073709551616u",
        "1e999",
        "9" * 5000,
        "-9223372036854775809",
    ],
)
def test_number_that_does_not_fit_is_reported(text):
    """A literal beyond 64 bits is the diagnostic `number-too-large`, at the literal."""
    assert mistakes(f"a({text}).") == [("number-too-large", text.removeprefix("-"))]


def test_aggregates_take_braces_or_one_atom():
    """The body of an aggregate may be a single atom; both forms give the same tree."""
    assert items("a(n) :- n = sum x : b(x).") == items("a(n) :- n = sum x : { b(x) }.")


def test_both_orders_of_a_user_aggregate_mean_the_same():
    """`@@f x : init, body` and `@@f init, x : body` give the same tree."""
    (rule,) = items("a(n) :- n = @@f x : 0, { b(x) }.")

    assert items("a(n) :- n = @@f 0, x : { b(x) }.") == (rule,)
    aggregate = rule.body.alternatives[0].elements[0].right
    assert (aggregate.functor, aggregate.init) == ("@f", t.NumberLiteral(0, span=None))


def test_min_and_max_are_functors_and_aggregates():
    """Two terms in brackets make a functor; a colon makes an aggregate, brackets or not."""
    (rule,) = items("a(x) :- x = min(1, 2), y = min (z) + 1 : { b(z) }, w = max min(p, q) : { c(p, q) }.")

    first, second, third = (element.right for element in rule.body.alternatives[0].elements)
    assert (first.functor, len(first.terms)) == ("min", 2)
    assert (second.functor, print_node(second.target)) == ("min", "z + 1")
    assert (third.functor, print_node(third.target)) == ("max", "min(p, q)")


def test_brackets_hold_terms_or_disjunctions():
    """What follows the closing bracket tells a term from a disjunction."""
    (rule,) = items("a(x) :- (x + 1) * 2 < y, (b(x) ; c(x)), !(x = y), ((x) = 1).")

    kinds = [type(element).__name__ for element in rule.body.alternatives[0].elements]
    assert kinds == ["Constraint", "Disjunction", "Negation", "Disjunction"]


def test_a_name_that_ends_like_a_directive_stands_before_a_bracket():
    """`inst.input(x)` is an atom, but a name that would be a directive behind a space is refused."""
    (rule,) = items("inst.input(1).")

    assert rule.heads[0].relation == "inst.input"
    assert mistakes(".type e=k.plan{l:e}") == [("reserved-word", "plan")]
    assert mistakes(".type e=k.plan|b") == [("reserved-word", "plan")]


def test_qualified_names_have_no_spaces():
    """A dot joins names only where no space stands beside it, because a dot also ends a rule."""
    first, second, third = items("a(x) :- i.j.b(x), x = y.c(1). d(2).")

    assert first.body.alternatives[0].elements[0].relation == "i.j.b"
    assert second.heads[0].relation == "c"
    assert third.heads[0].relation == "d"


def test_several_names_share_a_declaration():
    """`.decl a, b(...)` declares both, with the same columns and qualifiers."""
    first, second = items(".decl a, b(x: number) inline eqrel")

    assert (first.name, second.name) == ("a", "b")
    assert first.columns == second.columns
    assert first.qualifiers == second.qualifiers == ("inline", "eqrel")


def test_old_qualifiers_become_directives():
    """`.decl a(...) input` is read as the declaration and `.input a`."""
    assert items(".decl a(x: number) output input") == items(".decl a(x: number)\n.output a\n.input a")


def test_old_types_become_subtypes():
    """The oldest forms of `.type` are subtypes of the type they name."""
    assert items(".number_type N .symbol_type S .type T") == items(
        ".type N <: number .type S <: symbol .type T <: symbol"
    )


def test_directive_parameters_are_texts():
    """Strings, words, numbers, true and false are all accepted and kept as text."""
    (directive,) = items('.input a(IO=file, name="x y", n=5, headers=true, fact-dir="in")')

    assert dict(directive.parameters) == {
        "IO": "file",
        "name": "x y",
        "n": "5",
        "headers": "true",
        "fact-dir": "in",
    }


def test_annotations_are_passed_over():
    """Annotations for other tools are accepted before items, fields, branches and elements."""
    text = """
@![tool]
@[deprecated = "no" (1, [2])] .decl a(@[unit("m")] x: number)
@[x]
.type T = @[y] A {} | B { @[z] f: number }
.functor f(@[u] x: number): number
@[w { .comp C { .decl c() c(). } }]
a(x), @[t] c(x) :- @[v] b(x), x = @f(1).
"""
    assert items(text) == items(
        ".decl a(x: number) .type T = A {} | B { f: number } .functor f(x: number): number"
        " a(x), c(x) :- b(x), x = @f(1)."
    )


def test_qualifier_words_can_name_relations():
    """Words that are special only behind a declaration may name relations."""
    rules = items(".decl output(x: number)\ninput(1).\noutput(x) :- input(x).")[1:]

    assert [rule.heads[0].relation for rule in rules] == ["input", "output"]


def test_spans_cover_the_text_of_a_node():
    """Every node knows the characters it was made from."""
    (rule,) = items("  path(x, y) :-\n    edge(x, y), x < 1 + y .  ")

    assert rule.span.text == "path(x, y) :-\n    edge(x, y), x < 1 + y ."
    assert [element.span.text for element in rule.body.alternatives[0].elements] == [
        "edge(x, y)",
        "x < 1 + y",
    ]
    assert str(rule.body.alternatives[0].elements[1].right.span) == "test.dl:2:21"


def test_query_atoms_take_single_quotes():
    """A query may use either kind of quotes, and may end with a dot."""
    expected = parse_atom('path("a b", x, 1)')

    assert parse_atom("path('a b', x, 1).") == expected
    assert parse_atom(" path('a b',x,1) ") == expected


@pytest.mark.parametrize(
    "text", ["", "path", "path(", "path(1) path(2)", "path(1), q(2)", "!path(1)", "path('a)", "1"]
)
def test_query_that_is_no_atom_is_reported(text):
    """Anything but one atom is a diagnostic."""
    with pytest.raises(TidelogError) as caught:
        parse_atom(text)

    assert all(found.span is not None for found in caught.value.diagnostics)


def test_reading_goes_on_after_a_mistake():
    """Each item has its own diagnostics; one mistake does not hide the next."""
    text = """
.decl a(x number)
a(1 2).
b(1).
.comp C {
    c(1 2).
    .decl d(x: )
}
.typ T = number
e(1) f(2).
.plan 0:(1)
g(1.
"""
    assert mistakes(text) == [
        ("syntax", "number"),
        ("syntax", "2"),
        ("syntax", "2"),
        ("syntax", ")"),
        ("unknown-directive", ".typ"),
        ("syntax", "f"),
        ("syntax", "."),
    ]


def test_missing_dot_is_reported_where_it_belongs():
    """The diagnostic points behind the last token, not at the next line."""
    with pytest.raises(TidelogError) as caught:
        parse(Source("test.dl", "a(1)\nb(2)."))

    (found,) = caught.value.diagnostics
    assert (found.span.line, found.span.column) == (1, 5)


@pytest.mark.parametrize(
    "text",
    [
        "a(" + "(" * 3000 + "1" + ")" * 3000 + ").",
        "a(" + "[" * 3000,
        "a(" + "-" * 3000 + "1).",
        "a(" + "1 + " * 3000 + "1).",
        "a(" + "1 ^ " * 3000 + "1).",
        "a(x) :- " + "!" * 3000 + "b(x).",
        "a(x) :- " + "(" * 3000 + "b(x)" + ")" * 3000 + ".",
        "a(x) :- x = " + "count : { " * 3000,
        "a(" + "min(" * 3000,
        ".comp A { " * 300,
    ],
)
def test_deep_nesting_is_a_diagnostic(text):
    """Text too deep for the passes that recurse over it is refused, not a RecursionError."""
    assert "nested-too-deeply" in {code for code, _ in mistakes(text)}


def test_chain_of_operators_may_be_long():
    """More than a hundred operators in a row are still read."""
    assert items("a(" + " + ".join(["1"] * 120) + ").")


def test_a_power_in_the_way_of_python_is_hinted_at() -> None:
    """`**` is no operator, and the hint has the one that is."""
    with pytest.raises(TidelogError) as caught:
        parse(Source("test.dl", "a(2 ** 3)."))

    assert caught.value.diagnostics[0].hint == "a power is written `^`"
