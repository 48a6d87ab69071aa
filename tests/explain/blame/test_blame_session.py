"""`db.blame` and `db.repair`: epochs, patterns, wishes, rules, engines, stores."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

import tidelog
from support.pointsto import CHANGES, FACTS, FAULT, PROGRAM, after, before
from support.storing import make, reopen
from tidelog.errors import Diagnostic, TidelogError
from tidelog.explain.blame.incremental import _without_repeated_changes
from tidelog.explain.blame.steps import Role, StoryStep
from tidelog.maintain import LocalMaintainedEngine


def _texts(changes: object) -> list[str]:
    return [str(change) for change in changes]  # type: ignore[attr-defined]


def test_the_line_that_is_to_blame() -> None:
    """Of two changes only the one that brings the fault about is blamed, and to be taken back."""
    with after() as db:
        blame, repair = db.blame(FAULT), db.repair(FAULT)

    assert _texts(blame) == _texts(repair.taken_back) == ['+load("userSession", "admin", "session")']
    assert repair.is_optimal
    assert repair.script == '-load("userSession", "admin", "session").\n'


def test_untouched_facts_are_leaves() -> None:
    """A proof goes down only along facts that appeared; what was there before stands without a rule."""
    with after() as db:
        step = db.blame(FAULT).proofs[0]

    assert step.role == "appeared"
    assert {(each.fact, each.role, each.rule) for each in step.premises if each.role == "untouched"} == {
        ('vpt("sec", "L2")', "untouched", None)
    }


@pytest.mark.parametrize("method", ["reasons", "ddmin"])
def test_an_answer_without_proofs(method: str) -> None:
    """Who does not ask for proofs gets the same changes, and no proof."""
    with after() as db:
        short = db.blame(FAULT, method=method, proofs=False)  # type: ignore[arg-type]

        assert _texts(short) == _texts(db.blame(FAULT))
    assert not short.proofs
    assert str(short).splitlines()[-1] == '  +load("userSession", "admin", "session")'


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_engines_give_the_same(engine: str) -> None:
    """An engine that keeps no derivations is helped out by one that does, and the answer says so."""
    with after(engine) as db:
        repair = db.repair(FAULT)

        assert db.epoch == 1
    assert _texts(repair) == ['-load("userSession", "admin", "session")']
    assert bool(repair.notes) == (engine == "reference")


def test_nobody_notices_a_question() -> None:
    """Epoch, facts, history and subscribers are as if nothing had been asked."""
    with after() as db:
        told: list[object] = []
        db.subscribe("alias", told.append)
        facts = {name: set(db[name]) for name in db}

        db.blame(FAULT)
        db.repair(FAULT, method="ddmin")

        assert db.epoch == 1
        assert {name: set(db[name]) for name in db} == facts
        assert len(db.history) == 1
        assert told == []


def test_applied_repair_removes_the_fault() -> None:
    """`db.apply` takes a repair as it is, and then the fault is gone."""
    with after() as db:
        delta = db.apply(db.repair(FAULT))

        assert ("userSession", "sec") not in db["alias"]
        assert _texts([f"-{fact}" for fact in delta["load"].deleted]) == [
            "-('userSession', 'admin', 'session')"
        ]


def test_a_pattern_means_all_facts_that_appeared() -> None:
    """A variable stands for any value, and a variable that stands twice for the same one."""
    with after() as db:
        faults = db.repair("alias(x, 'sec')").faults.unwanted

        assert faults == ('alias("upgradedSession", "sec")', 'alias("userSession", "sec")')
        with pytest.raises(TidelogError, match="no fact that matches"):
            db.blame("alias(x, x)")


def test_a_repair_brings_no_other_fact_of_the_pattern_about() -> None:
    """Taking back a deletion must not make facts that the pattern forbids, though they were not there now."""
    program = """
    .decl a(x: number)
    .decl b(x: number)
    .decl block(x: number)
    .input a, b, block
    .decl bad(x: number)
    bad(x) :- a(x), !block(x).
    bad(x + 10) :- b(x), block(1).
    """
    with tidelog.open(program, facts={"a": [(1,)], "b": [], "block": [(1,)]}) as db:
        db.apply("-block(1). +b(1).")

        repair = db.repair("bad(x)")

        # With block(1) back bad(1) is gone and bad(11) is there, unless b(1) goes too.
        assert _texts(repair) == ["-b(1)", "+block(1)"]
        db.apply(repair)
        assert not db["bad"]


def test_any_two_epochs() -> None:
    """Suspects are the net changes between two epochs, also if later epochs followed."""
    with before() as db:
        db.apply("+load('userSession', 'admin', 'session').")
        db.apply("+new('k', 'L9').")
        db.apply("-assign('userSession', 'ins').")
        db.apply("-load('userSession', 'admin', 'session').")

        blamed = db.blame(FAULT, epoch=(0, 2))
        missing = db.blame(missing="alias('userSession', 'ins')", epoch=3)
        both = db.blame(missing=["alias('userSession', 'ins')"], epoch=(0, 4))

        assert db.epoch == 4
        assert not db["load"]
    assert _texts(blamed) == ['+load("userSession", "admin", "session")']
    assert _texts(missing) == _texts(both) == ['-assign("userSession", "ins")']


def test_costs_and_untouchable_facts() -> None:
    """A repair avoids what costs more, or must stay, as long as there is another way."""
    with before() as db:
        db.apply("+assign('a', 'b'). +new('b', 'L2').")
        fault = "alias('a', 'sec')"

        assert db.repair(fault, costs={"assign": 3}).cost == 1
        assert _texts(db.repair(fault, costs={"new('b', x)": 3})) == ['-assign("a", "b")']
        assert _texts(db.repair(fault, untouchable=["assign"])) == ['-new("b", "L2")']
        assert not db.repair(fault, untouchable=["assign", "+new('b', 'L2')"])
        assert len(db.repair(fault, alternatives=5).alternatives) == 1


def test_rejections_end() -> None:
    """Rejected changes are not proposed again; when none is left the answer says so."""
    with before() as db:
        db.apply("+assign('a', 'b'). +new('b', 'L2').")
        first = db.repair("alias('a', 'sec')")
        second = db.repair("alias('a', 'sec')", reject=list(first))
        none = db.repair("alias('a', 'sec')", reject=[*first, *second])

    assert _texts(first) != _texts(second)
    assert not none
    assert "no repair is left" in str(none)


def test_one_rejection_stands_for_itself() -> None:
    """A single change, as a text or as it was answered, and a single repair need no list around them."""
    with before() as db:
        db.apply("+assign('a', 'b'). +new('b', 'L2').")
        first = db.repair("alias('a', 'sec')")
        change = next(iter(first))
        by_list = db.repair("alias('a', 'sec')", reject=[first])

        assert _texts(db.repair("alias('a', 'sec')", reject=first)) == _texts(by_list)
        assert _texts(db.repair("alias('a', 'sec')", reject=change)) == _texts(by_list)
        assert _texts(db.repair("alias('a', 'sec')", reject=str(change))) == _texts(by_list)
        assert _texts(db.repair("alias('a', 'sec')", untouchable=str(change))) == _texts(by_list)


def test_a_repair_is_what_it_applies() -> None:
    """Iterating, printing, the script, JSON and `apply` all say the same changes."""
    with before() as db:
        db.apply("+load('userSession', 'admin', 'session'). -assign('userSession', 'ins').")
        repair = db.repair(FAULT, missing="alias('userSession', 'ins')")
        texts = _texts(repair)

        assert texts == ['-load("userSession", "admin", "session")', '+assign("userSession", "ins")']
        assert [f"{text}." for text in texts] == repair.script.splitlines()
        assert [f"  {text}" for text in texts] == str(repair).splitlines()[1:3]
        plain = json.loads(repair.to_json())
        assert plain == repair.to_dict()
        assert [each["text"] for each in plain["changes"]] == plain["apply"] == texts
        assert plain["taken_back"] == _texts(repair.taken_back)
        delta = db.apply(repair)
        assert delta.changes["load"].deleted == {("userSession", "admin", "session")}
        assert delta.changes["assign"].inserted == {("userSession", "ins")}


def test_json_is_text_and_plain_data_a_dictionary() -> None:
    """`to_json` of every answer gives a text, and `to_dict` what that text says."""
    with after() as db:
        blame, repair = db.blame(FAULT), db.repair(FAULT)
        proof, refutation = db.why(FAULT), db.why_not("alias('sec', 'nobody')")

        for answer in (blame, repair, proof, refutation, blame.faults, blame.changes[0]):
            assert json.loads(answer.to_json()) == answer.to_dict()


def test_a_change_is_named_as_a_repair_has_it() -> None:
    """What must stay may be given as the change of the past, or as the repair that takes it back."""
    with before() as db:
        db.apply("+assign('a', 'b'). +new('b', 'L2').")
        fault = "alias('a', 'sec')"

        for name in ("+assign('a', 'b')", "-assign('a', 'b')", "assign('a', 'b')"):
            assert _texts(db.repair(fault, untouchable=name)) == ['-new("b", "L2")']


def test_a_relation_with_a_sign_means_its_changes_of_that_sign() -> None:
    """`-assign` holds on to deletions only: where there are none, nothing is untouchable."""
    with before() as db:
        db.apply("+assign('a', 'b'). +new('b', 'L2').")
        fault = "alias('a', 'sec')"

        assert _texts(db.repair(fault, untouchable=["new", "-assign"])) == ['-assign("a", "b")']
        assert not db.repair(fault, untouchable=["new", "+assign"])


def test_a_fault_that_is_no_text_is_a_mistake() -> None:
    """What is neither a text nor a collection is told so, not iterated over."""
    with after() as db, pytest.raises(TidelogError, match=r"faults are texts such as .*, not int"):
        db.blame(unwanted=42)  # type: ignore[arg-type]


def test_rules_are_suspects() -> None:
    """An added rule is blamed and taken back like a fact, a removed one is put back."""
    with before() as db:
        db.add_rules('vpt("guest", o) :- new("sec", o).')
        db.apply("+new('x', 'L7').")
        fault = "alias('guest', 'sec')"

        assert _texts(db.blame(fault, epoch=(0, 2))) == ['+vpt("guest", o) :- new("sec", o).']
        db.apply(db.repair(fault, epoch=1))
        assert ("guest", "sec") not in db["alias"]

        db.remove_rules("vpt(v, o) :- assign(v, w), vpt(w, o).")
        repair = db.repair(missing="alias('userSession', 'ins')")
        db.apply(repair)
        assert ("userSession", "ins") in db["alias"]


def test_aggregates() -> None:
    """A fault above a count is repaired by the facts it counts."""
    program = """
    .decl emp(name: symbol, dept: number)
    .input emp
    .decl large(dept: number)
    large(d) :- emp(_, d), n = count : { emp(_, d) }, n > 2.
    """
    with tidelog.open(program, facts={"emp": [("a", 1), ("b", 1), ("c", 2)]}) as db:
        db.apply("+emp('d', 1). +emp('e', 1). +emp('f', 2).")

        repair = db.repair("large(1)")

    assert len(repair) == 2
    assert all(change.fact[1] == 1 for change in repair)
    assert repair.is_optimal


def test_a_change_is_told_once_in_a_step() -> None:
    """Two aggregates of a rule that depend on the same change tell it once; other steps stay as they are."""
    inserted, deleted = StoryStep("e(1)", Role.INSERTED), StoryStep("e(1)", Role.DELETED)
    kept, gone = StoryStep("d(1)", Role.UNTOUCHED), StoryStep("c(1)", Role.VANISHED)

    found = _without_repeated_changes([kept, inserted, deleted, kept, inserted, gone, deleted, gone])

    assert found == (kept, inserted, deleted, kept, gone, gone)
    program = """
    .decl e(x: number)
    .input e
    .decl wide(d: number)
    wide(h - l) :- h = max x : { e(x) }, l = min x : { e(x) }.
    """
    with tidelog.open(program, facts={"e": [(2,)]}) as db:
        db.apply("-e(2). +e(5).")
        db.apply("+e(1). -e(5). +e(9).")
        (proof,) = db.blame("wide(8)").proofs
        told = [step.fact for step in proof.premises]

    assert sorted(told) == sorted(set(told))
    assert {"e(1)", "e(9)"} <= set(told)


def test_a_fact_that_neither_epoch_has_can_be_the_repair() -> None:
    """A negated fact above a count that holds only in a mixture of both epochs is not overlooked."""
    program = """
    .decl a(x: number)
    .decl e(x: number, y: number)
    .input a, e
    .decl two(x: number)
    two(x) :- e(x, _), 2 = count : { e(x, _) }.
    .decl bad(x: number)
    bad(x) :- a(x), !two(x).
    """
    with tidelog.open(program, facts={"a": [], "e": [(1, 1)]}) as db:
        db.apply("+a(1). -e(1, 1). +e(1, 2).")

        repair = db.repair("bad(1)", untouchable=["a"])

    assert _texts(repair) == ["+e(1, 1)"]
    assert repair.is_optimal


def test_a_missing_fact_that_another_one_subsumes() -> None:
    """A fact that vanished because a smaller one subsumes it comes back when that one goes."""
    program = """
    .decl given(x: number, y: number)
    .decl least(x: number, y: number)
    .input given, least
    least(k, x) <= least(k, y) :- y < x.
    least(x, y) :- given(x, y).
    """
    with tidelog.open(program, facts={"given": [(0, 1)], "least": []}) as db:
        db.apply("+given(0, 0). +given(2, 2). +least(3, 3).")

        repair = db.repair(missing="least(0, 1)")

    assert _texts(repair) == ["-given(0, 0)"]
    assert repair.is_optimal


def test_many_proofs_of_one_fault() -> None:
    """A fault with 7,776 proofs is repaired by its smallest cut, in a few worlds."""
    program = """
    .decl edge(x: number, y: number)
    .input edge
    .decl reach(x: number)
    reach(0).
    reach(y) :- reach(x), edge(x, y).
    """
    layers = [[0], *([10 * layer + place for place in range(6)] for layer in range(1, 6)), [99]]
    edges = [(x, y) for one, two in pairwise(layers) for x in one for y in two]
    with tidelog.open(program, facts={"edge": []}) as db:
        db.apply(insert={"edge": edges})

        repair = db.repair("reach(99)")

    assert len(repair) == 6
    assert repair.is_optimal
    assert repair.trials < 20


def test_a_store_knows_its_epochs(tmp_path: Path) -> None:
    """A store that is opened again is asked about the epochs since its snapshot; questions leave no trace."""
    with make(tmp_path / "s", PROGRAM, FACTS) as db:
        db.apply(CHANGES)
        db.add_rules('vpt("guest", o) :- new("sec", o).')

    with reopen(tmp_path / "s") as db:
        assert _texts(db.repair(FAULT, epoch=1)) == ['-load("userSession", "admin", "session")']
        assert _texts(db.blame("alias('guest', 'sec')")) == ['+vpt("guest", o) :- new("sec", o).']
    with reopen(tmp_path / "s") as db:
        assert db.epoch == 2


@pytest.mark.parametrize("method", ["reasons", "ddmin"])
def test_a_world_that_has_no_memory_is_not_a_refused_one(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A memory limit that is reached on the way is raised: it tells nothing of the changes."""

    @contextmanager
    def trial(*_: object) -> Iterator[None]:
        raise TidelogError([Diagnostic("memory-limit", "2 MiB in use, over the limit of 1 MiB")])
        yield

    with after() as db:
        with monkeypatch.context() as patch:
            patch.setattr(LocalMaintainedEngine, "trial", trial)
            for ask in (db.blame, db.repair):
                with pytest.raises(TidelogError, match="over the limit") as caught:
                    ask(FAULT, method=method)
                assert [each.code for each in caught.value.diagnostics] == ["memory-limit"]

        assert _texts(db.repair(FAULT)) == ['-load("userSession", "admin", "session")']


