"""Delta rules that begin with the keys of the delta, with what they set aside or sieve out."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings

from support.programs import build, outcome_of, run
from support.strategies import RandomProgram, dense_programs, programs
from tidelog.engine.local import key_scan, runnable_rules, sieve, stratum, workers
from tidelog.engine.protocol import Settings
from tidelog.plan import for_evaluation, plan_stratum
from tidelog.plan.operators import Choose, IndexJoin, ScanView, View, all_operators
from tidelog.plan.statistics import KnownSizes
from tidelog.storage.kernel import IS_COMPILED

EXAMPLES = 80 if IS_COMPILED else 20
HEADER = """
.decl p(x: number, z: number)
.decl q(x: number, r: number, z: number)
.decl c(y: number, w: number, z: number)
.input p, q, c
.output p, q
"""
# What each rule lets begin with keys needs an index that another rule has.
BODIES = {
    "set aside before a choice": """p(x, z) :- p(y, w), c(w, r, z), q(x, r, y).
                                    q(x, r, z) :- p(x, y), c(y, r, z).""",
    "set aside in a chain": """q(x, r, z) :- q(x, r, y), c(y, _, w), p(w, z).
                               q(x, r, z) :- q(x, r, w), q(z, _, w).""",
    "two of three": "q(x, e, o) :- q(x, y, z), c(y, u, e), q(z, u, o).",
    "composition": "p(x, z) :- p(x, y), p(y, z).",
    "composition of three columns": "q(x, r, z) :- p(x, y), q(y, r, z).  p(x, z) :- p(x, y), p(y, z).",
    "composition with a filter": "p(x, z) :- p(x, y), p(y, z), x != z.",
    "a constant in the head": "q(x, 1, z) :- q(x, _, y), q(y, _, z).  q(x, r, z) :- q(r, x, z).",
    "a column twice": "q(x, x, z) :- p(x, y), q(y, _, z).  p(x, z) :- p(x, y), p(y, z).",
}


def eager() -> pytest.MonkeyPatch:
    """Return a patch by which every delta is taken by its keys, and every candidate is sieved."""
    patch = pytest.MonkeyPatch()
    patch.setattr(key_scan, "_LEAST_FACTS", 1)
    patch.setattr(key_scan, "_FACTS_PER_KEY", 0)
    patch.setattr(runnable_rules, "_MATCHES_FOR_SIEVE", 0)
    patch.setattr(stratum, "_ROWS_FOR_THREADS", 2)
    patch.setattr(workers, "_WORK_PER_THREAD", 2)
    patch.setattr("tidelog.storage.relation._SMALLEST", 1)
    patch.setattr("tidelog.storage.packed._SMALLEST_ROWS", 1)
    patch.setattr("tidelog.storage.pairs._SMALLEST_ROWS", 1 << 18)
    return patch


@pytest.fixture
def calls():
    """Return how often keys were scanned and joins were sieved, where each delta goes by its keys."""
    counts: Counter[str] = Counter()
    patch = eager()

    def count(owner, name):
        original = getattr(owner, name)

        def counted(*args):
            counts[name] += 1
            return original(*args)

        patch.setattr(owner, name, counted)

    count(sieve, "join_unknown")
    count(key_scan.KeyScanStep, "run")
    yield counts
    patch.undo()


def facts_of(seed: int) -> dict[str, list[tuple[int, ...]]]:
    """Return facts in which a few values are in most of them, and others in one."""
    chance = random.Random(seed)  # noqa: S311 - test data

    def value() -> int:
        return min(chance.randrange(15), chance.randrange(15))

    return {
        "p": sorted({(value(), value()) for _ in range(25)}),
        "q": sorted({(value(), value(), value()) for _ in range(25)}),
        "c": sorted({(value(), value(), value()) for _ in range(25)}),
    }


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_keyed_chains_yield_what_others_do(body, jobs, calls):
    """The engines agree, and keys are scanned."""
    for seed in range(6):
        facts = facts_of(seed)

        found = run(HEADER + body, engine="local", inputs=facts, settings=Settings(jobs=jobs))

        assert found == run(HEADER + body, inputs=facts)
    assert calls["run"]


@pytest.mark.parametrize("body", [body for name, body in BODIES.items() if "composition" in name])
def test_candidates_of_compositions_are_sieved(body, calls):
    """What they compose with has an index by the columns of the head."""
    run(HEADER + body, engine="local", inputs=facts_of(1))

    assert calls["join_unknown"]


@settings(max_examples=EXAMPLES)
@given(program=programs() | dense_programs())
@pytest.mark.parametrize("jobs", [1, 3])
def test_random_programs_find_the_same_by_keys(jobs: int, program: RandomProgram):
    """Facts, limits and mistakes do not depend on how a delta is scanned."""
    by_facts = outcome_of(program, jobs)
    patch = eager()
    try:
        by_keys = outcome_of(program, jobs)
    finally:
        patch.undo()

    assert by_keys == by_facts


def keyed_plans(body):
    """Return the plans of a program that have a chain which begins with keys."""
    program = build(HEADER + body)
    sizes = KnownSizes({"p": 1000, "q": 1000, "c": 1000})
    strata = (for_evaluation(plan_stratum(each, program, sizes), each, sizes) for each in program.strata)
    plans = [plan for each in strata for plan in each.repeated]
    return [plan for plan in plans if plan.keyed]


def test_what_only_the_head_reads_is_joined_back_last():
    """Of new facts q(x, r, y), each r and y is joined once."""
    plan = next(
        plan
        for plan in keyed_plans(BODIES["set aside before a choice"])
        if plan.operators[0].relation == "q" and isinstance(plan.operators[-1], Choose)
    )

    scan, choose = plan.keyed
    assert isinstance(scan, ScanView)
    assert scan.key == (1, 2)
    assert isinstance(choose, Choose)
    for alternative in choose.alternatives:
        back = alternative[-1]
        assert isinstance(back, IndexJoin)
        assert (back.relation, back.view, back.key) == ("q", View.DELTA, (1, 2))


@pytest.mark.parametrize(
    "body",
    [
        "p(x, z) :- p(1, y), c(x, y, z).",
        "p(x, z) :- p(x, x), c(x, _, z).",
        "p(x, z) :- p(x, y), c(y, _, w), z = w + 1, z < 9.",
        "p(x, z) :- p(x, z), c(x, _, z).",
    ],
    ids=["a constant", "a column twice", "a value computed", "nothing but a check"],
)
def test_other_rules_scan_facts(body):
    """Facts are scanned where keys would save nothing, or might change what is computed how often."""
    assert not keyed_plans(body)


def test_keys_without_an_index_are_not_scanned():
    """An index only for that would cost more than it saves."""
    assert not keyed_plans("p(x, z) :- p(x, y), c(y, z, _).")
    assert keyed_plans("p(x, z) :- p(x, y), c(y, z, _).  p(x, z) :- p(x, y), p(y, z).")


def test_plans_that_count_derivations_scan_facts():
    """Each derivation must be found once, which sets nothing aside."""
    program = build(HEADER + BODIES["two of three"])
    stratum_plan = plan_stratum(program.strata[-1], program, KnownSizes({"q": 1000}), counting=True)

    assert not any(plan.keyed for plan in stratum_plan.repeated)
    assert all(
        not operator.key
        for plan in stratum_plan.repeated
        for operator in all_operators(plan.operators)
        if isinstance(operator, ScanView)
    )
