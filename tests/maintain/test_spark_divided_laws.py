"""Partners of a session divide the facts that a law decides about, and follow them from epoch to epoch."""

import math
import tempfile
from contextlib import contextmanager

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from support.epochs import Difference, Maintained, difference, examples
from support.epochs_programs import FUNCTIONS, tangled_epochs, tangled_programs
from support.epochs_programs import LAWS as LAWS_OF_TANGLED
from support.law_programs import LAW_FUNCTIONS, law_epochs, law_programs
from support.programs import build
from support.resident_session import Resident
from support.resident_threads import MOMENTS, no_spark, tasks_in_threads
from support.rule_changes import without_some_rules
from support.threaded_spark import run_in_threads
from tidelog import TidelogError
from tidelog.engine.epoch import Action, Strategy
from tidelog.engine.spark import skew
from tidelog.engine.spark.engine import Where
from tidelog.engine.spark.options import SparkOptions
from tidelog.errors import Diagnostic
from tidelog.maintain.partners import pool
from tidelog.maintain.partners.engine import PartnerEngine
from tidelog.maintain.partners.service import _Service
from tidelog.maintain.spark import SparkMaintainedEngine


class Divided(Resident):
    """A session whose residents divide whatever can be divided, however small it is."""

    driver_facts = -1
    replicated_facts = 0


class Sparing(Divided):
    """A session whose residents divide what is not very small."""

    replicated_facts = 20


class InJobs(Divided):
    """The same with a job for each request, and with a state on storage that outlives it."""

    storage = None

    def _new_engine(self):
        chosen = SparkOptions(
            no_spark(self.partners), partners=self.partners, driver_facts=-1, replicated_facts=0,
            storage=self.storage,
        )  # fmt: skip
        self.engine = SparkMaintainedEngine(self.program, self.codec, self.settings, self.functions, chosen)


@contextmanager
def jobs_in_threads():
    """Let jobs run in threads, and yield the kind of session whose state is in a folder of its own."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(pool, "run_job", run_in_threads)
        yield type("Stored", (InJobs,), {"storage": folder})


def check(run: Maintained, insert, delete, strategy: Strategy = Strategy.UPDATE) -> Difference:
    """Follow a change and compare facts and delta with the reference engine's."""
    before = run.expected()
    found = run.change(insert, delete, strategy=strategy)
    after = run.expected()
    assert run.relations() == after
    assert found == difference(before, after)
    return found


@settings(max_examples=examples(60))
@given(data=st.data(), has_texts=st.booleans(), kind=st.sampled_from([Divided, Divided, Sparing]))
def test_random_laws_are_divided(data, has_texts, kind):
    """Lattices, choices and subsumption that depend on each other are followed exactly, whoever dies."""
    drawn = data.draw(law_programs(has_texts=has_texts))
    kill = st.tuples(st.integers(0, 2), st.sampled_from(MOMENTS), st.integers(0, 15))
    with tasks_in_threads(data.draw(st.integers(1, 3))) as tasks, pytest.MonkeyPatch.context() as patch:
        # Values are frequent in relations of any size, where anything is spread.
        patch.setattr(skew, "_LEAST_ROWS", data.draw(st.sampled_from([1, 1 << 16])))
        try:
            run = kind(build(drawn.text), LAW_FUNCTIONS)
            run.inputs = {name: set(facts) for name, facts in drawn.inputs.items()}
            expected = run.expected()
        except TidelogError as mistake:
            event(f"refused: {mistake.diagnostics[0].code}")
            return
        try:
            run.start()
            assert run.relations() == expected
            event(str(sorted({each.where.value for each in run.engine.placements})))
            for epoch in data.draw(law_epochs(drawn)):
                for each in data.draw(st.lists(kill, max_size=1)):
                    tasks.kill(*each)
                check(
                    run,
                    epoch.inserts,
                    epoch.deletes,
                    data.draw(st.sampled_from([Strategy.UPDATE, Strategy.AUTO])),
                )
        finally:
            run.engine.close()


