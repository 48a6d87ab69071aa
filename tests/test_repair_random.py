"""Repairs of random epochs against exhaustive search by the reference engine."""

from hypothesis import given, settings

import tidelog
from epochs import examples
from fault_cases import Oracle, RandomFaults, as_triples, random_faults
from strategies import RandomProgram


def _check_repair(faults: RandomFaults) -> None:
    with faults.open() as session:
        oracle = Oracle(faults, session)
        before = {name: set(session[name]) for name in session}
        best = next(oracle.repairs())

        repair = session.repair(faults.unwanted_texts, faults.missing_texts)

        assert {name: set(session[name]) for name in session} == before
        assert session.epoch == 1
    taken = as_triples(repair.taken_back)
    assert oracle.faults_of(change for change in oracle.changes if change not in taken)[0] == 0
    assert len(taken) == len(best)
    assert repair.is_optimal


@settings(max_examples=examples(20))
@given(random_faults())
def test_repair_is_a_smallest_one(faults: RandomFaults) -> None:
    """A repair removes all faults, and exhaustive search finds no smaller one, negation included."""
    _check_repair(faults)


@settings(max_examples=examples(8))
@given(random_faults(special=("eqrel", "choice", "least")))
def test_repair_is_a_smallest_one_under_laws(faults: RandomFaults) -> None:
    """The same holds where facts have a say on one another: equivalences, choices, subsumption."""
    _check_repair(faults)


@settings(max_examples=examples(5))
@given(random_faults())
def test_ddmin_cannot_leave_a_change_out(faults: RandomFaults) -> None:
    """Delta debugging gives a repair, too, which loses that with any one of its changes."""
    with faults.open() as session:
        oracle = Oracle(faults, session)

        repair = session.repair(faults.unwanted_texts, faults.missing_texts, method="ddmin")

    taken = as_triples(repair.taken_back)
    assert oracle.faults_of(change for change in oracle.changes if change not in taken)[0] == 0
    for spared in taken:
        fewer = [change for change in taken if change != spared]
        assert not fewer or oracle.faults_of(c for c in oracle.changes if c not in fewer)[0] > 0


@settings(max_examples=examples(6))
@given(random_faults())
def test_rejections_are_monotone_until_none_is_left(faults: RandomFaults) -> None:
    """Rejected repairs are followed by others of no lower cost, until all minimal ones are covered."""
    with faults.open() as session:
        oracle = Oracle(faults, session)
        rejected = []
        while True:
            repair = session.repair(faults.unwanted_texts, faults.missing_texts, reject=rejected)
            if not repair:
                break
            taken = as_triples(repair.taken_back)
            assert oracle.faults_of(change for change in oracle.changes if change not in taken)[0] == 0
            assert not rejected or repair.cost >= rejected[-1].cost
            rejected.append(repair)

    assert rejected
    minimal = [set(each) for each in oracle.repairs()]
    assert all(any(set(as_triples(each.taken_back)) <= other for each in rejected) for other in minimal)


def test_both_kinds_of_fault_are_repaired_together() -> None:
    """One change repairs an unwanted and a missing fact that alternation would repair one by one.

    `bad` needs an inserted fact and the absence of `shield`; `good` needs `shield`. Taking back the
    deletion behind `shield` serves both, where a repair of `bad` alone might take back an insertion.
    """
    program = """
    .decl source(x: number)
    .decl cover(x: number)
    .input source, cover
    .decl shield(x: number)
    shield(x) :- cover(x).
    .decl bad(x: number)
    bad(x) :- source(x), !shield(x).
    .decl good(x: number)
    good(x) :- shield(x).
    """
    with tidelog.open(program, facts={"source": [], "cover": [(1,)]}) as session:
        session.apply("+source(1). -cover(1).")

        repair = session.repair(unwanted="bad(1)", missing="good(1)")

    assert [str(change) for change in repair] == ["+cover(1)"]
    assert repair.is_optimal


def test_program_type_is_used() -> None:
    """Random faults print as a program that can be run again."""
    faults = RandomFaults(RandomProgram(".decl e(x: number)", {}, {}), "+e(1).", (("e", (1,)),), ())

    assert "+e(1)." in repr(faults)
