"""Negated atoms with wildcards are checked by an index of the relation, and followed key by key."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import Maintained, each_strategy, examples
from support.epochs_programs import SIZE, tangled_epochs, tangled_programs
from support.programs import build
from tidelog.engine.epoch import MaintenanceSettings, Strategy
from tidelog.maintain import LocalMaintainedEngine
from tidelog.maintain.small import epoch as small
from tidelog.storage import projected
from tidelog.storage.annotations import ABSENT

UNREAD = """
.decl node(x: number)
.decl edge(x: number, y: number)
.input node, edge
.decl unread(x: number)
unread(x) :- node(x), !edge(x, _).
"""
# Negated atoms over all that a key may be: one column or two, the first or not, of input and derived facts.
KEYS = f"""
.decl e(x: number, y: number, z: number)
.decl v(x: number, y: number)
.input e, v
.decl d(x: number, y: number)
d(x, y) :- e(x, y, z), v(z, _).
d(x, z) :- d(x, y), v(y, z), !e(_, z, _).
.decl p(x: number, y: number)
p(x, y) :- v(x, y), !e(x, _, _).
p(x, y) :- v(x, y), !e(_, x, y), !d(y, _).
p(x, z) :- p(x, y), v(y, z), !d(_, z), !e(z, _, x).
.decl n(x: number, c: number)
n(x, c) :- v(x, _), c = count : {{ p(x, y), !d(y, _) }}.
.decl q(x: number)
q(x) :- n(x, _), !p({SIZE - 1}, _), !p(_, x).
"""


@pytest.fixture
def at_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be tried in the kernel."""
    monkeypatch.setattr(small.SmallEpochs, "takes", lambda *_: False)


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the keys of an epoch be forgotten after it."""
    monkeypatch.setattr(projected, "_MANY_ROWS", 2)


@pytest.fixture
def postings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no index be direct."""
    monkeypatch.setattr("tidelog.storage.relation_indexes.direct_index", lambda *_: None)


def _check(run: Maintained) -> None:
    """Assert that everything is as from nothing, and that rows of projections say what their keys have."""
    run.check()
    for name, (base, kept) in run.engine.projections.items():
        stored, relation = run.engine.relations[base], run.engine.relations[name]
        facts = stored.rows[: stored.count][stored.levels[: stored.count] != ABSENT]
        keys = set(map(tuple, facts[:, kept].tolist()))
        levels = relation.levels[: relation.count]
        assert set(map(tuple, relation.rows[: relation.count][levels != ABSENT].tolist())) <= keys, name


def _pairs(arity: int) -> st.SearchStrategy[set[tuple[int, ...]]]:
    return st.sets(st.tuples(*[st.integers(0, SIZE - 1)] * arity), max_size=6)


CHANGES = st.lists(
    st.tuples(*[st.fixed_dictionaries({"e": _pairs(3), "v": _pairs(2)})] * 2), min_size=1, max_size=5
)


def _follow_keys(data: st.DataObject, strategies: st.SearchStrategy[Strategy]) -> None:
    run = Maintained(build(KEYS)).start(data.draw(st.fixed_dictionaries({"e": _pairs(3), "v": _pairs(2)})))
    for inserted, deleted in data.draw(CHANGES):
        before = run.relations()
        found = run.change(inserted, deleted, strategy=data.draw(strategies))
        _check(run)
        after = run.relations()
        for name, facts in after.items():
            assert facts - before[name] == found.inserted.get(name, set())
            assert before[name] - facts == found.deleted.get(name, set())


@settings(max_examples=examples(60))
@given(data=st.data())
def test_small_epochs_follow_keys(data: st.DataObject):
    """Row by row, every epoch is as from nothing: levels, counts and delta."""
    _follow_keys(data, st.just(Strategy.UPDATE))


@pytest.mark.usefixtures("at_large")
def test_large_epochs_follow_keys():
    """Batch by batch, too, by every strategy."""

    @settings(max_examples=examples(60))
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        _follow_keys(data, st.sampled_from(Strategy))

    check()


@pytest.mark.usefixtures("forgetful", "postings")
def test_keys_may_be_forgotten_after_an_epoch():
    """A key that was forgotten is looked up in the index, here one of postings."""

    @settings(max_examples=examples(40))
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        _follow_keys(data, st.sampled_from([Strategy.UPDATE, Strategy.AUTO, Strategy.RECOMPUTE]))

    check()


@pytest.mark.parametrize("strategy", each_strategy())
def test_every_strategy_follows_random_rules(strategy: Strategy):
    """Random programs, most with wildcards in negated atoms, are as from nothing after every epoch."""

    @settings(max_examples=examples(25))
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        program = data.draw(tangled_programs())
        run = Maintained(build(program.text)).start(program.inputs)
        for epoch in data.draw(tangled_epochs(program)):
            run.change(epoch.inserts, epoch.deletes, strategy=strategy)
            _check(run)

    check()


def test_evaluation_stores_nothing_for_a_negated_atom():
    """After evaluation a projection has no row, and after an epoch those of the keys that changed."""
    run = Maintained(build(UNREAD)).start(
        {"node": [(x,) for x in range(100)], "edge": [(x, x + 1) for x in range(99)]}
    )
    (name,) = run.engine.projections
    relation = run.engine.relations[name]
    at_first = relation.count

    run.change(insert={"edge": [(99, 0)]}, delete={"edge": [(3, 4)]})

    assert (name, at_first) == ("edge/0", 0)
    assert sorted(relation.rows[: relation.count].ravel().tolist()) == [3, 99]
    _check(run)


