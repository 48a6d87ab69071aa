"""A session on Spark whose rules change: partners go on from what they have and follow what changes."""

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from support.epochs import Maintained, difference, examples
from support.epochs_programs import FUNCTIONS, LAWS, SPECIAL, tangled_epochs, tangled_programs
from support.partner_epochs import followable
from support.programs import build
from support.resident_session import Resident, check_same_files
from support.resident_threads import MOMENTS, tasks_in_threads
from support.rule_changes import without_some_rules
from support.session_jobs import InJobs, partners_in_threads
from support.strategies import epochs, programs
from tidelog import TidelogError
from tidelog.engine.epoch import Action, Strategy
from tidelog.engine.spark import skew
from tidelog.engine.spark.signed import UnsignedError, sign, signed_content
from tidelog.engine.spark.sockets import SocketWire
from tidelog.maintain.decide import UNTOUCHED
from tidelog.maintain.engine import LocalMaintainedEngine
from tidelog.maintain.partners.engine import PartnerEngine
from tidelog.maintain.partners.groups import PartnerGroup
from tidelog.maintain.partners.service import _Service

EDGES = ".decl edge(x: number, y: number) .input edge\n.decl bridge(x: number, y: number) .input bridge\n"
PATH = ".decl path(x: number, y: number)\npath(x, y) :- edge(x, y).\n"
STEP = "path(x, z) :- path(x, y), path(y, z).\n"
BRIDGE = "path(x, y) :- bridge(x, y).\n"
FAR = ".decl far(x: number) far(x) :- path(x, y), !edge(x, y).\n"
CHAIN = {"edge": {(n, n + 1) for n in range(12)}, "bridge": {(3, 7), (12, 0), (2, 3)}}
# Random changes may give a key two values.
UNKEYED = tuple(law for law in LAWS if law != "keys")
STRATEGIES = st.sampled_from([Strategy.UPDATE, Strategy.AUTO, Strategy.RECOMPUTE])


class Sparing(Resident):
    """A session that cuts rules rather than copy a relation to every partner."""

    replicated_facts = 3


class Mixed(Resident):
    """A session whose driver keeps what is small."""

    driver_facts = 4


class Moving(Resident):
    """A session whose strata move from the driver to partners and back, as what they read grows."""

    driver_facts = 15


class InDriver(Resident):
    """A session whose driver keeps everything."""

    driver_facts = 10_000


KINDS = [Resident, Resident, Sparing, Mixed, Moving, InDriver, InJobs]


def change_rules(run: Maintained, program, insert=None, delete=None, strategy=Strategy.UPDATE):
    """Change rules, and compare facts and difference with the reference engine's."""
    before = run.expected()
    found = run.change_rules(program, insert, delete, strategy=strategy)
    after = run.expected()
    assert run.relations() == after
    kept = {name: facts for name, facts in before.items() if name in after}
    assert found == difference(kept, after)
    return found


def change(run: Maintained, insert=None, delete=None, strategy=Strategy.UPDATE):
    """Change facts, and compare as `change_rules` does."""
    before = run.expected()
    found = run.change(insert, delete, strategy=strategy)
    assert run.relations() == run.expected()
    assert found == difference(before, run.expected())


def check_levels(run: Maintained):
    """Compare levels and counts with those of an evaluation."""
    fresh = run.again()
    check_same_files(run.engine, fresh.engine)
    fresh.engine.close()


@settings(max_examples=examples(50))
@given(data=st.data(), kind=st.sampled_from(KINDS))
def test_random_rule_changes_are_exact(data, kind):
    """Random rules come and go between random changes of facts, whoever dies and whenever."""
    drawn = data.draw(tangled_programs(special=data.draw(st.sampled_from([SPECIAL, UNKEYED]))))
    texts = [without_some_rules(data, drawn) for _ in range(2)]
    check_history(data, drawn, kind, texts, data.draw(tangled_epochs(drawn, max_epochs=3)), FUNCTIONS)


