"""Sessions that derive what a question needs, keep it, and follow changes."""

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import examples
from support.epochs_programs import FUNCTIONS, LAWS, SIZE, tangled_epochs, tangled_programs
from tidelog.options import EngineName
from tidelog.session import Session
from tidelog.values import Fact

PATHS = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number) magic
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl apart(x: number, y: number) magic
apart(x, y) :- edge(x, _), edge(y, _), !path(x, y).
.decl reached(x: number, n: number) magic
reached(x, n) :- edge(x, _), n = count : { path(x, _) }.
"""
CHAIN = [(number, number + 1) for number in range(1, 6)]


def ask(db: Session, name: str, pattern: tuple[int | None, ...]) -> set[Fact]:
    """Return the facts of a relation that agree with a pattern."""
    terms = [f"v{place}" if value is None else str(value) for place, value in enumerate(pattern)]
    found = db.query(f"{name}({', '.join(terms)})")
    if not terms:
        return {()} if found else set()
    facts = set()
    for answer in found or ([()] if bool(found) else []):
        values = iter(answer)
        facts.add(tuple(next(values) if value is None else value for value in pattern))
    return facts


@pytest.mark.parametrize("engine", ["local", "reference"])
@settings(max_examples=examples(30), deadline=None)
@given(data=st.data())
def test_questions_are_answered_exactly(engine: EngineName, data: st.DataObject) -> None:
    """Whatever is asked, in whatever order, between insertions and deletions: answers are the reference's."""
    program = data.draw(tangled_programs(special=LAWS, aggregates=("count", "sum", "max")))
    changes = data.draw(tangled_epochs(program))
    options = {"functions": FUNCTIONS, "jobs": 1}
    with (
        tidelog.open(program.text, facts=program.inputs, engine="reference", **options) as full,
        tidelog.open(
            program.text, facts=program.inputs, engine=engine, evaluate="on-demand", **options
        ) as db,
    ):
        for change in [None, *changes]:
            if change is not None:
                try:
                    full.apply(insert=change.inserts, delete=change.deletes)
                except tidelog.TidelogError:
                    # A key with two values: what breaks it may never be asked for.
                    return
                db.apply(insert=change.inserts, delete=change.deletes)
            for _ in range(3):
                name = data.draw(st.sampled_from(sorted(full.relations)))
                arity = len(full[name].columns)
                values = st.none() | st.integers(0, SIZE - 1)
                pattern = data.draw(st.tuples(*[values] * arity))
                expected = {
                    fact
                    for fact in full[name]
                    if all(value in {None, given} for value, given in zip(pattern, fact, strict=True))
                }
                assert ask(db, name, pattern) == expected
        for name in full.relations:
            assert frozenset(db[name]) == frozenset(full[name])


@settings(max_examples=examples(20), deadline=None)
@given(data=st.data())
def test_proofs_of_what_was_asked_hold(data: st.DataObject) -> None:
    """`why` proves facts on demand, before and after changes; `why_not` refutes the others."""
    program = data.draw(tangled_programs())
    changes = data.draw(tangled_epochs(program, max_epochs=2))
    with (
        tidelog.open(program.text, facts=program.inputs, jobs=1) as full,
        tidelog.open(program.text, facts=program.inputs, jobs=1, evaluate="on-demand") as db,
    ):
        for change in [None, *changes]:
            if change is not None:
                full.apply(insert=change.inserts, delete=change.deletes)
                db.apply(insert=change.inserts, delete=change.deletes)
            name = data.draw(st.sampled_from(sorted(full.relations)))
            fact = data.draw(st.tuples(*[st.integers(0, SIZE - 1)] * len(full[name].columns)))
            if fact in full[name]:
                assert db.why((name, fact)).check()
            else:
                assert db.why_not((name, fact)).atom.fact == fact


def test_only_what_is_asked_for_is_derived() -> None:
    """A question derives the paths of its source; the next one about the same source derives nothing."""
    with tidelog.open(PATHS, facts={"edge": CHAIN}, evaluate="on-demand") as db:
        assert db.demands == ()
        assert list(db.query("path(4, x)")) == [(5,), (6,)]
        assert [(each.questions, each.derived) for each in db.demands] == [(1, {"path": 2})]

        assert bool(db.query("path(4, 6)"))
        assert list(db.query("path(5, x)")) == [(6,)]

        (first, second) = db.demands
        assert (first.columns, first.questions, first.derived) == (("x",), 2, {"path": 3})
        assert second.columns == ("x", "y")


def test_answers_follow_changes() -> None:
    """What was derived is kept and maintained: facts come and go with the edges, rules with the program."""
    with tidelog.open(PATHS, facts={"edge": CHAIN}, evaluate="on-demand") as db:
        assert len(db.query("path(3, x)")) == 3
        db.apply("-edge(4, 5). +edge(4, 9).")
        assert list(db.query("path(3, x)")) == [(4,), (9,)]
        db.apply("-edge(4, 9).")
        db.apply("+edge(4, 1).")
        assert list(db.query("path(3, x)")) == [(1,), (2,), (3,), (4,)]

        db.add_rules("path(x, 0) :- edge(x, _).")

        assert list(db.query("path(3, x)")) == [(0,), (1,), (2,), (3,), (4,)]
        proof = db.why("path(3, 1)")
        assert proof.check()
        assert proof.support() == {"edge": {(3, 4), (4, 1)}}


