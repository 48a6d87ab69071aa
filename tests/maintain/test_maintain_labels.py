"""Levels and counts: what evaluation annotates facts with, and that epochs keep it exact."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import STRATEGIES, Maintained, examples
from support.epochs_oracle import Annotation, annotations_by_force
from support.epochs_programs import SPECIAL, tangled_epochs, tangled_programs
from support.programs import build, run_program
from support.strategies import RandomProgram, dense_programs, programs
from tidelog.engine.epoch import Strategy

PATH = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


# --- the oracle itself ---------------------------------------------------------------------


def by_force(text: str, inputs=None):
    """Return the oracle's annotations as plain tuples of level and count."""
    program = build(text)
    found = annotations_by_force(program, inputs or {}, run_program(program, inputs=inputs))
    return {
        name: {fact: (annotation.level, annotation.count) for fact, annotation in of_facts.items()}
        for name, of_facts in found.items()
    }


def test_oracle_counts_shortest_derivations():
    """The level is the length of the shortest derivation, the count the number of those."""
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (0, 4)]

    path = by_force(PATH, {"edge": edges})["path"]

    assert path[0, 1] == (1, 1)
    assert path[0, 3] == (2, 2)
    # Longer derivations of a fact do not count.
    assert path[0, 4] == (1, 1)
    assert path[1, 4] == (2, 1)


def test_oracle_gives_input_facts_level_nothing():
    """A given fact has level 0 and count 1, however many derivations it has."""
    text = ".decl a(x: number) .input a .decl b(x: number) .input b b(x) :- a(x). b(1)."

    b = by_force(text, {"a": [(1,), (2,)], "b": [(1,)]})["b"]

    assert b == {(1,): (0, 1), (2,): (1, 1)}


def test_oracle_counts_what_wildcards_stand_for():
    """Every fact that a wildcard can stand for is a derivation of its own; negation adds none."""
    text = """
    .decl a(x: number, y: number) .input a
    .decl none(x: number)
    .decl b(x: number) b(x) :- a(x, _), !none(x). b(1). b(1).
    """

    b = by_force(text, {"a": [(1, 1), (1, 2), (2, 1)]})["b"]

    assert b == {(1,): (1, 4), (2,): (1, 1)}


# --- evaluation from nothing ---------------------------------------------------------------


@settings(max_examples=examples(30))
@given(program=tangled_programs(special=SPECIAL) | programs() | dense_programs())
def test_evaluation_annotates_as_brute_force_counts(program: RandomProgram):
    """The first evaluation gives every fact the level and count that brute force finds."""
    run = Maintained(build(program.text)).start(program.inputs)

    run.check()


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.value)
@settings(max_examples=examples(5))
@given(data=st.data())
def test_state_is_that_of_an_engine_started_now(strategy: Strategy, data: st.DataObject):
    """After each epoch the exported state is, fact by fact, that of a fresh engine on the new input.

    This holds for relations with a law of their own as well, whose annotations mean nothing alone.
    """
    program = data.draw(tangled_programs(special=SPECIAL))
    run = Maintained(build(program.text)).start(program.inputs)

    for epoch in data.draw(tangled_epochs(program, max_epochs=3)):
        run.change(epoch.inserts, epoch.deletes, strategy=strategy)

        assert run.annotations() == run.again().annotations()


# --- by hand -------------------------------------------------------------------------------


def test_a_level_grows_when_the_short_way_goes():
    """Losing the shortest derivation moves a fact to the level of the next one."""
    run = Maintained(build(PATH)).start({"edge": [(0, 1), (1, 2), (2, 3), (0, 3)]})

    difference = run.change(delete={"edge": [(0, 3)]})

    assert "path" not in difference.deleted
    assert run.annotations()["path"][0, 3] == Annotation(3, 1, False)


def test_a_level_shrinks_when_a_short_way_comes():
    """Gaining a shorter derivation moves a fact, and what depends on it, down."""
    run = Maintained(build(PATH)).start({"edge": [(0, 1), (1, 2), (2, 3), (3, 4)]})

    run.change(insert={"edge": [(0, 3)]})

    assert run.annotations()["path"][0, 3] == Annotation(1, 1, False)
    assert run.annotations()["path"][0, 4] == Annotation(2, 1, False)


def test_a_fact_that_is_no_longer_given_keeps_its_derivations():
    """Deleting the input leaves a derived fact with the level and count of its derivations."""
    text = f"{PATH}.input path"
    run = Maintained(build(text)).start({"edge": [(0, 1), (0, 2), (1, 3), (2, 3)], "path": [(0, 3)]})
    assert run.annotations()["path"][0, 3] == Annotation(0, 1, True)

    difference = run.change(delete={"path": [(0, 3)]})

    assert difference.deleted == {}
    assert run.annotations()["path"][0, 3] == Annotation(2, 2, False)


def test_a_derived_fact_that_is_given_starts_from_nothing():
    """Inserting a derived fact as input gives it level 0 and is no change of its relation."""
    text = f"{PATH}.input path"
    run = Maintained(build(text)).start({"edge": [(0, 1), (1, 2), (2, 3)]})

    difference = run.change(insert={"path": [(0, 2)]})

    assert difference.inserted == {}
    assert run.annotations()["path"][0, 2] == Annotation(0, 1, True)
    assert run.annotations()["path"][0, 3] == Annotation(1, 1, False)
