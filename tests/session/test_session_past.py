"""Old epochs of a session, read as they were."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import examples
from support.epochs_programs import FUNCTIONS, SPECIAL, tangled_epochs, tangled_programs
from tidelog.options import EngineName
from tidelog.session import Session
from tidelog.session.reader import EpochReader
from tidelog.values import Fact

PATHS = """\
.decl edge(x: symbol, y: symbol)
.input edge
.decl path(x: symbol, y: symbol)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl any()
any() :- edge(_, _).
"""
Relations = dict[str, frozenset[Fact]]


def relations(reader: EpochReader) -> Relations:
    """Return all facts."""
    return {name: frozenset(reader[name]) for name in reader}


def check_past(db: Session, known: Sequence[Relations]) -> None:
    """Check every epoch, and the differences of every two epochs, against what was noted then."""
    for epoch, expected in enumerate(known):
        view = db.at(epoch)
        assert relations(view) == expected
        assert {name: len(view[name]) for name in view} == {name: len(expected[name]) for name in expected}
        for name, facts in expected.items():
            if facts and next(iter(facts)):
                first = min(facts)[0]
                rest = "".join(f", v{place}" for place in range(1, len(min(facts))))
                found = view.query(f"{name}($first{rest})", first=first)
                assert len(found) == len({fact for fact in facts if fact[0] == first})
    for before, old in enumerate(known):
        for after, new in enumerate(known):
            found = db.diff(before, after)
            for name in new:
                assert frozenset(found[name].inserted) == new[name] - old.get(name, frozenset())
                assert frozenset(found[name].deleted) == old.get(name, frozenset()) - new[name]


@pytest.mark.parametrize("engine", ["local", "reference"])
@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_every_epoch_is_what_it_was(engine: EngineName, data: st.DataObject) -> None:
    """`db.at` and `db.diff` give the facts that the reference engine finds from the inputs of each epoch."""
    program = data.draw(tangled_programs(special=SPECIAL))
    changes = data.draw(tangled_epochs(program))
    inputs = {name: set(facts) for name, facts in program.inputs.items()}
    with tidelog.open(program.text, facts=program.inputs, engine=engine, functions=FUNCTIONS, jobs=1) as db:
        early = db.at(0)
        known = [_from_scratch(program.text, inputs)]
        for change in changes:
            db.apply(insert=change.inserts, delete=change.deletes)
            for name, facts in change.deletes.items():
                inputs[name] -= set(facts)
            for name, facts in change.inserts.items():
                inputs[name] |= set(facts)
            known.append(_from_scratch(program.text, inputs))
            # Read in every epoch, it follows the session.
            assert relations(early) == known[0]

        check_past(db, known)


@settings(max_examples=examples(15), deadline=None)
@given(data=st.data())
def test_proofs_of_old_epochs_hold(data: st.DataObject) -> None:
    """Every fact of an old epoch has a proof whose support is among the input facts of that epoch."""
    program = data.draw(tangled_programs())
    changes = data.draw(tangled_epochs(program))
    with tidelog.open(program.text, facts=program.inputs, functions=FUNCTIONS, jobs=1) as db:
        before = relations(db)
        for change in changes:
            db.apply(insert=change.inserts, delete=change.deletes)

        view = db.at(0)

        for name, facts in before.items():
            for fact in sorted(facts)[:3]:
                proof = view.why((name, fact))
                assert proof.check()
                assert all(found <= before[leaf] for leaf, found in proof.support().items())


def _from_scratch(text: str, inputs: dict[str, set[Fact]]) -> Relations:
    facts = {name: sorted(some) for name, some in inputs.items()}
    with tidelog.open(text, facts=facts, engine="reference", functions=FUNCTIONS) as db:
        return relations(db)


def test_an_old_epoch_has_its_own_rules() -> None:
    """Facts, rules, proofs and refutations are those of the epoch, also if rules changed since."""
    with tidelog.open(PATHS, facts={"edge": [("a", "b")]}) as db:
        db.apply(insert="edge('b', 'c')")
        view = db.at(1)
        db.add_rules(".decl loop(x: symbol)\nloop(x) :- path(x, x).\npath(x, x) :- edge(x, _).")
        db.apply(delete="edge('a', 'b')")

        assert frozenset(view["path"]) == {("a", "b"), ("a", "c"), ("b", "c")}
        assert "loop" not in view
        assert len(view.rules) == 3
        assert list(view.query("path('a', x), edge(x, _)")) == [("b",)]
        assert view.why("path('a', 'c')").support() == {"edge": {("a", "b"), ("b", "c")}}
        assert 'edge("b", "c")' in str(db.at(0).why_not("path('a', 'c')"))
        assert db.diff(1, 3).rules.inserted[-1] == "path(x, x) :- edge(x, _)."
        assert db.diff(3, 1).rules.deleted == db.diff(1, 3).rules.inserted


def test_a_fact_without_columns_is_read_in_old_epochs() -> None:
    """A relation without columns holds or not, as it did then."""
    with tidelog.open(PATHS, facts={"edge": [("a", "b")]}) as db:
        db.apply(delete="edge('a', 'b')")
        db.apply(insert="edge('a', 'b')")

        assert [len(db.at(epoch)["any"]) for epoch in range(3)] == [1, 0, 1]
        assert bool(db.at(0).query("any()")) is True
        assert bool(db.at(1).query("any()")) is False
        assert str(db.diff(0, 1)).splitlines()[1:] == [
            '-edge("a", "b").',
            '-path("a", "b").',
            "-any().",
        ]
        assert len(db.diff(0, 2)) == 0


def test_the_changes_between_epochs_can_be_applied() -> None:
    """`db.diff(now, old).changes` takes the facts back to those of the old epoch."""
    with tidelog.open(PATHS, facts={"edge": [("a", "b")]}) as db:
        db.apply("+edge('b', 'c'). -edge('a', 'b').")
        db.apply("+edge('c', 'd').")

        db.apply(db.diff(2, 0).changes)

        assert relations(db) == relations(db.at(0))


def test_epochs_beyond_those_kept_are_a_diagnostic() -> None:
    """A session keeps as many epochs as it is told; others, past or future, cannot be read."""
    with tidelog.open(PATHS, keep_epochs=2) as db:
        view = db.at(0)
        for name in "abc":
            db.apply(insert=f"edge('{name}', 'z')")

        assert [len(db.at(epoch)["edge"]) for epoch in (1, 2, 3)] == [1, 2, 3]
        for epoch in (0, 4):
            with pytest.raises(tidelog.TidelogError, match="epoch-not-kept"):
                db.at(epoch)
        with pytest.raises(tidelog.TidelogError, match="epoch-not-kept"):
            _ = list(view["edge"])
        with pytest.raises(tidelog.TidelogError, match="bad-argument"):
            db.at(-1)
    with pytest.raises(tidelog.TidelogError, match="session-closed"):
        _ = len(view["edge"])


def test_a_store_keeps_as_many_epochs_as_it_is_told(tmp_path: Path) -> None:
    """Old epochs survive snapshots and reopening, rules and all; the store remembers how many to keep."""
    path = tmp_path / "state"
    with tidelog.open(PATHS, facts={"edge": [("a", "b")]}, store=path, keep_epochs=20) as db:
        known = [relations(db)]
        for number in range(30):
            if number == 14:
                db.add_rules("path(x, x) :- edge(x, _).")
            elif number % 3:
                db.apply(insert=f"edge('b', 'n{number}')")
            else:
                db.apply(delete=f"edge('b', 'n{number - 2}')", insert=f"edge('n{number}', 'a')")
            known.append(relations(db))
            if number % 2 == 0:
                db.checkpoint()

    with tidelog.open(store=path) as db:
        assert [delta.epoch for delta in db.history] == list(range(11, 31))
        for epoch in range(10, 31):
            assert relations(db.at(epoch)) == known[epoch]
        assert len(db.at(12).rules) == 3
        assert len(db.at(15).rules) == 4
        assert ("n3", "a") in db.at(12).why("path('n3', 'b')").support()["edge"]
        assert len(list(path.glob("past.*"))) <= 8
        db.apply(insert="edge('x', 'y')")
        assert relations(db.at(30)) == known[30]
        with pytest.raises(tidelog.TidelogError, match="epoch-not-kept"):
            db.at(10)


def test_a_store_that_keeps_no_epochs_has_those_since_its_snapshot(tmp_path: Path) -> None:
    """Without `keep_epochs` a snapshot is where the history of a reopened store begins."""
    path = tmp_path / "state"
    with tidelog.open(PATHS, store=path) as db:
        db.apply(insert="edge('a', 'b')")
        db.checkpoint()
        db.apply(insert="edge('b', 'c')")

    with tidelog.open(store=path) as db:
        assert len(db.at(1)["edge"]) == 1
        with pytest.raises(tidelog.TidelogError, match="epoch-not-kept"):
            db.at(0)
