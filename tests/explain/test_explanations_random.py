"""Proofs, refutations, blame and repair of random programs, epoch by epoch, against the reference engine."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import examples
from support.epochs_programs import AGGREGATES, LAWS, tangled_programs
from support.explanations_oracle import canonical, check_blame, check_proofs, check_why_not
from support.fault_cases import functions_of, open_program
from support.strategies import RandomEpoch, RandomProgram, dense_programs, epochs, programs
from tidelog.errors import TidelogError
from tidelog.session import Session
from tidelog.values import Fact

_PROGRAMS = st.one_of(programs(), dense_programs(), tangled_programs(special=LAWS, aggregates=AGGREGATES))
_Inputs = dict[str, set[Fact]]


def _follow(db: Session, inputs: _Inputs, epoch: RandomEpoch) -> _Inputs:
    """Apply an epoch and return the inputs after it; one that gives a key two values changes nothing."""
    try:
        db.apply(insert=dict(epoch.inserts), delete=dict(epoch.deletes))
    except TidelogError as refused:
        if "two-values" not in str(refused):
            raise
        return inputs
    return {
        name: (facts - set(map(canonical, epoch.deletes[name]))) | set(map(canonical, epoch.inserts[name]))
        for name, facts in inputs.items()
    }


@settings(max_examples=examples(15), deadline=None)
@given(st.data())
def test_explanations_hold(data: Any) -> None:
    """In every epoch proofs suffice, refutations lack what they say, and blame and repair are right."""
    program: RandomProgram = data.draw(_PROGRAMS)
    random = data.draw(st.randoms(use_true_random=True))
    functions = functions_of(program)
    after: _Inputs = {name: set(map(canonical, facts)) for name, facts in program.inputs.items()}
    with open_program(program) as db:
        for epoch in [None, *data.draw(epochs(program, max_epochs=2))]:
            before = after
            if epoch is not None:
                after = _follow(db, before, epoch)

            check_proofs(db, program.text, after, random, functions=functions)
            check_why_not(db, program.text, after, random, functions=functions)
            check_blame(db, program.text, before, after, random, functions=functions)
