"""Rules that come and go: each change of the program is an epoch with a delta."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import tidelog
from tidelog import Session, TidelogError
from tidelog.program.text import ProgramText
from tidelog.source import Source

PROGRAM = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


@pytest.fixture(params=["local", "reference"])
def db(request: pytest.FixtureRequest) -> Iterator[Session]:
    """Return a session on each engine in turn."""
    with tidelog.open(PROGRAM, facts={"edge": [(1, 2), (2, 3)]}, engine=request.param, jobs=1) as session:
        yield session


def codes(error: pytest.ExceptionInfo[TidelogError]) -> list[str]:
    """Return the codes of the diagnostics of an error."""
    return [each.code for each in error.value.diagnostics]


def test_added_rules_are_an_epoch(db: Session) -> None:
    """A new rule changes the facts, and the delta says how."""
    delta = db.add_rules("path(x, x) :- edge(x, _).")

    assert delta["path"].inserted == {(1, 1), (2, 2)}
    assert not delta["path"].deleted
    assert db.epoch == delta.epoch == 1
    assert db.apply("+edge(3, 4).")["path"].inserted == {(3, 3), (1, 4), (2, 4), (3, 4)}


def test_new_relations_and_types_come_with_rules(db: Session) -> None:
    """Added text may declare what its rules need; later changes reach it."""
    delta = db.add_rules(
        """
        .type Pair = [a: number, b: number]
        .decl pair(p: Pair)
        .decl mark(s: symbol)
        pair([x, y]) :- path(x, y), mark("yes").
        """
    )

    assert not delta
    assert db.apply("+mark('yes').")["pair"].inserted == {((1, 2),), ((2, 3),), ((1, 3),)}
    assert db.apply("-edge(1, 2).")["pair"].deleted == {((1, 2),), ((1, 3),)}


def test_removed_rules_are_an_epoch(db: Session) -> None:
    """Without the recursive rule only the edges are left."""
    delta = db.remove_rules("path(x,z):-path(x,y),edge(y,z).")

    assert delta["path"].deleted == {(1, 3)}
    assert [rule.text for rule in db.rules] == ["path(x, y) :- edge(x, y)."]


def test_rules_have_lasting_ids(db: Session) -> None:
    """A rule keeps its id while others come and go, and has its text and place."""
    first, second = db.rules
    assert (first.id, first.text, first.span.text) == (1, "path(x, y) :- edge(x, y).", first.text)

    db.remove_rules(first)
    db.add_rules("path(x, y) :- edge(y, x).")

    assert [rule.id for rule in db.rules] == [2, 3]
    assert db.rules[0] == second
    assert db.rules[1].span.source.name == "added rules 1"
    assert db.remove_rules([2, "path(x, y) :- edge(y, x)."])["path"].deleted == {
        (2, 1),
        (2, 2),
        (2, 3),
        (3, 2),
        (3, 3),
    }
    assert len(db["path"]) == 0


def test_input_facts_survive_changes_of_rules(db: Session) -> None:
    """What was inserted stays input, also in a relation that rules derive from now on."""
    db.apply("+edge(7, 8).")

    db.add_rules("edge(x, x) :- path(x, _).")

    assert (7, 8) in db["edge"]
    delta = db.apply("-edge(7, 8).")
    assert delta["edge"].deleted == {(7, 8), (7, 7)}
    assert delta.changes["edge"].deleted == {(7, 8)}


def test_facts_in_the_text_are_rules(db: Session) -> None:
    """A fact of the program is taken away as a rule; deleting it as input has no effect."""
    db.add_rules("edge(5, 6).")

    assert db.apply("-edge(5, 6).").without_effect["edge"].deleted == {(5, 6)}
    assert db.remove_rules("edge(5, 6).")["path"].deleted == {(5, 6)}


def test_a_program_that_would_be_wrong_is_refused(db: Session) -> None:
    """The whole program is checked; a mistake changes neither rules nor facts."""
    before = db.rules

    for text, code in (
        ("path(x, y) :- edge(x, _).", "unbound-variable"),
        ("path(x, y :- edge(x, y).", "syntax"),
        (".decl edge(x: number)", "redefined-relation"),
        ("path(x, y) :- path(y, x), !path(x, y).", "unstratifiable"),
        ("path(@twice(x), x) :- edge(x, _).", "undeclared-functor"),
    ):
        with pytest.raises(TidelogError) as error:
            db.add_rules(text)
        assert codes(error) == [code]

    assert db.rules == before
    assert db.epoch == 0
    assert db.apply("+edge(3, 4).")["path"].inserted == {(3, 4), (2, 4), (1, 4)}


def test_rules_that_are_not_there_cannot_be_removed(db: Session) -> None:
    """Every unknown rule is named, and a hint shows the closest one."""
    with pytest.raises(TidelogError) as error:
        db.remove_rules([9, "path(x, y) :- edge(y, x).", "path(x"])

    assert codes(error) == ["no-such-rule", "no-such-rule", "syntax"]
    assert "path(x, y) :- edge(x, y)." in (error.value.diagnostics[1].hint or "")
    assert db.epoch == 0


def test_functions_come_with_rules(db: Session) -> None:
    """A functor of added rules is bound to a function given with them."""
    text = ".functor twice(x: number): number\npath(x, @twice(x)) :- edge(x, _)."
    with pytest.raises(TidelogError) as error:
        db.add_rules(text)
    assert codes(error) == ["missing-function"]

    delta = db.add_rules(text, functions={"twice": lambda x: 2 * x})

    assert delta["path"].inserted == {(2, 4)}
    assert db.apply("+edge(9, 9).")["path"].inserted == {(9, 9), (9, 18)}


def test_a_rule_change_that_fails_leaves_all_as_it_was(db: Session) -> None:
    """A function that raises while the new rules are evaluated rejects them."""

    def fail(_: int) -> int:
        raise ValueError("no")

    with pytest.raises(TidelogError):
        db.add_rules(
            ".functor fail(x: number): number\npath(x, @fail(x)) :- edge(x, _).", functions={"fail": fail}
        )

    assert len(db.rules) == 2
    assert db.apply("+edge(3, 4).")["path"].inserted == {(3, 4), (2, 4), (1, 4)}


def test_rules_come_from_files(db: Session, tmp_path: Path) -> None:
    """A path in the place of text is read."""
    (tmp_path / "more.dl").write_text("path(x, x) :- edge(x, _).\n")

    db.add_rules(tmp_path / "more.dl")

    assert (1, 1) in db["path"]


# --- program text ---------------------------------------------------------------------------------


def test_rules_of_components_are_listed_and_removed() -> None:
    """A rule inside a component counts once, as it was written."""
    text = ProgramText.read(
        [Source("p", ".comp C { .decl a(x: number) a(1). a(2). }\n.init c = C\n.init d = C\n")]
    )
    assert [rule.text for rule in text.rules] == ["a(1).", "a(2)."]

    with tidelog.open(text.pieces[0].source.text, engine="reference") as db:
        delta = db.remove_rules("a(1).")

        assert delta["c.a"].deleted == delta["d.a"].deleted == {(1,)}


def test_a_text_is_kept_as_it_was_written_where_that_is_enough() -> None:
    """Comments stay in a plain text; includes, macros and removed rules need it printed anew."""
    plain = Source("p", "// why\n.decl a(x: number)\na(1). a(2).\n")
    macros = Source("m", "#define ONE 1\n.decl b(x: number)\nb(ONE).\n")
    text = ProgramText.read([plain, macros])

    assert text.sources[0] == plain
    assert text.sources[1] == Source("m", ".decl b(x: number)\n\nb(1).\n")
    assert text.without(1).sources[0].text == ".decl a(x: number)\n\na(2).\n"
    again = ProgramText.read(text.without(1).sources)
    assert again.tree == text.without(1).tree
