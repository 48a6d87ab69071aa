"""An exported state is all that another engine needs to go on."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import STRATEGIES, Maintained, difference, examples
from support.epochs_programs import SPECIAL, tangled_epochs, tangled_programs
from support.programs import build
from support.strategies import epochs, programs
from tidelog.engine.epoch import Strategy


@settings(max_examples=examples(12))
@given(data=st.data(), strategy=st.sampled_from(STRATEGIES))
def test_an_engine_goes_on_from_an_exported_state(data: st.DataObject, strategy: Strategy):
    """An engine that took over a state holds the same, and follows epochs as if it had been there."""
    program = data.draw(tangled_programs(special=SPECIAL))
    run = Maintained(build(program.text)).start(program.inputs)
    before = run.check()

    for epoch in data.draw(tangled_epochs(program, max_epochs=3)):
        annotations = run.annotations()
        run = run.moved()

        assert run.annotations() == annotations
        run.check()
        found = run.change(epoch.inserts, epoch.deletes, strategy=strategy)
        after = run.check()
        assert found == difference(before, after)
        before = after


@settings(max_examples=examples(10))
@given(data=st.data(), strategy=st.sampled_from(STRATEGIES))
def test_a_state_of_any_values_moves(data: st.DataObject, strategy: Strategy):
    """Texts, floats, records and large numbers survive the way out and in."""
    program = data.draw(programs())
    run = Maintained(build(program.text)).start(program.inputs)

    for epoch in data.draw(epochs(program, max_epochs=2)):
        run.change(epoch.inserts, epoch.deletes, strategy=strategy)
        run = run.moved()
        run.check()


def test_exporting_changes_nothing():
    """A state can be exported twice, and its arrays do not follow later epochs."""
    text = ".decl a(x: number) .input a .decl b(x: number) b(x) :- a(x)."
    run = Maintained(build(text)).start({"a": [(1,), (2,)]})

    first = run.engine.export_state()
    levels = {name: state.levels.copy() for name, state in first.relations.items()}
    columns = {name: [codes.copy() for codes in state.columns] for name, state in first.relations.items()}
    run.change(insert={"a": [(3,)]}, delete={"a": [(1,)]})

    for name, state in first.relations.items():
        assert np.array_equal(state.levels, levels[name])
        assert all(map(np.array_equal, state.columns, columns[name]))
    run.check()


def test_given_facts_that_a_law_keeps_out_are_kept():
    """An input fact that a choice leaves out is still given: it returns when its rival is deleted."""
    text = ".decl a(x: number, y: number) choice-domain x .input a"
    run = Maintained(build(text)).start({"a": [(1, 1), (1, 2)]})
    assert run.relations()["a"] == {(1, 1)}

    run = run.moved()
    run.change(delete={"a": [(1, 1)]})

    assert run.relations()["a"] == {(1, 2)}
