"""A preview is the delta that a commit would make, and leaves everything as it was."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from tidelog.errors import TidelogError
from tidelog.session import Session

PATHS = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl far(x: number, n: number)
far(x, n) :- edge(x, _), n = count : { path(x, _) }.
"""
TWO = """\
.type Two = [x: number, y: number]
.decl two(p: Two)
two([x, y]) :- path(x, y).
"""
ENGINES = ("local", "reference")
Pairs = list[tuple[int, int]]


def content(db: Session) -> dict[str, set[tuple[object, ...]]]:
    """Return all facts by relation."""
    return {name: set(db[name]) for name in db.relations}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_preview_of_facts_is_the_delta_of_the_commit(engine: str) -> None:
    """What the preview says is what the commit then does, and nothing happened before it."""
    with tidelog.open(PATHS, facts={"edge": [(1, 2), (2, 3)]}, engine=engine) as db:
        before = content(db)
        transaction = db.transaction()
        transaction.insert("edge(3, 4)")
        transaction.delete("edge(1, 2)")

        previewed = transaction.preview()

        assert content(db) == before
        assert (db.epoch, db.history, previewed.epoch) == (0, (), 1)
        assert str(transaction.commit()) == str(previewed)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_preview_of_rules_leaves_the_program(engine: str) -> None:
    """New declarations, types and rules are tried out, shown with their values, and gone again."""
    with tidelog.open(PATHS, facts={"edge": [(1, 2), (2, 3)]}, engine=engine) as db:
        before, rules = content(db), db.rules
        transaction = db.transaction()
        transaction.add_rules(TWO)
        transaction.remove_rules("path(x, z) :- path(x, y), edge(y, z).")

        delta = transaction.preview()

        assert set(delta["two"].inserted) == {((1, 2),), ((2, 3),)}
        assert set(delta["path"].deleted) == {(1, 3)}
        assert (len(delta.rules.inserted), len(delta.rules.deleted)) == (1, 1)
        assert content(db) == before
        assert db.rules == rules
        assert "two" not in db
        assert str(db.why("path(1, 3)")).startswith("path(1, 3)")
        transaction.rollback()
        assert set(db.apply(insert=["edge(3, 4)"])["path"].inserted) == {(1, 4), (2, 4), (3, 4)}


def test_a_preview_reports_mistakes() -> None:
    """Whatever is wrong with the changes is raised, and the transaction can go on."""
    with tidelog.open(PATHS) as db:
        transaction = db.transaction()
        transaction.add_rules("path(x, y) :- nothing(x, y).")

        with pytest.raises(TidelogError, match="undeclared-relation"):
            transaction.preview()


def test_a_preview_of_a_closed_session_is_a_diagnostic() -> None:
    """After `close` there is nothing to try changes on."""
    db = tidelog.open(PATHS)
    transaction = db.transaction()
    db.close()

    with pytest.raises(TidelogError, match="closed"):
        transaction.preview()


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=4),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=4),
    st.sampled_from(("", "path(x, z) :- path(x, y), path(y, z).", "path(x, x) :- edge(x, _).")),
    st.sampled_from(((), (2,))),
)
def test_previews_agree_with_the_reference(
    edges: Pairs, inserted: Pairs, deleted: Pairs, rule: str, removed: tuple[int, ...]
) -> None:
    """On random graphs a preview is the commit's delta, and the session goes on as if it had not been."""
    with (
        tidelog.open(PATHS, facts={"edge": edges}) as db,
        tidelog.open(PATHS, facts={"edge": edges}, engine="reference") as oracle,
    ):
        for _ in range(2):
            transaction = db.transaction()
            wanted = oracle.transaction()
            for each in (transaction, wanted):
                each.delete({"edge": deleted})
                each.insert({"edge": inserted})
                if rule:
                    each.add_rules(rule)
                if removed:
                    each.remove_rules(removed)
            previewed = transaction.preview()
            assert content(db) == content(oracle)

            committed = transaction.commit()
            expected = wanted.commit()
            for name in db.relations:
                assert previewed[name] == committed[name]
                assert set(committed[name].inserted) == set(expected[name].inserted)
                assert set(committed[name].deleted) == set(expected[name].deleted)
            assert content(db) == content(oracle)
            removed, rule = (), ""
            inserted, deleted = deleted, inserted