@settings(max_examples=examples(25))
@given(data=st.data(), has_texts=st.booleans())
def test_random_laws_are_divided_in_jobs(data, has_texts):
    """Each epoch is a job of its own, and now and then another process continues from the storage."""
    drawn = data.draw(law_programs(has_texts=has_texts))
    with jobs_in_threads() as stored:
        try:
            run = stored(build(drawn.text), LAW_FUNCTIONS)
            run.inputs = {name: set(facts) for name, facts in drawn.inputs.items()}
            expected = run.expected()
        except TidelogError as mistake:
            event(f"refused: {mistake.diagnostics[0].code}")
            return
        run.start()
        assert run.relations() == expected
        for epoch in data.draw(law_epochs(drawn)):
            if data.draw(st.booleans()):
                run = reopened(run)
                assert run.relations() == run.expected()
            check(run, epoch.inserts, epoch.deletes)


def reopened(run: Maintained) -> Maintained:
    """Return another session that continues from the storage."""
    run.engine.close()
    other = type(run)(run.program, run.functions)
    assert other.engine.resume() is not None
    other.inputs = run.inputs
    return other


LAWS = """
.type Length <: number
.lattice Length<> { Lub -> min(_, _) }
.decl edge(x: number, y: number, n: Length) .input edge
.decl named(x: number, s: symbol) .input named
.decl distance(x: number, y: number, n: Length<>) .input distance
distance(x, y, n) :- edge(x, y, n).
distance(x, z, n + m) :- distance(x, y, n), distance(y, z, m).
.decl tree(x: number, y: number) choice-domain y
.input tree
tree(x, y) :- distance(x, y, _).
.decl best(x: number, s: symbol) .input best
best(x, cat(s, "!")) :- tree(x, y), named(y, s).
best(x, a) <= best(x, b) :- strlen(b) > strlen(a).
.decl far(x: number, n: number)
far(x, n) :- tree(x, _), n = count : { distance(x, _, _) }.
.decl one(x: number, n: number) keys x
.input one
one(x, n) :- far(x, n), !tree(_, x).
"""
FACTS = {
    "edge": [(1, 2, 4), (2, 1, 3), (2, 3, 1), (3, 4, 9), (4, 3, 2), (7, 8, 5), (1, 3, 6)],
    "named": [(1, "ann"), (2, "bo"), (3, "cyd"), (4, "d"), (8, "ann")],
    "tree": [(9, 4)],
    "distance": [(1, 4, 20), (4, 9, 7)],
    "best": [(2, "a")],
    "one": [(50, 1)],
}
CHANGES = (
    ({"edge": [(4, 1, 1), (8, 9, 2)], "named": [(9, "eve")]}, {}),
    ({"tree": [(5, 8)], "distance": [(1, 4, 2)]}, {"edge": [(2, 1, 3)], "named": [(3, "cyd")]}),
    ({"best": [(7, "longest")]}, {"tree": [(9, 4)], "distance": [(4, 9, 7), (1, 4, 20)]}),
    ({"one": [(51, 2)]}, {"best": [(2, "a")], "edge": [(7, 8, 5)]}),
)


def test_laws_are_with_all_partners():
    """What one worker kept is divided, `placements` says who decides, and the driver sees differences."""
    with tasks_in_threads():
        run = Divided(build(LAWS)).start(FACTS)
        try:
            assert run.relations() == run.expected()
            assert {each.where for each in run.engine.placements} == {Where.PARTNERS}
            reason = run.engine.placements[-1].reason
            for law in ("`distance` has a lattice column", "`tree` has a choice-domain", "`one` has keys"):
                assert f"{law}, and each partner decides about the facts that it owns" in reason
            for insert, delete in CHANGES:
                check(run, insert, delete)
        finally:
            run.engine.close()