def test_what_is_negated_or_aggregated_is_derived_wholly_and_said() -> None:
    """A question about a relation that negates another needs all of that: `whole` names it."""
    with tidelog.open(PATHS, facts={"edge": CHAIN}, evaluate="on-demand") as db:
        assert (5, 1) in db["apart"]
        assert list(db.query("apart(5, y), y > 3")) == [(4,), (5,)]
        assert list(db.query("reached(2, n)")) == [(4,)]

        assert {each.relation: each.whole for each in db.demands}["reached"] == ("path",)
        assert "edge(1, 2)" in str(db.why_not("apart(1, 2)"))


def test_relations_declared_magic_alone_are_on_demand() -> None:
    """With `evaluate="magic"` other relations are derived at once, as is what they read; that is said."""
    program = f"{PATHS}.decl far(x: number)\nfar(x) :- reached(x, n), n > 3.\n"
    with tidelog.open(program, facts={"edge": CHAIN}, evaluate="magic") as db:
        assert [warning.code for warning in db.warnings].count("not-on-demand") == 2
        assert list(db["far"]) == [(1,), (2,)]
        assert db.demands == ()
        delta = db.apply("-edge(5, 6).")
        assert list(delta) == ["edge", "path", "reached", "far"]
        assert list(db.query("apart(4, y)")) == [(1,), (2,), (3,), (4,)]
        assert [each.relation for each in db.demands] == ["apart"]
        # Its premises are of both engines.
        assert db.why("apart(4, 1)").check()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (".decl one(x: number, y: number) choice-domain x\none(x, y) :- edge(x, y).", "has a choice-domain"),
        (".decl id(x: number, n: number)\nid(x, autoinc()) :- edge(x, _).", "a rule counts"),
    ],
)
def test_facts_that_depend_on_when_they_are_found_are_derived_at_once(text: str, reason: str) -> None:
    """A choice or a number is made once, when the session is opened, and not by each question."""
    program = f".decl edge(x: number, y: number)\n.input edge\n{text}"
    with (
        tidelog.open(program, facts={"edge": CHAIN}, evaluate="on-demand") as db,
        tidelog.open(program, facts={"edge": CHAIN}) as full,
    ):
        (warning,) = db.warnings
        assert warning.code == "not-on-demand"
        assert reason in warning.message
        assert all(frozenset(db[name]) == frozenset(full[name]) for name in full)


def test_what_needs_every_fact_is_refused() -> None:
    """Blame, repair, guards, old epochs and subscriptions would be wrong about facts nobody derived."""
    with tidelog.open(PATHS, facts={"edge": CHAIN}, evaluate="on-demand") as db:
        db.apply("+edge(7, 8).")
        for work in (
            lambda: db.blame("path(7, 8)"),
            lambda: db.repair("path(7, 8)"),
            lambda: db.guard("path(7, 8)"),
            lambda: db.at(0),
            lambda: db.subscribe("path", print),
        ):
            with pytest.raises(tidelog.TidelogError, match="on-demand"):
                work()
        assert "path: on demand" in repr(db)
        assert db.demands == ()


@pytest.mark.parametrize(
    "options", [{"engine": "spark"}, {"engine": "cuda"}, {"provenance": "height"}, {"evaluate": "lazily"}]
)
def test_options_that_do_not_go_together_are_diagnostics(options: dict[str, str]) -> None:
    """Where nothing is evaluated on demand, asking for it is a mistake."""
    with pytest.raises(tidelog.TidelogError):
        tidelog.OpenOptions(**{"evaluate": "on-demand", **options})  # type: ignore[arg-type]


def test_a_store_goes_on_on_demand(tmp_path: Path) -> None:
    """A store keeps the input facts; questions derive again what they need."""
    with tidelog.open(PATHS, facts={"edge": CHAIN}, store=tmp_path / "s", evaluate="on-demand") as db:
        db.apply("+edge(6, 7).")

    with tidelog.open(store=tmp_path / "s", evaluate="on-demand") as db:
        assert list(db.query("path(5, x)")) == [(6,), (7,)]
    with tidelog.open(store=tmp_path / "s") as db:
        assert len(db["path"]) == 21


def test_a_question_that_fails_leaves_the_session_as_it_was() -> None:
    """What goes wrong with a question is told by it, and the next one is answered."""
    program = """
    .decl n(x: number)
    .input n
    .decl up(x: number, y: number)
    up(x, x) :- n(x).
    up(x, y + 1) :- up(x, y), y < 50.
    """
    with tidelog.open(program, facts={"n": [(1,), (49,)]}, evaluate="on-demand", iteration_limit=10) as db:
        assert list(db.query("up(49, y)")) == [(49,), (50,)]
        with pytest.raises(tidelog.TidelogError, match="iteration"):
            db.query("up(1, y)")

        assert list(db.query("up(49, y)")) == [(49,), (50,)]


def test_questions_about_every_pattern_agree() -> None:
    """All patterns of one relation are answered side by side."""
    with (
        tidelog.open(PATHS, facts={"edge": CHAIN}) as full,
        tidelog.open(PATHS, facts={"edge": CHAIN}, evaluate="on-demand") as db,
    ):
        for pattern in product([None, 1, 3, 6], repeat=2):
            expected = {
                fact
                for fact in full["path"]
                if all(value in {None, given} for value, given in zip(pattern, fact, strict=True))
            }
            assert ask(db, "path", pattern) == expected
