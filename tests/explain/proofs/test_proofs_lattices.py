"""Proofs of values that are widened and narrowed: each says what was applied to which values and is exact."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import examples
from support.lattice_functions import LATTICE_FUNCTIONS
from support.lattice_programs import lattice_epochs, lattice_programs
from tidelog.engine.local import lattice_values
from tidelog.errors import TidelogError
from tidelog.explain.proofs.steps import LatticeMove
from tidelog.session import Session

LOOP = """
.functor hull(x: symbol, y: symbol): symbol
.functor widen(x: symbol, y: symbol): symbol
.functor narrow(x: symbol, y: symbol): symbol
.functor shift(x: symbol, n: number): symbol
.functor cap(x: symbol, n: number): symbol
.type Interval <: symbol
.lattice Interval<> { Lub -> @hull(_, _), Widen -> @widen(_, _), Narrow -> @narrow(_, _) }
.decl loop(v: symbol, step: number, limit: number)
.input loop
.decl counter(v: symbol, i: Interval<>)
counter(v, "0..0") :- loop(v, _, _).
counter(v, as(@cap(@shift(i, step), limit), Interval)) :- counter(v, i), loop(v, step, limit).
"""
FACTS = {"loop": [("i", 1, 10), ("j", 2, 5)]}


def _open(engine: str = "local") -> Session:
    return tidelog.open(LOOP, facts=FACTS, functions=LATTICE_FUNCTIONS, engine=engine, jobs=1)


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_a_proof_names_the_widening_and_the_narrowing_with_their_values(engine: str) -> None:
    """The value at the end is narrowed, the one it was made of widened, and so on to the first."""
    proof = _open(engine).why('counter("i", "0..10")')

    assert proof.kind == "narrowing"
    assert isinstance(proof.step, LatticeMove)
    assert [str(each) for each in proof.step.applied] == ['@narrow("0..*", "0..10")']
    widened = proof.premises[0]
    assert widened.kind == "widening"
    assert isinstance(widened.step, LatticeMove)
    assert [str(each) for each in widened.step.applied] == ['@widen("0..0", "0..1")']
    assert widened.premises[0].kind == "rule"
    assert proof.check(), proof.check().problems
    assert '[narrowing: @narrow("0..*", "0..10")]' in proof.text(width=120)


@pytest.mark.parametrize("engine", ["local", "reference"])
@pytest.mark.parametrize("planted", ["0..*", "0..11"])
def test_a_value_that_is_too_large_has_no_proof(engine: str, planted: str) -> None:
    """Neither the value before it was narrowed nor one that never was is proved to be there at the end."""
    db = _open(engine)
    right = db.why('counter("i", "0..10")')
    atom = replace(right.atom, fact=("i", planted))

    with pytest.raises(TidelogError, match="no-proof"):
        right.explorer.node(atom).step  # noqa: B018 - it is found when it is read


def test_a_planted_value_is_refused_by_the_check() -> None:
    """A step whose value is above what the narrowing gives, with premises that are right, does not check."""
    db = _open()
    right = db.why('counter("i", "0..10")')
    for planted in ("0..11", "0..*"):
        wrong = right.explorer.node(replace(right.atom, fact=("i", planted))).with_step(right.step)

        checked = wrong.check()

        assert not checked
        assert 'the narrowing gives counter("i", "0..10")' in " ".join(checked.problems)
        assert "its key has another value" in " ".join(checked.problems)


def test_a_step_from_another_value_before_is_refused_by_the_check() -> None:
    """A widening that gives the value is no proof of it if the key had another value before."""
    db = _open()
    narrowed = db.why('counter("i", "0..10")')
    widened = narrowed.premises[0]
    assert isinstance(widened.step, LatticeMove)
    applied = (replace(widened.step.applied[0], joined="0..10"),)
    wrong = narrowed.with_step(replace(widened.step, applied=applied))

    problems = " ".join(wrong.check().problems)

    assert "the value before was" in problems
    assert "what was applied is" in problems


def test_a_part_of_another_key_is_refused_by_the_check() -> None:
    """The parts of a join agree with it on the columns that are no lattice."""
    db = _open()
    right = db.why('counter("i", "0..10")').premises[0]
    assert isinstance(right.step, LatticeMove)
    parts = tuple(replace(part, fact=("j", part.fact[1])) for part in right.step.parts)

    problems = " ".join(right.with_step(replace(right.step, parts=parts)).check().problems)

    assert "has another key" in problems


def test_an_engine_that_widens_too_far_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the engine says is not believed: the user's functions are applied again."""

    def too_far(self: lattice_values.ColumnJoin, old: int, new: int) -> int:
        return new if old == new else self._calls.codec.encode("*..*", self.lattice.type)

    text = LOOP.replace(", Narrow -> @narrow(_, _)", "")
    monkeypatch.setattr(lattice_values.ColumnJoin, "widen", too_far)
    db = tidelog.open(text, facts=FACTS, functions=LATTICE_FUNCTIONS, jobs=1)
    assert ("i", "*..*") in db["counter"]

    with pytest.raises(TidelogError, match="no-proof"):
        db.why('counter("i", "*..*")').check()


@settings(max_examples=examples(30), deadline=None)
@given(data=st.data(), metric=st.sampled_from([None, "nodes"]))
def test_every_value_of_a_random_program_has_an_exact_proof(data: st.DataObject, metric: str | None) -> None:
    """After every epoch all facts have proofs that check, the smallest ones too where bounds move."""
    program = data.draw(lattice_programs())
    inputs = {name: list(facts) for name, facts in program.inputs.items()}
    db = tidelog.open(program.text, facts=inputs, functions=program.functions, jobs=1)
    for epoch in data.draw(lattice_epochs(program, max_epochs=2)):
        db.apply(insert=epoch.inserts, delete=epoch.deletes)

        for relation in db.relations:
            for fact in db[relation]:
                proof = db.why((relation, fact))
                # Of other lattices, what a value was joined from may rest on it.
                if proof.explorer.prover.book.has_moving_bounds(relation):
                    proof = db.why((relation, fact), metric=metric)
                assert proof.check(), (relation, fact, proof.check().problems)
