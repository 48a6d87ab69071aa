"""Epochs over states that outgrow a batch, and over many epochs: the state is still a fresh engine's."""

import random

import pytest

from support.epochs import STRATEGIES, Maintained, difference, each_strategy
from support.programs import build
from tidelog.engine.epoch import Strategy
from tidelog.engine.protocol import Settings

PATH = """
.decl edge(x: number, y: number) .input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl node(x: number) node(x) :- edge(x, _). node(y) :- edge(_, y).
.decl apart(x: number, y: number)
apart(x, y) :- node(x), node(y), !path(x, y), x < y.
.decl degree(x: number, n: number)
degree(x, n) :- node(x), n = count : { path(x, _) }.
"""


def random_edges(choose: random.Random, nodes: int, count: int) -> set[tuple[int, int]]:
    """Return some edges."""
    return {(choose.randrange(nodes), choose.randrange(nodes)) for _ in range(count)}


@pytest.mark.parametrize("strategy", each_strategy())
def test_large_states_follow(strategy: Strategy):
    """Tens of thousands of facts, changed a little and then a lot, with two threads."""
    choose = random.Random(7)  # noqa: S311 - a test's choices
    edges = random_edges(choose, 220, 320)
    run = Maintained(build(PATH), settings=Settings(jobs=2)).start({"edge": edges})
    before = run.relations()

    for size in (1, 3, 150):
        deleted = choose.sample(sorted(run.inputs["edge"]), size)
        found = run.change({"edge": random_edges(choose, 220, size)}, {"edge": deleted}, strategy=strategy)

        after = run.relations()
        assert found == difference(before, after)
        assert run.annotations() == run.again().annotations()
        before = after


def test_many_epochs_leave_nothing_behind():
    """After hundreds of epochs by all strategies, with facts coming and going, the state is as new."""
    choose = random.Random(8)  # noqa: S311 - a test's choices
    run = Maintained(build(PATH)).start({"edge": random_edges(choose, 12, 14)})
    before = run.check()

    for number in range(240):
        deleted = choose.sample(sorted(run.inputs["edge"]), min(2, len(run.inputs["edge"])))
        inserted = random_edges(choose, 12, choose.randrange(4))
        found = run.change(
            {"edge": inserted}, {"edge": deleted}, strategy=STRATEGIES[number % len(STRATEGIES)]
        )

        after = run.relations()
        assert found == difference(before, after)
        before = after
        if number % 30 == 29:
            assert run.check() == after


@pytest.mark.parametrize("strategy", each_strategy())
def test_few_derived_facts_after_many_given_ones(strategy: Strategy):
    """Row numbers of derived facts that are far apart from each other and from zero are no hindrance."""
    text = ".decl a(x: number) .input a .decl b(x: number) .input b b(x) :- a(x). b(x + 1) :- b(x), a(x)."
    given = {(x,) for x in range(100_000)}
    run = Maintained(build(text)).start({"b": given, "a": [(300_000,)]})

    run.change({"a": [(300_001,)]}, strategy=strategy)
    run.change(delete={"a": [(300_000,)]}, strategy=strategy)

    assert run.relations()["b"] == given | {(300_001,), (300_002,)}
