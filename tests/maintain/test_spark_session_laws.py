"""Facts that are decided together are kept by one worker of a session, and followed from epoch to epoch."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import examples
from support.epochs_programs import SPECIAL, tangled_epochs, tangled_programs
from support.programs import build
from support.resident_session import Resident
from support.resident_threads import MOMENTS, tasks_in_threads
from tidelog import TidelogError
from tidelog.engine.epoch import Strategy
from tidelog.engine.spark.engine import Where

LAWS = """
.decl edge(x: number, y: number) .input edge
.decl name(x: number, s: symbol) .input name
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl same(x: number, y: number) eqrel
same(x, y) :- path(x, y), path(y, x).
.decl tree(x: number, y: number) choice-domain y
.input tree
tree(x, y) :- edge(x, y).
.decl best(x: number, s: symbol)
best(x, cat(s, "!")) :- same(x, y), name(y, s).
best(x, a) <= best(x, b) :- strlen(b) >= strlen(a), b != a.
.decl shown(s: symbol)
shown(cat(s, s)) :- best(x, s), tree(_, x).
"""
FACTS = {
    "edge": [(1, 2), (2, 1), (2, 3), (3, 4), (4, 3), (7, 8)],
    "name": [(1, "ann"), (2, "bo"), (3, "cyd"), (4, "d")],
    "tree": [(9, 4)],
}
CHANGES = (
    ({"edge": [(4, 1), (8, 9)], "name": [(9, "eve")]}, {}),
    ({"tree": [(5, 8)]}, {"edge": [(2, 1)], "name": [(3, "cyd")]}),
    ({"name": [(3, "zoe")]}, {"tree": [(9, 4)]}),
)


def test_such_strata_are_with_one_worker():
    """Equivalences, choices and subsumption leave the driver nothing to keep, and epochs are exact."""
    with tasks_in_threads():
        run = Resident(build(LAWS)).start(FACTS)
        try:
            wheres = {each.relations[0]: each.where for each in run.engine.placements}
            assert {wheres[name] for name in ("same", "tree", "best")} == {Where.WORKER}
            assert {wheres[name] for name in ("path", "shown")} == {Where.PARTNERS}
            assert run.relations() == run.expected()
            for insert, delete in CHANGES:
                before = run.relations()
                found = run.change(insert, delete)
                after = run.expected()
                assert run.relations() == after
                assert found.inserted == {n: after[n] - before[n] for n in after if after[n] - before[n]}
                assert found.deleted == {n: before[n] - after[n] for n in after if before[n] - after[n]}
        finally:
            run.engine.close()


@pytest.mark.parametrize("partner", [0, 1])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("after", [0, 4, 20])
def test_another_worker_takes_over(partner, moment, after):
    """Whether the one with the facts dies or another, the epoch is repeated and exact."""
    with tasks_in_threads() as tasks:
        run = Resident(build(LAWS)).start(FACTS)
        try:
            for insert, delete in CHANGES:
                tasks.kill(partner, moment, after if moment == "exchange" else 0)
                run.change(insert, delete)
                assert run.relations() == run.expected()
        finally:
            run.engine.close()


def test_a_state_is_taken_over():
    """From an exported state such strata are evaluated, and go on."""
    with tasks_in_threads():
        run = Resident(build(LAWS)).start(FACTS)
        run.change(*CHANGES[0])

        moved = run.moved()

        assert moved.relations() == run.relations()
        moved.change(*CHANGES[1])
        assert moved.relations() == moved.expected()
        for each in (run, moved):
            each.engine.close()


@settings(max_examples=examples(25))
@given(data=st.data(), strategy=st.sampled_from([Strategy.UPDATE, Strategy.AUTO]))
def test_random_laws_are_exact(data, strategy):
    """Random programs with laws are followed exactly on workers, whoever dies and whenever."""
    drawn = data.draw(tangled_programs(special=SPECIAL))
    kill = st.tuples(st.integers(0, 2), st.sampled_from(MOMENTS), st.integers(0, 15))
    with tasks_in_threads(data.draw(st.integers(1, 3))) as tasks:
        run = Resident(build(drawn.text))
        try:
            run.start(drawn.inputs)
            assert run.relations() == run.expected()
            for epoch in data.draw(tangled_epochs(drawn, max_epochs=3)):
                for each in data.draw(st.lists(kill, max_size=1)):
                    tasks.kill(*each)
                run.change(epoch.inserts, epoch.deletes, strategy=strategy)
                assert run.relations() == run.expected()
        finally:
            run.engine.close()


def test_a_broken_key_is_told():
    """Two values for one key are a diagnostic of the worker, and the state is as before."""
    text = """
    .decl pair(x: number, y: number) .input pair
    .decl one(x: number, y: number) keys x
    one(x, y) :- pair(x, y).
    """
    with tasks_in_threads():
        run = Resident(build(text)).start({"pair": [(1, 2), (2, 3)]})
        try:
            assert run.engine.placements[-1].where is Where.WORKER
            with pytest.raises(TidelogError, match="key"):
                run.change(insert={"pair": [(1, 5)]})

            assert run.relations()["one"] == {(1, 2), (2, 3)}
        finally:
            run.engine.close()
