"""Queries: atoms, whole bodies, and their mistakes."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog import Branch, Session, TidelogError

PROGRAM = """
.type List = [head: number, tail: List]
.decl edge(x: number, y: number)
edge(1, 2). edge(2, 3). edge(3, 3). edge(-1, 2).
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl name(x: number, s: symbol)
name(1, "one"). name(2, "it's"). name(3, "say \\"hi\\"").
.decl list(l: List)
list(nil). list([1, nil]). list([1, [2, nil]]).
.decl on()
on().
.decl off()
"""


@pytest.fixture(scope="module")
def db() -> Session:
    """Return a small graph with names."""
    return tidelog.open(PROGRAM, engine="reference")


def test_constants_select_and_variables_are_the_columns(db: Session) -> None:
    """The answer has one column per variable."""
    answer = db.query("path(1, x)")

    assert answer.columns == ("x",)
    assert answer.types == ("number",)
    assert list(answer) == [(2,), (3,)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("edge(x, x)", [(3,)]),
        ("edge(x, _)", [(-1,), (1,), (2,), (3,)]),
        ("edge(_, y)", [(2,), (3,)]),
        ("edge(_, _y)", [()]),
        ("edge(-1, y)", [(2,)]),
        ("edge(y, x).", [(-1, 2), (1, 2), (2, 3), (3, 3)]),
        ("?- edge(y, 3).", [(2,), (3,)]),
        ("?-edge(2, x), x > 0", [(3,)]),
        ("edge(1, 2)", [()]),
        ("edge(2, 1)", []),
        ("name(x, 'one')", [(1,)]),
        ('name(x, "one")', [(1,)]),
        (r"name(x, 'it\'s')", [(2,)]),
        ("name(x, 'say \"hi\"')", [(3,)]),
        ("name(x, 'never seen')", []),
        ("on()", [()]),
        ("off()", []),
    ],
)
def test_one_atom_is_looked_up(db: Session, query: str, expected: list[tuple[object, ...]]) -> None:
    """Variables, wildcards, constants and repeated variables mean what they mean in a rule."""
    assert list(db.query(query)) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("path(1, x), x > 2", [(3,)]),
        ("edge(x, y), !edge(y, x)", [(-1, 2), (1, 2), (2, 3)]),
        ("edge(x, y), name(y, s)", [(-1, 2, "it's"), (1, 2, "it's"), (2, 3, 'say "hi"'), (3, 3, 'say "hi"')]),
        ("edge(1, y), z = y * 10", [(2, 20)]),
        ("n = count : { edge(_, _) }", [(4,)]),
        ("list([x, [y, nil]])", [(1, 2)]),
        ("list([1, t])", [(None,), ((2, None),)]),
        ("edge(1, x) ; edge(2, x)", [(2,), (3,)]),
        ("on(), edge(1, x)", [(2,)]),
        ("on(), !off()", [()]),
        ("edge(1 + 1, x)", [(3,)]),
        ("edge(1, x), edge(2, y)", [(2, 3)]),
        ("edge(1, x), edge(x, y), !edge(2, 2)", [(2, 3)]),
        ("edge(1, x), n = count : { edge(2, _) }", [(2, 1)]),
        ("x = 1", [(1,)]),
        ("name(x, s), false", []),
        ("true", [()]),
    ],
)
def test_a_whole_body_is_evaluated_like_a_rule(
    db: Session, query: str, expected: list[tuple[object, ...]]
) -> None:
    """Joins, negation, constraints, arithmetic, aggregates and records all work in a query."""
    assert list(db.query(query)) == expected


def test_an_answer_is_true_when_the_query_holds(db: Session) -> None:
    """A query without variables is a yes or no."""
    assert db.query("edge(1, 2)")
    assert not db.query("edge(2, 1)")


def test_an_answer_is_a_set_of_facts(db: Session) -> None:
    """It has everything a relation has."""
    answer = db.query("edge(x, y)")

    assert (1, 2) in answer
    assert (2, 1) not in answer
    assert answer.to_arrow().num_rows == len(answer) == 4
    assert answer == db["edge"]


@pytest.mark.parametrize(
    ("query", "code", "place"),
    [
        ("pth(1, x)", "undeclared-relation", "query:1:1"),
        ("path(1)", "wrong-arity", "query:1:1"),
        ("path('a', x)", "type-clash", "query:1:6"),
        ("edge(x, y), z > y", "unbound-variable", "query:1:13"),
    ],
)
def test_mistakes_point_into_the_query(db: Session, query: str, code: str, place: str) -> None:
    """A query is checked like a rule, and the diagnostic shows it as it was typed."""
    with pytest.raises(TidelogError) as error:
        db.query(query)

    assert [diagnostic.code for diagnostic in error.value.diagnostics] == [code]
    assert str(error.value).startswith(place)
    assert query in str(error.value)


@pytest.mark.parametrize("query", ["", ".", "edge(1, x", "edge(x, y). edge(1, 2)", "edge(x, y) :- on()", "'"])
def test_what_is_no_query_is_a_diagnostic(db: Session, query: str) -> None:
    """Anything but one body is refused."""
    with pytest.raises(TidelogError):
        db.query(query)


@given(st.text(alphabet="edgpath(), _xy12'\"\\.:-!=<>{}[]#\n", max_size=30))
def test_only_diagnostics_come_out_of_any_query(text: str) -> None:
    """Whatever is typed, the session answers or explains."""
    db = tidelog.open(PROGRAM, engine="reference")

    with suppress(TidelogError):
        answer = db.query(text)
        assert len(list(answer)) == len(answer)


TYPED = """
.type Id <: symbol
.type Name <: symbol
.type Either = Id | Name
.type Same = Id
.type Pair = [left: Either, right: number]
.type Tree = Leaf {n: number} | Node {l: Tree, r: Tree}
.decl who(i: Id, e: Either, s: Same)
who("a", "b", "c").
.decl pair(p: Pair)
pair(["a", 1]). pair(["b", 2]).
.decl tree(t: Tree)
tree($Node($Leaf(1), $Leaf(2))). tree($Leaf(3)).
.comp Graph<T> {
    .type Edge = [x: T, y: T]
    .decl edge(e: Edge)
    edge([1, 2]).
}
.init g = Graph<number>
.decl same(x: number, y: number) eqrel
same(1, 2).
.decl query(x: number)
query(7).
"""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("who(i, e, s), i != e", [("a", "b", "c")]),
        ("pair([x, n]), n > 1", [("b", 2)]),
        ("tree($Node(l, _))", [(Branch("Leaf", (1,)),)]),
        ("tree($Leaf(n)), m = n + 1", [(3, 4)]),
        ("g.edge([x, y])", [(1, 2)]),
        ("same(x, y), x < y", [(1, 2)]),
        ("query(x), x = 7", [(7,)]),
    ],
)
def test_queries_know_every_type_of_the_program(query: str, expected: list[tuple[object, ...]]) -> None:
    """Subtypes, unions, aliases, records, branches and components keep their meaning in a query."""
    db = tidelog.open(TYPED, engine="reference")

    assert list(db.query(query)) == expected


# --- values from Python ------------------------------------------------------------------------


def deep(length: int) -> tuple[object, ...] | None:
    """Return a list of the program, as long as this, as nested tuples."""
    found: tuple[object, ...] | None = None
    for _ in range(length):
        found = (1, found)
    return found


@pytest.mark.parametrize(
    ("query", "values", "expected"),
    [
        ("edge($x, y)", {"x": 1}, [(2,)]),
        ("edge($x, y)", {"x": -1}, [(2,)]),
        ("name(x, $s)", {"s": "it's"}, [(2,)]),
        ("name(x, $s)", {"s": 'say "hi"'}, [(3,)]),
        ("name(x, $s), x < $most", {"s": "one", "most": 2}, [(1,)]),
        ("list($l)", {"l": (1, (2, None))}, [()]),
        ("list($l)", {"l": None}, [()]),
        ("x = count : { edge($from, _) }", {"from": 3}, [(1,)]),
        ("edge(x, 3), !edge($x, x)", {"x": 1}, [(3,)]),
    ],
)
def test_values_stand_where_their_names_do(
    db: Session, query: str, values: dict[str, object], expected: list[tuple[object, ...]]
) -> None:
    """`$name` is the value given under that name, in atoms, constraints and aggregates."""
    assert list(db.query(query, **values)) == expected


@given(st.text(), st.integers(-(2**63), 2**63 - 1))
def test_a_value_is_never_read_as_text(text: str, number: int) -> None:
    """Whatever a text holds, a query by value finds it."""
    with tidelog.open(
        ".decl a(s: symbol, n: number)", facts={"a": [(text, number)]}, engine="reference"
    ) as one:
        assert list(one.query("a($s, n)", s=text)) == [(number,)]
        assert list(one.query("a(s, $n), s = $s", s=text, n=number)) == [(text,)]


def test_a_value_hides_a_branch_of_its_name() -> None:
    """`$A` is a branch unless a value has the name; a branch can be the value."""
    text = ".type T = A {} | B { n: number }\n.decl t(x: T, n: number)\nt($A, 1). t($B(2), 2)."
    with tidelog.open(text, engine="reference") as one:
        assert list(one.query("t($A, n)")) == [(1,)]
        assert list(one.query("t($A, n)", A=Branch("B", (2,)))) == [(2,)]


@pytest.mark.parametrize(
    ("query", "values", "code"),
    [
        ("edge($x, y)", {}, "missing-value"),
        ("edge($x, y)", {"x": 1, "z": 2}, "no-effect"),
        ("edge($x, y)", {"x": "one"}, "type-clash"),
        ("edge($x, y)", {"x": True}, "bad-argument"),
        ("edge($x, y)", {"x": object()}, "bad-argument"),
        ("edge($x, y)", {"x": 2**70}, "number-too-large"),
        ("list($x)", {"x": deep(2000)}, "nested-too-deeply"),
    ],
)
def test_mistakes_in_values(db: Session, query: str, values: dict[str, object], code: str) -> None:
    """A value that is missing, not asked for or of another type is a diagnostic."""
    with pytest.raises(TidelogError) as caught:
        db.query(query, **values)

    assert [each.code for each in caught.value.diagnostics] == [code]