HUB = """
.decl edge(x: number, y: number) .input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
CHOICE = """
.decl tree(x: number, y: number) choice-domain y
tree(x, y) :- path(x, y).
"""


def test_nothing_is_spread_where_a_law_decides(monkeypatch):
    """The owner of a value decides about it, however frequent it is; spread rows are collected for that."""
    monkeypatch.setattr(skew, "_LEAST_ROWS", 1)
    edges = {(0, 10 + n) for n in range(20)} | {(30 + n, 0) for n in range(20)}
    with tasks_in_threads():
        run = Divided(build(HUB)).start({"edge": edges})
        try:
            found = [run.engine._groups[0].heavy]
            run.change_rules(build(HUB + CHOICE))
            found.append(run.engine._groups[0].heavy)

            assert found == [(0,), ()]
            assert run.relations() == run.expected()
            check(run, {"edge": {(3, 0)}}, {"edge": {(30, 0), (0, 11)}})
        finally:
            run.engine.close()


def test_spread_values_are_those_of_the_storage(monkeypatch):
    """Another process spreads the values that the first one found, and follows changes with them."""
    monkeypatch.setattr(skew, "_LEAST_ROWS", 1)
    edges = {(0, 10 + n) for n in range(20)} | {(30 + n, 0) for n in range(20)}
    with jobs_in_threads() as stored:
        run = stored(build(HUB)).start({"edge": edges})
        check(run, {"edge": {(7, n) for n in range(300)}}, {"edge": {(30, 0)}})
        run = reopened(run)

        assert run.engine._groups[0].heavy == (0,)
        assert run.relations() == run.expected()
        check(run, {"edge": {(30, 0)}}, {"edge": {(0, 11), (7, 5)}})
        run.engine.close()


def test_small_strata_are_with_one_worker():
    """Where few facts are read one worker follows changes, and the placement says so."""
    with tasks_in_threads():
        run = Resident(build(LAWS)).start(FACTS)
        try:
            reasons = {name: each for each in run.engine.placements for name in each.relations}
            assert reasons["tree"].where is Where.WORKER
            assert (
                "no more than 2,000,000 facts are read, so one worker follows changes"
                in reasons["tree"].reason
            )
        finally:
            run.engine.close()


@pytest.mark.parametrize("partner", [0, 1])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("after", [0, 7, 40])
def test_another_partner_takes_over(partner, moment, after):
    """Whoever dies, the epoch is repeated with another one, and exact."""
    with tasks_in_threads() as tasks:
        run = Divided(build(LAWS)).start(FACTS)
        try:
            for insert, delete in CHANGES:
                tasks.kill(partner, moment, after if moment == "exchange" else 0)
                check(run, insert, delete)
        finally:
            run.engine.close()


def test_jobs_continue_from_storage():
    """A state is read where it was written, and its epochs are jobs that load what a change reaches."""
    with jobs_in_threads() as stored:
        run = stored(build(LAWS)).start(FACTS)
        for insert, delete in CHANGES:
            check(run, insert, delete)
            run = reopened(run)
            assert run.relations() == run.expected()


def test_a_state_is_taken_over(monkeypatch):
    """An exported state has what laws decided: its strata are not evaluated, and go on."""
    with tasks_in_threads():
        run = Divided(build(LAWS)).start(FACTS)
        check(run, *CHANGES[0])
        evaluated, run_stratum = set(), PartnerEngine._run

        def note(engine, number, stratum):
            evaluated.update(stratum.relations if stratum.rules else ())
            return run_stratum(engine, number, stratum)

        monkeypatch.setattr(PartnerEngine, "_run", note)

        moved = run.moved()

        # Only what aggregates and negated atoms read is found anew.
        assert evaluated.isdisjoint(run.program.relations)
        assert moved.relations() == run.relations()
        for change in CHANGES[1:]:
            check(moved, *change)
        for each in (run, moved):
            each.engine.close()


@settings(max_examples=examples(25))
@given(data=st.data(), kind=st.sampled_from([Divided, Sparing]))
def test_random_rule_changes(data, kind):
    """After a change of rules, and of facts with it, everything is as if it had been so from the start."""
    drawn = data.draw(law_programs())
    texts = [without_some_rules(data, drawn) for _ in range(2)]
    epochs = data.draw(law_epochs(drawn))
    with tasks_in_threads():
        try:
            programs = [build(text) for text in (drawn.text, *texts, drawn.text)]
            run = kind(programs[0], LAW_FUNCTIONS)
            run.inputs = {name: set(facts) for name, facts in drawn.inputs.items()}
            run.expected()
        except TidelogError as mistake:
            event(f"refused: {mistake.diagnostics[0].code}")
            return
        try:
            run.start()
            for number, program in enumerate(programs[1:]):
                epoch = epochs[number % len(epochs)]
                before = run.relations()
                if data.draw(st.booleans()):
                    found = run.change_rules(program, epoch.inserts, epoch.deletes)
                else:
                    found = run.change_rules(program)
                assert run.relations() == run.expected()
                assert found == difference(before, run.relations())
                check(run, epoch.deletes, epoch.inserts)
        finally:
            run.engine.close()


@pytest.mark.parametrize("kind", [Resident, Divided])
def test_what_reads_a_relation_that_lost_its_rules_is_evaluated(kind):
    """Without rules a relation has its input facts alone, whatever group reads it; with rules it has more."""
    rules = "second(x) :- first(x).\n"
    text = """
    .decl first(x: number) .input first
    .decl second(x: number) .input second
    .decl third(x: number)
    third(x) :- second(x), x != 7.
    .decl fourth(x: number) choice-domain x
    fourth(x) :- second(x).
    """
    with tasks_in_threads():
        run = kind(build(text + rules)).start({"first": [(1,), (2,)], "second": [(3,)]})
        try:
            for program in (text, text + rules):
                before = run.relations()
                found = run.change_rules(build(program))
                assert run.relations() == run.expected()
                assert found == difference(before, run.relations())
        finally:
            run.engine.close()


def test_a_change_of_rules_keeps_what_it_does_not_reach():
    """A law whose rules and facts are as before keeps its facts, and those that are given to it."""
    with tasks_in_threads():
        run = Divided(build(LAWS)).start(FACTS)
        try:
            before = run.relations()
            found = run.change_rules(build(LAWS + "far(x, 100) :- named(x, _)."))

            reached = {
                name: each.action
                for each in found.strata
                if each.action is not Action.SKIPPED
                for name in each.relations
            }
            assert reached == {"far": Action.UPDATED, "one": Action.UPDATED}
            assert run.relations() == run.expected()
            assert found == difference(before, run.relations())
            for insert, delete in CHANGES:
                check(run, insert, delete)
        finally:
            run.engine.close()


def test_a_partner_has_a_part_of_what_a_law_decides_about():
    """Neither facts with a law nor a large relation that its rules read are with any partner as a whole."""
    text = """
    .type Length <: number
    .lattice Length<> { Lub -> min(_, _) }
    .decl edge(x: number, y: number, n: Length) .input edge
    .decl distance(x: number, y: number, n: Length<>)
    distance(x, y, n) :- edge(x, y, n).
    distance(x, z, n + m) :- distance(x, y, n), edge(y, z, m).
    """
    edges = [(x, (x * 7 + k) % 60, k) for x in range(60) for k in (1, 2)]
    held = []
    handle = _Service.handle

    def look(service, message):
        reply = handle(service, message)
        relations = next(iter(service._engines.values())).state.relations
        held.append({name: len(each) for name, each in relations.items()})
        return reply

    with tasks_in_threads(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Service, "handle", look)
        run = Divided(build(text)).start({"edge": edges})
        try:
            check(run, {"edge": [(1, 59, 1)]}, {})
            sizes = {name: len(facts) for name, facts in run.relations().items()}
        finally:
            run.engine.close()

    assert sizes == {"edge": 121, "distance": 3600}
    assert max(each["edge"] for each in held) < 0.8 * sizes["edge"]
    assert max(each["distance"] for each in held) < 0.8 * sizes["distance"]


KEYED = """
.decl pair(x: number, y: number) .input pair
.decl named(x: number, s: symbol) .input named
.decl hidden(x: number) .input hidden
.decl one(x: number, y: number) keys x
.input one
one(x, y) :- pair(x, y), !hidden(x).
one(x, n) :- named(x, _), n = count : { named(x, _) }.
.decl called(x: number, s: symbol) keys x
called(x, s) :- named(x, s).
.decl loud(x: number, s: symbol) keys x
loud(x, cat(s, "!")) :- named(x, s).
"""
KEYED_FACTS = {"pair": [(1, 2), (2, 3)], "named": [(5, "ann"), (6, "bo")], "hidden": [(9,)]}


@pytest.mark.parametrize("kind", [Divided, InJobs])
@pytest.mark.parametrize(
    "insert",
    [
        {"pair": [(1, 5)]},
        {"pair": [(5, 3)]},
        {"pair": [(9, 3)], "one": [(9, 4), (4, 4)]},
        {"named": [(7, "eve")], "one": [(7, 4)]},
        {"pair": [(9, 3), (9, 4)], "named": [(5, "eve")]},
    ],
)
def test_a_repeated_key_is_told(kind, insert):
    """The diagnostic names both facts and the rules that derive them, and the state is as before."""
    local = Maintained(build(KEYED)).start(KEYED_FACTS)
    more = {"pair": [(20, 1)], "named": [(21, "fay")]}, {"pair": [(2, 3)]}
    with tasks_in_threads() as tasks, jobs_in_threads() as stored:
        run = (kind if kind is Divided else stored)(build(KEYED)).start(KEYED_FACTS)
        try:
            for delete in ({}, {"hidden": [(9,)]}):
                expected = mistakes_in(local, insert, delete)
                assert mistakes_in(run, insert, delete) == expected
                assert {each.code for each in expected} <= {"two-values"}
                assert run.relations() == run.expected()
                check(run, *more)
                local.change(*more)
        finally:
            run.engine.close()
    assert tasks.stages <= 1


def test_a_repeated_key_in_the_first_facts_is_told():
    """Partners that evaluate tell it as the local engine does."""
    with pytest.raises(TidelogError) as there:
        Maintained(build(KEYED)).start({"named": [(5, "ann"), (5, "bo")]})
    with tasks_in_threads():
        run = Divided(build(KEYED))
        try:
            with pytest.raises(TidelogError) as found:
                run.start({"named": [(5, "ann"), (5, "bo")]})
        finally:
            run.engine.close()

    assert found.value.diagnostics == there.value.diagnostics


@settings(max_examples=examples(30))
@given(data=st.data(), strategy=st.sampled_from([Strategy.UPDATE, Strategy.AUTO, Strategy.RECOMPUTE]))
def test_random_keys_and_laws_beside_each_other(data, strategy):
    """Divided strata beside those that one worker keeps are followed, and keys are checked in each."""
    drawn = data.draw(tangled_programs(special=LAWS_OF_TANGLED))
    kill = st.tuples(st.integers(0, 2), st.sampled_from(MOMENTS), st.integers(0, 15))
    with tasks_in_threads(data.draw(st.integers(1, 3))) as tasks:
        run = Divided(build(drawn.text), FUNCTIONS)
        try:
            run.start(drawn.inputs)
            assert run.relations() == run.expected()
            for epoch in data.draw(tangled_epochs(drawn, max_epochs=3)):
                for each in data.draw(st.lists(kill, max_size=1)):
                    tasks.kill(*each)
                before = dict(run.inputs)
                run.inputs, _ = run._net(run.program, epoch.inserts, epoch.deletes)
                is_refused = refuses(run)
                run.inputs = before
                if is_refused:
                    with pytest.raises(TidelogError, match="key"):
                        run.change(epoch.inserts, epoch.deletes, strategy=strategy)
                    assert run.relations() == run.expected()
                else:
                    check(run, epoch.inserts, epoch.deletes, strategy)
        finally:
            run.engine.close()


def mistakes_in(run: Maintained, insert, delete) -> list[Diagnostic]:
    """Apply a change, and return what is wrong with it."""
    try:
        run.change(insert, delete)
    except TidelogError as mistake:
        return list(mistake.diagnostics)
    return []


def refuses(run: Maintained) -> bool:
    """Say whether the reference engine finds a mistake, two facts for a key."""
    try:
        run.expected()
    except TidelogError:
        return True
    return False


MULTIPLE = """
.functor lcm(a: Large, b: Large): Large
.type Large <: number
.lattice Large<> { Lub -> @lcm(_, _) }
.decl factor(x: number, n: Large) .input factor
.decl joined(x: number, n: Large<>)
joined(x, n) :- factor(x, n).
"""


def test_joins_outgrow_narrow_codes():
    """An epoch whose joins make numbers beyond 32 bits is repeated with wide codes, and others go on."""
    with tasks_in_threads():
        run = Divided(build(MULTIPLE), {"lcm": math.lcm}).start({"factor": [(1, 100_000), (2, 5)]})
        try:
            assert {each.where for each in run.engine.placements} == {Where.PARTNERS}
            check(run, {"factor": [(1, 100_003)]}, {})
            assert (1, 10_000_300_000) in run.relations()["joined"]
            check(run, {"factor": [(2, 6)]}, {"factor": [(1, 100_000)]})
        finally:
            run.engine.close()


def test_a_join_that_fails_leaves_the_state():
    """What a function of the user raises is told, and the next epoch starts from the last one."""
    with tasks_in_threads():
        run = Divided(build(MULTIPLE), {"lcm": no_multiple_of_seven}).start({"factor": [(1, 10), (2, 5)]})
        try:
            before = run.relations()
            with pytest.raises(TidelogError, match="seven"):
                run.change({"factor": [(1, 7)]})
            assert run.relations() == before
            check(run, {"factor": [(1, 3)]}, {"factor": [(2, 5)]})
        finally:
            run.engine.close()


def no_multiple_of_seven(left, right):
    """Return the least common multiple, unless it is a multiple of seven."""
    if left % 7 == 0 or right % 7 == 0:
        raise ValueError("seven")
    return math.lcm(left, right)
