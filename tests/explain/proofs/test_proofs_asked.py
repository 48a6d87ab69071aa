"""Questions asked wrongly: every mistake is a diagnostic that says what to ask instead."""

from collections.abc import Callable

import pytest

import tidelog
from tidelog import Session, TidelogError

PROGRAM = """
.type Shape = Circle { r: number } | Square { a: number }
.comp Graph {
    .decl edge(x: symbol, y: symbol)
    .decl path(x: symbol, y: symbol)
    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), edge(y, z).
}
.init g = Graph
.decl shape(s: Shape)
shape($Circle(3)).
.decl degree(x: symbol, n: number)
degree(x, n) :- g.edge(x, _), n = count : { g.edge(x, _) }.
"""


@pytest.fixture(scope="module")
def db() -> Session:
    """Return a session over a component, an aggregate and an algebraic type."""
    return tidelog.open(PROGRAM, facts={"g.edge": [("a", "b"), ("b", "c")]})


def mistake(ask: Callable[[], object]) -> str:
    """Return the text of the error that a question raises."""
    with pytest.raises(TidelogError) as caught:
        ask()
    return str(caught.value)


@pytest.mark.parametrize(
    "asked", [123, None, ("g.path",), ("g.path", "ab", 1), (1, ("a", "b")), {"g.path": 1}]
)
def test_what_is_no_fact_is_a_diagnostic(db: Session, asked: object) -> None:
    """Neither `why` nor `why_not` fails on Python values that are no fact."""
    for ask in (db.why, db.why_not):
        told = mistake(lambda ask=ask: ask(asked))
        assert "error[not-a-fact]" in told
        assert '("path", (1, 3))' in told


@pytest.mark.parametrize("text", ["", "g.path('a',", "g.path('a', 'b'", "shape($Circle("])
def test_text_that_ends_too_early_found_the_end(db: Session, text: str) -> None:
    """A message about unfinished text does not speak of a dot that nobody typed."""
    told = mistake(lambda: db.why(text))

    assert "found the end" in told
    assert "found `.`" not in told


def test_a_dot_that_was_typed_is_found(db: Session) -> None:
    """Within the text a dot is a dot."""
    assert "found `.`" in mistake(lambda: db.why("g.path(., 'b')"))


def test_a_variable_leads_to_queries(db: Session) -> None:
    """`why` is about one fact; who leaves a variable is told how to find facts."""
    told = mistake(lambda: db.why("g.path('a', x)"))

    assert "error[not-a-constant]" in told
    assert "a query finds the facts" in told


def test_an_unknown_relation_leads_to_the_known_ones(db: Session) -> None:
    """Who asks about a relation that is not there wants one that is, and none declared."""
    assert "there are g.edge, g.path, shape, degree" in mistake(lambda: db.why("nope(1)"))
    assert "did you mean `g.path`?" in mistake(lambda: db.why("path('a', 'b')"))


def test_numbers_that_are_none(db: Session) -> None:
    """A depth below 0 and a limit below 1 are told, together."""
    assert "error[bad-depth]" in mistake(lambda: db.why("g.path('a', 'c')", depth=-1))
    told = mistake(lambda: db.why_not("g.path('c', 'a')", depth=-1, limit=0))
    assert "error[bad-depth]" in told
    assert "error[bad-limit]" in told


def test_values_of_an_unknown_branch(db: Session) -> None:
    """A branch that a type does not have is named beside those it has."""
    told = mistake(lambda: db.why_not("shape($Blob(1))"))

    assert "its branches are Circle, Square" in told


def test_a_wrong_value_of_an_aggregate_fails_there(db: Session) -> None:
    """Why an aggregate has not another value is told by the value it has."""
    refuted = str(db.why_not("degree('a', 7)"))

    assert '✓ g.edge("a", "b")' in refuted
    assert '✗ 7 = count : { g.edge("a", _) }  [the count is 1]' in refuted


def test_proofs_follow_rows_that_were_moved() -> None:
    """An index that a proof had made is not used any more once deletions moved the rows of its relation."""
    facts = [(number, 7 * number, number % 5) for number in range(20_000)]
    text = ".decl e(x: number, y: number, z: number)\n.input e\n.decl p(y: number)\np(y) :- e(_, y, _)."
    with tidelog.open(text, facts={"e": facts}) as db:
        before = [str(each.atom) for each in db.why("p(70)").premises]

        db.apply(delete={"e": [facts[0], *facts[11:15_000]]})
        after = [str(each.atom) for name in ("p(70)", "p(105000)") for each in db.why(name).premises]

    assert before == ["e(10, 70, 0)"]
    assert after == ["e(10, 70, 0)", "e(15000, 105000, 0)"]
