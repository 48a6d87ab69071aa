"""The elastic strategies: the published example, facts that move to later iterations, and proofs.

That they arrive where evaluation from nothing does is tested with all strategies in
`test_maintain_strategies.py`, counts and levels included.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import examples
from support.epochs_programs import tangled_epochs, tangled_programs
from tidelog.engine.epoch import Strategy

ELASTIC = (Strategy.ELASTIC_LAZY, Strategy.ELASTIC_EAGER)

POINTS_TO = """
.decl new(v: symbol, o: symbol)
.decl assign(v: symbol, w: symbol)
.decl store(v: symbol, f: symbol, w: symbol)
.decl load(v: symbol, w: symbol, f: symbol)
.decl vpt(v: symbol, o: symbol)
.decl alias(v: symbol, w: symbol)
vpt(v, o) :- new(v, o).
vpt(v, o) :- assign(v, w), vpt(w, o).
vpt(v, o) :- load(v, w, f), store(u, f, x), vpt(x, o), vpt(u, p), vpt(w, p).
alias(v, w) :- vpt(v, o), vpt(w, o), v != w.
"""
FACTS = {
    "new": [("a", "L1"), ("c", "L3"), ("d", "L4")],
    "assign": [("a", "b"), ("b", "a")],
    "store": [("c", "f", "a")],
    "load": [("e", "d", "f"), ("b", "c", "f")],
}


@pytest.mark.parametrize("strategy", ELASTIC)
def test_a_fact_with_two_derivations_in_its_iteration_survives_the_loss_of_one(strategy: Strategy):
    """`vpt(b, L1)` has an assignment and a load: without the assignment the load derives it still."""
    db = tidelog.open(POINTS_TO, facts=FACTS, strategy=strategy.value)

    delta = db.apply("-assign('b', 'a').")

    assert "vpt" not in delta
    assert ("b", "L1") in db["vpt"]
    assert "load" in str(db.why("vpt('b', 'L1')"))


@pytest.mark.parametrize("strategy", ELASTIC)
def test_removing_an_allocation_and_a_load_has_the_impact_it_must_have(strategy: Strategy):
    """Without `new(a, L1)` half of `vpt` and all of `alias` are deleted; the epoch after restores both."""
    db = tidelog.open(POINTS_TO, facts=FACTS, strategy=strategy.value)
    before = {name: set(db[name]) for name in ("vpt", "alias")}

    delta = db.apply("-new('a', 'L1'). -load('e', 'd', 'f').")
    db.apply("+new('a', 'L1'). +load('e', 'd', 'f').")

    assert delta["vpt"].deleted == {("a", "L1"), ("b", "L1")}
    assert delta["alias"].deleted == {("a", "b"), ("b", "a")}
    assert {name: set(db[name]) for name in before} == before


@pytest.mark.parametrize("strategy", ELASTIC)
def test_a_deleted_fact_is_found_again_in_a_later_iteration(strategy: Strategy):
    """Without the edge from 1 to 4 the path is the longer one, and so is its proof."""
    db = tidelog.open(
        """
        .decl edge(x: number, y: number)
        .decl path(x: number, y: number)
        path(x, y) :- edge(x, y).
        path(x, z) :- path(x, y), edge(y, z).
        """,
        facts={"edge": [(1, 2), (2, 3), (3, 4), (1, 4)]},
        strategy=strategy.value,
    )
    short = db.why("path(1, 4)").height

    delta = db.apply("-edge(1, 4).")

    assert "path" not in delta
    assert short < db.why("path(1, 4)").height


@settings(max_examples=examples(10))
@given(data=st.data(), strategy=st.sampled_from(ELASTIC))
def test_proofs_hold_after_every_epoch(data: st.DataObject, strategy: Strategy):
    """Every derived fact has a proof that can be checked."""
    program = data.draw(tangled_programs())
    db = tidelog.open(program.text, facts=program.inputs, strategy=strategy.value)

    for epoch in data.draw(tangled_epochs(program)):
        db.apply(insert=epoch.inserts, delete=epoch.deletes)
        for name in db.relations:
            for fact in list(db[name])[:5]:
                proof = db.why((name, fact))
                assert proof.check(), proof.check().problems