@pytest.mark.parametrize("is_small", [True, False])
def test_a_fact_is_unread_when_the_last_one_of_its_key_goes(is_small: bool, monkeypatch: pytest.MonkeyPatch):  # noqa: FBT001
    """One of two facts of a key changes nothing, nor one that takes the place of another."""
    if not is_small:
        monkeypatch.setattr(small.SmallEpochs, "takes", lambda *_: False)
    run = Maintained(build(UNREAD)).start({"node": [(1,), (2,)], "edge": [(1, 1), (1, 2)]})

    one = run.change(delete={"edge": [(1, 1)]})
    other = run.change(delete={"edge": [(1, 2)]}, insert={"edge": [(1, 7)]})
    last = run.change(delete={"edge": [(1, 7)]})
    first = run.change(insert={"edge": [(1, 8), (1, 9)]})

    assert "unread" not in one.inserted | one.deleted
    assert "unread" not in other.inserted | other.deleted
    assert last.inserted["unread"] == {(1,)}
    assert first.deleted["unread"] == {(1,)}
    _check(run)


@pytest.mark.parametrize("is_small", [True, False])
def test_a_trial_leaves_keys_as_they_were(is_small: bool, monkeypatch: pytest.MonkeyPatch):  # noqa: FBT001
    """What an epoch that is undone has entered still says what its keys have."""
    if not is_small:
        monkeypatch.setattr(small.SmallEpochs, "takes", lambda *_: False)
    run = Maintained(build(UNREAD)).start({"node": [(1,), (2,)], "edge": [(1, 1)]})
    run.change(insert={"node": [(3,)]})
    _, changes = run._net(run.program, {"edge": [(2, 2)]}, {"edge": [(1, 1)]})

    with run.engine.trial(changes, MaintenanceSettings()) as result:
        found = result.inserted["unread"], result.deleted["unread"]
    _check(run)
    run.change(insert={"node": [(4,)], "edge": [(3, 3)]})

    assert [np.asarray(side[0]).tolist() for side in found] == [[1], [2]]
    _check(run)


def test_rules_that_come_and_go_negate_the_same_relation():
    """A projection that other rules ask for begins anew; facts change in the same epoch."""
    more = UNREAD + ".decl lone(x: number)\nlone(x) :- unread(x), !edge(_, x).\n"
    run = Maintained(build(UNREAD)).start({"node": [(1,), (2,), (3,)], "edge": [(1, 2)]})
    run.change(insert={"edge": [(3, 3)]})

    run.change_rules(build(more), insert={"edge": [(2, 1)]}, delete={"edge": [(3, 3)]})
    _check(run)
    run.change(delete={"edge": [(2, 1), (1, 2)]})
    _check(run)
    run.change_rules(build(UNREAD), insert={"edge": [(1, 2)]})
    _check(run)

    assert run.relations()["unread"] == {(2,), (3,)}


def test_wide_codes_are_keys():
    """An epoch that widens all codes finds the keys in the wide relation."""
    run = Maintained(build(UNREAD)).start({"node": [(1,), (2,)], "edge": [(1, 2)]})
    run.change(delete={"edge": [(1, 2)]})

    run.change(insert={"node": [(2**40,), (2**41,)], "edge": [(2**41, 1)]})

    assert run.relations()["unread"] == {(1,), (2,), (2**40,)}
    _check(run)


def test_blame_and_repair_look_behind_a_negated_atom():
    """The changes to blame are found through it, and afterwards nothing is stored for it."""
    with tidelog.open(UNREAD, keep_epochs=10) as db:
        db.apply(insert={"node": [(x,) for x in range(50)], "edge": [(x, 1) for x in range(40)]})
        db.apply(delete={"edge": [(7, 1)]}, insert={"edge": [(45, 1)]})

        unwanted = db.blame(unwanted="unread(7)")
        missing = db.blame(missing="unread(45)")
        repaired = db.repair(unwanted="unread(7)")
        engine = db._epochs.handle.engine
        assert isinstance(engine, LocalMaintainedEngine)
        relation = engine.relations["edge/0"]

    assert [str(change) for change in unwanted.changes] == ["-edge(7, 1)"]
    assert [str(change) for change in missing.changes] == ["+edge(45, 1)"]
    assert [str(change) for change in repaired.changes] == ["+edge(7, 1)"]
    assert relation.count <= 2


def test_a_refused_epoch_leaves_keys_as_they_were():
    """A key given twice refuses the epoch; the next one is as from nothing."""
    text = UNREAD + ".decl first(x: number, y: number) keys x\nfirst(0, x) :- unread(x).\n"
    with tidelog.open(text) as db:
        db.apply(insert={"node": [(1,), (2,)], "edge": [(1, 1), (2, 2)]})
        db.apply(delete={"edge": [(1, 1)]})
        with pytest.raises(tidelog.TidelogError):
            db.apply(delete={"edge": [(2, 2)]})

        db.apply(delete={"edge": [(2, 2)]}, insert={"edge": [(1, 1)]})

        assert sorted(db["unread"]) == [(2,)]
