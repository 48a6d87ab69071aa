"""Laws of proofs over random programs and epochs."""

from collections.abc import Iterator
from itertools import islice, product
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import examples
from support.epochs_programs import SPECIAL, tangled_programs
from support.programs import build, run_program
from support.strategies import RandomProgram, dense_programs, epochs, programs
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.derivations import derivations
from tidelog.explain.proofs.rules import RuleBook
from tidelog.explain.proofs.source import PlainFacts
from tidelog.program.nodes import Program
from tidelog.session import Session
from tidelog.values import Fact, Value
from tidelog.values.functors import canonical_value

_SUPPORTS = 3


def _canonical(fact: Fact) -> Fact:
    """Return the fact with the one NaN that equals itself."""
    return tuple(map(canonical_value, fact))


def _held(db: Session) -> Iterator[GroundAtom]:
    for name in db.relations:
        for fact in db[name]:
            yield GroundAtom(name, _canonical(fact))


def _check_state(db: Session, program: Program) -> None:
    suspects = list(_held(db))
    # A few supports for each state: evaluation is what takes time here.
    evaluated = set(suspects[:: max(len(suspects) // _SUPPORTS, 1)])
    for atom in suspects:
        proof = db.why(atom)

        assert proof.check(), (str(proof), proof.check().problems)
        if atom in evaluated:
            again = run_program(program, inputs=proof.support())
            found = set(map(_canonical, again[atom.relation]))
            assert atom.fact in found, (str(proof), proof.support())


@settings(max_examples=examples(30), deadline=None)
@given(st.data())
def test_every_fact_has_a_proof_that_checks_and_whose_support_suffices(data: Any) -> None:
    """After every epoch each fact has a proof; it checks, and its support alone derives the fact."""
    drawn = st.one_of(programs(), dense_programs(), tangled_programs(special=SPECIAL))
    program: RandomProgram = data.draw(drawn)
    with tidelog.open(program.text, facts=dict(program.inputs)) as db:
        checked = build(program.text)
        _check_state(db, checked)
        for epoch in data.draw(epochs(program, max_epochs=2)):
            db.apply(insert=dict(epoch.inserts), delete=dict(epoch.deletes))
            _check_state(db, checked)


# --- what does not hold ------------------------------------------------------------------------------


def _absent(db: Session) -> Iterator[GroundAtom]:
    """Yield facts that do not hold, made of values that occur in the columns' types."""
    values: dict[str, dict[Value, None]] = {}
    for name in db.relations:
        for fact in db[name]:
            for value, column in zip(_canonical(fact), db.program.relations[name].columns, strict=True):
                values.setdefault(column.type, {})[value] = None
    for name, relation in db.program.relations.items():
        choices = [list(values.get(column.type, ()))[:3] for column in relation.columns]
        held = set(map(_canonical, db[name]))
        for fact in product(*choices):
            if fact not in held:
                yield GroundAtom(name, fact)


@settings(max_examples=examples(20), deadline=None)
@given(dense_programs() | programs())
def test_no_other_fact_has_a_proof(program: RandomProgram) -> None:
    """A fact that does not hold has no proof but a refutation; a rule that applies is held back by a law."""
    with tidelog.open(program.text, facts=dict(program.inputs)) as db:
        for atom in islice(_absent(db), 40):
            with pytest.raises(tidelog.TidelogError, match="fact-absent"):
                db.why(atom)
            refutation = db.why_not(atom)

            applies = any(not miss.failing for miss in refutation.near_misses)
            assert not applies or db.proofs.book.has_law(atom.relation)


@settings(max_examples=examples(20), deadline=None)
@given(dense_programs() | programs())
def test_a_near_miss_lacks_just_what_it_says(program: RandomProgram) -> None:
    """With the missing facts of a near miss, and without those in its way, the rule derives the fact."""
    with tidelog.open(program.text, facts=dict(program.inputs)) as db:
        book = db.proofs.book
        held = {name: set(map(_canonical, db[name])) for name in db.relations}
        for atom in islice(_absent(db), 25):
            for miss in db.why_not(atom).near_misses:
                if not all(each.atom is not None for each in miss.failing):
                    continue
                facts = {name: set(some) for name, some in held.items()}
                for each in miss.failing:
                    assert each.atom is not None
                    there = facts.setdefault(each.atom.relation, set())
                    there.discard(each.atom.fact) if each.is_negated else there.add(each.atom.fact)
                stored = all(book.is_stored(each.atom.relation) for each in miss.failing if each.atom)
                # An aggregate that looks at what is missing may change with it, and a body such as
                # `p(x), !p(x)` holds for no facts at all.
                touched = {each.atom for each in miss.failing}
                is_torn = any(each.atom in touched for each in miss.literals if each not in miss.failing)
                if not stored or is_torn or "{" in miss.rule.text:
                    continue

                found = derivations(PlainFacts(facts), book, atom, rules=[miss.rule.name])

                assert any(True for _ in found), (str(atom), miss)


# --- heights -----------------------------------------------------------------------------------------


def _smallest_heights(db: Session, program: Program) -> dict[GroundAtom, int]:
    """Return the least height of every fact, by going through all derivations until nothing changes."""
    facts = {name: {_canonical(fact) for fact in db[name]} for name in db.relations}
    inputs = {name: set(map(_canonical, db.proofs.source.input_facts(name))) for name in db.relations}
    source = PlainFacts(facts, input_facts=inputs)
    book = RuleBook(program, program, db.snapshot.codec, {})
    atoms = [GroundAtom(name, fact) for name in facts for fact in facts[name]]
    steps = {atom: [each.premises for each in derivations(source, book, atom)] for atom in atoms}
    heights = {atom: 0 for atom in atoms if atom.fact in inputs[atom.relation]}
    is_changed = True
    while is_changed:
        is_changed = False
        for atom in atoms:
            for premises in steps[atom]:
                if all(premise in heights for premise in premises):
                    height = 1 + max((heights[premise] for premise in premises), default=0)
                    if height < heights.get(atom, 1 << 30):
                        heights[atom] = height
                        is_changed = True
    return heights


@settings(max_examples=examples(25), deadline=None)
@given(st.data())
def test_heights_are_the_least_ones(data: Any) -> None:
    """With provenance="height" every proof has the least height there is, after every epoch too."""
    program: RandomProgram = data.draw(st.one_of(programs(), dense_programs(), tangled_programs()))
    # Equivalences and subsumption have steps that are no derivations from facts that hold.
    assume("eqrel" not in program.text and "<= r" not in program.text)
    checked = build(program.text)
    with tidelog.open(program.text, facts=dict(program.inputs), provenance="height") as db:
        for epoch in [None, *data.draw(epochs(program, max_epochs=2))]:
            if epoch is not None:
                db.apply(insert=dict(epoch.inserts), delete=dict(epoch.deletes))
            least = _smallest_heights(db, checked)

            for atom in _held(db):
                proof = db.why(atom)

                assert proof.check(), proof.check().problems
                assert proof.height == least[atom], str(proof)
