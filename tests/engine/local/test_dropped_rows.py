"""Runs that let go of the rows of earlier iterations."""

import pytest
from hypothesis import given, settings

from engine.local.test_keyed import BODIES, HEADER, facts_of
from storage.test_storage_dropped import let_go
from support.programs import outcome_of, run
from support.strategies import RandomProgram, dense_programs, programs
from tidelog.engine.local import stratum
from tidelog.engine.protocol import Settings
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import IS_COMPILED

EXAMPLES = 80 if IS_COMPILED else 20
# Strata that read all rows: scans, with a filter or not, a join by another column, a cycle, and an aggregate.
LATER = """
.decl all(x: number, z: number)
.decl some(x: number)
.decl joined(x: number, y: number)
.decl triangle(x: number, y: number, z: number)
.decl counted(n: number)
.output all, some, joined, triangle, counted
all(x, z) :- p(x, z).
some(x) :- p(x, x), !c(x, x, x).
joined(x, y) :- p(x, z), q(y, z, _).
triangle(x, y, z) :- p(x, y), p(y, z), p(z, x).
counted(n) :- n = count : { p(_, _) }.
"""


def letting_go() -> pytest.MonkeyPatch:
    """Return a patch by which every iteration lets go of all that it can."""
    patch = pytest.MonkeyPatch()
    let_go(patch)
    patch.setattr("tidelog.storage.relation._SMALLEST", 1)
    patch.setattr(stratum, "_ROWS_FOR_THREADS", 2)
    return patch


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_runs_find_the_same(body, jobs):
    """In the stratum that lets go of rows, and in later ones that read them."""
    text = HEADER + body + LATER
    expected = [run(text, inputs=facts_of(seed)) for seed in range(4)]
    patch = letting_go()
    try:
        found = [
            run(text, engine="local", inputs=facts_of(seed), settings=Settings(jobs=jobs))
            for seed in range(4)
        ]
    finally:
        patch.undo()

    assert found == expected


def test_rows_are_let_go_and_restored_only_for_who_reads_facts(monkeypatch):
    """A later stratum does without; in the end, all facts of each relation are read once."""
    calls = {"drop_rows": 0, "restore_rows": 0}
    for name in calls:
        original = getattr(StoredRelation, name)

        def counted(self, *args, name=name, original=original):
            before = self.dropped
            original(self, *args)
            calls[name] += self.dropped != before

        monkeypatch.setattr(StoredRelation, name, counted)
    text = """
        .decl arc(x: number, y: number)  .input arc
        .decl p(x: number, z: number)
        .decl loops(x: number)  .output loops
        p(x, z) :- arc(x, z).
        p(x, z) :- p(x, y), arc(y, z).
        loops(x) :- p(x, y), arc(y, x).
    """
    arcs = {"arc": [(number, (number + 1) % 40) for number in range(40)]}
    patch = letting_go()
    try:
        found = run(text, engine="local", inputs=arcs)
    finally:
        patch.undo()

    assert found == run(text, inputs=arcs)
    assert calls["drop_rows"]
    assert calls["restore_rows"] == 1


@settings(max_examples=EXAMPLES)
@given(program=programs() | dense_programs())
@pytest.mark.parametrize("jobs", [1, 3])
def test_random_programs_find_the_same(jobs: int, program: RandomProgram):
    """Facts, limits and mistakes do not depend on what is let go."""
    kept = outcome_of(program, jobs)
    patch = letting_go()
    try:
        found = outcome_of(program, jobs)
    finally:
        patch.undo()

    assert found == kept
