"""Residents that lose partners: the others keep their state, and every epoch is exact."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import examples
from support.epochs_programs import tangled_epochs, tangled_programs
from support.partner_epochs import followable
from support.programs import build
from support.resident_session import Resident, check_same_files
from support.resident_threads import MOMENTS, tasks_in_threads
from tidelog import TidelogError
from tidelog.engine.epoch import Strategy
from tidelog.maintain.partners.engine import PartnerEngine
from tidelog.maintain.partners.service import _Service
from tidelog.store.store import Store

PATHS = """
.decl edge(x: number, y: number) .input edge
.decl stop(x: number) .input stop
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z), !stop(y).
.decl far(x: number, y: number)
far(x, y) :- path(x, y), !edge(x, y).
far(x, z) :- far(x, y), far(y, z).
"""
CHAIN = {"edge": [(n, n + 1) for n in range(12)], "stop": [(5,)]}


@pytest.fixture
def loads(monkeypatch):
    """Return a list of the partners that load a state from files."""
    found = []
    load = _Service._load

    def note(service, request):
        if service._wire.me in request["partners"]:
            found.append(service._wire.me)
        return load(service, request)

    monkeypatch.setattr(_Service, "_load", note)
    return found


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("after", [0, 2])
def test_only_the_lost_partner_loads_its_state(moment, after, loads):
    """Wherever a partner dies in an epoch, the others keep what they have, and all are exact."""
    with tasks_in_threads() as tasks:
        run = Resident(build(PATHS)).start(CHAIN)
        tasks.kill(1, moment, after if moment == "exchange" else 0)

        before = run.relations()
        found = run.change(insert={"edge": [(20, 3)]}, delete={"edge": [(2, 3)], "stop": [(5,)]})

        after_it = run.relations()
        assert after_it == run.expected()
        assert found.inserted["path"] == after_it["path"] - before["path"]
        assert found.deleted["path"] == before["path"] - after_it["path"]
        run.change(delete={"edge": [(7, 8)]})
        assert run.relations() == run.expected()
        run.engine.close()
    assert (tasks.kills, tasks.stages) == (1, 1)
    assert set(loads) == {1}


def test_a_partner_lost_between_epochs(loads):
    """A death that nobody notices until the next request costs no more."""
    with tasks_in_threads() as tasks:
        run = Resident(build(PATHS)).start(CHAIN)
        tasks.kill(2, "replied", 0)
        run.change(insert={"edge": [(30, 1)]})

        run.change(delete={"edge": [(30, 1)], "stop": [(5,)]})

        assert run.relations() == run.expected()
        run.engine.close()
    assert (tasks.kills, tasks.stages) == (1, 1)
    assert set(loads) == {2}


def test_a_partner_lost_in_the_first_evaluation(loads):
    """Nothing is committed yet: all evaluate again, without another stage."""
    with tasks_in_threads() as tasks:
        tasks.kill(0, "exchange", 3)
        run = Resident(build(PATHS)).start(CHAIN)

        assert run.relations() == run.expected()
        run.engine.close()
    assert (tasks.kills, tasks.stages, loads) == (1, 1, [])


def test_all_partners_lost_at_once(loads):
    """Without anybody left, all load the committed state, each its share."""
    with tasks_in_threads() as tasks:
        run = Resident(build(PATHS)).start(CHAIN)
        for partner in range(3):
            tasks.kill(partner, "exchange", 1)

        run.change(delete={"edge": [(4, 5)]})

        assert run.relations() == run.expected()
        run.engine.close()
    assert tasks.kills >= 1
    assert set(loads) >= {0}


def test_partners_that_die_again_and_again_are_given_up():
    """An epoch that loses partners at every attempt is a diagnostic, and leaves the state as it was."""
    with tasks_in_threads() as tasks:
        run = Resident(build(PATHS)).start(CHAIN)
        before = run.relations()
        pass_by = tasks.pass_by

        def always(wire, moment):
            if wire.me == 1 and moment == "exchange":
                tasks.kill(1, "exchange", 0)
            pass_by(wire, moment)

        tasks.pass_by = always
        with pytest.raises(TidelogError, match="were lost 4 times"):
            run.change(delete={"edge": [(4, 5)]})
        tasks.pass_by = pass_by

        assert run.relations() == before == run.expected()
        run.change(delete={"edge": [(4, 5)]})
        assert run.relations() == run.expected()
        run.engine.close()


@pytest.fixture
def evaluations(monkeypatch):
    """Return a list of the strata that partners evaluate from scratch."""
    found = []
    run = PartnerEngine._run

    def note(engine, number, stratum):
        if stratum.rules:
            found.append(stratum.relations)
        return run(engine, number, stratum)

    monkeypatch.setattr(PartnerEngine, "_run", note)
    return found


def test_a_state_that_is_taken_over_is_not_evaluated(evaluations):
    """What partners kept is loaded from an exported state, and followed from there."""
    with tasks_in_threads():
        run = Resident(build(PATHS)).start(CHAIN)
        run.change(delete={"edge": [(4, 5)]})
        evaluations.clear()

        moved = run.moved()

        assert moved.relations() == run.relations()
        moved.change(insert={"edge": [(4, 5), (11, 0)]}, delete={"edge": [(9, 10)]})
        assert moved.relations() == moved.expected()
        assert evaluations == []
        for each in (run, moved):
            each.engine.close()


def test_what_splits_made_is_derived_from_a_state(evaluations):
    """A rule that is split in two derives a relation that no state has: it follows from the others."""
    text = PATHS + "far(x, y) :- far(x, z), far(z, w), far(w, v), far(v, y).\n"
    with tasks_in_threads():
        run = Resident(build(text)).start(CHAIN)
        run.change(insert={"edge": [(12, 3)]}, delete={"edge": [(4, 5)]})
        evaluations.clear()

        moved = run.moved()

        assert sum("/" in name for name in moved.engine._groups[0].files) == 2
        check_same_files(run.engine, moved.engine)
        moved.change(insert={"edge": [(4, 5)]}, delete={"edge": [(9, 10)]}, strategy=Strategy.UPDATE)
        assert moved.relations() == moved.expected()
        assert evaluations == []
        for each in (run, moved):
            each.engine.close()


SPLIT = """
.decl e(x: number, y: number) .input e
.decl a(x: number, y: number) .input a
.decl b(x: number, y: number)
a(x, y) :- e(x, y).
a(x, y) :- e(x, z), b(z, y).
b(x, w) :- e(y, x), a(y, z), e(z, w).
b(x, y) :- a(z, x), b(z, w), a(w, y).
b(x, y) :- a(x, z), b(z, w), a(w, v), b(v, y), x != y.
b(x, y) :- b(1, x), a(x, y), b(y, _), a(_, 2).
"""
PAIRS = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=7)


@settings(max_examples=examples(10))
@given(history=st.lists(st.tuples(PAIRS, PAIRS), min_size=2, max_size=3))
def test_states_of_split_rules_are_exact(history):
    """Levels and counts in the middle are those that partners found, epoch by epoch."""
    with tasks_in_threads():
        edges, arcs = history[0]
        run = Resident(build(SPLIT)).start({"e": edges, "a": arcs})
        for edges, arcs in history[1:]:
            before, now = run.inputs, {"e": edges, "a": arcs}
            inserted = {name: now[name] - before[name] for name in now}
            run.change(inserted, {name: before[name] - now[name] for name in now})
            moved = run.moved()
            check_same_files(run.engine, moved.engine)
            run.engine.close()
            run = moved
            assert run.relations() == run.expected()
        run.engine.close()


class Cut(Resident):
    """A session that cuts rules rather than copy a relation to every partner."""

    replicated_facts = 0


CUT = PATHS + "far(x, y) :- edge(z, x), far(z, w), edge(w, y).\n"


def test_strata_whose_rules_are_cut_are_taken_over(evaluations):
    """A state has the halves of rules that were cut, which read earlier strata."""
    with tasks_in_threads():
        run = Cut(build(CUT)).start(CHAIN)
        assert any("/" in name for name in run.engine._groups[0].files)
        run.change(insert={"edge": [(12, 3)]}, delete={"edge": [(4, 5)]})
        evaluations.clear()

        moved = run.moved()

        check_same_files(run.engine, moved.engine)
        moved.change(insert={"edge": [(4, 5)]}, delete={"edge": [(9, 10)]}, strategy=Strategy.UPDATE)
        assert moved.relations() == moved.expected()
        assert evaluations == []
        for each in (run, moved):
            each.engine.close()


def test_a_store_has_halves_of_rules_and_does_not_show_them(tmp_path, evaluations):
    """What goes through the files of a store is loaded as well; nobody wrote its relations with halves."""
    with tasks_in_threads():
        run = Cut(build(CUT)).start(CHAIN)
        store = Store.create(tmp_path, (), run.codec)
        store.snapshot(run.engine.export_state(), run.program, "")
        store.close()
        evaluations.clear()
        moved = Cut(build(CUT))
        moved.inputs = {name: set(facts) for name, facts in run.inputs.items()}
        opened = Store.open(tmp_path)

        moved.engine.import_state(opened.load(moved.codec).state)

        assert opened.status().facts.keys() == run.program.relations.keys()
        assert evaluations == []
        moved.change(delete={"edge": [(9, 10)]}, strategy=Strategy.UPDATE)
        assert moved.relations() == moved.expected()
        opened.close()
        for each in (run, moved):
            each.engine.close()


@pytest.mark.parametrize("kinds", [(Cut, Resident), (Resident, Cut)], ids=["uncut", "cut"])
def test_strata_that_are_cut_otherwise_are_evaluated(kinds, evaluations):
    """Levels depend on where rules are cut, and they are cut where relations are large now."""
    with tasks_in_threads():
        run = kinds[0](build(CUT)).start(CHAIN)
        state = run.engine.export_state()
        evaluations.clear()
        moved = kinds[1](build(CUT))
        moved.codec, moved.inputs = run.codec, {name: set(facts) for name, facts in run.inputs.items()}
        moved._new_engine()

        moved.engine.import_state(state)

        assert {name for names in evaluations for name in names if "/" not in name} == {"far"}
        assert moved.relations() == moved.expected()
        moved.change(delete={"edge": [(9, 10)]}, strategy=Strategy.UPDATE)
        assert moved.relations() == moved.expected()
        check_same_files(moved.engine, moved.again().engine)
        for each in (run, moved):
            each.engine.close()


def test_an_older_state_without_halves_is_evaluated(evaluations):
    """A state that has no halves of cut rules is opened all the same."""
    with tasks_in_threads():
        run = Cut(build(CUT)).start(CHAIN)
        state = run.engine.export_state()
        relations = {name: each for name, each in state.relations.items() if "/" not in name}
        evaluations.clear()
        moved = Cut(build(CUT))
        moved.codec, moved.inputs = run.codec, {name: set(facts) for name, facts in run.inputs.items()}
        moved._new_engine()

        moved.engine.import_state(replace(state, relations=relations))

        assert {name for names in evaluations for name in names if "/" not in name} == {"far"}
        moved.change(delete={"edge": [(9, 10)]}, strategy=Strategy.UPDATE)
        assert moved.relations() == moved.expected()
        for each in (run, moved):
            each.engine.close()


def test_aggregates_go_on_from_a_state_that_is_taken_over():
    """Groups that partners have not in memory are found again when a change reaches them."""
    text = (
        PATHS
        + """
    .decl reached(x: number, n: number, m: number)
    reached(x, n, m) :- edge(x, _), n = count : { path(x, _) }, m = max y : { far(x, y) }.
    """
    )
    with tasks_in_threads():
        run = Resident(build(text)).start(CHAIN)

        moved = run.moved()

        for edge in ((9, 10), (2, 3)):
            moved.change(delete={"edge": [edge]}, insert={"edge": [(edge[0], 40)]})
            assert moved.relations() == moved.expected()
        for each in (run, moved):
            each.engine.close()


@settings(max_examples=examples(10))
@given(data=st.data())
def test_states_that_are_taken_over_are_exact(data):
    """Random programs go on from an exported state as if they had never stopped."""
    drawn = data.draw(tangled_programs())
    with tasks_in_threads():
        run = Resident(followable(drawn.text)).start(drawn.inputs)
        for epoch in data.draw(tangled_epochs(drawn, max_epochs=3)):
            run.change(epoch.inserts, epoch.deletes)
            moved = run.moved()
            check_same_files(run.engine, moved.engine)
            run.engine.close()
            run = moved
            assert run.relations() == run.expected()
        run.engine.close()


@settings(max_examples=examples(12))
@given(data=st.data(), kind=st.sampled_from([Resident, Cut]))
def test_states_with_laws_that_are_taken_over_are_exact(data, kind):
    """So do programs whose laws decide at partners or at one of them, and those with cut rules."""
    drawn = data.draw(tangled_programs(special=("eqrel", "choice", "least", "lattice", "limit")))
    with tasks_in_threads():
        run = kind(build(drawn.text)).start(drawn.inputs)
        for epoch in data.draw(tangled_epochs(drawn, max_epochs=3)):
            run.change(epoch.inserts, epoch.deletes)
            moved = run.moved()
            groups = [(each.own, each.program.relations.keys()) for each in run.engine._groups]
            if groups == [(each.own, each.program.relations.keys()) for each in moved.engine._groups]:
                # Otherwise rules are cut for what is large now.
                check_same_files(run.engine, moved.engine)
            run.engine.close()
            run = moved
            assert run.relations() == run.expected()
        run.engine.close()


@settings(max_examples=15)
@given(
    data=st.data(),
    strategy=st.sampled_from([Strategy.UPDATE, Strategy.AUTO, Strategy.RECOMPUTE]),
    partners=st.integers(2, 3),
)
def test_epochs_that_lose_partners_are_exact(data, strategy, partners):
    """Random programs and epochs are followed exactly, whoever dies and whenever."""
    drawn = data.draw(tangled_programs())
    epochs = data.draw(tangled_epochs(drawn, max_epochs=3))
    kill = st.tuples(st.integers(0, partners - 1), st.sampled_from(MOMENTS), st.integers(0, 12))
    with tasks_in_threads(data.draw(st.integers(1, 3))) as tasks:
        run = Resident(followable(drawn.text))
        run.engine._pool.partners = partners
        if data.draw(st.booleans()):
            tasks.kill(*data.draw(kill))
        run.start(drawn.inputs)
        try:
            assert run.relations() == run.expected()
            for epoch in epochs:
                for each in data.draw(st.lists(kill, max_size=2)):
                    tasks.kill(*each)
                run.change(epoch.inserts, epoch.deletes, strategy=strategy)
                assert run.relations() == run.expected()
        finally:
            run.engine.close()
