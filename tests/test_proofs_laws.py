"""Laws of proofs over random programs and epochs."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from epochs import examples
from programs import build, run_program
from strategies import RandomProgram, dense_programs, epochs, programs
from tidelog.program.nodes import Program
from tidelog.session import Session
from tidelog.values import Fact
from tidelog.values.functors import canonical_value
from tidelog.views.proofs.atom import GroundAtom
from tidelog.views.proofs.derivations import derivations
from tidelog.views.proofs.judge import Verdict
from tidelog.views.proofs.source import PlainFacts

_SUPPORTS = 3


def _held(db: Session) -> Iterator[GroundAtom]:
    for name in db.relations:
        for fact in db[name]:
            # One NaN equals itself.
            yield GroundAtom(name, cast("Fact", canonical_value(fact)))


def _check_state(db: Session, program: Program) -> None:
    suspects = list(_held(db))
    # A few supports for each state: evaluation is what takes time here.
    evaluated = set(suspects[:: max(len(suspects) // _SUPPORTS, 1)])
    for atom in suspects:
        proof = db.why(atom)

        assert proof.check(), (str(proof), proof.check().problems)
        if atom in evaluated:
            again = run_program(program, inputs=proof.support())
            found = {canonical_value(fact) for fact in again[atom.relation]}
            assert atom.fact in found, (str(proof), proof.support())


@settings(max_examples=examples(30), deadline=None)
@given(st.data())
def test_every_fact_has_a_proof_that_checks_and_whose_support_suffices(data: Any) -> None:
    """After every epoch each fact has a proof; it checks, and its support alone derives the fact."""
    program: RandomProgram = data.draw(programs() | dense_programs())
    with tidelog.open(program.text, facts=dict(program.inputs)) as db:
        checked = build(program.text)
        _check_state(db, checked)
        for epoch in data.draw(epochs(program, max_epochs=2)):
            db.apply(insert=dict(epoch.inserts), delete=dict(epoch.deletes))
            _check_state(db, checked)
