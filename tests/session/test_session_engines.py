"""A session behaves the same whichever engine runs it."""

from pathlib import Path

import pytest

import tidelog
from tidelog import Branch, Session, TidelogError
from tidelog.engine.protocol import SilentObserver
from tidelog.options import EngineName

PROGRAM = """
.type Shape = Dot {} | Box {w: number}
.decl edge(x: symbol, y: symbol)
.input edge
.decl path(x: symbol, y: symbol)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl reach(x: symbol, n: number)
reach(x, n) :- edge(x, _), n = count : { path(x, _) }.
.decl shape(s: Shape)
shape($Box(n)) :- reach(_, n).
shape($Dot()).
.decl done()
done() :- path("a", "c").
.decl never()
never() :- path("c", "a").
"""

EDGES = [("a", "b"), ("b", "c")]


@pytest.fixture(params=["local", "reference"])
def engine(request: pytest.FixtureRequest) -> EngineName:
    """Return the name of each engine in turn."""
    name: EngineName = request.param
    return name


@pytest.fixture
def db(engine: EngineName) -> Session:
    """Return a session on that engine."""
    return tidelog.open(PROGRAM, facts={"edge": EDGES}, engine=engine, jobs=1)


def test_relations_have_the_same_facts_in_the_same_order(db: Session) -> None:
    """Value order does not depend on the engine's codes."""
    assert list(db["path"]) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert list(db["reach"]) == [("a", 2), ("b", 1)]
    assert list(db["shape"]) == [
        (Branch("Box", (1,)),),
        (Branch("Box", (2,)),),
        (Branch("Dot"),),
    ]
    assert list(db["done"]) == [()]
    assert list(db["never"]) == []


def test_facts_of_rules_and_inputs_are_found_again(db: Session) -> None:
    """Membership and look-ups see derived and given facts alike."""
    assert ("a", "c") in db["path"]
    assert ("c", "a") not in db["path"]
    assert ("a", "nowhere") not in db["path"]
    assert (Branch("Box", (2,)),) in db["shape"]
    assert list(db.query("path('a', x)")) == [("b",), ("c",)]
    assert list(db.query("path(x, y), !edge(x, y)")) == [("a", "c")]
    assert list(db.query("shape($Box(n)), n > 1")) == [(2,)]
    assert db.query("done(), !never()")


def test_a_query_leaves_the_session_as_it_was(db: Session) -> None:
    """Queries run in an engine of their own."""
    before = {name: len(db[name]) for name in db}

    db.query("path(x, y), z = cat(x, y)")

    assert {name: len(db[name]) for name in db} == before


def test_outputs_are_the_same(db: Session, tmp_path: Path) -> None:
    """Files do not depend on the engine."""
    db.write(tmp_path)

    assert (tmp_path / "path.csv").read_text() == "a\tb\na\tc\nb\tc\n"


def test_the_observer_is_told_about_every_stratum(engine: EngineName) -> None:
    """Strata begin and end in order, and iterations are counted from 1."""

    class Listening(SilentObserver):
        def __init__(self) -> None:
            self.begun: list[int] = []
            self.iterations: list[int] = []

        def stratum_started(self, stratum: int, strata: int, relations: object) -> None:
            assert stratum < strata
            assert relations
            self.begun.append(stratum)

        def iteration_finished(self, stratum: int, iteration: int, new_facts: int, total_facts: int) -> None:
            assert 0 <= new_facts <= total_facts
            assert stratum == self.begun[-1]
            self.iterations.append(iteration)

    listening = Listening()

    db = tidelog.open(PROGRAM, facts={"edge": EDGES}, engine=engine, observer=listening)

    assert listening.begun == list(range(len(db.statistics.strata)))
    assert min(listening.iterations) == 1


def test_a_memory_limit_stops_the_local_engine() -> None:
    """A limit below what the interpreter holds is reached at once, with a diagnostic."""
    with pytest.raises(TidelogError) as error:
        tidelog.open(PROGRAM, facts={"edge": EDGES}, memory_limit="1M")

    assert error.value.diagnostics[0].code == "memory-limit"


@pytest.mark.parametrize("jobs", [1, 2])
def test_answers_do_not_depend_on_the_number_of_threads(jobs: int) -> None:
    """One thread or two, the facts and their order are the same."""
    facts = {"edge": [(str(number), str(number * 7 % 100)) for number in range(100)]}

    db = tidelog.open(PROGRAM, facts=facts, jobs=jobs)
    oracle = tidelog.open(PROGRAM, facts=facts, engine="reference")

    assert all(list(db[name]) == list(oracle[name]) for name in db)
