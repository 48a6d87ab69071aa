"""The strategy `trace`: after any epochs the state is that of evaluation from nothing."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import Maintained, examples, follow
from support.join_bodies import ARITIES, INPUTS, bodies, codes, inputs
from support.programs import build
from tidelog.engine.epoch import Strategy
from tidelog.storage import relation

TRIANGLES = """
.decl e(x: number, y: number)
.input e
.decl t(x: number, y: number, z: number)
t(x, y, z) :- e(x, y), e(y, z), e(z, x).
"""

fact_sets = {name: st.lists(st.tuples(*[codes] * arity), max_size=4) for name, arity in ARITIES.items()}
changes = st.lists(
    st.tuples(st.fixed_dictionaries(fact_sets), st.fixed_dictionaries(fact_sets)), min_size=1, max_size=5
)


@st.composite
def two_rules(draw: Any) -> str:
    """Draw two rules of one relation, so that facts have derivations by both."""
    first = draw(bodies())
    declaration, rule = first.splitlines()
    arity = declaration.count(":")
    others = [
        text.splitlines()[1] for text in draw(st.lists(bodies(), max_size=3)) if text.count(": ") == arity
    ]
    return "\n".join([declaration, rule, *others[:1]])


@settings(max_examples=examples(60), deadline=None)
@given(body=two_rules(), facts=inputs, drawn=changes)
def test_trace_is_as_from_nothing(body, facts, drawn):
    """Any conjunctive body: relations, deltas, levels and counts are exact after every epoch."""
    follow(INPUTS + body, facts, drawn, Strategy.TRACE)


@settings(max_examples=examples(20), deadline=None)
@given(body=bodies(), facts=inputs, drawn=changes, data=st.data())
def test_trace_takes_turns_with_others(body, facts, drawn, data):
    """A trace that another strategy made stale is recorded anew."""
    turns = data.draw(
        st.lists(
            st.sampled_from([Strategy.TRACE, Strategy.TRACE, Strategy.UPDATE, Strategy.RECOMPUTE]),
            min_size=2,
            max_size=4,
        )
    )

    follow(INPUTS + body, facts, drawn, turns)


def report_of(found: Any, relation: str) -> Any:
    """Return what an epoch says about the stratum of a relation."""
    return next(report for report in found.strata if relation in report.relations)


def test_trace_is_recorded_once_and_then_followed():
    """The first epoch records, later ones only follow, at a small part of that cost."""
    edges = {"e": [(x, (x + step) % 300) for x in range(300) for step in (1, 7, 13, 286, 293)]}
    run = Maintained(build(TRIANGLES)).start(edges)

    first = report_of(run.change({"e": [(1, 1)]}, strategy=Strategy.TRACE), "t")
    second = report_of(run.change({"e": [(2, 2)]}, {"e": [(0, 1)]}, strategy=Strategy.TRACE), "t")
    run.check()

    assert first.strategy is second.strategy is Strategy.TRACE
    assert "intervals was recorded" in first.reason
    assert "recorded" not in second.reason
    assert second.work * 10 < first.work


def test_rules_without_a_trace_say_why():
    """A recursive rule goes by update beside a traced one; where nothing can be traced, all do."""
    text = """
    .decl e(x: number, y: number)
    .input e
    .decl p(x: number, y: number)
    p(x, y) :- e(x, y), e(y, x).
    p(x, z) :- p(x, y), e(y, z).
    .decl q(x: number, y: number)
    q(x, y) :- e(x, _), e(y, _), y = x + 1.
    """
    run = Maintained(build(text)).start({"e": [(1, 2), (2, 1), (2, 3)]})

    found = run.change({"e": [(3, 2)]}, {"e": [(2, 1)]}, strategy=Strategy.TRACE)
    run.check()

    mixed, apart = report_of(found, "p"), report_of(found, "q")
    assert mixed.strategy is Strategy.TRACE
    assert "1 of 2 rules go by trace" in mixed.reason
    assert "it is recursive" in mixed.reason
    assert apart.strategy is Strategy.UPDATE
    assert "its atoms share no variables" in apart.reason


def test_failed_epoch_leaves_the_trace_as_it_was():
    """After an epoch that raised, the next one follows the trace of the epoch before."""
    text = TRIANGLES + ".decl keyed(x: number, y: number) keys x\nkeyed(x, y) :- t(x, y, _).\n"
    run = Maintained(build(text)).start({"e": [(1, 2), (2, 3), (3, 1)]})
    run.change({"e": [(5, 5)]}, strategy=Strategy.TRACE)
    before = run.relations()

    failed = False
    try:
        run.change({"e": [(1, 4), (4, 3)]}, strategy=Strategy.TRACE)
    except Exception as error:  # noqa: BLE001 - whatever the epoch raises must leave no trace behind
        failed = "keyed" in str(error)

    assert failed
    assert run.relations() == before
    run.inputs = {"e": {(1, 2), (2, 3), (3, 1), (5, 5)}}
    run.change({"e": [(1, 4)]}, {"e": [(2, 3)]}, strategy=Strategy.TRACE)
    run.check()


def test_evaluation_after_a_traced_epoch_sees_its_facts():
    """A recompute in the next epoch reads what a traced epoch inserted."""
    text = INPUTS + ".decl r()\nr() :- a(x, x), b(x, x, x).\n"
    epochs = [({"b": [(0, 0, 0)]}, {}), ({"a": [(0, 0)]}, {})]

    follow(text, {}, epochs, [Strategy.TRACE, Strategy.RECOMPUTE])


def steps_of(report: Any) -> int:
    """Return the steps that following the trace took."""
    found = re.search(r"edits? of the trace in ([\d,]+) steps?", report.reason)
    assert found is not None
    return int(found[1].replace(",", ""))


@pytest.mark.parametrize("least_dead", [relation.LEAST_DEAD, 1 << 60], ids=["moving rows", "keeping rows"])
def test_following_a_trace_costs_the_same_after_many_rounds(least_dead, monkeypatch):
    """Facts that were deleted long ago cost nothing, whether their rows were given back or not."""
    monkeypatch.setattr(relation, "LEAST_DEAD", least_dead)
    random = np.random.default_rng(1)
    live = {(1000 * x, 1000 * (x + step) % 10_000) for x in range(10) for step in (1, 2, 3, 5, 8)}
    run = Maintained(build(TRIANGLES)).start({"e": sorted(live)})

    steps = []
    for _ in range(240):
        changed = {"e": sorted(set(map(tuple, random.integers(0, 10_000, (2000, 2)).tolist())) - live)}
        for insert, delete in ((changed, {}), ({}, changed)):
            steps.append(steps_of(report_of(run.change(insert, delete, strategy=Strategy.TRACE), "t")))
    run.check()

    for inserted_or_deleted in (steps[::2], steps[1::2]):
        assert max(inserted_or_deleted[-20:]) < 1.05 * max(inserted_or_deleted[:20])


def test_auto_records_a_trace_where_updates_cost_more():
    """Few pairs of very many visitors matter: from some epoch on, auto goes by trace, and stays exact."""
    text = """
    .pragma "leapfrog-exclude" "meet"
    .decl pair(x: number, y: number)
    .decl visits(x: number, place: number)
    .decl open(place: number)
    .input pair, visits, open
    .decl meet(x: number, y: number)
    meet(x, y) :- pair(x, y), visits(x, place), visits(y, place), open(place).
    """
    visitors = range(100, 8_100)
    run = Maintained(build(text)).start(
        {
            "pair": [(x, x + 1) for x in range(100, 300)],
            "visits": [(x, place) for x in visitors for place in (0, 1)],
            "open": [(0,), (1,)],
        }
    )

    used = []
    for _ in range(12):
        for insert, delete in (({}, {"open": [(0,)]}), ({"open": [(0,)]}, {})):
            used.append(report_of(run.change(insert, delete, strategy=Strategy.AUTO, switch=1.0), "meet"))

    by_trace = [report for report in used if report.strategy is Strategy.TRACE]
    assert used[0].strategy is Strategy.UPDATE
    assert used[-1].strategy is Strategy.TRACE
    assert "more than recording one" in by_trace[0].reason
    assert "predicted to take" in by_trace[1].reason
    assert by_trace[-1].work < used[1].work
    assert run.engine.size("meet") == 200
