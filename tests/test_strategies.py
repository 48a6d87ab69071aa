"""The random programs that other tests rely on are what they claim to be."""

from hypothesis import given, settings
from hypothesis import strategies as st

from programs import build, run
from strategies import RandomProgram, dense_programs, epochs, programs
from tidelog.engine.protocol import Settings


@settings(max_examples=40)
@given(program=programs() | dense_programs())
def test_every_program_is_valid_and_ends(program: RandomProgram):
    """A random program passes all checks and reaches its fixpoint."""
    relations = run(program.text, inputs=program.inputs, settings=Settings(jobs=1, iteration_limit=500))

    assert set(program.inputs) <= set(relations)


@settings(max_examples=40)
@given(data=st.data())
def test_epochs_delete_only_what_is_there(data: st.DataObject):
    """Every deleted fact was given before; the columns of inserted ones fit their relation."""
    program = data.draw(programs())
    there = {name: set(facts) for name, facts in program.inputs.items()}

    for epoch in data.draw(epochs(program)):
        for name, facts in there.items():
            assert set(epoch.deletes[name]) <= facts
            assert all(len(fact) == len(program.input_types[name]) for fact in epoch.inserts[name])
            facts.difference_update(epoch.deletes[name])
            facts.update(epoch.inserts[name])


def test_choices_reach_every_feature():
    """Among some hundred programs every feature the suite is to cover turns up."""
    seen: set[str] = set()
    features = (
        "eqrel",
        "choice-domain",
        "inline",
        " <= ",
        "count :",
        "sum ",
        "range(",
        "!",
        " ; ",
        "[",
        "$",
        "cat(",
    )

    @settings(max_examples=150, database=None)
    @given(program=programs())
    def look(program: RandomProgram) -> None:
        rules = "\n".join(line for line in program.text.splitlines() if not line.startswith(".type"))
        seen.update(feature for feature in features if feature in rules)
        build(program.text)

    look()

    assert seen == set(features)
