"""Resident partners work on texts and records: all of them give new values the same codes, epoch by epoch."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import examples
from support.epochs_programs import tangled_epochs, tangled_programs
from support.programs import build
from support.resident_session import Resident
from support.resident_threads import MOMENTS, tasks_in_threads
from support.strategies import epochs, programs
from tidelog.engine.epoch import Action, Strategy
from tidelog.engine.spark.engine import Where
from tidelog.maintain.partners import partner_values, session_values
from tidelog.maintain.partners.session_values import SessionValues

NAMES = """
.type Pair = [name: symbol, next: Pair]
.type Shape = Dot {} | Line { from: symbol, length: number }
.decl person(first: symbol, last: symbol) .input person
.decl knows(x: symbol, y: symbol) .input knows
.decl full(name: symbol, length: number)
full(n, strlen(n)) :- person(f, l), n = cat(f, cat(" ", l)).
.decl chain(p: Pair, n: number)
chain([f, nil], 1) :- person(f, _).
chain([y, p], n + 1) :- chain(p, n), p = [x, _], knows(x, y), n < 4.
.decl shape(s: Shape)
shape($Line(cat(f, "!"), n)) :- full(f, n), n > 8.
shape($Dot()) :- person(f, _), match("b.*", f).
.decl first(l: symbol, least: symbol, all: symbol)
first(l, m, a) :- person(_, l), m = min f : { person(f, l) }, a = @@concat f : "+", { person(f, l) }.
.decl shouted(s: symbol)
shouted(cat(a, to_string(n))) :- first(_, _, a), n = count : { full(_, _) }.
"""
PEOPLE = {
    "person": [("ann", "lee"), ("bob", "lee"), ("cy", "orr"), ("dot", "ng")],
    "knows": [("ann", "bob"), ("bob", "cy"), ("cy", "ann")],
}


def test_strata_that_make_values_are_kept_by_partners():
    """Functors over texts, records, branches and text aggregates are followed, and none is in the driver."""
    with tasks_in_threads():
        run = Resident(build(NAMES)).start(PEOPLE)
        try:
            assert run.relations() == run.expected()
            assert {each.where for each in run.engine.placements} == {Where.PARTNERS}
            for insert, delete in (
                ({"person": [("eve", "lee")], "knows": [("dot", "eve"), ("eve", "ann")]}, {}),
                ({}, {"person": [("ann", "lee")], "knows": [("bob", "cy")]}),
                ({"person": [("ann", "lee"), ("bo", "orr")]}, {"person": [("cy", "orr")]}),
            ):
                found = run.change(insert, delete, strategy=Strategy.UPDATE)
                assert run.relations() == run.expected()
                assert {each.action for each in found.strata} <= {Action.UPDATED, Action.SKIPPED}
        finally:
            run.engine.close()


def test_a_fact_of_the_program_that_a_rule_with_values_derives_too_has_both_derivations():
    """All partners have `known`, whose fact one of them inserts before a rule finds it again."""
    text = """
    .decl given(x: number, s: symbol) .input given
    .decl other(x: number) .input other
    .decl known(x: number)
    known(x) :- given(x, s), s >= to_string(x % 3).
    known(1).
    .decl seen(s: symbol)
    seen(s) :- known(_), other(n), given(n, s).
    """
    with tasks_in_threads():
        run = Resident(build(text)).start({"given": [(1, "1"), (2, "b")]})
        (group,) = run.engine._groups
        assert any(
            each.relations["known"].is_everywhere for each in group.spec.routes() if "known" in each.relations
        )

        run.change(delete={"given": [(1, "1"), (2, "b")]}, strategy=Strategy.UPDATE)

        assert run.relations()["known"] == {(1,)}
        run.engine.close()


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("after", [0, 3, 9])
def test_a_lost_partner_gets_the_values_of_the_others(moment, after):
    """What an epoch made before a partner died is forgotten, and made again with another one."""
    with tasks_in_threads() as tasks:
        run = Resident(build(NAMES)).start(PEOPLE)
        try:
            run.change(insert={"person": [("eve", "stone")]})
            tasks.kill(1, moment, after if moment == "exchange" else 0)
            run.change(insert={"person": [("fay", "orr")], "knows": [("cy", "fay")]})
            assert run.relations() == run.expected()
            run.change(insert={"person": [("gus", "lee")]}, delete={"person": [("bob", "lee")]})
            assert run.relations() == run.expected()
        finally:
            run.engine.close()
    assert tasks.kills <= 1


def test_many_values_go_through_files(monkeypatch):
    """Neither requests nor replies have many values: these are in files, and the answer is the same."""
    monkeypatch.setattr(session_values, "MOST_INLINE", 0)
    monkeypatch.setattr(partner_values, "MOST_INLINE", 0)
    described = []
    describe = SessionValues.describe

    def note(values, *first):
        described.append(describe(values, *first))
        return described[-1]

    monkeypatch.setattr(SessionValues, "describe", note)
    with tasks_in_threads():
        run = Resident(build(NAMES))
        run.start(PEOPLE)
        try:
            for name in ("eve", "fay"):
                run.change(insert={"person": [(name, "lee")]}, delete={"person": [("cy", "orr")]})
                assert run.relations() == run.expected()
        finally:
            run.engine.close()
    contents = [
        content for each in described for kind in ("texts", "records") for _, _, content in each[kind]
    ]
    assert contents
    assert all(isinstance(content, str) for content in contents)


def shout(text):
    """Return a text in capitals."""
    return text.upper()


CALLS = """
.functor shout(text: symbol): symbol
.decl word(w: symbol) .input word
.decl loud(w: symbol)
loud(@shout(w)) :- word(w).
"""


def test_functions_of_the_user_are_called_by_partners():
    """A function that can be sent runs where the facts are; one that cannot stays, with the reason."""
    lock = __import__("threading").Lock()
    for function, where in (
        (shout, Where.PARTNERS),
        (lambda text: text.upper() if lock else "", Where.DRIVER),
    ):
        with tasks_in_threads():
            run = Resident(build(CALLS), {"shout": function}).start({"word": [("a",), ("b",)]})
            run.change(insert={"word": [("c",)]}, delete={"word": [("a",)]})

            assert run.relations()["loud"] == {("B",), ("C",)}
            assert [each.where for each in run.engine.placements] == [where]
            run.engine.close()


def test_patterns_in_facts_are_warned_of():
    """Warnings about facts come from partners, of the first epoch and of later ones."""
    text = '.decl p(x: symbol) .input p\n.decl found(x: symbol)\nfound(x) :- p(x), match(x, "abc").\n'
    with tasks_in_threads():
        run = Resident(build(text)).start({"p": [("[",), ("a.*",)]})
        run.change(insert={"p": [("(",)]})

        assert run.relations()["found"] == {("a.*",)}
        assert sorted(code for code, _ in run.codec.warnings) == ["pattern-in-facts"] * 2
        run.engine.close()


@settings(max_examples=examples(25))
@given(data=st.data(), strategy=st.sampled_from([Strategy.UPDATE, Strategy.AUTO, Strategy.RECOMPUTE]))
def test_random_programs_over_texts_and_records_are_exact(data, strategy):
    """Whatever is made of texts, records and branches, every epoch is that of the reference engine."""
    drawn = data.draw(programs())
    changes = data.draw(epochs(drawn, max_epochs=3))
    check(build(drawn.text), drawn.inputs, changes, data, strategy)


@settings(max_examples=examples(15))
@given(data=st.data(), strategy=st.sampled_from([Strategy.UPDATE, Strategy.AUTO]))
def test_random_aggregates_over_texts_are_exact(data, strategy):
    """Texts that aggregates join and folds make have one code at all partners."""
    drawn = data.draw(tangled_programs())
    changes = data.draw(tangled_epochs(drawn, max_epochs=3))
    check(build(drawn.text), drawn.inputs, changes, data, strategy)


def check(program, inputs, changes, data, strategy):
    """Compare every epoch with the reference engine, and lose partners now and then."""
    kill = st.tuples(st.integers(0, 2), st.sampled_from(MOMENTS), st.integers(0, 12))
    with tasks_in_threads(data.draw(st.integers(1, 3))) as tasks:
        run = Resident(program)
        try:
            run.start(inputs)
            assert run.relations() == run.expected()
            for epoch in changes:
                for each in data.draw(st.lists(kill, max_size=1)):
                    tasks.kill(*each)
                run.change(epoch.inserts, epoch.deletes, strategy=strategy)
                assert run.relations() == run.expected()
        finally:
            run.engine.close()
