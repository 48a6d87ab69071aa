"""Repairs of random epochs against exhaustive search by the reference engine."""

from collections.abc import Iterable
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import examples
from support.epochs_programs import AGGREGATES, LAWS
from support.explanations_oracle import Change, Faults, as_changes, check_repaired, subsets
from support.fault_cases import RandomFaults, random_faults
from support.strategies import RandomProgram


def _check_repair(faults: RandomFaults) -> None:
    with faults.open() as session:
        before = {name: set(session[name]) for name in session}

        check_repaired(session, faults.faults, faults.worlds(session))

        assert {name: set(session[name]) for name in session} == before
        assert session.epoch == 1


@settings(max_examples=examples(20))
@given(random_faults())
def test_repair_is_a_smallest_one(faults: RandomFaults) -> None:
    """A repair removes all faults, and exhaustive search finds no smaller one, negation included."""
    _check_repair(faults)


@settings(max_examples=examples(12))
@given(random_faults(special=LAWS))
def test_repair_is_a_smallest_one_under_laws(faults: RandomFaults) -> None:
    """The same holds where facts have a say on one another: equivalences, choices, keys, lattices, ..."""
    _check_repair(faults)


@settings(max_examples=examples(12))
@given(random_faults(aggregates=AGGREGATES))
def test_repair_is_a_smallest_one_above_aggregates(faults: RandomFaults) -> None:
    """The same holds for every aggregate, one in Python among them."""
    _check_repair(faults)


@settings(max_examples=examples(5))
@given(random_faults())
def test_ddmin_cannot_leave_a_change_out(faults: RandomFaults) -> None:
    """Delta debugging gives a repair, too, which loses that with any one of its changes."""
    with faults.open() as session:
        worlds, asked = faults.worlds(session), faults.faults

        repair = session.repair(asked.unwanted_texts, asked.missing_texts, method="ddmin")

    taken = as_changes(repair.taken_back)
    assert asked.are_out_of(worlds.without(taken))
    for spared in taken:
        fewer = [change for change in taken if change != spared]
        assert not fewer or not asked.are_out_of(worlds.without(fewer))


@settings(max_examples=examples(6))
@given(random_faults())
def test_rejections_are_monotone_until_none_is_left(faults: RandomFaults) -> None:
    """Rejected repairs are followed by others of no lower cost, until all minimal ones are covered."""
    with faults.open() as session:
        worlds, asked = faults.worlds(session), faults.faults
        rejected: list[tidelog.Repair] = []
        while True:
            repair = session.repair(asked.unwanted_texts, asked.missing_texts, reject=rejected)
            if not repair:
                break
            assert asked.are_out_of(worlds.without(as_changes(repair.taken_back)))
            assert not rejected or repair.cost >= rejected[-1].cost
            rejected.append(repair)

    assert rejected
    minimal = [set(each) for each in subsets(worlds.changes) if asked.are_out_of(worlds.without(each))]
    assert all(any(set(as_changes(each.taken_back)) <= other for each in rejected) for other in minimal)


@settings(max_examples=examples(12))
@given(st.data())
def test_a_repair_of_a_pattern_brings_about_no_other_fact(data: Any) -> None:
    """With variables a fault is every fact that matches and was not there before, in any world."""
    faults = data.draw(random_faults(special=LAWS, aggregates=AGGREGATES))
    assume(faults.faults.unwanted)
    name, fact = faults.faults.unwanted[0]
    free = data.draw(st.sets(st.sampled_from(range(len(fact))))) if fact else set()
    terms = [f"x{place}" if place in free else str(value) for place, value in enumerate(fact)]
    with faults.open() as session:
        worlds = faults.worlds(session)

        repair = session.repair(f"{name}({', '.join(terms)})")

    def is_repaired(taken: Iterable[Change]) -> bool:
        world, before = worlds.without(taken), worlds.world(())
        return world is not None and before is not None and not any(
            all(place in free or value == fact[place] for place, value in enumerate(other))
            for other in world[name] - before[name]
        )  # fmt: skip

    taken = as_changes(repair.taken_back)
    assert is_repaired(taken)
    assert len(taken) == len(next(each for each in subsets(worlds.changes) if is_repaired(each)))


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
    program = RandomProgram(".decl e(x: number)", {}, {})
    faults = RandomFaults(program, "+e(1).", Faults((("e", (1,)),), ()))

    assert "+e(1)." in repr(faults)
