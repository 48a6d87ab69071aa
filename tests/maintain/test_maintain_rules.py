"""Changing the rules is an epoch like any other."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import Maintained, difference, each_strategy, examples
from support.epochs_programs import SPECIAL, tangled_epochs, tangled_programs
from support.programs import build
from support.rule_changes import without_some_rules
from support.strategies import RandomProgram, programs
from tidelog.engine.epoch import Action, Strategy

EDGES = ".decl edge(x: number, y: number) .input edge\n"
PATH = ".decl path(x: number, y: number) path(x, y) :- edge(x, y).\n"
STEP = "path(x, z) :- path(x, y), edge(y, z).\n"


def check_rule_changes(data: st.DataObject, program: RandomProgram, strategy: Strategy) -> None:
    """Go to programs with other rules and back, with changes of facts between."""
    run = Maintained(build(program.text)).start(program.inputs)
    before = run.check()
    epochs = data.draw(tangled_epochs(program, max_epochs=2))
    for text in (without_some_rules(data, program), without_some_rules(data, program), program.text):
        found = run.change_rules(build(text), strategy=strategy)
        after = run.check()
        assert found == difference(before, after)
        before = after
        if epochs:
            epoch = epochs.pop()
            found = run.change(epoch.inserts, epoch.deletes, strategy=strategy)
            after = run.check()
            assert found == difference(before, after)
            before = after


@pytest.mark.parametrize("strategy", each_strategy())
@settings(max_examples=examples(6))
@given(data=st.data())
def test_changed_rules_give_what_they_give_from_nothing(strategy: Strategy, data: st.DataObject):
    """After a change of rules everything is as if the new program had been there from the start."""
    check_rule_changes(data, data.draw(tangled_programs(special=SPECIAL)), strategy)


@pytest.mark.parametrize("strategy", each_strategy())
@settings(max_examples=examples(8))
@given(data=st.data())
def test_rules_and_facts_change_together(strategy: Strategy, data: st.DataObject):
    """Rules and facts that change in one epoch give the difference of two evaluations from nothing."""
    program = data.draw(tangled_programs(special=SPECIAL))
    run = Maintained(build(program.text)).start(program.inputs)
    before = run.check()
    epochs = data.draw(tangled_epochs(program, max_epochs=3))

    for text in (without_some_rules(data, program), without_some_rules(data, program), program.text):
        epoch = epochs.pop() if epochs else None
        insert, delete = (epoch.inserts, epoch.deletes) if epoch else ({}, {})
        found = run.change_rules(build(text), insert, delete, strategy=strategy)
        after = run.check()
        assert found == difference(before, after)
        before = after


@settings(max_examples=examples(10))
@given(data=st.data())
def test_rules_of_the_whole_language_change(data: st.DataObject):
    """Rules with any type, functor or aggregate can go and come back."""
    program = data.draw(programs())
    run = Maintained(build(program.text)).start(program.inputs)
    before = run.check()

    for text in (without_some_rules(data, program), program.text):
        found = run.change_rules(build(text))
        after = run.check()
        assert found == difference(before, after)
        before = after


@pytest.mark.parametrize("strategy", each_strategy())
def test_a_rule_comes_and_goes(strategy: Strategy):
    """A rule that is added derives its facts; deleted again it takes them along."""
    run = Maintained(build(EDGES + PATH)).start({"edge": [(0, 1), (1, 2)]})

    added = run.change_rules(build(EDGES + PATH + STEP), strategy=strategy)
    run.check()
    deleted = run.change_rules(build(EDGES + PATH), strategy=strategy)
    run.check()

    assert added.inserted == {"path": {(0, 2)}}
    assert added.deleted == {}
    assert deleted.deleted == {"path": {(0, 2)}}


def test_relations_come_and_go():
    """A new relation starts empty and is derived; one that is gone is forgotten, facts and all."""
    run = Maintained(build(EDGES)).start({"edge": [(0, 1), (1, 2)]})

    found = run.change_rules(build(EDGES + PATH + STEP))
    assert found.inserted == {"path": {(0, 1), (1, 2), (0, 2)}}
    run.check()

    run.change_rules(build(EDGES))
    run.check()
    run.change(insert={"edge": [(2, 3)]})
    run.check()
    run.change_rules(build(EDGES + PATH))
    assert run.relations()["path"] == {(0, 1), (1, 2), (2, 3)}
    run.check()


def test_an_input_relation_that_returns_is_empty():
    """Facts of an input relation that was gone for an epoch are not remembered."""
    other = ".decl other(x: number) .input other\n"
    run = Maintained(build(EDGES + other)).start({"edge": [(0, 1)], "other": [(1,)]})

    run.change_rules(build(EDGES))
    run.change_rules(build(EDGES + other))

    assert run.relations() == {"edge": {(0, 1)}, "other": frozenset()}
    run.change(insert={"other": [(1,)]})
    run.check()


def test_a_stratum_becomes_recursive_and_takes_in_another():
    """A rule that ties two strata together makes them one; without it they part again."""
    apart = """
    .decl a(x: number) .input a
    .decl b(x: number) b(x) :- a(x).
    .decl c(x: number) c(x + 1) :- b(x).
    """
    run = Maintained(build(apart)).start({"a": [(1,)]})

    run.change_rules(build(f"{apart} b(x) :- c(x), x < 5."))
    assert run.relations()["b"] == {(1,), (2,), (3,), (4,)}
    run.check()
    run.change(delete={"a": [(1,)]})
    run.check()
    run.change(insert={"a": [(3,)]})
    run.check()

    run.change_rules(build(apart))
    assert run.relations()["b"] == {(3,)}
    run.check()


LAWS = {
    "plain": ".decl a(x: number, y: number) .input a\n",
    "equivalence": ".decl a(x: number, y: number) eqrel .input a\n",
    "choice": ".decl a(x: number, y: number) choice-domain x .input a\n",
    "subsumption": ".decl a(x: number, y: number) .input a a(x, p) <= a(x, q) :- q < p.\n",
    "limit": ".decl a(x: number, y: number) .input a .limitsize a(n=3)\n",
}


@pytest.mark.parametrize(
    ("before", "after"),
    [pytest.param(*laws, id="-".join(laws)) for laws in product(LAWS, LAWS)],
)
def test_a_relation_comes_under_another_law(before: str, after: str):
    """Given facts are kept, whatever the old law made of them, and the new law is applied to all."""
    rest = ".decl seed(x: number) .input seed a(x, x + 1) :- seed(x).\n.decl b(y: number) b(y) :- a(_, y)."
    run = Maintained(build(LAWS[before] + rest)).start({"a": [(1, 2), (1, 3), (2, 5)], "seed": [(1,), (4,)]})
    relations = run.check()

    found = run.change_rules(build(LAWS[after] + rest))

    now = run.check()
    assert found == difference(relations, now)
    run.change(insert={"a": [(1, 1)]}, delete={"a": [(1, 2), (2, 5)], "seed": [(1,)]})
    run.check()


def test_a_relation_with_other_columns_is_another_relation():
    """A relation declared anew with other types keeps none of its facts."""
    run = Maintained(build(EDGES + PATH)).start({"edge": [(0, 1)]})
    run.inputs = {}

    run.change_rules(
        build(".decl edge(x: symbol, y: number) .input edge\n.decl p(x: symbol) p(x) :- edge(x, _).")
    )

    assert run.relations() == {"edge": frozenset(), "p": frozenset()}
    run.change(insert={"edge": [("a", 1)]})
    run.check()


@pytest.mark.parametrize("columns", ["a: number, b: number", "x: symbol, y: number"])
@pytest.mark.parametrize("rule", ["p(x) :- edge(x, _).", "p(x) :- other(x), x < 9."])
def test_what_reads_a_relation_with_other_columns_is_evaluated(columns: str, rule: str):
    """Facts derived from a relation that is another one now are gone, whether the rule stays or not."""
    rest = ".decl other(x: number) .input other\n.decl p(x: number) p(x) :- other(x).\n"
    both = "p(x) :- edge(x, _).\n"
    run = Maintained(build(EDGES + rest + both)).start({"edge": [(0, 1)], "other": [(5,)]})
    run.inputs.pop("edge")
    is_text = "symbol" in columns

    kept = "" if is_text else rule
    found = run.change_rules(build(f".decl edge({columns}) .input edge\n{rest}{kept}"))

    assert run.relations() == {"edge": frozenset(), "other": {(5,)}, "p": {(5,)}}
    assert found.deleted["p"] == {(0,)}


def test_new_rules_make_numbers_that_outgrow_narrow_codes():
    """The first number beyond 32 bits may come with a rule, and go with it."""
    far = "path(x, y * 3000000000) :- edge(x, y).\n"
    run = Maintained(build(EDGES + PATH)).start({"edge": [(0, 1), (1, 2)]})

    added = run.change_rules(build(EDGES + PATH + far))
    run.check()
    deleted = run.change_rules(build(EDGES + PATH))
    run.check()

    assert added.inserted == deleted.deleted == {"path": {(0, 3_000_000_000), (1, 6_000_000_000)}}


def test_reports_say_which_strata_have_other_rules():
    """A change of rules reports every stratum; those above that read nothing changed are skipped."""
    text = f"{EDGES}.decl n(x: number) n(x) :- edge(x, _).\n"
    run = Maintained(build(text + PATH)).start({"edge": [(0, 1), (1, 2)]})

    found = run.change_rules(build(text + PATH + STEP))

    reports = {name: report for report in found.strata for name in report.relations}
    assert (reports["path"].action, reports["path"].reason) == (Action.UPDATED, "1 of its rules inserted")
    assert reports["edge"].action is reports["n"].action is Action.SKIPPED


def test_a_rule_without_a_positive_atom_is_evaluated_from_nothing():
    """Derivations of a rule that comes are enumerated from an atom; a fact has none to begin with."""
    run = Maintained(build(EDGES + PATH)).start({"edge": [(0, 1), (1, 2)]})

    found = run.change_rules(build(EDGES + PATH + "path(7, 7).\n"))

    run.check()
    reports = {name: report for report in found.strata for name in report.relations}
    assert reports["path"].action is Action.RECOMPUTED
    assert found.inserted == {"path": {(7, 7)}}


def test_rules_deleted_from_several_strata_at_once():
    """Each deleted rule takes its own derivations away, whatever the others read."""
    text = EDGES + PATH + STEP + ".decl n(x: number) n(x) :- path(x, _).\n"
    run = Maintained(build(text + "n(y) :- edge(_, y).\n")).start({"edge": [(0, 1), (1, 2), (2, 3)]})

    found = run.change_rules(build(text.replace(STEP, "")))

    run.check()
    assert found.deleted == {"path": {(0, 2), (0, 3), (1, 3)}, "n": {(3,)}}