def test_time_is_over() -> None:
    """Without time the answer is a repair nevertheless, with what was proven and a note."""
    with after() as db:
        repair = db.repair(FAULT, seconds=0.0, alternatives=2)

    assert repair
    assert repair.bound <= repair.cost
    assert any("time" in note for note in repair.notes)


@pytest.mark.parametrize(
    ("faults", "code"),
    [
        ({"unwanted": "alias('ins', 'userSession')"}, "no-fault"),
        ({"unwanted": "alias('nobody', 'sec')"}, "no-fault"),
        ({"missing": "alias('userSession', 'sec')"}, "no-fault"),
        ({"unwanted": "alias('a', 'b'), vpt('a', 'b')"}, "not-a-fact"),
        ({"unwanted": "aliases('a', 'b')"}, "undeclared-relation"),
        ({"unwanted": "alias('a')"}, "wrong-arity"),
        ({"unwanted": "alias(1, x)"}, "type-clash"),
        ({}, "bad-fault"),
        ({"unwanted": FAULT, "epoch": 7}, "epoch-not-kept"),
        ({"unwanted": FAULT, "method": "guess"}, "bad-wish"),
    ],
)
def test_mistakes_in_questions(faults: dict[str, object], code: str) -> None:
    """What cannot be asked is a diagnostic, and the session goes on."""
    with after() as db:
        with pytest.raises(TidelogError) as caught:
            db.blame(**faults)  # type: ignore[arg-type]

        assert code in {each.code for each in caught.value.diagnostics}
        assert db.repair(FAULT)
