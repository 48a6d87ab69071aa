"""Rows of deleted facts are given back, and nobody notices but by the memory."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import Maintained, each_strategy, examples, follow
from support.epochs_programs import SPECIAL, tangled_epochs, tangled_programs
from support.programs import build
from support.strategies import epochs, programs
from tidelog.engine.epoch import MaintenanceSettings, RelationChange, Strategy
from tidelog.engine.local import derive, workers
from tidelog.maintain.small.epoch import SmallEpochs
from tidelog.plan.flatten import FlatRule
from tidelog.plan.maintenance import derivation_chain
from tidelog.plan.operators import Operator
from tidelog.storage import relation as relation_module
from tidelog.storage.sharing import Share

PATHS = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl reached(y: number, n: number)
reached(y, n) :- edge(_, y), n = count : { path(_, y) }.
.decl same(x: number, y: number) eqrel
.input same
same(x, y) :- path(x, y), x < 3.
"""


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are given back as soon as a quarter of them is dead, however few that are."""
    monkeypatch.setattr(relation_module, "LEAST_DEAD", 1)


def test_rows_do_not_outgrow_the_live_facts():
    """After many rounds of insertions and deletions a relation has rows for its facts and little more."""
    run = Maintained(build(PATHS)).start({"edge": [(0, 1), (1, 2)]})

    for first in range(0, 60_000, 1_000):
        window = [(x, x + 1) for x in range(10 + 2 * first, 10 + 2 * first + 2_000, 2)]
        run.change(insert={"edge": window})
        run.change(delete={"edge": window})

    assert run.engine.relations["edge"].count < 3 * relation_module.LEAST_DEAD
    assert run.engine.relations["path"].count < 3 * relation_module.LEAST_DEAD
    run.check()


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("strategy", each_strategy())
def test_every_strategy_goes_on_after_rows_were_given_back(strategy: Strategy):
    """Levels, counts and deltas stay exact when row numbers change between epochs."""
    edges = [(x, x + 1) for x in range(6)]

    run = follow(
        PATHS,
        {"edge": edges, "same": [(7, 8)]},
        [
            ({}, {"edge": edges[3:]}),
            ({"edge": edges[3:]}, {"edge": edges[:2]}),
            ({"edge": [(9, 1)]}, {"same": [(7, 8)]}),
            ({"edge": edges[:2], "same": [(8, 9)]}, {"edge": edges[2:]}),
        ],
        strategy,
    )

    assert all(4 * relation.deleted < max(relation.count, 4) for relation in run.engine.relations.values())


@pytest.mark.usefixtures("eager")
def test_plans_stay_where_sizes_do(monkeypatch: pytest.MonkeyPatch):
    """A relation whose rows were moved together keeps its plans; one that grew has new ones."""
    planned = []

    def plan(rule: FlatRule, *rest: Any) -> Sequence[Operator]:
        planned.append(rule.relation)
        return derivation_chain(rule, *rest)

    monkeypatch.setattr(derive, "derivation_chain", plan)
    monkeypatch.setattr(SmallEpochs, "takes", lambda *_: False)
    rules = """
