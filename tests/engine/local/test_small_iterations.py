"""Iterations of a few rows, many of them in one kernel."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.local.test_keyed import BODIES, HEADER, facts_of
from support.epochs import Maintained, examples
from support.epochs_programs import SPECIAL, tangled_programs
from support.kernel_oracles import oracle_of
from support.programs import build, outcome_of, run
from support.strategies import RandomProgram, dense_programs, programs
from tidelog.engine.local import small
from tidelog.engine.local.by_row import evaluate, layout
from tidelog.engine.local.by_row.iterations import run_iterations
from tidelog.engine.protocol import Settings
from tidelog.errors import TidelogError
from tidelog.storage.kernel import IS_COMPILED

EXAMPLES = 80 if IS_COMPILED else 20
CHAIN = """
.decl next(x: number, y: number)  .input next
.decl reached(x: number)  .output reached
reached(0).
reached(y) :- reached(x), next(x, y).
"""


def by_row(patch: pytest.MonkeyPatch, *, room: int = 1, work: int = 1 << 19) -> None:
    """Let every iteration after the first run row by row, with little room for what it appends."""
    patch.setattr(small, "_FEW_ROWS", 1 << 20)
    patch.setattr(small, "_FEWEST_ITERATIONS", 1)
    patch.setattr(small, "_ROWS_PER_ITERATION", 1 << 40)
    patch.setattr(evaluate, "_ROOM", room)
    patch.setattr(evaluate, "_WORK_AT_A_TIME", work)
    patch.setattr("tidelog.storage.relation._SMALLEST", 1)
    patch.setattr("tidelog.storage.packed._SMALLEST_ROWS", 1)


@pytest.fixture
def runs(monkeypatch):
    """Let iterations run row by row, and return how far each run got, 0 if it was given up."""
    by_row(monkeypatch)
    ends: list[evaluate.RowProgress] = []
    original = evaluate.RowIterations.run

    def watched(self, iteration, last):
        ends.append(evaluate.RowProgress(0, is_finished=False, is_left=False))
        ends[-1] = original(self, iteration, last)
        return ends[-1]

    monkeypatch.setattr(evaluate.RowIterations, "run", watched)
    return ends


# --- the same facts, in the same iterations ----------------------------------------------------


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_joins_find_the_same(body, runs):
    """Whatever the rules, beside the reference engine."""
    expected = [run(HEADER + body, inputs=facts_of(seed)) for seed in range(4)]

    assert [run(HEADER + body, engine="local", inputs=facts_of(seed)) for seed in range(4)] == expected
    assert runs


@settings(max_examples=EXAMPLES)
@given(program=programs() | dense_programs() | tangled_programs(special=SPECIAL))
@pytest.mark.parametrize("work", [0, 1 << 19])
def test_random_programs_find_the_same(work: int, program: RandomProgram):
    """Facts, limits and mistakes are those of batches, however often the kernel returns."""
    expected = outcome_of(program)
    with pytest.MonkeyPatch.context() as patch:
        by_row(patch, work=work)

        assert outcome_of(program) == expected


@settings(max_examples=examples(30))
@given(program=tangled_programs(special=SPECIAL) | programs() | dense_programs())
def test_levels_and_counts_are_those_of_brute_force(program: RandomProgram):
    """Each fact of a session has the level and the count that brute force finds."""
    with pytest.MonkeyPatch.context() as patch:
        by_row(patch)

        Maintained(build(program.text)).start(program.inputs).check()


def test_a_chain_is_one_run(runs):
    """From the second iteration to the one that finds nothing."""
    arcs = {"next": [(x, x + 1) for x in range(3000)]}

    assert len(run(CHAIN, engine="local", inputs=arcs)["reached"]) == 3001
    assert [progress.is_finished for progress in runs] == [True]
    assert runs[0].iteration == 3002


def test_larger_iterations_go_on_in_batches_and_come_back(monkeypatch, runs):
    """A narrow path, a wide part, and a narrow path again."""
    monkeypatch.setattr(small, "_FEW_ROWS", 64)
    wide = [(100, 1000 + x) for x in range(2000)] + [(1000 + x, 5000) for x in range(2000)]
    path = [(x, x + 1) for x in range(100)] + [(5000 + x, 5001 + x) for x in range(300)]
    arcs = {"next": path + wide}

    assert run(CHAIN, engine="local", inputs=arcs) == run(CHAIN, inputs=arcs)
    assert [progress.is_left for progress in runs] == [True, False]


def test_a_row_with_many_matches_goes_on_in_batches(runs):
    """More candidates than the kernel collects leave the iteration to batches, none is lost."""
    arcs = {"next": [(0, 1), *((1, 10 + x) for x in range(evaluate._CANDIDATES + 1))]}

    assert run(CHAIN, engine="local", inputs=arcs) == run(CHAIN, inputs=arcs)
    assert runs[0].is_left


def test_an_iteration_limit_holds(runs):
    """The limit is met inside the kernel, and reported as ever."""
    arcs = {"next": [(x, x + 1) for x in range(100)]}

    with pytest.raises(TidelogError, match="within 50 iterations"):
        run(CHAIN, engine="local", inputs=arcs, settings=Settings(iteration_limit=50))

    assert runs[-1].iteration == 50


def test_codes_that_need_more_bits_start_again(runs):
    """A number beyond 32 bits appears deep inside the kernel."""
    text = """
    .decl power(n: number, x: number)  .output power
    power(0, 1).
    power(n + 1, 2 * x) :- power(n, x), n < 40.
    """

    assert run(text, engine="local") == run(text)
    assert [progress.iteration for progress in runs] == [0, 42]


def test_negation_and_several_relations(runs):
    """Two relations that derive each other, past facts that earlier strata forbid."""
    text = """
    .decl next(x: number, y: number)  .input next
    .decl closed(x: number)  closed(x) :- next(x, x).
    .decl even(x: number)  .decl odd(x: number)  .output even, odd
    even(0).
    odd(y) :- even(x), next(x, y), !closed(y).
    even(y) :- odd(x), next(x, y), !closed(y), y - x = 1.
    """
    arcs = {"next": [*pairwise(range(400)), (300, 300), (17, 30)]}

    assert run(text, engine="local", inputs=arcs) == run(text, inputs=arcs)
    assert runs


def test_rules_that_build_records_stay_in_batches(runs):
    """The kernel cannot run them, and says so before anything is changed."""
    text = """
    .type List = [head: number, tail: List]
    .decl list(n: number, x: List)
    .decl sizes(n: number)  .output sizes
    list(0, nil).
    list(n + 1, [n, x]) :- list(n, x), n < 40.
    sizes(n) :- list(n, _).
    """

    assert run(text, engine="local") == run(text)
    assert not runs


def test_a_negated_atom_with_a_wildcard_stays_in_batches(runs):
    """Derivations of such rules have no row for it."""
    text = """
    .decl stop(x: number, y: number)  .input stop
    .decl n(x: number)  .output n
    n(0).
    n(x + 1) :- n(x), x < 20, !stop(x, _).
    """
    stops = {"stop": [(15, 1)]}

    assert run(text, engine="local", inputs=stops) == run(text, inputs=stops)
    assert not runs


# --- the kernel itself -------------------------------------------------------------------------


@oracle_of(run_iterations)
@settings(max_examples=examples(20))
@given(arcs=st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1))
def test_each_iteration_has_the_facts_of_its_level(arcs: set[tuple[int, int]]):
    """Paths that are put together from two paths: their lengths double from iteration to iteration."""
    text = """
    .decl arc(x: number, y: number)  .input arc
    .decl path(x: number, z: number)
    path(x, y) :- arc(x, y).
    path(x, z) :- path(x, y), path(y, z).
    """
    expected = [arcs]
    while expected[-1]:
        known = set().union(*expected)
        expected.append({(x, z) for x, y in known for y2, z in known if y == y2} - known)
    found = [arcs]
    running: list[evaluate.RowIterations] = []
    begin = evaluate.RowIterations._begin

    def one_by_one(addresses, like, candidates, _, is_counting):
        (by_row,) = running
        status = layout.ASKS
        while status == layout.ASKS:
            before = by_row._counters.level_count
            status = run_iterations(addresses, like, candidates, before + 1, is_counting)
            if by_row._counters.level_count > before:
                record = by_row._tables.relations[0]
                rows = by_row._state.relations["path"].rows[record["delta"] : record["end"]]
                found.append({tuple(row) for row in rows.tolist()})
        return status

    with pytest.MonkeyPatch.context() as patch:
        by_row(patch, room=1 << 12)
        patch.setattr(evaluate.RowIterations, "_begin", lambda self: (running.append(self), begin(self))[1])
        patch.setattr(evaluate, "run_iterations", one_by_one)
        Maintained(build(text)).start({"arc": list(arcs)}).check()

    assert found == expected
