"""In epochs, too, one index serves joins by fewer columns through a level above it."""

import random
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.local.test_keyed import HEADER, facts_of
from engine.local.test_levels import MORE_BODIES, level_everywhere
from support.epochs import Maintained, examples
from support.epochs_programs import SPECIAL, tangled_epochs, tangled_programs
from support.programs import build
from support.strategies import dense_programs
from tidelog.engine.epoch import Strategy
from tidelog.engine.local import workers
from tidelog.engine.local.by_row import sync
from tidelog.engine.local.lookups import JoinStep
from tidelog.engine.protocol import Settings
from tidelog.maintain.small.epoch import SmallEpochs


@pytest.fixture
def _levels():
    patch = level_everywhere()
    yield
    patch.undo()


@pytest.mark.usefixtures("_levels")
@settings(max_examples=examples(30))
@given(data=st.data())
def test_levels_of_indexes_lead_to_all_derivations(data: st.DataObject):
    """Facts, levels and counts are right in every epoch, row by row and in batches."""
    program = data.draw(tangled_programs(special=SPECIAL) | dense_programs())
    run = Maintained(build(program.text), settings=Settings(iteration_limit=300))
    run.start(program.inputs).check()

    with pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans(), label="in batches"):
            patch.setattr(SmallEpochs, "takes", lambda *_: False)
        for epoch in data.draw(tangled_epochs(program, max_epochs=3)):
            run.change(epoch.inserts, epoch.deletes, strategy=Strategy.UPDATE)
            run.check()


@pytest.mark.usefixtures("_levels")
@pytest.mark.parametrize("is_large", [False, True], ids=["row by row", "in batches"])
@pytest.mark.parametrize("body", MORE_BODIES.values(), ids=MORE_BODIES)
def test_levels_follow_facts_with_new_keys(body, is_large, monkeypatch):
    """What an epoch inserts under keys that no fact had before is found through levels afterwards."""
    if is_large:
        monkeypatch.setattr(SmallEpochs, "takes", lambda *_: False)
    choose = random.Random(5)  # noqa: S311 - a test's choices
    inputs = {name: sorted(facts) for name, facts in facts_of(1).items()}
    run = Maintained(build(HEADER + body)).start(inputs)

    for step in range(3):
        new = {name: [tuple(x + step for x in fact) for fact in facts[:4]] for name, facts in inputs.items()}
        gone = {name: choose.sample(facts, min(3, len(facts))) for name, facts in inputs.items()}
        run.change(insert=new, delete=gone, strategy=Strategy.UPDATE)
        run.check()


@pytest.mark.usefixtures("_levels")
def test_levels_are_read_in_epochs(monkeypatch):
    """The tests above go through levels: in the kernel of small epochs, and in batches."""
    named, joined = set(), set()
    index_named, run_step = sync.index_named, JoinStep.run
    monkeypatch.setattr(sync, "index_named", lambda *given: (named.add(given[1]), index_named(*given))[1])
    monkeypatch.setattr(
        JoinStep, "run", lambda step, batch: (joined.add(step.join.over), run_step(step, batch))[1]
    )
    inputs = {name: sorted(facts) for name, facts in facts_of(1).items()}
    run = Maintained(build(HEADER + MORE_BODIES["two levels of one index"])).start(inputs)
    joined.clear()

    run.change(delete={"q": inputs["q"][:1]}, strategy=Strategy.UPDATE)
    monkeypatch.setattr(SmallEpochs, "takes", lambda *_: False)
    again = Maintained(run.program).start(inputs)
    again.change(delete={"q": inputs["q"][:2]}, strategy=Strategy.UPDATE)

    assert any(isinstance(name[-1], tuple) for name in named)
    assert any(joined)


@pytest.mark.parametrize("seed", range(4))
def test_indexes_are_built_side_by_side(seed, monkeypatch):
    """Several threads build what the first epoch needs; it and those after it are exact."""
    used = set()
    original = sync.index_named

    def noting(*given):
        used.add(threading.current_thread().name)
        return original(*given)

    monkeypatch.setattr(workers, "_ROWS_FOR_THREADS", 1)
    monkeypatch.setattr("tidelog.maintain.small.epoch.index_named", noting)
    inputs = {name: sorted(facts) for name, facts in facts_of(seed).items()}
    run = Maintained(build(HEADER + MORE_BODIES["two levels of one index"]), settings=Settings(jobs=2))
    run.start(inputs)

    run.change(delete={"q": inputs["q"][:2]}, strategy=Strategy.UPDATE)

    assert any(name.startswith("tidelog") for name in used)
    run.check()
    run.change(insert={"q": inputs["q"][:2]}, strategy=Strategy.UPDATE)
    run.check()
