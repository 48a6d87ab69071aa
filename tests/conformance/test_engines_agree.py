"""Random programs: every engine gives what the reference engine gives."""

import pytest
from hypothesis import given, settings

from support.programs import each_engine, run
from support.strategies import RandomProgram, dense_programs, programs
from tidelog.engine.protocol import Settings

# Far above what a random program needs: reaching it would mean that a fixpoint is not finite.
LIMIT = Settings(jobs=1, iteration_limit=500)


@pytest.mark.parametrize("engine", each_engine()[1:])
@settings(max_examples=50)
@given(program=programs())
def test_engine_agrees_with_the_reference(engine: str, program: RandomProgram):
    """An engine derives the same facts as naive substitution, in every relation."""
    check_agreement(engine, program)


@pytest.mark.parametrize("engine", each_engine()[1:])
@settings(max_examples=50)
@given(program=dense_programs())
def test_engine_agrees_where_much_is_derived(engine: str, program: RandomProgram):
    """Engines agree over numbers too, with many more derivations for each fact."""
    check_agreement(engine, program)


def check_agreement(engine: str, program: RandomProgram) -> None:
    """Run a program on an engine and on the reference engine."""
    expected = run(program.text, inputs=program.inputs, settings=LIMIT)

    found = run(program.text, engine=engine, inputs=program.inputs, settings=LIMIT)

    assert found == expected


@settings(max_examples=40)
@given(program=programs())
def test_order_of_rules_does_not_matter(program: RandomProgram):
    """The reference engine gives the same facts when the program is written backwards."""
    backwards = "\n".join(reversed(program.text.splitlines()))

    forwards = run(program.text, inputs=program.inputs, settings=LIMIT)

    assert run(backwards, inputs=program.inputs, settings=LIMIT) == forwards
