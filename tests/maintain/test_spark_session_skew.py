"""Sessions spread the rows of frequent values, and every derivation is still found by one partner."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import examples
from support.epochs_oracle import annotations_by_force
from support.epochs_programs import SIZE, tangled_epochs, tangled_programs
from support.partner_epochs import check_history, divided, follow, followable, history_of
from support.programs import build, run_program
from support.resident_session import Resident
from support.resident_threads import MOMENTS, tasks_in_threads
from support.strategies import epochs, programs
from tidelog.engine.epoch import Strategy
from tidelog.engine.spark import skew
from tidelog.engine.spark.skew import dividing_columns
from tidelog.maintain.partners.engine import PartnerEngine
from tidelog.maintain.partners.heads import PartnerHeads
from tidelog.maintain.partners.session_routes import cut_for, routes_of

HEAVY = st.sets(st.integers(0, SIZE - 1), min_size=1).map(sorted).map(tuple)
STRATEGIES = st.sampled_from([Strategy.UPDATE, Strategy.UPDATE, Strategy.RECOMPUTE, Strategy.AUTO])


@settings(max_examples=examples(40))
@given(data=st.data(), strategy=STRATEGIES, heavy=HEAVY, copies=st.booleans())
@pytest.mark.parametrize("partners", [2, 3])
def test_spread_values_change_no_epoch(partners, data, strategy, heavy, copies):
    """Levels and counts are those of one partner, whatever values are spread, after every epoch."""
    drawn = data.draw(tangled_programs())
    program, aggregates = divided(drawn.text)
    cut = cut_for(program, () if copies else program.relations.keys(), aggregates.keys())
    history = history_of(drawn, data.draw(tangled_epochs(drawn, max_epochs=3)))

    check_history(cut.program, history, partners, strategy, aggregates, cut.dividing, heavy)


@settings(max_examples=examples(30))
@given(data=st.data(), strategy=STRATEGIES, heavy=HEAVY, partners=st.integers(2, 4))
def test_spread_values_give_what_brute_force_counts(data, strategy, heavy, partners):
    """Facts are the reference engine's, and their levels and counts those of brute force."""
    drawn = data.draw(tangled_programs())
    program = followable(drawn.text)
    history = history_of(drawn, data.draw(tangled_epochs(drawn, max_epochs=2)))

    states, _ = follow(program, history, partners, strategy, heavy=heavy)

    for number, inputs in enumerate(history):
        given = {name: sorted(facts) for name, facts in inputs.items() if facts}
        expected = run_program(program, inputs=given)
        annotations = annotations_by_force(program, inputs, expected)
        for name in program.relations:
            together = {row: each for state in states[number] for row, each in state[name].items()}
            assert together.keys() == expected[name], name
            wanted = annotations.get(name, {})
            assert all(together[fact] == each[:2] for fact, each in wanted.items()), name


HUB = """
.decl edge(x: number, y: number) .input edge
.decl off(x: number, y: number) .input off
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z), !off(y, z).
"""
EDGES = {(100 + n, 0) for n in range(20)} | {(0, 200 + n) for n in range(60)}
EDGES |= {(1000 + n, 2000 + n) for n in range(40)}


@pytest.fixture
def work(monkeypatch):
    """Return the derivations of each partner: those of evaluations, and those of epochs."""
    found = Counter(), Counter()
    evaluate, claim = PartnerEngine.evaluate, PartnerHeads.claim

    def note_evaluation(engine, kept=()):
        finished = evaluate(engine, kept)
        found[0][engine.wire.me] += sum(each.derivations for each in finished)
        return finished

    def note_claim(heads, rule, batch, first):
        mine = claim(heads, rule, batch, first)
        found[1][heads.wire.me] += int(np.count_nonzero(mine))
        return mine

    monkeypatch.setattr(PartnerEngine, "evaluate", note_evaluation)
    monkeypatch.setattr(PartnerHeads, "claim", note_claim)
    return found


