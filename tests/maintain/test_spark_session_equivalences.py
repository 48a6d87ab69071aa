"""Sessions divide equivalences among partners, and follow their pairs from epoch to epoch."""

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from support.epochs import difference, examples
from support.equivalence_programs import equivalence_programs
from support.programs import build
from support.resident_session import Resident
from support.resident_threads import MOMENTS, tasks_in_threads
from support.strategies import epochs
from tidelog.engine.epoch import Action, Strategy
from tidelog.engine.spark import skew
from tidelog.engine.spark.engine import Where
from tidelog.maintain.partners.engine import PartnerEngine


class Divided(Resident):
    """A session whose residents divide whatever can be divided, however small it is."""

    driver_facts = -1
    replicated_facts = 0


def check(run, insert, delete, strategy=Strategy.UPDATE):
    """Follow a change and compare facts and delta with the reference engine's."""
    before = run.expected()
    found = run.change(insert, delete, strategy=strategy)
    after = run.expected()
    assert run.relations() == after
    assert found == difference(before, after)
    return found


@settings(max_examples=examples(60))
@given(data=st.data(), strategy=st.sampled_from([Strategy.UPDATE, Strategy.AUTO, Strategy.RECOMPUTE]))
def test_random_equivalences_are_followed(data, strategy):
    """Classes grow, merge and fall apart as in the reference engine, whoever dies, whatever is frequent."""
    drawn = data.draw(equivalence_programs())
    kill = st.tuples(st.integers(0, 2), st.sampled_from(MOMENTS), st.integers(0, 15))
    with tasks_in_threads(data.draw(st.integers(1, 3))) as tasks, pytest.MonkeyPatch.context() as patch:
        patch.setattr(skew, "_LEAST_ROWS", data.draw(st.sampled_from([1, 1 << 16])))
        run = Divided(build(drawn.text))
        try:
            run.start(drawn.inputs)
            assert run.relations() == run.expected()
            event(str(sorted({each.where.value for each in run.engine.placements})))
            for epoch in data.draw(epochs(drawn, max_epochs=3)):
                for each in data.draw(st.lists(kill, max_size=1)):
                    tasks.kill(*each)
                check(run, epoch.inserts, epoch.deletes, strategy)
        finally:
            run.engine.close()


LINKS = """
.decl link(x: number, y: number) .input link
.decl same(x: number, y: number) eqrel .input same
same(x, y) :- link(x, y).
.decl alone(x: number)
.input alone
.decl odd(x: number)
odd(x) :- alone(x), !same(x, 0).
"""


def test_a_class_falls_apart_and_merges():
    """Pairs are followed, those given for the equivalence itself too; the placement says what closes them."""
    with tasks_in_threads():
        run = Divided(build(LINKS)).start(
            {"link": [(0, 1), (1, 2), (5, 6)], "same": [(2, 3)], "alone": [(3,), (6,)]}
        )
        try:
            assert run.relations() == run.expected()
            places = {name: each for each in run.engine.placements for name in each.relations}
            assert places["same"].where is Where.PARTNERS
            assert "`same` is an equivalence relation, which rules close" in places["same"].reason

            found = check(run, {}, {"link": [(1, 2)]})
            check(run, {"link": [(6, 0)]}, {"same": [(2, 3)]})
            check(run, {"same": [(6, 6), (9, 9)]}, {"link": [(5, 6)]})

            done = {report.relations[0]: report.action for report in found.strata}
            assert done["same"] is Action.UPDATED
        finally:
            run.engine.close()


def test_an_exported_equivalence_is_not_closed_again(monkeypatch):
    """A state has the pairs over which it is closed, too, and another session goes on from these."""
    with tasks_in_threads():
        run = Divided(build(LINKS)).start({"link": [(0, 1), (1, 2)], "same": [(2, 3)], "alone": [(3,)]})
        try:
            with monkeypatch.context() as patch:
                patch.setattr(PartnerEngine, "_run", lambda *_: pytest.fail("a stratum was evaluated"))
                other = run.moved()
            assert other.relations() == other.expected()
            check(other, {"link": [(3, 4)]}, {"same": [(2, 3)]})
        finally:
            run.engine.close()


def test_rules_of_an_equivalence_change():
    """An equivalence that gets another rule, or none, is closed over the pairs that are left."""
    with tasks_in_threads():
        run = Divided(build(LINKS)).start({"link": [(0, 1), (1, 2)], "same": [(2, 3)], "alone": [(3,)]})
        try:
            run.change_rules(build(LINKS + "same(x, x) :- alone(x). same(x, 7) :- alone(x)."))
            assert run.relations() == run.expected()
            run.change_rules(build(LINKS.replace("same(x, y) :- link(x, y).", "")))
            assert run.relations() == run.expected()
            check(run, {"same": [(1, 2)]}, {"same": [(2, 3)]})
        finally:
            run.engine.close()
