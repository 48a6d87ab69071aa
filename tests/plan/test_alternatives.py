"""Cyclic bodies, whose bindings each go on by the join that matches the fewest facts."""

import random
from typing import Any

import numpy as np
import pytest

import tidelog
from support.epochs import Maintained, follow
from support.programs import build, run
from tidelog.engine.epoch import Strategy
from tidelog.engine.local import choose, marked, stratum, workers
from tidelog.engine.protocol import Settings
from tidelog.maintain.small.epoch import SmallEpochs
from tidelog.plan import alternatives, plan_stratum
from tidelog.plan.operators import Choose, all_operators
from tidelog.plan.statistics import KnownSizes
from tidelog.storage.direct import count_rows
from tidelog.storage.join import select_rows

HEADER = """
.decl p(x: number, z: number)
.decl q(x: number, r: number, z: number)
.decl c(y: number, w: number, z: number)
.decl d(x: number, y: number)
.input p, q, c
.output p, q
d(1, 2).
"""
BODIES = {
    "triangle": "p(x, z) :- c(y, w, z), p(x, w), p(x, y).",
    "two relations": "p(x, z) :- p(y, w), c(w, r, z), q(x, r, y).  q(x, r, z) :- p(x, y), q(y, r, z).",
    "three columns": "q(x, e, o) :- q(x, y, z), c(y, u, e), q(z, u, o).",
    "square": "p(x, z) :- p(x, y), p(y, w), p(w, z), c(z, x, _).",
    "with a constant": "p(x, z) :- c(y, w, z), p(x, w), p(x, y), q(y, z, 2).",
    "with a filter": "p(x, z) :- c(y, w, z), p(x, w), p(x, y), y != w, z != x.",
    "with a negation": "p(x, z) :- c(y, w, z), p(x, w), p(x, y), !d(y, w).",
}


STATIC_HEADER = """
.pragma "leapfrog-exclude" "*"
.decl e(x: number, y: number)
.decl t(x: number, y: number, z: number)
.decl d(x: number, y: number)
.input e, t
.output r
d(1, 2).
.decl r(x: number, y: number, z: number, w: number)
"""
STATIC_BODIES = {
    "triangle": "r(x, y, z, 0) :- e(x, y), e(y, z), e(z, x).",
    "square": "r(x, y, z, w) :- e(x, y), e(y, z), e(z, w), e(w, x).",
    "clique": "r(x, y, z, w) :- e(x, y), e(x, z), e(x, w), e(y, z), e(y, w), e(z, w).",
    "three columns": "r(x, y, z, w) :- t(x, y, z), t(y, z, w), t(z, w, x).",
    "with a wildcard": "r(x, y, z, 0) :- e(x, y), t(y, z, _), e(z, x), t(_, x, y).",
    "with a path behind it": "r(x, y, z, w) :- e(x, y), e(y, z), e(z, x), e(z, w).",
    "with a constant": "r(x, y, z, 0) :- e(x, y), t(y, z, 1), t(2, z, x), e(z, x).",
    "with a filter": "r(x, y, z, w) :- e(x, y), e(y, z), e(z, w), e(w, x), x != z, y < w.",
    "with a negation": "r(x, y, z, 0) :- e(x, y), e(y, z), e(z, x), !d(x, y).",
}


@pytest.fixture(autouse=True)
def _few_bindings_choose_too(monkeypatch):
    """Let every binding choose, and threads share what little work there is."""
    monkeypatch.setattr(choose, "LEAST_ROWS", 1)
    monkeypatch.setattr(marked, "_LEAST_ROWS", 1)
    monkeypatch.setattr(marked, "_SHARED", 0.0)
    monkeypatch.setattr(alternatives, "_FEW_BINDINGS", 0.0)
    monkeypatch.setattr(alternatives, "_ENTRY_COST", 0.0)
    monkeypatch.setattr(stratum, "_ROWS_FOR_THREADS", 2)
    monkeypatch.setattr(workers, "_WORK_PER_THREAD", 2)