def test_the_largest_share_falls(work):
    """A value in half of the rows keeps no partner busy alone: with rows, in evaluation and in an epoch."""
    program = followable(HUB)
    history = [{"edge": EDGES, "off": set()}]
    history.append({"edge": EDGES - {(0, 200 + n) for n in range(30)}, "off": {(0, 231)}})

    shares = []
    totals = []
    for heavy in ((), (0,)):
        for each in work:
            each.clear()
        states, _ = follow(program, history, 4, Strategy.UPDATE, heavy=heavy)
        rows = [len(each["edge kept"]) for each in states[0]]
        shares.append([max(rows), *(max(each.values()) for each in work)])
        totals.append([sum(each.values()) for each in work])

    assert all(after < 0.7 * before for before, after in zip(*shares, strict=True)), shares
    # No derivation is found twice or not at all.
    assert totals[0] == totals[1]
    check_history(program, history, 4, Strategy.UPDATE, {}, heavy=(0,))


def test_only_columns_that_divide_facts_have_frequent_values():
    """A flag that most facts have is none, unless rules pass it on to where facts are divided by it."""
    text = """
    .decl edge(x: number, y: number, flag: number) .input edge
    .decl path(x: number, y: number)
    path(x, y) :- edge(x, y, _).
    path(x, z) :- path(x, y), path(y, z).
    .decl kind(x: number, k: number)
    kind(x, k) :- edge(x, _, k).
    """
    more = """
    .decl same(k: number, x: number)
    same(k, x) :- kind(x, k).
    same(k, z) :- same(k, x), path(x, z), kind(x, k).
    """

    def columns(program):
        return dividing_columns(program, zip(program.strata, routes_of(program, {}), strict=True))["edge"]

    assert columns(build(text)) == {0, 1}
    assert columns(build(text + more)) == {0, 1, 2}


@pytest.fixture
def spread_early(monkeypatch):
    """Let values be frequent in relations of any size."""
    monkeypatch.setattr(skew, "_LEAST_ROWS", 1)


@pytest.mark.usefixtures("spread_early")
def test_a_session_keeps_its_frequent_values():
    """They are found at the evaluation and stay through epochs and lost partners; placements say how many."""
    with tasks_in_threads() as tasks:
        session = Resident(build(HUB)).start({"edge": EDGES, "off": [(0, 3)]})
        (group,) = session.engine._groups
        found = [group.heavy]
        assert session.engine.placements[-1].reason.endswith("; rows of 1 frequent value are spread")
        tasks.kill(1, "exchange", 2)
        session.change(insert={"edge": [(7, n) for n in range(300)]}, delete={"off": [(0, 3)]})
        found.append(group.heavy)

        assert tasks.kills == 1
        assert session.relations() == session.expected()
        assert found == [(0,), (0,)]
        session.engine.close()


@pytest.mark.usefixtures("spread_early")
def test_frequent_values_stay_as_long_as_residents_do():
    """A change of rules goes on with the values that are spread; partners that read all files look again."""
    others = ".decl loop(x: number)\n"
    with tasks_in_threads():
        session = Resident(build(HUB + others)).start({"edge": EDGES, "off": []})
        session.change(insert={"edge": [(7, n) for n in range(300)]}, delete={"edge": EDGES})

        session.change_rules(build(HUB))
        kept = session.engine._groups[0].heavy
        session.engine._pool.release()
        session.change_rules(build(HUB + others + "loop(x) :- path(x, x)."))
        again = session.engine._groups[0].heavy

        assert (kept, again) == ((0,), (7,))
        assert session.relations() == session.expected()
        session.engine.close()


@settings(max_examples=examples(15))
@given(data=st.data(), strategy=STRATEGIES)
def test_sessions_that_spread_values_are_exact(data, strategy):
    """Random programs over all types are followed exactly, whoever dies and whatever is frequent."""
    drawn = data.draw(programs())
    kill = st.tuples(st.integers(0, 2), st.sampled_from(MOMENTS), st.integers(0, 12))
    with tasks_in_threads(data.draw(st.integers(1, 3))) as tasks, pytest.MonkeyPatch.context() as patch:
        patch.setattr(skew, "_LEAST_ROWS", 1)
        session = Resident(build(drawn.text))
        session.engine._pool.partners = data.draw(st.integers(2, 3))
        try:
            session.start(drawn.inputs)
            assert session.relations() == session.expected()
            for epoch in data.draw(epochs(drawn, max_epochs=3)):
                for each in data.draw(st.lists(kill, max_size=1)):
                    tasks.kill(*each)
                session.change(epoch.inserts, epoch.deletes, strategy=strategy)
                assert session.relations() == session.expected()
        finally:
            session.engine.close()
