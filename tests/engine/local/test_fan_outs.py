"""What the planner expects of joins with the delta: from samples, and from what joins have matched before."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.local.test_keyed import HEADER, facts_of
from support.code_rows import as_rows
from support.programs import build, outcome_of, run
from support.strategies import RandomProgram, dense_programs, programs
from tidelog.engine.local import statistics, stratum
from tidelog.engine.local.statistics import StateStatistics
from tidelog.plan import plan_stratum
from tidelog.plan.operators import IndexJoin
from tidelog.plan.statistics import KnownSizes
from tidelog.storage.distinct import matches_per_row
from tidelog.storage.kernel import IS_COMPILED

EXAMPLES = 60 if IS_COMPILED else 20
PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30)
BODY = "p(x, z) :- p(x, y), q(y, _, w), c(y, w, z).  q(x, r, z) :- q(x, r, y), p(y, z)."


@given(rows=PAIRS, facts=PAIRS, column=st.integers(0, 1), key=st.integers(0, 1))
def test_matches_are_counted_where_samples_are_all(rows, facts, column, key):
    """Of few rows and facts, each is in the sample."""
    expected = sum(row[column] == fact[key] for row in rows for fact in facts) / len(rows)

    found = matches_per_row(as_rows(rows, 2), (column,), as_rows(facts, 2), (key,))

    assert found == pytest.approx(expected)


def test_samples_of_many_rows_come_close():
    """A hundred thousand rows match three facts each, of half a million."""
    rows = as_rows([(number, 0) for number in range(100_000)], 2)
    facts = as_rows([(number // 3, 1) for number in range(500_000)], 2)

    assert matches_per_row(rows, (0,), facts, (0,)) == pytest.approx(3, rel=0.2)


class Sampled(KnownSizes):
    """Statistics in which new facts of p match few facts of one relation, and many of the other."""

    def __init__(self, rare, seen=None):
        super().__init__({"p": 1e6, "q": 1e6, "c": 1e6})
        object.__setattr__(self, "rare", rare)
        object.__setattr__(self, "seen", seen)

    def fan_out(self, delta, facts):
        """Return what is sampled."""
        return (0.1 if facts[0] == self.rare else 1000.0) if delta[0] == "p" else None

    def measured(self, join):
        """Return what was measured, which goes before the sample."""
        return None if self.seen is None else (0.1 if join.relation == self.seen else 1000.0)


def first_joined(known):
    """Return the relation that new facts of p are joined with first."""
    program = build(HEADER + "p(w, z) :- p(_, y), q(y, w, _), c(y, _, z).")
    plans = [plan for each in program.strata for plan in plan_stratum(each, program, known).repeated]
    return next(x.relation for x in plans[0].operators if isinstance(x, IndexJoin))


@pytest.mark.parametrize("rare", ["q", "c"])
def test_the_delta_is_joined_where_its_sample_matches_little(rare):
    """However many facts the keys of the relations have on average."""
    assert first_joined(Sampled(rare)) == rare


@pytest.mark.parametrize("seen", ["q", "c"])
def test_what_was_measured_goes_before_samples(seen):
    """The same join is expected to match what it matched."""
    assert first_joined(Sampled("q", seen)) == seen


def planning_often() -> pytest.MonkeyPatch:
    """Return a patch by which rules are planned again and again, and the smallest deltas are sampled."""
    patch = pytest.MonkeyPatch()
    patch.setattr(statistics, "_ROWS_TO_SAMPLE", 1)
    patch.setattr(stratum, "_PLAN_AGAIN_FACTOR", 1)
    patch.setattr(stratum, "_PLAN_AGAIN_ROWS", 1)
    return patch


def test_joins_are_measured_and_deltas_sampled(monkeypatch):
    """A run that plans again knows what its joins have matched, and the answer stays the same."""
    asked = {"measured": [], "fan_out": []}
    for name, answers in asked.items():
        original = getattr(StateStatistics, name)

        def noting(self, *args, original=original, answers=answers):
            answers.append(original(self, *args))
            return answers[-1]

        monkeypatch.setattr(StateStatistics, name, noting)
    patch = planning_often()
    try:
        found = run(HEADER + BODY, engine="local", inputs=facts_of(1))
    finally:
        patch.undo()

    assert found == run(HEADER + BODY, inputs=facts_of(1))
    assert all(any(answer is not None for answer in answers) for answers in asked.values())


@settings(max_examples=EXAMPLES)
@given(program=programs() | dense_programs())
def test_random_programs_find_the_same_however_often_they_are_planned(program: RandomProgram):
    """Facts, limits and mistakes do not depend on what the planner expects."""
    once = outcome_of(program)
    patch = planning_often()
    try:
        often = outcome_of(program)
    finally:
        patch.undo()

    assert often == once
