"""Epochs over programs of many strata, of which each epoch reaches only some."""

from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import Maintained, difference, examples
from support.layered_programs import layered_epochs, layered_programs
from support.programs import build
from tidelog.engine.epoch import Strategy


@settings(max_examples=examples(80))
@given(data=st.data())
def test_strata_that_changes_reach_one_after_another_stay_right(data):
    """What is made for a stratum when a change first reaches it leaves what others have in step."""
    program = data.draw(layered_programs())
    drawn = data.draw(layered_epochs(program))
    run = Maintained(build(program.text)).start(program.inputs)
    before = run.check()

    for epoch in drawn:
        strategy = Strategy(data.draw(st.sampled_from(["auto", "auto", "update"])))
        found = run.change(epoch.inserts, epoch.deletes, strategy=strategy)

        after = run.check()
        assert found == difference(before, after)
        before = after
