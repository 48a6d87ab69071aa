"""Sessions evaluate as single runs do, and annotate what epochs turn out to need."""

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import Maintained, difference, examples
from support.epochs_oracle import NOT_COUNTED
from support.epochs_programs import SPECIAL, tangled_epochs, tangled_programs
from support.programs import build
from support.strategies import dense_programs
from tidelog.engine.epoch import Strategy
from tidelog.engine.local import key_scan, runnable_rules, stratum, workers
from tidelog.engine.local.emit import CandidatesAside
from tidelog.engine.protocol import Settings
from tidelog.maintain.small.epoch import SmallEpochs

PATH = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z).
"""
# The last rule checks facts of its own stratum, some of which the same iteration finds.
ONTOLOGY = """
.decl p(x: number, z: number)
.decl q(x: number, r: number, z: number)
.decl c(y: number, w: number, z: number)
.input p, q, c
q(x, r, z) :- p(x, y), q(y, r, z).
p(x, z) :- p(x, y), p(y, z).
p(x, z) :- c(y, w, z), p(x, w), p(x, y).
"""
ABOVE = """
.decl far(x: number, y: number)
far(x, y) :- path(x, y), !edge(x, y).
"""


@pytest.fixture
def _eager() -> Iterator[None]:
    """Let the smallest relations have words in place of row numbers, and every delta go by its keys."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_scan, "_LEAST_FACTS", 1)
        patch.setattr(key_scan, "_FACTS_PER_KEY", 0)
        patch.setattr(runnable_rules, "_MATCHES_FOR_SIEVE", 0)
        patch.setattr(stratum, "_ROWS_FOR_THREADS", 2)
        patch.setattr(workers, "_WORK_PER_THREAD", 2)
        patch.setattr("tidelog.storage.relation._SMALLEST", 1)
        patch.setattr("tidelog.storage.packed._SMALLEST_ROWS", 1)
        patch.setattr("tidelog.storage.pairs._SMALLEST_ROWS", 1 << 18)
        yield


def facts(choose: random.Random, columns: int, count: int, values: int) -> set[tuple[int, ...]]:
    """Return random facts."""
    return {tuple(choose.randrange(values) for _ in range(columns)) for _ in range(count)}


@pytest.mark.usefixtures("_eager")
@settings(max_examples=examples(25))
@given(data=st.data(), jobs=st.sampled_from([1, 2]))
def test_levels_are_exact_without_row_numbers(data: st.DataObject, jobs: int):
    """Levels and facts are right after evaluation, and in every epoch after it."""
    program = data.draw(tangled_programs(special=SPECIAL) | dense_programs())
    run = Maintained(build(program.text), settings=Settings(jobs=jobs, iteration_limit=300))
    run.start(program.inputs).check()

    for epoch in data.draw(tangled_epochs(program, max_epochs=2)):
        run.change(epoch.inserts, epoch.deletes, strategy=Strategy.AUTO)
        run.check()


@pytest.mark.usefixtures("_eager")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_rule_that_checks_its_own_relation_sees_no_fact_of_its_iteration(seed, jobs, monkeypatch):
    """Such a rule keeps what it finds aside, so that words, which know no iterations, can be asked."""
    kept = []
    original = CandidatesAside.insert
    monkeypatch.setattr(CandidatesAside, "insert", lambda *given: (kept.append(1), original(*given)))
    choose = random.Random(seed)  # noqa: S311 - a test's choices
    inputs = {"p": facts(choose, 2, 12, 9), "q": facts(choose, 3, 6, 9), "c": facts(choose, 3, 25, 9)}
    run = Maintained(build(ONTOLOGY), settings=Settings(jobs=jobs)).start(inputs)

    assert kept
    assert run.engine.relations["p"].word_widths is not None
    run.check()


@pytest.mark.usefixtures("_eager")
@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_facts_are_counted_when_they_lose_a_derivation(seed, is_large, monkeypatch):
    """Nothing is counted by evaluation; what is counted later is exact, row by row and in batches."""
    if is_large:
        monkeypatch.setattr(SmallEpochs, "takes", lambda *_: False)
    choose = random.Random(seed)  # noqa: S311 - a test's choices
    edges = sorted(facts(choose, 2, 40, 14))
    run = Maintained(build(PATH + ABOVE)).start({"edge": edges})
    assert all(each.count is NOT_COUNTED for each in run.annotations()["path"].values())

    for _ in range(3):
        gone = choose.sample(edges, 3)
        run.change(delete={"edge": gone}, strategy=Strategy.UPDATE)
        run.check()
        run.change(insert={"edge": gone}, strategy=Strategy.UPDATE)
        run.check()

    counted = [each for each in run.annotations()["path"].values() if each.count is not NOT_COUNTED]
    assert counted


@pytest.mark.usefixtures("_eager")
@pytest.mark.parametrize("text", [PATH, PATH + ABOVE])
def test_a_recompute_makes_no_row_numbers_that_nobody_asks_for(text):
    """The delta of a relation that no rule reads is found by looking facts up, in both directions."""
    choose = random.Random(7)  # noqa: S311 - a test's choices
    edges = sorted(facts(choose, 2, 60, 20))
    run = Maintained(build(text)).start({"edge": edges})
    before = run.check()

    found = run.change(
        insert={"edge": [(30, 3), (4, 30)]}, delete={"edge": edges[:9]}, strategy=Strategy.RECOMPUTE
    )

    assert (run.engine.relations["path"].word_widths is not None) == (text == PATH)
    expected = difference(before, run.check())
    assert (found.inserted, found.deleted) == (expected.inserted, expected.deleted)


def test_a_relation_that_only_a_deleted_rule_reads_is_read():
    """A relation that lost its rules, and the only rule that reads it, is empty afterwards."""
    program = ".decl e(x: number) .input e .decl p(x: number) .decl q(x: number)\n"
    rules = "p(x) :- p(x). p(x) :- e(x). q(x) :- p(x). q(x) :- e(x)."
    run = Maintained(build(program + rules)).start({"e": [(0,), (3,)]})

    run.change_rules(build(program + "q(x) :- e(x)."), strategy=Strategy.RECOMPUTE)

    assert run.check()["p"] == frozenset()
    run.change_rules(build(program + rules), strategy=Strategy.RECOMPUTE)
    run.check()


@pytest.mark.usefixtures("_eager")
def test_a_recompute_can_be_taken_back(monkeypatch):
    """An epoch that fails after a relation was evaluated again leaves the one that was there."""
    run = Maintained(build(PATH)).start({"edge": [(1, 2), (2, 3), (3, 4)]})
    before = run.relations(), run.annotations()
    monkeypatch.setattr(type(run.engine), "check_keys", _fail)

    with pytest.raises(RuntimeError):
        run.change(delete={"edge": [(2, 3)]}, strategy=Strategy.RECOMPUTE)

    monkeypatch.undo()
    assert (run.relations(), run.annotations()) == before
    run.change(delete={"edge": [(2, 3)]}, strategy=Strategy.RECOMPUTE)
    run.check()


def _fail(*_: object) -> None:
    raise RuntimeError("on purpose")
