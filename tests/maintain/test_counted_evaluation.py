"""The dense state of `counting`, built while a program is evaluated."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import examples
from support.epochs_programs import tangled_epochs, tangled_programs
from support.programs import build, insert
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.maintain import LocalMaintainedEngine
from tidelog.maintain.strata import PlainStratum
from tidelog.maintain.strategies.counting import IterationCounts, count_iterations
from tidelog.plan.passes import run_passes
from tidelog.values import Codec

Pairs = dict[tuple[int, int], int]


def _pairs(counts: IterationCounts) -> Pairs:
    """Return the derivations by row and iteration."""
    stored = counts._pairs
    rows = map(tuple, stored.rows[: stored.count].tolist())
    found = zip(rows, stored.counts[: stored.count].tolist(), strict=True)
    return {pair: count for pair, count in found if count}


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_counts_of_evaluation_are_those_counted_afterwards(data: st.DataObject) -> None:
    """Evaluation finds every derivation once, in the iteration that its premises give."""
    drawn = data.draw(tangled_programs())
    jobs = data.draw(st.sampled_from([1, 2]))
    program = run_passes(build(drawn.text))
    codec = Codec(program.types)
    engine = LocalMaintainedEngine(program, codec, Settings(jobs=jobs, counts_iterations=True), {})
    for name, facts in drawn.inputs.items():
        insert(engine, program.relations[name], codec, facts)

    engine.evaluate(SilentObserver())

    plain = [kept for kept in engine._maintainer._strata if isinstance(kept, PlainStratum) and kept.rules]
    for kept in plain:
        assert kept.dense is not None, kept.stratum.relations
        again = count_iterations(kept.rules, engine.relations, kept.stratum.relations, engine.derivations)
        assert {name: _pairs(kept.dense[name]) for name in again} == {
            name: _pairs(counts) for name, counts in again.items()
        }


def test_the_first_epoch_does_not_count_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that asks for `counting` has its dense state when it is open."""
    program = """
    .decl edge(x: number, y: number)
    .decl path(x: number, y: number)
    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), edge(y, z).
    """

    def refuse(*_: object) -> None:
        raise AssertionError("counted again")

    monkeypatch.setattr("tidelog.maintain.strata.count_iterations", refuse)
    with tidelog.open(program, facts={"edge": [(1, 2), (2, 3), (1, 3)]}, strategy="counting", jobs=1) as db:
        db.apply(delete=["edge(1, 3)"])
        assert set(db["path"]) == {(1, 2), (2, 3), (1, 3)}
        db.apply(delete=["edge(2, 3)"])
        assert set(db["path"]) == {(1, 2)}


@settings(max_examples=examples(30), deadline=None)
@given(data=st.data())
def test_sessions_that_count_agree_with_those_that_recompute(data: st.DataObject) -> None:
    """Epochs by `counting` from the counts of evaluation give what recomputing gives."""
    program = data.draw(tangled_programs(aggregates=("count", "sum")))
    epochs = data.draw(tangled_epochs(program))
    with (
        tidelog.open(program.text, facts=program.inputs, jobs=1, strategy="counting") as counted,
        tidelog.open(program.text, facts=program.inputs, jobs=1, strategy="recompute") as again,
    ):
        for epoch in epochs:
            for db in (counted, again):
                db.apply(insert=epoch.inserts, delete=epoch.deletes)
            for name in counted.relations:
                assert set(counted[name]) == set(again[name])
