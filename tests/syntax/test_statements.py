"""Texts of several statements: where one goes on, and which are queries, changes and rules."""

import pytest

from tidelog.syntax.statements import StatementKind, is_unfinished, split_statements

PROGRAM, CHANGES, QUERY = StatementKind.PROGRAM, StatementKind.CHANGES, StatementKind.QUERY


@pytest.mark.parametrize(
    ("text", "goes_on"),
    [
        ("", False),
        ("// path(", False),
        ("path(1, x)", False),
        ("path(1,", True),
        ("path(1, x), ", True),
        ("path(1, x), x >", True),
        ("path(1, x) // and so on,", False),
        ("path(1, ')')", False),
        ('path(1, "(")', False),
        ("/* a comment", True),
        ("?- path(1, x)", True),
        ("?- path(1, x).", False),
        ("path(x, y) :- edge(x, y)", True),
        ("path(x, y) :- edge(x, y). // done", False),
        (".decl path(x: number,", True),
        (".type T = A {} |", True),
    ],
)
def test_what_goes_on(text: str, goes_on: bool) -> None:  # noqa: FBT001 - a column of the table
    """Rules and `?-` end with a dot; anything else goes on while something is open."""
    assert is_unfinished(text) is goes_on


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("", []),
        ("// nothing", []),
        (".decl a(x: number)\na(1). a(2).\na(x) :- a(y), x = y\n - 1, x > 0.", [PROGRAM]),
        (".decl a(x: number)\n?- a(x).", [PROGRAM, QUERY]),
        ("?- a(x). ?- a(1).", [QUERY, QUERY]),
        ("+a(1). -a(2). commit. +a(3).", [CHANGES]),
        (
            ".decl a(x: number)\n.input a\n+a(1).\n?- a(x)\n, x > 0.\na(x) :- b(x).",
            [PROGRAM, CHANGES, QUERY, PROGRAM],
        ),
        ("a(?x) :- b(?x), ?x > 0.", [PROGRAM]),
    ],
)
def test_statements_are_told_apart(text: str, kinds: list[StatementKind]) -> None:
    """Neighbours of one kind stay together, except queries."""
    assert [each.kind for each in split_statements(text)] == kinds


def test_places_are_those_in_the_whole_text() -> None:
    """Lines and columns of a part are those of the whole, so that diagnostics point at the right place."""
    text = ".decl a(x: number)\n  ?- a(x).\n"

    query = split_statements(text)[1].text

    assert query.splitlines()[1] == text.splitlines()[1]
    assert query.splitlines()[0].strip() == ""