def skewed_facts(seed: int, names: str = "pqc") -> dict[str, list[tuple[int, ...]]]:
    """Return facts in which a few values are in most of them, and others in one."""
    chance = random.Random(seed)  # noqa: S311 - test data

    def value() -> int:
        return min(chance.randrange(12), chance.randrange(12), chance.randrange(12))

    facts = {
        "p": sorted({(value(), value()) for _ in range(25)}),
        "q": sorted({(value(), value(), value()) for _ in range(25)}),
        "c": sorted({(value(), value(), value()) for _ in range(25)}),
        "e": sorted({(value(), value()) for _ in range(40)}),
        "t": sorted({(value(), value(), value()) for _ in range(40)}),
    }
    return {name: facts[name] for name in names}


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_alternatives_yield_what_any_order_does(body, jobs):
    """The engines agree on cyclic bodies over skewed facts."""
    for seed in range(6):
        facts = skewed_facts(seed)

        found = run(HEADER + body, engine="local", inputs=facts, settings=Settings(jobs=jobs))

        assert found == run(HEADER + body, inputs=facts)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_cyclic_bodies_have_alternatives(body):
    """Each of these bodies has a delta rule that chooses."""
    program = build(HEADER + body)
    sizes = KnownSizes({"p": 1000, "q": 1000, "c": 1000})

    plans = [plan for each in program.strata for plan in plan_stratum(each, program, sizes).repeated]

    operators = [operator for plan in plans for operator in all_operators(plan.operators)]
    assert any(isinstance(operator, Choose) for operator in operators)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("body", STATIC_BODIES.values(), ids=STATIC_BODIES)
def test_bodies_without_a_delta_choose_too(body, jobs):
    """The engines agree on cyclic bodies over input relations, and every one of them has a choice."""
    program = build(STATIC_HEADER + body)
    (plan,) = plan_stratum(program.strata[-1], program, KnownSizes({"e": 1000, "t": 1000})).once
    assert any(isinstance(operator, Choose) for operator in plan.operators)
    for seed in range(6):
        facts = skewed_facts(seed, "et")

        found = run(STATIC_HEADER + body, engine="local", inputs=facts, settings=Settings(jobs=jobs))

        assert found == run(STATIC_HEADER + body, inputs=facts)


def test_choices_follow_one_another():
    """Each vertex of a clique behind the second comes from the vertex with the fewest arcs."""
    program = build(STATIC_HEADER + STATIC_BODIES["clique"])

    (plan,) = plan_stratum(program.strata[-1], program, KnownSizes({"e": 1000})).once

    first = plan.operators[-1]
    assert isinstance(first, Choose)
    assert len(first.alternatives) == 2
    for alternative in first.alternatives:
        assert isinstance(alternative[-1], Choose)
        assert len(alternative[-1].alternatives) == 3


def test_an_index_is_built_for_a_choice_only_if_it_pays(monkeypatch):
    """A few bindings are joined through the index that there is, however large the relation."""
    monkeypatch.setattr(alternatives, "_ENTRY_COST", 1.0)
    program = build(STATIC_HEADER + "r(x, y, z, 0) :- d(x, y), e(y, z), e(z, x).")
    keys = {("e", (0,)): 1e5, ("e", (1,)): 1e5}

    def chooses(few: float) -> bool:
        sizes = KnownSizes({"d": few, "e": 1e6}, keys)
        monkeypatch.setattr(KnownSizes, "is_indexed", lambda *_: False)
        (plan,) = plan_stratum(program.strata[-1], program, sizes).once
        return isinstance(plan.operators[-1], Choose)

    assert not chooses(1e4)
    assert chooses(1e6)


@pytest.mark.parametrize("shift", [-5, 1 << 19, 1 << 21, 1 << 40])
def test_any_code_is_checked(shift):
    """Codes that are negative or too large for marks are searched for, and those of a few facts too."""
    arcs = [(x + shift, y + shift) for x, y in skewed_facts(3, "e")["e"]]
    body = STATIC_HEADER + STATIC_BODIES["square"]

    assert run(body, engine="local", inputs={"e": arcs}) == run(body, inputs={"e": arcs})


def test_shared_keys_are_marked_and_others_searched(monkeypatch):
    """Bindings in a row that share a long enough posting are checked by marks, all others by searches."""
    tried = {"marked": 0, "searched": 0}
    join_marked, run_check = marked.join_marked, marked.CheckStep.run

    def joining(*arguments: Any) -> int:
        tried["marked"] += np.count_nonzero(arguments[2] >= 0)
        return join_marked(*arguments)

    def checking(self: marked.CheckStep, batch: Any) -> None:
        tried["searched"] += len(batch)
        run_check(self, batch)

    monkeypatch.setattr(marked, "join_marked", joining)
    monkeypatch.setattr(marked.CheckStep, "run", checking)
    body = STATIC_HEADER + STATIC_BODIES["square"]

    for seed in range(6):
        facts = skewed_facts(seed, "e")
        assert run(body, engine="local", inputs=facts) == run(body, inputs=facts)

    assert tried["marked"] > 0
    assert tried["searched"] > 0


