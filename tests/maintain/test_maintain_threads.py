"""Large epochs, whose derivations several threads find side by side."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintain.test_maintain_large import PATH, random_edges
from support.epochs import LIMIT, Maintained, difference, each_strategy, examples
from support.epochs_programs import SPECIAL, tangled_epochs, tangled_programs
from support.programs import build
from tidelog.engine.epoch import Strategy
from tidelog.engine.local import derive, stratum, workers
from tidelog.engine.protocol import Settings
from tidelog.maintain.heads import OverBudget
from tidelog.maintain.small.epoch import SmallEpochs
from tidelog.storage.divided import Division

THREADS = Settings(jobs=3, iteration_limit=LIMIT.iteration_limit)


def in_threads(patch: pytest.MonkeyPatch) -> list[int]:
    """Let every epoch run at large, in threads; return the numbers of rows that threads shared."""
    shared: list[int] = []
    original = workers.Workers.run_morsels

    def watched(self, tasks, count):
        shared.append(count)
        original(self, tasks, count)

    patch.setattr(workers.Workers, "run_morsels", watched)
    patch.setattr(workers, "_WORK_PER_THREAD", 1)
    for module in (derive, stratum, workers):
        patch.setattr(module, "_ROWS_FOR_THREADS", 2)
    patch.setattr(workers, "_ROWS_PER_THREAD", 1)
    patch.setattr("tidelog.storage.index.ROWS_TO_DIVIDE", 2)
    patch.setattr(SmallEpochs, "takes", lambda *_: False)
    patch.setattr("tidelog.storage.relation._SMALLEST", 1)
    return shared


@settings(max_examples=examples(15))
@given(data=st.data())
@pytest.mark.parametrize("strategy", each_strategy())
def test_random_epochs_in_threads(strategy: Strategy, data: st.DataObject):
    """After each epoch the state is, fact by fact, that of a fresh engine on the new input."""
    program = data.draw(tangled_programs(special=SPECIAL))
    with pytest.MonkeyPatch.context() as patch:
        in_threads(patch)
        run = Maintained(build(program.text), settings=THREADS).start(program.inputs)

        for epoch in data.draw(tangled_epochs(program, max_epochs=3)):
            run.change(epoch.inserts, epoch.deletes, strategy=strategy)

            assert run.annotations() == run.again().annotations()


@settings(max_examples=examples(10))
@given(data=st.data())
@pytest.mark.parametrize("strategy", [Strategy.AUTO, Strategy.UPDATE, Strategy.RECOMPUTE])
def test_any_number_of_threads_follows_epochs_alike(strategy: Strategy, data: st.DataObject):
    """One, two and four threads report the same changes of each epoch, and have the same facts after it."""
    program = data.draw(tangled_programs(special=SPECIAL))
    epochs = data.draw(tangled_epochs(program, max_epochs=3))
    with pytest.MonkeyPatch.context() as patch:
        in_threads(patch)
        runs = [
            Maintained(build(program.text), settings=replace(THREADS, jobs=jobs)).start(program.inputs)
            for jobs in (1, 2, 4)
        ]

        for epoch in epochs:
            alone, *others = [run.change(epoch.inserts, epoch.deletes, strategy=strategy) for run in runs]

            assert all(found == alone for found in others)
            assert all(run.relations() == runs[0].relations() for run in runs)


def test_threads_index_what_an_epoch_inserts(monkeypatch):
    """An epoch of many facts adds its rows to indexes in threads, whether it updates or evaluates again."""
    in_threads(monkeypatch)
    added: list[int] = []
    begin = Division.__init__

    def watched(self, numbers, share):
        added.append(len(numbers))
        begin(self, numbers, share)

    monkeypatch.setattr(Division, "__init__", watched)
    choose = random.Random(6)  # noqa: S311 - a test's choices
    run = Maintained(build(PATH), settings=Settings(jobs=2)).start({"edge": [(x, 99) for x in range(9)]})

    for strategy, nodes in ((Strategy.UPDATE, 60), (Strategy.UPDATE, 70), (Strategy.RECOMPUTE, 90)):
        added.clear()
        run.change({"edge": random_edges(choose, nodes, 400)}, strategy=strategy)

        assert max(added) > 100
        assert run.annotations() == run.again().annotations()


def test_many_derivations_in_threads(monkeypatch):
    """Thousands of rows a level, with relations that grow while other threads read them."""
    shared = in_threads(monkeypatch)
    choose = random.Random(3)  # noqa: S311 - a test's choices
    run = Maintained(build(PATH), settings=Settings(jobs=4)).start({"edge": random_edges(choose, 150, 200)})
    before = run.relations()

    for size in (100, 60, 120):
        deleted = choose.sample(sorted(run.inputs["edge"]), size // 2)
        inserted = {"edge": random_edges(choose, 150, size)}
        found = run.change(inserted, {"edge": deleted}, strategy=Strategy.UPDATE)

        after = run.relations()
        assert found == difference(before, after)
        assert run.annotations() == run.again().annotations()
        before = after

    assert max(shared) > 1000


def test_a_failing_thread_ends_the_others(monkeypatch):
    """Its error is raised, and the epoch leaves the state as it was."""
    in_threads(monkeypatch)
    choose = random.Random(4)  # noqa: S311 - a test's choices
    run = Maintained(build(PATH), settings=Settings(jobs=2)).start({"edge": random_edges(choose, 60, 90)})
    before = run.annotations()

    def fails(*_):
        raise MemoryError

    with monkeypatch.context() as failing:
        failing.setattr("tidelog.maintain.heads.WorkMeter.spend", fails)
        with pytest.raises(MemoryError):
            run.change({"edge": random_edges(choose, 60, 40)}, strategy=Strategy.UPDATE)

    assert run.annotations() == before


def test_a_budget_is_spent_in_threads(monkeypatch):
    """What one thread finds out ends the update; the stratum is evaluated again instead."""
    in_threads(monkeypatch)
    choose = random.Random(5)  # noqa: S311 - a test's choices
    run = Maintained(build(PATH), settings=Settings(jobs=2)).start({"edge": random_edges(choose, 60, 90)})

    def spent(*_):
        raise OverBudget

    monkeypatch.setattr("tidelog.maintain.heads.WorkMeter.spend", spent)
    run.change({"edge": random_edges(choose, 60, 40)}, strategy=Strategy.AUTO)

    assert run.annotations() == run.again().annotations()
