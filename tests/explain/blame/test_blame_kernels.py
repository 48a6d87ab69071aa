"""Derivations that kernels find for blame and repair, against those of planned joins."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs_programs import tangled_programs
from support.strategies import RandomProgram
from tidelog.explain.blame.ground import Ground
from tidelog.maintain import LocalMaintainedEngine
from tidelog.plan.flatten import FlatRule, RuleLiteral
from tidelog.session import Session
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import Int64s


def _engine(session: Session) -> LocalMaintainedEngine:
    engine = session._epochs.handle.engine
    assert isinstance(engine, LocalMaintainedEngine)
    return engine


class _Planned(Ground):
    """Finds derivations without kernels."""

    def __init__(self, engine: LocalMaintainedEngine) -> None:
        super().__init__(engine)
        self.tables._laid = dict.fromkeys(range(len(self.program.strata)))


def _backward(ground: Ground, name: str) -> set[tuple[int, tuple[int, ...]]]:
    stored = ground.relation(name)
    present = np.flatnonzero(stored.levels[: stored.count] != ABSENT)
    return {(rule.id, tuple(row)) for rule, batch in ground.backward(name, present) for row in batch.tolist()}


def _forward(ground: Ground, rule: FlatRule, literal: RuleLiteral, rows: Int64s) -> list[tuple[int, ...]]:
    return sorted(map(tuple, ground.forward(rule, literal, rows).tolist()))


def test_a_negated_fact_of_an_earlier_epoch_has_no_row() -> None:
    """A row that joins do not see is no fact in any world, whoever looks it up."""
    text = ".decl a(x: number) .decl b(x: number) .decl r(x: number) r(x) :- a(x), !b(x)."
    with tidelog.open(text, facts={"a": [(1,)], "b": [(1,)]}) as session:
        session.apply(delete={"b": [(1,)]})
        fast, planned = Ground(_engine(session)), _Planned(_engine(session))

        assert {rows for _, rows in _backward(fast, "r")} == {(0, 0, -1)}
        assert _backward(planned, "r") == _backward(fast, "r")


@settings(max_examples=30)
@given(tangled_programs(), st.booleans())
def test_kernels_and_plans_find_the_same_derivations(program: RandomProgram, has_changed: bool) -> None:  # noqa: FBT001 - drawn
    """Backward from all facts, and forward from all facts of each literal, in an epoch or another."""
    with tidelog.open(program.text, facts=dict(program.inputs)) as session:
        if has_changed:
            name, facts = next(((name, facts) for name, facts in program.inputs.items() if facts), ("", ()))
            for fact in facts[:2]:
                session.apply(delete={name: [fact]})
        fast, planned = Ground(_engine(session)), _Planned(_engine(session))

        for name in fast.program.relations:
            assert _backward(fast, name) == _backward(planned, name)
            for rule, literal in fast.readers[name]:
                stored = fast.relation(name)
                present = np.flatnonzero(stored.levels[: stored.count] != ABSENT)
                assert _forward(fast, rule, literal, present) == _forward(planned, rule, literal, present)