@pytest.mark.parametrize("strategy", [Strategy.UPDATE, Strategy.COUNTING, Strategy.DRED])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_changes_are_followed_through_alternatives(monkeypatch, body, strategy):
    """Epochs that insert and delete are as from nothing, batch by batch."""
    monkeypatch.setattr(SmallEpochs, "takes", lambda *_: False)
    for seed in range(3):
        facts, others = skewed_facts(seed), skewed_facts(seed + 100)
        inserted = {name: [fact for fact in others[name] if fact not in facts[name]] for name in facts}
        deleted = {name: each[::3] for name, each in facts.items()}

        follow(HEADER + body, facts, [(inserted, {}), ({}, deleted), (deleted, inserted)], strategy)


def test_changes_choose_where_indexes_are(monkeypatch):
    """Chains that follow changes have alternatives over indexes that others need anyway."""
    monkeypatch.setattr(SmallEpochs, "takes", lambda *_: False)
    chosen = []
    run_step = choose.ChooseStep.run

    def watched(self: choose.ChooseStep, batch: object) -> None:
        chosen.append(batch)
        run_step(self, batch)

    with tidelog.open(HEADER + BODIES["triangle"], jobs=1) as db:
        db.apply(insert=skewed_facts(1))
        db.apply(insert=skewed_facts(2))
        monkeypatch.setattr(choose.ChooseStep, "run", watched)
        db.apply(insert=skewed_facts(3), strategy="update")

    assert chosen


def test_acyclic_bodies_have_none():
    """Where the next atoms share nothing new, one order does for all bindings."""
    program = build(HEADER + "p(x, z) :- p(x, y), p(y, w), p(w, z).")

    plans = plan_stratum(program.strata[-1], program, KnownSizes()).repeated

    assert not any(isinstance(each, Choose) for plan in plans for each in all_operators(plan.operators))


def test_a_binding_that_one_alternative_has_nothing_for_ends_there(monkeypatch):
    """What the smallest relation has no match for is not joined with a larger one."""
    facts = {"p": [(x, y) for x in range(20) for y in range(20)], "c": [(100, 100, 7)]}
    sent = []

    def count_sent(*arguments: object) -> int:
        sent.append(select_rows(*arguments))
        return sent[-1]

    monkeypatch.setattr(choose, "select_rows", count_sent)

    found = run(HEADER + BODIES["triangle"], engine="local", inputs=facts)

    assert len(found["p"]) == 400
    assert sent
    assert sum(sent) == 0


def test_choices_read_direct_indexes(monkeypatch):
    """In an epoch, where a key has one fact, a choice needs no postings, and derivations are the same."""
    run_epochs = Maintained(
        build("""
            .decl up(x: number, y: number)
            .input up
            .decl of(y: number, z: number)
            .input of
            .decl on(x: number, z: number)
            .input on
            .decl named(x: number, s: symbol)
            named(x, cat("n", to_string(z))) :- up(x, y), of(y, z), on(x, z).
        """)
    )
    looked_up = []
    monkeypatch.setattr(choose, "count_rows", lambda *x: (looked_up.append(len(x[0])), count_rows(*x)))
    nodes = range(200)
    run_epochs.start(
        {
            "up": [(x, x // 2) for x in nodes],
            "of": [(x, x % 7) for x in nodes],
            "on": [(x, (x // 2) % 7 if x % 3 else 8) for x in nodes],
        }
    )

    for deleted in ([(x, x // 2) for x in nodes if x % 2], [(x, x // 2) for x in nodes if x % 4 == 0]):
        run_epochs.change({"up": [(x + 1000, y) for x, y in deleted]}, {"up": deleted})
        run_epochs.check()
        run_epochs.change({"up": deleted}, {"of": [(3, 3)]})
        run_epochs.check()
        run_epochs.change({"of": [(3, 3)]}, {"up": [(x + 1000, y) for x, y in deleted]})
        run_epochs.check()

    relations = run_epochs.engine.relations
    assert looked_up
    assert all((0,) in relations[name].direct for name in ("up", "of", "on"))
    assert not any((0,) in relations[name].indexes for name in ("up", "of", "on"))
