"""Differences go from partners to partners: the driver has their sizes, and reads those it is asked for."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import difference, examples
from support.epochs_programs import tangled_epochs, tangled_programs
from support.partner_epochs import followable
from support.programs import build
from support.resident_session import Resident
from support.resident_threads import MOMENTS, tasks_in_threads
from support.rule_changes import without_some_rules
from tidelog.engine.code_rows import fact_rows
from tidelog.engine.epoch import MaintenanceSettings, RelationChange, Strategy
from tidelog.engine.protocol import SilentObserver
from tidelog.engine.spark.engine import Where
from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.message import Message
from tidelog.engine.spark.resident import ResidentJob
from tidelog.maintain import spark as maintain_spark
from tidelog.maintain.partners import differences
from tidelog.maintain.partners.differences import (
    DifferenceWriter,
    collect_differences,
    difference_of,
)

SEVERAL = """
.decl edge(x: number, y: number) .input edge
.decl stop(x: number) .input stop
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl same(x: number, y: number) eqrel
same(x, y) :- path(x, y), !stop(x).
.decl far(x: number, y: number)
far(x, y) :- same(x, y), path(y, _).
far(x, z) :- far(x, y), edge(y, z).
.decl some(n: number)
some(n) :- n = count : { far(_, _) }.
"""
CHAIN = {"edge": [(n, n + 1) for n in range(12)], "stop": [(5,), (7,)]}


class Flowing(Resident):
    """Partners that send no difference to the driver."""

    delta_facts = 0


@pytest.fixture
def replied(monkeypatch):
    """Return a list of how many rows partners send to the driver, request by request."""
    found = []
    call = ResidentJob.call

    def count(job, request):
        replies = call(job, request)
        found.append(sum(len(table.rows) for reply in replies for table in reply.tables))
        return replies

    monkeypatch.setattr(ResidentJob, "call", count)
    return found


def no_files(_):
    """Take the place of what reads differences from files in the driver."""
    pytest.fail("the driver reads a difference")


def each_apart(monkeypatch, wheres):
    """Keep every stratum by itself, in one of these places after the other."""
    place = maintain_spark.place_strata

    def placed_apart(*args):
        found = [replace(run, strata=(stratum,)) for run in place(*args) for stratum in run.strata]
        return [replace(run, where=wheres[n % len(wheres)]) for n, run in enumerate(found)]

    monkeypatch.setattr(maintain_spark, "place_strata", placed_apart)


@pytest.mark.parametrize("delta_facts", [0, 30, 100_000])
def test_the_driver_gets_no_rows_that_nobody_asks_for(delta_facts, replied, monkeypatch):
    """Several groups follow an epoch, and no more than `delta_facts` rows of a relation come with replies."""
    each_apart(monkeypatch, [Where.PARTNERS])
    with tasks_in_threads():
        run = Flowing(build(SEVERAL))
        run.engine._options = replace(run.engine._options, delta_facts=delta_facts)
        run.engine._pool.options = run.engine._options
        run.start(CHAIN)
        before = run.relations()
        replied.clear()
        after, changes = run._net(run.program, {"edge": [(20, 3)]}, {"edge": [(6, 7)], "stop": [(5,)]})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(differences, "split_difference", no_files)
            result = run.engine.apply(changes, MaintenanceSettings(), SilentObserver())
        run.inputs = after

        assert max(replied) <= delta_facts
        assert (max(replied) > 0) == (delta_facts > 0)
        assert run.relations() == run.expected()
        assert run._difference(result) == difference(before, run.relations())
        run.engine.close()


@settings(max_examples=examples(15))
@given(
    data=st.data(),
    delta_facts=st.sampled_from([0, 0, 3, 100_000]),
    wheres=st.lists(
        st.sampled_from([Where.PARTNERS, Where.PARTNERS, Where.WORKER, Where.DRIVER]), min_size=1
    ),
    strategy=st.sampled_from([Strategy.UPDATE, Strategy.AUTO, Strategy.RECOMPUTE]),
    partners=st.integers(1, 3),
)
def test_differences_between_groups_are_exact(data, delta_facts, wheres, strategy, partners):
    """Random programs whose strata are kept apart are followed exactly, whoever dies, and so are deltas."""
    drawn = data.draw(tangled_programs())
    kill = st.tuples(st.integers(0, partners - 1), st.sampled_from(MOMENTS), st.integers(0, 12))
    with tasks_in_threads(data.draw(st.integers(1, 3))) as tasks, pytest.MonkeyPatch.context() as patch:
        each_apart(patch, wheres)
        run = Resident(followable(drawn.text))
        run.engine._options = replace(run.engine._options, delta_facts=delta_facts, partners=partners)
        run.engine._pool.options = run.engine._options
        run.engine._pool.partners = partners
        run.start(drawn.inputs)
        try:
            before = run.relations()
            assert before == run.expected()
            for epoch in data.draw(tangled_epochs(drawn, max_epochs=3)):
                for each in data.draw(st.lists(kill, max_size=2)):
                    tasks.kill(*each)
                found = run.change(epoch.inserts, epoch.deletes, strategy=strategy)
                after = run.relations()
                assert after == run.expected()
                assert found == difference(before, after)
                before = after
        finally:
            run.engine.close()


REVERSED = "path(y, x) :- edge(x, y), x > 9.\n"


@pytest.mark.parametrize("wheres", [[Where.PARTNERS], [Where.PARTNERS, Where.WORKER]])
def test_a_change_of_rules_sends_no_rows_to_the_driver(wheres, replied, monkeypatch):
    """What rules change goes from group to group in files, too, and the result reads it when it is asked."""
    each_apart(monkeypatch, wheres)
    with tasks_in_threads():
        run = Flowing(build(SEVERAL)).start(CHAIN)
        for text in (SEVERAL + REVERSED, SEVERAL):
            before, program = run.relations(), build(text)
            replied.clear()
            after, changes = run._net(program, {"edge": [(20, len(text))]}, {})
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(differences, "split_difference", no_files)
                result = run.engine.change_rules(program, MaintenanceSettings(), SilentObserver(), changes)
            run.program, run.inputs = program, after

            assert max(replied) == 0
            assert run.relations() == run.expected()
            assert run._difference(result) == difference(before, run.relations())
            assert {file for each in run.engine._live_differences for file in each.files}
        run.engine.close()


@settings(max_examples=examples(15))
@given(
    data=st.data(),
    delta_facts=st.sampled_from([0, 0, 3]),
    wheres=st.lists(
        st.sampled_from([Where.PARTNERS, Where.PARTNERS, Where.WORKER, Where.DRIVER]), min_size=1
    ),
    strategy=st.sampled_from([Strategy.UPDATE, Strategy.AUTO, Strategy.RECOMPUTE]),
)
def test_differences_of_rules_and_facts_are_exact(data, delta_facts, wheres, strategy):
    """Random rules come and go, whose strata are kept apart, while facts change, whoever dies."""
    drawn = data.draw(tangled_programs())
    kill = st.tuples(st.integers(0, 2), st.sampled_from(MOMENTS), st.integers(0, 12))
    with tasks_in_threads(data.draw(st.integers(1, 3))) as tasks, pytest.MonkeyPatch.context() as patch:
        each_apart(patch, wheres)
        patch.setattr(Resident, "delta_facts", delta_facts)
        run = Resident(followable(drawn.text)).start(drawn.inputs)
        try:
            before = run.relations()
            for epoch in data.draw(tangled_epochs(drawn, max_epochs=3)):
                for each in data.draw(st.lists(kill, max_size=1)):
                    tasks.kill(*each)
                program = followable(without_some_rules(data, drawn))
                found = run.change_rules(program, epoch.inserts, epoch.deletes, strategy=strategy)
                after = run.relations()
                assert after == run.expected()
                kept = {name: facts for name, facts in before.items() if name in after}
                assert found == difference(kept, after)
                found, before = run.change(epoch.deletes, epoch.inserts, strategy=strategy), after
                after = run.relations()
                assert after == run.expected()
                assert found == difference(before, after)
                before = after
        finally:
            run.engine.close()


def test_a_difference_that_makes_codes_wide(monkeypatch):
    """A group of 32 bits becomes one of 64 when another one's files have such a code."""
    text = """
    .decl n(x: number) .input n
    .decl a(x: number, y: number) a(x, x * 65536) :- n(x).
    .decl b(x: number) b(y * 1) :- a(_, y).
    .decl c(x: number) c(x) :- b(x). c(x) :- c(x), n(x).
    """
    each_apart(monkeypatch, [Where.PARTNERS])
    with tasks_in_threads():
        run = Flowing(build(text)).start({"n": [(1,), (2,)]})

        run.change({"n": [(2**20,), (2**36,)]}, {"n": [(1,)]})

        assert run.relations() == run.expected()
        run.change({"n": [(1,)]}, {"n": [(2**36,)]})
        assert run.relations() == run.expected()
        run.engine.close()


