"""`db.guard`: epochs held against what must never, or always, hold."""

from pathlib import Path

import pytest

from support.pointsto import CHANGES, FACTS, FAULT, PROGRAM, before
from support.storing import make, reopen
from tidelog.errors import TidelogError
from tidelog.explain.guards.guards import GuardError


def test_a_broken_guard_is_reported_with_blame_and_repair() -> None:
    """The epoch happens; its delta has the violation with the change to blame and to take back."""
    with before() as db:
        db.guard(FAULT)
        delta = db.apply(CHANGES)

        assert db.epoch == 1
    (violation,) = delta.violations
    assert violation.facts == ('alias("userSession", "sec")',)
    assert [str(change) for change in violation.blame] == ['+load("userSession", "admin", "session")']
    assert [str(change) for change in violation.repair] == ['-load("userSession", "admin", "session")']


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_a_strict_guard_refuses_the_epoch(engine: str) -> None:
    """Nothing has changed, and the error tells what to leave out."""
    with before(engine) as db:
        db.guard(FAULT, strict=True)
        facts = {name: set(db[name]) for name in db}
        with pytest.raises(GuardError, match="leave out") as caught, db.transaction() as transaction:
            transaction.change(CHANGES)

        assert len(caught.value.violations) == 1
        assert db.epoch == 0
        assert {name: set(db[name]) for name in db} == facts
        assert db.apply("+new('x', 'L8').").epoch == 1


def test_a_strict_guard_refuses_rules() -> None:
    """Rules that would break a guard are refused as facts are; others are let in."""
    with before() as db:
        db.guard("alias('guest', x)", strict=True)
        with pytest.raises(GuardError) as caught:
            db.add_rules('vpt("guest", o) :- new("sec", o).')

        assert "guest" in str(caught.value.violations[0].repair)
        assert db.add_rules('vpt("guest", o) :- new("nobody", o).').epoch == 1


def test_a_strict_guard_tells_of_relations_that_are_new() -> None:
    """Facts of a relation that the refused rules declare appeared too, and lead to the change."""
    with before() as db:
        db.guard("alias('guest', x)", strict=True)
        with pytest.raises(GuardError) as caught:
            db.add_rules('.decl friend(o: symbol) friend(o) :- new("sec", o). vpt("guest", o) :- friend(o).')

    story = str(caught.value.violations[0].blame)
    assert '+ friend("L2")   by friend(o) :- new("sec", o).' in story
    assert '+ rule friend(o) :- new("sec", o).   (inserted)' in story


def test_always() -> None:
    """A guard with `always` is broken when a fact vanishes."""
    with before() as db:
        db.guard("always alias('userSession', x)")
        delta = db.apply("-assign('userSession', 'ins').")

    assert [str(change) for change in delta.violations[0].repair] == ['+assign("userSession", "ins")']


def test_guards_from_a_file(tmp_path: Path) -> None:
    """A file has one guard to a line; comments and empty lines are left out."""
    file = tmp_path / "g.guards"
    file.write_text(
        "// what must be\nnever alias('a', x).\n\nalways vpt('sec', 'L2') // that\nalias('b', x)\n"
    )
    with before() as db:
        guards = db.guard(file)

        assert [str(guard) for guard in guards] == [
            "never alias('a', x)",
            "always vpt('sec', 'L2')",
            "never alias('b', x)",
        ]
        db.unguard(guards[0])
        assert db.guards == guards[1:]


def test_a_guard_must_be_of_the_program() -> None:
    """A guard over an unknown relation is a mistake, and none of the guards is set."""
    with before() as db:
        with pytest.raises(TidelogError, match="there is no relation"):
            db.guard("aliased('a', x)")

        assert db.guards == ()


def test_a_refused_epoch_is_not_in_the_store(tmp_path: Path) -> None:
    """A store holds only epochs that were let in."""
    with make(tmp_path / "s", PROGRAM, FACTS) as db:
        db.guard(FAULT, strict=True)
        with pytest.raises(GuardError):
            db.apply(CHANGES)
        db.apply("+new('x', 'L8').")

    with reopen(tmp_path / "s") as db:
        assert db.epoch == 1
        assert not db["load"]