.decl edge(x: number, y: number)
.input edge
.decl back(x: number)
back(y) :- edge(_, y).
.decl other(x: number)
.input other
.decl both(x: number)
both(x) :- back(x), other(x).
"""
    edges = [(x, x + 1) for x in range(100)]
    run = Maintained(build(rules)).start({"edge": edges, "other": [(7,)]})

    run.change(delete={"edge": edges[:50]})
    before = len(planned)
    for half in (edges[:50], edges[50:]):
        run.change(insert={"edge": half})
        run.change(delete={"edge": half})
    run.change(insert={"edge": edges})
    assert before
    assert len(planned) == before

    run.change(insert={"edge": [(x, x + 1) for x in range(200, 5_000)]})
    run.change(delete={"edge": [(x, x + 1) for x in range(200, 3_000)]})
    run.change(insert={"edge": [(9, 7)]})
    run.change(delete={"edge": [(9, 7)]})
    run.check()
    assert len(planned) > before


@pytest.mark.parametrize("largest", [9, 1 << 40])
def test_threads_give_rows_back(monkeypatch: pytest.MonkeyPatch, largest: int):
    """Relations are compacted and widened by all threads, to the same rows as by one."""
    rules = ".decl edge(x: number, y: number)\n.input edge\n.decl back(x: number)\nback(y) :- edge(_, y).\n"
    monkeypatch.setattr(workers, "_ROWS_PER_THREAD", 1)
    monkeypatch.setattr(relation_module, "_ROWS_PER_BLOCK", 16)
    monkeypatch.setattr(relation_module, "LEAST_DEAD", 1)
    edges = [(x, x % 7) for x in range(300)]
    shared, share = [], workers.Workers.share
    monkeypatch.setattr(
        workers.Workers, "share", lambda self, task, count: (shared.append(count), share(self, task, count))
    )
    found = []

    for jobs in (1, 3):
        shared.clear()
        with tidelog.open(rules, facts={"edge": edges}, jobs=jobs) as db:
            shared.clear()
            db.apply(delete={"edge": edges[::2]})
            db.apply(insert={"edge": [(largest, 1), *edges[:20]]}, delete={"edge": edges[101::2]})
            relations = db._epochs.handle.engine.relations
            found.append({name: relations[name].live_rows().tolist() for name in ("edge", "back")})
            assert bool(shared) == (jobs > 1)

    assert found[0] == found[1]


@pytest.mark.usefixtures("eager")
def test_a_trial_and_a_failed_epoch_leave_no_rows_behind_for_good():
    """Rows that an abandoned epoch appended are given back by the next one."""
    run = Maintained(build(PATHS)).start({"edge": [(0, 1)]})

    for x in range(10, 60):
        with run.engine.trial(*_insertion(run, (x, x + 1))):
            pass
    run.change(insert={"edge": [(1, 2)]})

    assert run.engine.relations["edge"].count == 2
    run.check()


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("strategy", each_strategy())
def test_rows_are_kept_while_there_is_no_memory_to_copy_them(
    strategy: Strategy, monkeypatch: pytest.MonkeyPatch
):
    """An epoch whose rows cannot be given back, all or some, is committed; a later one gives them back."""
    edges = [(x, x + 1) for x in range(6)]
    run = Maintained(build(PATHS)).start({"edge": edges, "same": [(7, 8), (8, 9)]})
    copied = relation_module.StoredRelation.copied
    copies_left = 0

    def failing(
        relation: relation_module.StoredRelation, dtype: object, share: Share
    ) -> relation_module.StoredRelation:
        nonlocal copies_left
        if copies_left == 0:
            raise MemoryError
        copies_left -= 1
        return copied(relation, dtype, share)

    for copies in range(5):
        copies_left = copies
        with monkeypatch.context() as patch:
            patch.setattr(relation_module.StoredRelation, "copied", failing)
            run.change(delete={"edge": edges[2:], "same": [(7, 8)]}, strategy=strategy)
            run.change(insert={"edge": edges[2:], "same": [(7, 8)]}, strategy=strategy)
        run.check()
        run.change(delete={"edge": edges[:1]}, strategy=strategy)
        run.change(insert={"edge": edges[:1]}, strategy=strategy)

    run.check()
    assert all(4 * relation.deleted < max(relation.count, 4) for relation in run.engine.relations.values())


@pytest.mark.usefixtures("eager")
@settings(max_examples=examples(20))
@given(data=st.data(), strategies=st.lists(st.sampled_from(list(Strategy)), min_size=2, max_size=4))
def test_rules_are_followed_while_rows_are_given_back(data: st.DataObject, strategies: list[Strategy]):
    """Random rules, laws among them: every epoch is as from nothing."""
    program = data.draw(tangled_programs(special=SPECIAL))
    drawn = data.draw(tangled_epochs(program, max_epochs=6))

    follow(program.text, program.inputs, [(e.inserts, e.deletes) for e in drawn], strategies)


@pytest.mark.usefixtures("eager")
@settings(max_examples=examples(15))
@given(data=st.data(), strategies=st.lists(st.sampled_from(list(Strategy)), min_size=2, max_size=4))
def test_the_whole_language_is_followed_while_rows_are_given_back(
    data: st.DataObject, strategies: list[Strategy]
):
    """All types, functors and aggregates: every epoch is as from nothing."""
    program = data.draw(programs())
    drawn = data.draw(epochs(program, max_epochs=6))

    follow(program.text, program.inputs, [(e.inserts, e.deletes) for e in drawn], strategies)


def _insertion(
    run: Maintained, edge: tuple[int, int]
) -> tuple[dict[str, RelationChange], MaintenanceSettings]:
    relation = run.program.relations["edge"]
    change = RelationChange(run._encode(relation, [edge]), run._encode(relation, []))
    return {"edge": change}, MaintenanceSettings()