def test_an_epoch_that_fails_later_leaves_all_as_it_was(monkeypatch):
    """Groups that were done go back, and the next epoch finds what was there."""
    each_apart(monkeypatch, [Where.PARTNERS, Where.DRIVER, Where.WORKER])
    with tasks_in_threads():
        run = Flowing(build(SEVERAL)).start(CHAIN)
        before = run.relations()

        def fail(*_):
            raise ZeroDivisionError

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(run.engine, "_commit", fail)
            with pytest.raises(ZeroDivisionError):
                run.change({"edge": [(20, 3)]}, {"edge": [(6, 7)]})

        assert run.relations() == before == run.expected()
        run.change({"edge": [(30, 1)]}, {"edge": [(2, 3)]})
        assert run.relations() == run.expected()
        run.engine.close()


def test_differences_that_the_driver_has_are_not_written(tmp_path):
    """A difference without files is columns; one with files is read when a column is asked for."""
    folder = Folder(str(tmp_path))
    rows = fact_rows([[1, 2, 3], [4, 5, 6]], 2)
    few, many = (DifferenceWriter(folder, n, "e", most) for n, most in ((0, 9), (1, 2)))
    few.put("r", rows[:1], rows[:0])
    many.put("r", rows[1:], rows[:1])
    messages = [Message(tables=tuple(each.tables)) for each in (few, many)]

    found = collect_differences(
        messages, [{"differences": each.files} for each in (few, many)], folder, {"r": 2}
    )

    assert found["r"].sizes == (3, 1)
    assert [column.tolist() for column in found["r"].columns(0, None)] == [[1, 2, 3], [4, 5, 6]]
    assert [column.tolist() for column in found["r"].columns(1, None)] == [[1], [4]]
    change = RelationChange([rows[:, 0], rows[:, 1]], [rows[:0, 0], rows[:0, 1]])
    assert difference_of(change, 2, folder).columns(0, None)[1].tolist() == [4, 5, 6]
