"""Partners in threads follow changes: after every epoch their state is what evaluation gives."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epochs_programs import tangled_epochs, tangled_programs
from partner_epochs import follow, followable
from tidelog.engine.epoch import Strategy


@settings(max_examples=25)
@given(data=st.data(), strategy=st.sampled_from([Strategy.UPDATE, Strategy.UPDATE, Strategy.RECOMPUTE]))
@pytest.mark.parametrize("partners", [1, 2, 3])
def test_partners_follow_epochs(partners, data, strategy):
    """After every epoch the state is that of evaluation, count by count, and the deltas lead there."""
    drawn = data.draw(tangled_programs())
    program = followable(drawn.text)
    history = [{name: set(facts) for name, facts in drawn.inputs.items()}]
    for epoch in data.draw(tangled_epochs(drawn, max_epochs=3)):
        now = {name: set(facts) for name, facts in history[-1].items()}
        for name, held in now.items():
            now[name] = (held - set(epoch.deletes[name])) | set(epoch.inserts[name])
        history.append(now)

    states, deltas = follow(program, history, partners, strategy)

    before = {}
    for number, inputs in enumerate(history):
        alone, _ = follow(program, [inputs], 1, strategy)
        for name in program.relations:
            expected = alone[0][0][name]
            together = {}
            for state in states[number]:
                together.update(state[name])
                assert all(expected[row][0] == level for row, level in state[f"{name} kept"].items())
            assert together == expected, name
            if number:
                inserted = set().union(*(delta.get(name, (set(), set()))[0] for delta in deltas[number]))
                deleted = set().union(*(delta.get(name, (set(), set()))[1] for delta in deltas[number]))
                assert inserted == expected.keys() - before[name].keys()
                assert deleted == before[name].keys() - expected.keys()
        before = alone[0][0]