@settings(max_examples=examples(20))
@given(data=st.data(), kind=st.sampled_from([Resident, Sparing, InDriver, InJobs]))
def test_random_rules_of_the_whole_language_change(data, kind):
    """So do rules with any type, functor or aggregate."""
    drawn = data.draw(programs())
    texts = [without_some_rules(data, drawn)]
    check_history(data, drawn, kind, texts, data.draw(epochs(drawn, max_epochs=2)), {})


@settings(max_examples=examples(20))
@given(data=st.data(), kind=st.sampled_from([Resident, Sparing, Mixed, Moving, InDriver, InJobs]))
def test_levels_and_counts_are_those_of_an_evaluation(data, kind):
    """Whatever rules came and went, facts have the levels and counts that an evaluation gives them."""
    drawn = data.draw(tangled_programs())
    others = [followable(without_some_rules(data, drawn)), followable(drawn.text)]
    with partners_in_threads():
        run = kind(followable(drawn.text)).start(drawn.inputs)
        for program in others:
            strategy = data.draw(st.sampled_from([Strategy.UPDATE, Strategy.AUTO]))
            change_rules(run, program, strategy=strategy)
            check_levels(run)
        run.engine.close()


def check_history(data, drawn, kind, texts, changes, functions):
    """Go from program to program and back, with changes of facts at the same time and between."""
    kill = st.tuples(st.integers(0, 2), st.sampled_from(MOMENTS), st.integers(0, 12))
    with (
        partners_in_threads(data.draw(st.integers(1, 3))) as tasks,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(skew, "_LEAST_ROWS", data.draw(st.sampled_from([1, 1 << 16])))
        others = [build(text) for text in (*texts, drawn.text)]
        run = kind(build(drawn.text), functions)
        try:
            run.start(drawn.inputs)
            for number, program in enumerate(others):
                epoch = changes[number % len(changes)]
                for each in data.draw(st.lists(kill, max_size=1)):
                    tasks.kill(*each)
                strategy = data.draw(STRATEGIES)
                facts = data.draw(st.sampled_from([(None, None), (epoch.inserts, epoch.deletes)]))
                found = change_rules(run, program, *facts, strategy=strategy)
                for each in found.strata:
                    event(each.action.value)
                change(run, epoch.deletes, epoch.inserts, data.draw(STRATEGIES))
        finally:
            run.engine.close()


@pytest.fixture
def loads(monkeypatch):
    """Return a list of the relations that partners load from files."""
    found = []
    load = _Service._load_relation

    def note(service, engine, name, contents, **others):
        found.append(name)
        return load(service, engine, name, contents, **others)

    monkeypatch.setattr(_Service, "_load_relation", note)
    return found


def actions(found):
    """Return what was done to each relation, with the reason before what says how many partners."""
    return {
        name: (each.action, each.reason.split(";")[0]) for each in found.strata for name in each.relations
    }


def test_rules_are_followed_by_residents_that_stay(loads, monkeypatch):
    """Rules are followed where the facts are: no file is read, and the driver hears of changes alone."""
    monkeypatch.setattr(PartnerGroup, "stored", lambda *_: pytest.fail("facts came to the driver"))
    with tasks_in_threads() as tasks:
        run = Resident(build(EDGES + PATH + STEP + FAR)).start(CHAIN)

        added = run.change_rules(build(EDGES + PATH + STEP + FAR + "path(x, x) :- edge(x, _).\n"))
        gone = run.change_rules(build(EDGES + PATH + STEP + FAR))

        assert loads == []
        assert tasks.stages == 1
        assert actions(added)["path"] == (Action.UPDATED, "1 of its rules inserted")
        assert actions(gone)["path"] == (Action.UPDATED, "1 of its rules deleted")
        assert added.inserted["path"] == gone.deleted["path"] == {(n, n) for n in range(12)}
        run.engine.close()


def test_a_relation_that_only_a_deleted_rule_reads_is_read_until_it_is_followed():
    """The facts of such a relation say which derivations are lost; their changes in the same epoch do not."""
    with tasks_in_threads() as tasks:
        run = Resident(build(EDGES + PATH + STEP + BRIDGE + FAR)).start(CHAIN)

        found = change_rules(
            run, build(EDGES + PATH + STEP + FAR), {"bridge": [(30, 31)], "edge": [(12, 13)]},
            {"bridge": [(3, 7)]},
        )  # fmt: skip

        assert actions(found)["path"] == (Action.UPDATED, "1 of its rules deleted")
        change(run, {"bridge": [(5, 0)]}, {"edge": [(4, 5)]})
        found = change_rules(run, build(EDGES + PATH + STEP + BRIDGE + FAR))
        assert actions(found)["path"] == (Action.UPDATED, "1 of its rules inserted")
        change(run, {"edge": [(4, 5)]}, {"bridge": [(5, 0)]})
        assert tasks.stages == 1
        run.engine.close()


def test_only_what_is_divided_otherwise_is_loaded(loads):
    """A rule by another column of `edge` needs it elsewhere too; what `path` has stays where it is."""
    text = EDGES + PATH + STEP
    more = ".decl two(z: number)\ntwo(z) :- edge(_, y), bridge(y, z).\n"
    with tasks_in_threads() as tasks:
        run = Resident(build(text)).start(CHAIN)

        change_rules(run, build(text + more))

        (group,) = run.engine._groups
        columns = {
            name: route.columns for each in group.spec.routes() for name, route in each.relations.items()
        }
        assert columns["edge"] == (0, 1)
        assert set(loads) == {"edge", "bridge"}
        change(run, {"edge": [(20, 3)]}, {"edge": [(2, 3)]})
        assert tasks.stages == 1
        run.engine.close()


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("after", [0, 3])
def test_a_partner_lost_in_a_change_of_rules(moment, after):
    """The others go back to the old rules and take the new ones with the partner that takes its place."""
    text = EDGES + PATH + STEP + BRIDGE + FAR
    with tasks_in_threads() as tasks:
        run = Resident(build(text)).start(CHAIN)
        tasks.kill(1, moment, after if moment == "exchange" else 1)

        change_rules(run, build(text.replace(BRIDGE, "") + "path(y, x) :- edge(x, y), x > 9.\n"))

        change(run, {"edge": [(20, 3)]}, {"edge": [(2, 3)]})
        tasks.kill(2, "exchange", 1)
        change(run, {"edge": [(2, 3)]}, {"edge": [(20, 3)]})
        run.engine.close()
    assert (tasks.kills, tasks.stages) == (2, 1)


SPLIT = "path(x, w) :- path(x, y), path(y, z), path(z, w).\n"
LONG = "path(x, v) :- edge(x, x), path(y, x), path(y, z), path(z, w), path(w, v).\n"


def test_rules_that_are_split_come_and_go(loads):
    """What is in the middle of such a rule comes and goes with it; that of other rules stays as it is."""
    text = EDGES + PATH + SPLIT + FAR
    with tasks_in_threads() as tasks:
        run = Resident(build(text)).start(CHAIN)
        (first,) = [name for name in run.engine._groups[0].files if name.startswith("path/")]

        added = change_rules(run, build(text + LONG), {"edge": [(3, 3)]})
        made = [name for name in run.engine._groups[0].files if name.startswith("path/")]
        check_levels(run)
        change(run, {"edge": [(20, 3)]}, {"edge": [(2, 3)]})
        gone = change_rules(run, build(text))
        check_levels(run)

        assert first in made
        assert len(made) > 1
        assert actions(added)["path"][0] is actions(gone)["path"][0] is Action.UPDATED
        assert first not in loads
        change(run, {"edge": [(2, 3)]}, {"edge": [(20, 3)]})
        check_levels(run)
        run.engine.close()
    assert tasks.stages == 4


def test_a_state_on_storage_goes_on_after_changes_of_rules(tmp_path):
    """Another process does without what only the deleted rules needed, and counts the same derivations."""
    text = EDGES + PATH + STEP + FAR

    class Stored(InJobs):
        storage = str(tmp_path)

    with partners_in_threads():
        run = Stored(build(text + BRIDGE + SPLIT)).start(CHAIN)
        found = change_rules(run, build(text), delete={"edge": [(4, 5)]})
        assert actions(found)["path"] == (Action.UPDATED, "3 of its rules deleted")
        change(run, {"edge": [(4, 5)]}, {"bridge": [(3, 7)]})
        run.engine.close()
        other = Stored(run.program)
        assert other.engine.resume() == 2
        other.inputs = run.inputs
        (group,) = other.engine._groups
        assert len(group.work) == len(group.program.strata)

        change(other, {"edge": [(20, 3)]}, {"edge": [(2, 3)]})
        found = change_rules(other, build(text + BRIDGE))

        assert actions(found)["path"] == (Action.UPDATED, "1 of its rules inserted")
        other.engine.close()


def test_a_job_loads_only_what_a_change_of_rules_reaches(loads):
    """Without residents, the files of other strata are not read; later jobs have them as they were."""
    aside = ".decl aside(x: number, y: number)\naside(y, x) :- bridge(x, y).\n"
    aside += "aside(x, z) :- aside(x, y), aside(y, z).\n"
    text = EDGES + PATH + aside
    with partners_in_threads():
        run = InJobs(build(text)).start(CHAIN)
        loads.clear()

        change_rules(run, build(text + STEP), {"edge": [(20, 3)]})

        assert set(loads) == {"edge", "path"}
        change(run, {"bridge": [(5, 0)]}, {"edge": [(4, 5)], "bridge": [(3, 7)]})
        change_rules(run, build(text))
        check_levels(run)
        run.engine.close()


def test_rules_that_fail_leave_the_old_ones():
    """A change of rules that cannot be evaluated is undone everywhere, in groups that were done too."""
    text = EDGES + PATH + STEP
    with tasks_in_threads():
        run = Resident(build(text)).start(CHAIN)
        before = run.relations()

        with pytest.raises(TidelogError, match="iterations"):
            run.change_rules(build(text + "path(x, y + 1) :- path(x, y).\n"))

        assert run.relations() == before
        change(run, {"edge": [(20, 3)]}, {"edge": [(2, 3)]})
        change_rules(run, build(text + FAR))
        run.engine.close()


LAWFUL = (
    ".decl same(x: number, y: number) eqrel\nsame(x, y) :- bridge(x, y).\n"
    ".decl one(x: number, y: number) choice-domain x\none(x, y) :- same(x, y).\n"
)


@pytest.fixture
def evaluated(monkeypatch):
    """Return a list of the strata that local engines evaluate from scratch, in the driver or at a worker."""
    found = []
    run = LocalMaintainedEngine._run_once

    def note(engine, number, stratum, *others):
        if stratum.rules:
            found.append(stratum.relations)
        return run(engine, number, stratum, *others)

    monkeypatch.setattr(LocalMaintainedEngine, "_run_once", note)
    return found


def test_rules_of_the_driver_are_followed_there(evaluated):
    """What a change of rules does not reach stays as it is, and what it reaches is followed."""
    text = EDGES + PATH + STEP + LAWFUL + FAR
    run = InDriver(build(text)).start(CHAIN)
    evaluated.clear()

    added = change_rules(run, build(text + "path(x, x) :- edge(x, _).\n"), {"edge": [(20, 3)]})
    gone = change_rules(run, build(text))

    assert evaluated == []
    assert actions(added)["path"] == (Action.UPDATED, "1 of its rules inserted")
    assert actions(gone)["path"] == (Action.UPDATED, "1 of its rules deleted")
    assert actions(gone)["same"] == (Action.SKIPPED, UNTOUCHED)
    found = change_rules(run, build(text + "one(x, y) :- edge(x, y).\n"), {"bridge": [(4, 9)]})
    assert evaluated == [("same",), ("one",)]
    assert actions(found)["path"] == (Action.SKIPPED, UNTOUCHED)
    check_levels(run)
    run.engine.close()


def test_a_stratum_of_the_driver_goes_on_where_others_come_and_go(evaluated):
    """What it reads moves to partners and back: its engine has the facts from there, and no new numbers."""
    text = EDGES + PATH + ".decl row(n: number, x: number)\nrow(autoinc(), x) :- path(x, _).\n"
    apart, together = ["partners", "driver"], ["driver", "driver"]
    with tasks_in_threads():
        run = Moving(build(text)).start({**CHAIN, "bridge": {(20, 7), (21, 0), (22, 3), (23, 3)}})
        numbers = {x: n for n, x in run.relations()["row"]}
        evaluated.clear()

        for more, places in ((BRIDGE, apart), ("", together), (BRIDGE, apart)):
            found = run.change_rules(build(text + more), {"edge": [(40 + len(more), 1)]})

            assert [each.where.value for each in run.engine.placements] == places
            after = {x: n for n, x in run.relations()["row"]}
            assert after.keys() == {x for x, _ in run.relations()["path"]}
            assert {x: n for x, n in after.items() if x in numbers} == {
                x: n for x, n in numbers.items() if x in after
            }
            assert actions(found)["row"][0] in {Action.UPDATED, Action.EXTENDED}
            numbers |= after

        assert ("row",) not in evaluated
        run.engine.close()


def test_other_strata_of_a_worker_stay(evaluated):
    """The worker that has all facts of some strata goes on with them; those that it derived are not sent."""
    text = EDGES + PATH + STEP + LAWFUL
    with tasks_in_threads() as tasks:
        run = Resident(build(text)).start(CHAIN)
        evaluated.clear()

        found = change_rules(run, build(text + "one(x, y) :- edge(x, y), x < 3.\n"), {"edge": [(20, 3)]})

        assert evaluated == [("one",)]
        assert actions(found)["same"] == (Action.SKIPPED, UNTOUCHED)
        evaluated.clear()
        change_rules(run, build(text.replace("choice-domain x", "")), {"edge": [(21, 3)]})
        change_rules(run, build(text), {"bridge": [(3, 9)]})
        change(run, {"bridge": [(4, 9)]}, {"bridge": [(3, 7)]})
        assert tasks.stages == 1
        run.engine.close()


@pytest.mark.parametrize("partner", [0, 1])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_worker_lost_in_a_change_of_rules(moment, partner):
    """Who takes its place evaluates the strata of before and follows the change again."""
    text = EDGES + LAWFUL
    with tasks_in_threads() as tasks:
        run = Resident(build(text)).start(CHAIN)
        # They are told the rules, and then that these change.
        tasks.kill(partner, moment, 0 if moment == "exchange" else 1)

        found = change_rules(run, build(text + "one(x, y) :- edge(x, y), x < 3.\n"), {"edge": [(20, 3)]})

        assert actions(found)["same"] == (Action.SKIPPED, UNTOUCHED)
        change(run, {"bridge": [(4, 9)]}, {"bridge": [(3, 7)]})
        run.engine.close()
    assert (tasks.kills, tasks.stages) == (1, 1)


class Dividing(Resident):
    """A session whose partners divide facts that are decided together, however few."""

    replicated_facts = 0


def test_strata_above_aggregates_and_laws_change_alone(monkeypatch):
    """Groups stay in partners' memory, and facts that a law decides stay where they are."""
    text = EDGES + PATH + LAWFUL + ".decl few(x: number, n: number)\n"
    text += "few(x, n) :- edge(x, _), n = count : { path(x, _) }.\n.decl top(x: number)\n"
    above = "top(x) :- few(x, n), one(x, _), n > 0.\n"
    found = []
    run_stratum = PartnerEngine._run

    def note(engine, number, stratum):
        found.append(stratum.relations)
        return run_stratum(engine, number, stratum)

    monkeypatch.setattr(PartnerEngine, "_run", note)
    with tasks_in_threads() as tasks:
        run = Dividing(build(text + above)).start(CHAIN)
        assert {each.where.value for each in run.engine.placements} == {"partners"}
        found.clear()

        change_rules(run, build(text + above + "top(y) :- few(x, n), same(x, y), n < 9.\n"))
        change(run, {"edge": [(3, 9)]}, {"edge": [(5, 6)]})
        change_rules(run, build(text + above + "top(x) :- path(x, _).\n"))

        assert found == []
        change(run, {"bridge": [(3, 9)]}, {"edge": [(3, 4)]})
        assert tasks.stages == 1
        run.engine.close()


def test_strata_that_a_change_does_not_reach_exchange_nothing(monkeypatch):
    """Partners whose rules stay the same, and what these read, send nothing to one another."""
    text = (
        EDGES
        + PATH
        + STEP
        + ".decl few(x: number, n: number)\nfew(x, n) :- edge(x, _), n = count : { path(x, _) }.\n"
    )
    small = ".decl small(x: number)\nsmall(x) :- bridge(x, _).\n"
    with tasks_in_threads():
        run = Mixed(build(text + small)).start(CHAIN)
        assert {each.where.value for each in run.engine.placements} == {"driver", "partners"}
        with monkeypatch.context() as patch:
            patch.setattr(SocketWire, "exchange", lambda *_: pytest.fail("partners exchanged something"))
            change_rules(run, build(text + small + "small(y) :- bridge(_, y).\n"))

        change(run, {"edge": [(20, 3)]}, {"edge": [(2, 3)]})
        run.engine.close()


def test_the_driver_goes_back_to_old_rules_if_partners_fail():
    """An engine of the driver that went on to new rules is made anew for the old ones."""
    text = EDGES + ".decl small(x: number)\nsmall(x) :- bridge(x, _).\n"
    text += PATH + STEP + "path(x, x) :- small(x).\n"
    with tasks_in_threads():
        run = Mixed(build(text)).start(CHAIN)
        assert [each.where.value for each in run.engine.placements] == ["driver", "partners"]
        before = run.relations()

        with pytest.raises(TidelogError, match="iterations"):
            run.change_rules(build(text + "small(y) :- bridge(_, y).\npath(x, y + 1) :- path(x, y).\n"))

        assert run.relations() == before
        change(run, {"bridge": [(20, 3)]}, {"edge": [(2, 3)]})
        change_rules(run, build(text + "small(y) :- bridge(_, y).\n"))
        run.engine.close()


def test_rules_that_partners_give_up_following_are_evaluated():
    """The prices of the local engine decide: what is taken back would cost more than an evaluation."""
    text = EDGES + PATH + STEP
    edges = {(x, y) for x in range(60) for y in range(60) if x != y}
    with tasks_in_threads():
        run = Resident(build(text + "path(x, y) :- bridge(x, y).\n")).start(
            {"edge": {(0, 1)}, "bridge": edges}
        )

        found = run.change_rules(build(text), strategy=Strategy.AUTO)

        action, reason = actions(found)["path"]
        assert action is Action.RECOMPUTED
        assert reason.startswith("the update was given up after")
        assert run.relations() == run.expected()
        run.engine.close()


def test_code_is_taken_from_the_driver_alone():
    """Rules that the job's secret has not signed are not read."""
    signed = sign(b"rules", b"secret")

    assert signed_content(signed, b"secret") == b"rules"
    with pytest.raises(UnsignedError):
        signed_content(signed, b"another")
    with pytest.raises(UnsignedError):
        signed_content({**sign(b"other", b"secret"), "signature": signed["signature"]}, b"secret")
