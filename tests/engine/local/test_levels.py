"""Joins by fewer columns than an index has, through a level above it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from engine.local.test_keyed import BODIES, HEADER, eager, facts_of
from support.programs import build, outcome_of, run
from support.strategies import RandomProgram, dense_programs, programs
from tidelog.engine.local.lookups import JoinStep
from tidelog.engine.protocol import Settings
from tidelog.plan import for_evaluation, levels, plan_stratum
from tidelog.plan.operators import Choose, IndexJoin, ScanView, View
from tidelog.plan.statistics import KnownSizes
from tidelog.storage.kernel import IS_COMPILED

EXAMPLES = 80 if IS_COMPILED else 20
GALEN = """
    p(x, z) :- p(x, y), p(y, z).
    p(x, z) :- p(y, w), c(w, r, z), q(x, r, y).
    q(x, r, z) :- p(x, y), q(y, r, z).
    q(x, e, o) :- q(x, y, z), c(y, u, e), q(z, u, o).
"""
MORE_BODIES = {
    **BODIES,
    "two levels of one index": GALEN,
    "a filter on what the level has": """q(x, r, z) :- p(x, y), q(y, r, z), r != x.
        q(x, r, z) :- q(x, r, y), q(z, r, x).""",
    "a filter on what only facts have": """q(x, r, z) :- p(x, y), q(y, r, z), z != x.
        q(x, r, z) :- q(x, r, y), q(z, r, x).""",
    "a column that nothing reads": """p(x, r) :- p(x, y), q(y, r, z), z < 9.
        q(x, r, z) :- q(x, r, y), q(z, r, x).""",
    "an aggregate": """p(x, n) :- p(x, _), n = count : { c(x, _, _) }.
        p(x, z) :- p(x, y), c(x, y, z), c(z, y, _).""",
    "a key that only leads to facts": "p(x, 0) :- c(x, x, y), c(_, w, x), c(y, y, y), c(_, w, 0).",
    "a constant": """p(x, z) :- p(x, _), q(1, x, z), c(x, 1, z).
        p(x, z) :- p(x, y), c(x, y, z), c(y, _, z).""",
}


def level_everywhere() -> pytest.MonkeyPatch:
    """Return a patch by which an index serves whatever it can."""
    patch = pytest.MonkeyPatch()
    patch.setattr(levels, "_LEAST_FACTS", 0)
    patch.setattr(levels, "_FACTS_PER_GROUP", 0)
    return patch


@pytest.mark.parametrize("is_eager", [False, True], ids=["by facts", "by keys"])
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("body", MORE_BODIES.values(), ids=MORE_BODIES)
def test_levels_lead_to_the_same_facts(body, jobs, is_eager):
    """The engines agree, whatever else makes the joins quicker."""
    expected = [run(HEADER + body, inputs=facts_of(seed)) for seed in range(6)]
    patches = [level_everywhere(), *([eager()] if is_eager else ())]
    try:
        found = [
            run(HEADER + body, engine="local", inputs=facts_of(seed), settings=Settings(jobs=jobs))
            for seed in range(6)
        ]
    finally:
        for patch in patches:
            patch.undo()

    assert found == expected


def test_levels_are_read(monkeypatch):
    """Two joins go through levels in the test above."""
    read = set()
    original = JoinStep.run

    def noting(step, batch):
        read.add((step.join.relation, step.join.key, step.join.over))
        original(step, batch)

    monkeypatch.setattr(JoinStep, "run", noting)
    patch = level_everywhere()
    try:
        run(HEADER + GALEN, engine="local", inputs=facts_of(1))
    finally:
        patch.undo()

    assert {("q", (0,), (0, 1)), ("q", (2,), (1, 2))} <= read


@settings(max_examples=EXAMPLES)
@given(program=programs() | dense_programs())
@pytest.mark.parametrize("jobs", [1, 3])
def test_random_programs_find_the_same_through_levels(jobs: int, program: RandomProgram):
    """Facts, limits and mistakes do not depend on which indexes there are."""
    by_own_indexes = outcome_of(program, jobs)
    patches = [level_everywhere(), eager()]
    try:
        by_levels = outcome_of(program, jobs)
    finally:
        for patch in patches:
            patch.undo()

    assert by_levels == by_own_indexes


def planned(body, facts_per_group):
    """Return the plan of the largest stratum, where an index by two columns has groups of so many facts."""
    program = build(HEADER + body)
    stratum = max(program.strata, key=lambda each: len(each.rules))
    size = 1e6
    keys = {("q", key): size / facts_per_group for key in ((0, 1), (1, 2), (0, 2))}
    sizes = KnownSizes({"p": size, "q": size, "c": size}, keys)
    return for_evaluation(plan_stratum(stratum, program, sizes), stratum, sizes)


def joined_by(plan, key):
    """Return the joins with q by a key."""
    return [x for x in plan.operators() if isinstance(x, IndexJoin) and x.relation == "q" and x.key == key]


def test_an_index_of_large_groups_serves_joins_by_fewer_columns():
    """No index by x or by z alone is left."""
    plan = planned(GALEN, 10)

    assert {join.over for join in joined_by(plan, (0,))} == {(0, 1)}
    assert {join.over for join in joined_by(plan, (2,))} == {(1, 2)}


def test_an_index_of_small_groups_serves_its_own_joins_only():
    """A level would lead to as many groups as there are facts."""
    plan = planned(GALEN, 1)

    assert joined_by(plan, (0,))
    assert not any(join.over for join in joined_by(plan, (0,)))


def test_facts_are_joined_after_what_needs_their_keys_only():
    """In `q(x, e, o) :- q(x, y, z), c(y, u, e), q(z, u, o)`, u is checked before any o is looked at."""
    plan = planned(GALEN, 10)
    rule = next(x for x in plan.repeated if x.relation == "q" and x.delta_atom == 0 and len(x.operators) == 2)
    choose = rule.operators[-1]
    assert isinstance(choose, Choose)
    keys, check, facts = next(rest for rest in choose.alternatives if getattr(rest[0], "over", ()))

    assert (keys.over, keys.view) == ((0, 1), View.FULL)
    assert check.relation == "c"
    assert (facts.relation, facts.key, facts.group) == ("q", (0, 1), keys.group)


def test_joins_by_an_ordered_index_keep_it():
    """A level does not know the order, though other joins by the same key go through it."""
    key, served = (0,), {("q", (0,)): (0, 1)}
    plain = IndexJoin("q", View.FULL, key, ("x",), ((1, "r"), (2, "z")), (), ("r", "x", "z"))
    chain = (ScanView("p", View.DELTA, ((0, "x"),), (), ("x",)), plain)
    ordered = (chain[0], replace(plain, ordered=2))

    assert levels._split(ordered, served, counting=False) == ordered
    assert levels._split(chain, served, counting=False) != chain


def test_an_index_by_which_the_delta_is_found_stays():
    """A level does not know which keys are new."""
    plan = planned("q(x, r, z) :- q(x, _, y), q(y, r, z).  q(x, z, r) :- q(x, r, y), q(y, x, z).", 10)
    found = {x.key for x in plan.operators() if isinstance(x, IndexJoin) and x.view is View.DELTA}

    assert (0,) in found
    assert not any(join.over for join in joined_by(plan, (0,)))


def test_joins_inside_aggregates_keep_their_index():
    """They count facts, and each group has several."""
    plan = planned(
        "p(x, n) :- c(x, _, _), n = count : { q(x, _, _) }.  p(x, z) :- c(x, y, _), q(x, y, z).",
        10,
    )

    joins = [x for x in plan.operators() if isinstance(x, IndexJoin)]
    assert {(0,), (0, 1)} <= {x.key for x in joins}
    assert not any(x.over for x in joins)
