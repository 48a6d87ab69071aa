"""Rules and facts that change together: one epoch, or nothing."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import examples
from support.epochs_programs import tangled_epochs, tangled_programs
from support.programs import Relations, run
from support.strategies import RandomProgram
from tidelog import Delta, GuardError, Session, TidelogError
from tidelog.engine.epoch import MaintenanceSettings, Strategy
from tidelog.engine.strategy import check_rule_strategy, choose_strategy
from tidelog.store import Store
from tidelog.values import Fact

Changed = dict[str, tuple[frozenset[Fact], frozenset[Fact]]]

PROGRAM = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
"""
STEP = "path(x, z) :- path(x, y), edge(y, z)."
BACK = "path(y, x) :- edge(x, y)."


@pytest.fixture(params=["local", "reference"])
def db(request: pytest.FixtureRequest) -> Iterator[Session]:
    """Return a session on each engine in turn."""
    with tidelog.open(PROGRAM, facts={"edge": [(1, 2), (2, 3)]}, engine=request.param, jobs=1) as session:
        yield session


def contents(db: Session) -> Relations:
    """Return all facts of all relations."""
    return {name: frozenset(db[name]) for name in db}


def memory(db: Session) -> tuple[object, ...]:
    """Return everything that an epoch which is refused must leave alone."""
    epochs = db._epochs
    return (
        db.epoch,
        contents(db),
        db.rules,
        db.program,
        db.inputs,
        len(db.history),
        dict(epochs.functions),
        dict(epochs.handle.codec.types),
    )


def test_rules_and_facts_are_one_epoch(db: Session) -> None:
    """One epoch has one delta, which is the difference of both ends, and one place in the history."""
    delta = db.apply(add_rules=STEP, insert={"edge": [(3, 4)]}, delete=["edge(1, 2)"])

    assert db.epoch == delta.epoch == len(db.history) == 1
    assert delta["path"].inserted == {(3, 4), (2, 4)}
    assert delta["path"].deleted == {(1, 2)}
    assert delta.changes["edge"].inserted == {(3, 4)}


def test_a_rule_that_is_removed_and_added_stays(db: Session) -> None:
    """As a fact in both is inserted, a rule in both is there afterwards."""
    rule = "path(x, y) :- edge(x, y)."

    delta = db.apply(add_rules=rule, remove_rules=rule, insert=["edge(5, 6)"])

    assert delta["path"].inserted == {(5, 6)}
    assert not delta["path"].deleted
    assert [each.text for each in db.rules] == [rule]


def test_facts_of_relations_that_the_rules_declare(db: Session) -> None:
    """Facts may be of a relation, with values of a type, that the same epoch declares."""
    rules = """
    .type Pair = [a: number, b: number]
    .decl mark(p: Pair)
    .decl marked(x: number)
    marked(x) :- mark([x, y]), edge(x, y).
    """

    delta = db.apply(add_rules=rules, insert={"mark": [((1, 2),), ((7, 7),)]})

    assert delta["marked"].inserted == {(1,)}
    assert delta["mark"].inserted == {((1, 2),), ((7, 7),)}
    assert "mark" in db.inputs


def test_a_transaction_takes_rules_and_facts(db: Session) -> None:
    """Rules count from where they are given; the last word on a rule and on a fact counts."""
    with db.transaction() as t:
        t.add_rules([STEP, ".decl loop(x: number)", "loop(x) :- path(x, x)."])
        t.insert("edge", [(3, 1)])
        t.remove_rules(STEP)
        t.add_rules(BACK)

    assert db.epoch == 1
    assert t.delta["path"].inserted == {(3, 1), (2, 1), (3, 2), (1, 3)}
    assert [rule.text for rule in db.rules][-1] == BACK


def test_rules_of_a_transaction_need_not_be_right_one_by_one(db: Session) -> None:
    """What is missing when rules are given may follow; only the whole is checked."""
    with db.transaction() as t:
        t.add_rules("path(x, y) :- bridge(x, y).")
        assert [each.code for each in t.mistakes] == ["undeclared-relation"]
        t.add_rules(".decl bridge(x: number, y: number)")
        assert not t.mistakes
        t.insert("bridge", [(8, 9)])

    assert t.delta["path"].inserted == {(8, 9)}


def twice(x: int) -> int:
    """Return the double."""
    return 2 * x


def broken(x: int) -> int:
    """Fail at the fact that comes with the rule."""
    return x // (x - 9)


MISTAKES: dict[str, Callable[[Session], object]] = {
    "rules that are no program": lambda db: db.apply(
        add_rules="path(x, y) :- edge(x, _).", insert=["edge(9, 9)"]
    ),
    "rules that do not parse": lambda db: db.apply(add_rules="path(x", insert=["edge(9, 9)"]),
    "a rule that is not there": lambda db: db.apply(remove_rules=[77], add_rules=STEP),
    "a fact of no relation": lambda db: db.apply(add_rules=STEP, insert=["egde(1, 2)"]),
    "a fact of a relation that becomes derived": lambda db: db.apply(
        add_rules=".decl new(x: number) new(x) :- edge(x, _).", insert=["new(1)"]
    ),
    "a value of another type": lambda db: db.apply(
        add_rules=".type T = [a: number] .decl t(x: T)", insert={"t": [("a",)]}
    ),
    "a missing function": lambda db: db.apply(
        add_rules=".functor half(x: number): number path(x, @half(x)) :- edge(x, _).", insert=["edge(9, 9)"]
    ),
    "evaluation fails": lambda db: db.apply(
        add_rules=".functor twice(x: number): number\npath(x, @twice(y)) :- edge(x, y).",
        insert=["edge(9, 9)"],
        functions={"twice": broken},
    ),
    "the second of two epochs in one": lambda db: db.apply(
        add_rules=".decl one(x: number, y: number) keys x\none(x, y) :- edge(x, y).", insert=["edge(1, 9)"]
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_leaves_everything_as_it_was(db: Session, mistake: str) -> None:
    """Program, functions, types, facts, epoch and history are those from before."""
    before = memory(db)

    with pytest.raises(TidelogError):
        MISTAKES[mistake](db)

    assert memory(db) == before
    assert db.apply(insert=["edge(3, 4)"], add_rules=STEP)["path"].inserted == {
        (3, 4),
        (1, 3),
        (2, 4),
        (1, 4),
    }


def test_only_the_ends_of_an_epoch_count(db: Session) -> None:
    """Rules and facts that would fail one after the other, in either order, succeed together."""
    one = ".decl one(x: number, y: number) keys x\none(x, y) :- edge(x, y)."
    db.apply(add_rules=one)
    swap = "one(x, y) :- edge(y, x)."

    delta = db.apply(
        remove_rules="one(x, y) :- edge(x, y).",
        add_rules=swap,
        delete=["edge(1, 2)", "edge(2, 3)"],
        insert=["edge(5, 7)", "edge(5, 8)"],
    )

    assert delta["one"].inserted == {(7, 5), (8, 5)}
    assert delta["one"].deleted == {(1, 2), (2, 3)}


def test_guards_are_held_against_the_whole(db: Session) -> None:
    """An epoch is refused for what its rules and facts do together, and only for that."""
    db.guard("path(1, 4)", strict=True)
    before = memory(db)

    with pytest.raises(GuardError) as refused:
        db.apply(add_rules=STEP, insert=["edge(3, 4)"])
    assert memory(db) == before
    blamed = {str(change) for violation in refused.value.violations for change in violation.blame}
    assert blamed == {f"+{STEP}", "+edge(3, 4)"}

    db.apply(add_rules=STEP, insert=["edge(3, 4)"], delete=["edge(2, 3)"])
    assert db.epoch == 1


def test_guards_that_are_not_strict_report_the_whole(db: Session) -> None:
    """The violations of one epoch blame rules and facts alike."""
    db.guard("path(1, 4)")

    delta = db.apply(add_rules=STEP, insert=["edge(3, 4)"])

    (violation,) = delta.violations
    assert {str(change) for change in violation.blame} == {f"+{STEP}", "+edge(3, 4)"}


def test_subscribers_hear_once(db: Session) -> None:
    """A callback is given one delta for rules and facts together."""
    heard = []
    db.subscribe("path", heard.append)

    db.apply(add_rules=BACK, insert=["edge(3, 4)"])

    (delta,) = heard
    assert delta.inserted == {(3, 4), (2, 1), (3, 2), (4, 3)}


def test_a_repair_of_rules_and_facts_is_one_epoch(db: Session) -> None:
    """A repair takes rules and facts back together, with what is asked for beside it."""
    db.apply(add_rules=BACK, insert=["edge(9, 8)"])
    repair = db.repair(unwanted=["path(2, 1)", "path(9, 8)"])

    delta = db.apply(repair, insert={"edge": [(3, 4)]})

    assert delta.epoch == db.epoch == 2
    assert set(db["path"]) == {(1, 2), (2, 3), (3, 4)}
    assert set(db["edge"]) == {(1, 2), (2, 3), (3, 4)}


def test_a_repair_adds_a_removed_rule_again(db: Session) -> None:
    """What a repair takes back may be that a rule was removed."""
    db.apply(remove_rules="path(x, y) :- edge(x, y).", delete=["edge(1, 2)"], insert=["edge(6, 6)"])
    repair = db.repair(missing=["path(1, 2)"])

    delta = db.apply(repair)

    assert delta.epoch == 2
    assert (1, 2) in db["path"]


def test_an_epoch_of_rules_and_facts_can_be_taken_back(db: Session) -> None:
    """A delta knows the rules that changed, and its inverse takes them back with the facts."""
    before, rules = contents(db), [rule.text for rule in db.rules]
    delta = db.apply(add_rules=STEP, remove_rules=1, insert=["edge(3, 4)"], delete=["edge(1, 2)"])
    assert (delta.rules.inserted, delta.rules.deleted) == ((STEP,), tuple(rules))

    db.apply(delta.inverse())

    assert contents(db) == before
    assert [rule.text for rule in db.rules] == rules


def test_a_function_in_use_is_not_replaced(db: Session) -> None:
    """Facts that another function derived would stay: the new one is refused."""
    db.apply(add_rules=".functor f(x: number): number\npath(x, @f(x)) :- edge(x, _).", functions={"f": twice})
    before = memory(db)

    with pytest.raises(TidelogError) as error:
        db.apply(functions={"f": lambda x: 3 * x}, insert=["edge(7, 7)"])

    assert error.value.diagnostics[0].code == "function-in-use"
    assert memory(db) == before
    assert db.apply(functions={"f": twice}, insert=["edge(7, 7)"])["path"].inserted == {(7, 7), (7, 14)}


def test_a_transaction_that_rules_overtook_is_refused(db: Session) -> None:
    """Rules of a transaction were checked against a program; if that changes meanwhile it is reported."""
    late = db.transaction()
    late.add_rules(STEP)
    db.add_rules(BACK)

    with pytest.raises(TidelogError) as error:
        late.commit()

    assert error.value.diagnostics[0].code == "rules-changed"
    assert db.epoch == 1


def test_facts_of_a_transaction_that_rules_overtook(db: Session) -> None:
    """Facts alone are committed after other rules too, while their relation is still an input."""
    db.add_rules(".decl loose(x: number)")
    late, lost = db.transaction(), db.transaction()
    late.insert("edge", [(4, 5)])
    lost.insert("loose", [(1,)])
    db.add_rules("loose(x) :- edge(x, _).")

    assert late.commit()["path"].inserted == {(4, 5)}
    with pytest.raises(TidelogError) as error:
        lost.commit()
    assert error.value.diagnostics[0].code == "not-an-input"


# --- on disk -----------------------------------------------------------------------------------------


def test_a_store_keeps_the_epoch(tmp_path: Path) -> None:
    """Reopened, a store has the rules, the facts and the delta of the epoch, also after a snapshot."""
    with tidelog.open(PROGRAM, facts={"edge": [(1, 2), (2, 3)]}, store=tmp_path / "s") as db:
        db.apply(
            add_rules=f".decl n(x: number)\n{STEP}", insert=["edge(3, 4)", "n(5)"], delete=["edge(1, 2)"]
        )
        db.apply(remove_rules=STEP, insert=["n(6)"])
        kept, history = contents(db), [str(delta) for delta in db.history]
        rules = [rule.text for rule in db.rules]

    with tidelog.open(store=tmp_path / "s") as again:
        assert again.epoch == 2
        assert contents(again) == kept
        assert [str(delta) for delta in again.history] == history
        assert [len(delta.rules.deleted) for delta in again.history] == [0, 1]
        assert [rule.text for rule in again.rules] == rules
        again.checkpoint()
    with tidelog.open(store=tmp_path / "s") as once_more:
        assert contents(once_more) == kept
        assert once_more.apply("+n(7).")["n"].inserted == {(7,)}


def test_a_kill_between_leaves_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens the store as it was before the commit finds neither rules nor facts; afterwards both."""
    commit = Store.commit

    def commit_later(store: Store, seconds: float) -> None:
        shutil.copytree(tmp_path / "s", tmp_path / "killed")
        commit(store, seconds)

    with tidelog.open(PROGRAM, facts={"edge": [(1, 2), (2, 3)]}, store=tmp_path / "s") as db:
        before, rules = contents(db), db.rules
        monkeypatch.setattr(Store, "commit", commit_later)
        db.apply(add_rules=STEP, insert=["edge(3, 4)"])
        after = contents(db)
        shutil.copytree(tmp_path / "s", tmp_path / "later")

    with tidelog.open(store=tmp_path / "killed") as killed:
        assert (killed.epoch, contents(killed), killed.rules) == (0, before, rules)
    with tidelog.open(store=tmp_path / "later") as later:
        assert (later.epoch, contents(later), len(later.rules)) == (1, after, 2)


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    """If the epoch cannot be committed, the engine goes back to the old rules and the old facts."""
    with tidelog.open(PROGRAM, facts={"edge": [(1, 2), (2, 3)]}, store=tmp_path / "s", engine=engine) as db:
        before = memory(db)

        def full(store: Store, _: float) -> None:
            store.roll_back()
            raise TidelogError([tidelog.Diagnostic(code="store-unwritable", message="no room")])

        with monkeypatch.context() as patched:
            patched.setattr(Store, "commit", full)
            with pytest.raises(TidelogError):
                db.apply(add_rules=f".decl n(x: number)\n{STEP}", insert=["edge(3, 4)", "n(1)"])

        assert memory(db) == before
        assert db.apply(insert=["edge(3, 4)"], add_rules=STEP)["path"].inserted == {
            (3, 4),
            (1, 3),
            (2, 4),
            (1, 4),
        }


def rules_of(program: RandomProgram) -> list[str]:
    """Return the rules of a random program, one to a line."""
    return [line for line in program.text.splitlines() if not line.startswith(".")]


def expected(db: Session, inputs: dict[str, set[tuple[object, ...]]]) -> Relations:
    """Return what the program as it is now derives from the input facts, from nothing."""
    text = "\n".join(source.text for source in db._epochs.text.sources)
    return run(text, inputs={name: tuple(facts) for name, facts in inputs.items() if facts})


def difference(before: Relations, after: Relations) -> Changed:
    """Return the facts inserted and deleted of each relation that changed."""
    return {
        name: (after[name] - before[name], before[name] - after[name])
        for name in after
        if after[name] != before[name]
    }


def changed(delta: Delta) -> Changed:
    """Return what a delta says of each relation that changed."""
    return {name: (frozenset(delta[name].inserted), frozenset(delta[name].deleted)) for name in delta}


@settings(max_examples=examples(12))
@given(data=st.data())
def test_every_delta_is_the_difference_of_its_ends(data: st.DataObject) -> None:
    """Rules removed and added back together with facts; reopening the store gives the same."""
    program = data.draw(tangled_programs())
    inputs = {name: set(facts) for name, facts in program.inputs.items()}
    out: list[str] = []
    with TemporaryDirectory() as folder:
        db = tidelog.open(program.text, facts=dict(program.inputs), store=Path(folder) / "s", jobs=1)
        before = expected(db, inputs)
        for epoch in data.draw(tangled_epochs(program, max_epochs=3)):
            there = [rule for rule in rules_of(program) if rule not in out]
            removed = data.draw(st.lists(st.sampled_from(there), unique=True, max_size=3)) if there else []
            added = data.draw(st.lists(st.sampled_from(out), unique=True)) if out else []

            delta = db.apply(
                add_rules=added, remove_rules=removed, insert=dict(epoch.inserts), delete=dict(epoch.deletes)
            )

            for name, facts in inputs.items():
                facts.difference_update(epoch.deletes.get(name, ()))
                facts.update(epoch.inserts.get(name, ()))
            out = [rule for rule in [*out, *removed] if rule not in added]
            after = expected(db, inputs)
            assert contents(db) == after
            assert changed(delta) == difference(before, after)
            before = after
        history, number = [changed(each) for each in db.history], db.epoch
        db.close()
        with tidelog.open(store=Path(folder) / "s", jobs=1) as again:
            assert again.epoch == number
            assert contents(again) == before
            assert [changed(each) for each in again.history] == history


def test_pending_epochs_share_codes_and_keep_types_apart(db: Session) -> None:
    """Checking other rules beside the program leaves the session's types alone, and gives its codes."""
    codec = db._epochs.handle.codec
    pending = db._epochs.gather()

    pending.rules(add=".type Name <: symbol .decl named(x: Name)")

    assert "Name" not in codec.types
    assert pending._codec.symbols is codec.symbols


def test_strategies_of_rules_on_spark() -> None:
    """On Spark other rules mean a new evaluation, so that only that can be asked for."""
    check_rule_strategy(Strategy.AUTO, "spark")
    check_rule_strategy(Strategy.DRED, "local")
    with pytest.raises(TidelogError, match="evaluates everything again"):
        check_rule_strategy(Strategy.UPDATE, "spark")
    with pytest.raises(TidelogError, match="the engine `spark` does not follow changes by `dred`"):
        choose_strategy(MaintenanceSettings(), "dred", None, "spark")
    assert choose_strategy(MaintenanceSettings(), "update", None, "spark").strategy is Strategy.UPDATE


def test_a_relation_given_facts_while_rules_were_pending_stays_an_input():
    """An epoch of facts between `add_rules` and the commit of a transaction is not forgotten by it."""
    db = tidelog.open(".decl e(x: number, y: number)\n.input e\n.decl r(x: number)", facts={"e": [(1, 2)]})
    transaction = db.transaction()
    transaction.add_rules("r(x) :- e(x, _).")
    db.apply(insert={"r": [(7,)]})

    transaction.commit()

    assert "r" in db.inputs
    assert set(db["r"]) == {(1,), (7,)}
    db.apply(delete={"r": [(7,)]})
    assert set(db["r"]) == {(1,)}


@pytest.mark.parametrize("way", ["apply", "transaction"])
def test_taking_back_a_rule_that_is_there_twice_leaves_one(way):
    """The inverse of adding a rule once more removes the one that was added."""
    rule = "p(x) :- e(x)."
    db = tidelog.open(f".decl e(x: number)\n.input e\n.decl p(x: number)\n{rule}", facts={"e": [(1,)]})
    added = db.add_rules(rule)

    if way == "apply":
        db.apply(added.inverse())
    else:
        with db.transaction() as transaction:
            transaction.change(added.inverse())

    assert [each.text for each in db.rules] == [rule]
    assert set(db["p"]) == {(1,)}
