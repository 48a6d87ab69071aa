"""`autoinc()` over epochs: a derivation keeps its number, on every engine and in every store."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.command_line import make_command
from support.epochs import STRATEGIES, Maintained, examples
from support.programs import ENGINES, build, run
from tidelog.engine.epoch import MaintenanceSettings, RelationChange
from tidelog.engine.numbering import CountedRule, Numbering
from tidelog.errors import TidelogError
from tidelog.session import Session
from tidelog.store import Store
from tidelog.values import Codec

ROWS = """
.decl line(text: symbol)
.input line
.decl row(n: number, text: symbol)
row(autoinc(), text) :- line(text).
.decl early(text: symbol)
early(text) :- row(n, text), n < 2.
"""
WAYS = [("reference", "auto"), *(("local", strategy.value) for strategy in STRATEGIES)]
each_way = pytest.mark.parametrize(("engine", "strategy"), WAYS, ids=[" ".join(way) for way in WAYS])


def lines(*texts: str) -> dict[str, list[tuple[str]]]:
    """Return lines as facts."""
    return {"line": [(text,) for text in texts]}


def rows(db: Session) -> dict[str, int]:
    """Return the number of each line."""
    return {text: n for n, text in db["row"]}


# --- one derivation, one number -------------------------------------------------------------------


@each_way
def test_an_inserted_fact_leaves_other_numbers_alone(engine, strategy):
    """The first evaluation counts in value order; later derivations get the numbers after these."""
    db = tidelog.open(ROWS, facts=lines("b", "d"), engine=engine, strategy=strategy)

    delta = db.apply(insert=lines("c", "a"))

    assert rows(db) == {"b": 0, "d": 1, "a": 2, "c": 3}
    assert set(delta["row"].inserted) == {(2, "a"), (3, "c")}
    assert not delta["row"].deleted
    assert set(db["early"]) == {("b",), ("d",)}


@each_way
def test_a_deleted_derivation_takes_its_number_along(engine, strategy):
    """Nobody else gets the number of a deleted derivation; if it comes back it has it again."""
    db = tidelog.open(ROWS, facts=lines("a", "b"), engine=engine, strategy=strategy)

    db.apply(delete=lines("a"), insert=lines("c"))
    db.apply(insert=lines("a", "d"))

    assert rows(db) == {"a": 0, "b": 1, "c": 2, "d": 3}


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_do_not_depend_on_rules_that_nobody_needs(engine, tmp_path, monkeypatch, capsys):
    """A run that shows only outputs counts like one that shows all."""
    text = """
    .decl a(x: number)  a(1). a(2).
    .decl hidden(n: number, x: number)
    hidden(autoinc(), x) :- a(x).
    .decl shown(n: number, x: number)
    .output shown
    shown(autoinc(), x) :- a(x), x = x * 1.
    """
    (tmp_path / "p.dl").write_text(text)
    command = make_command(monkeypatch, capsys)

    command("run", str(tmp_path / "p.dl"), "--engine", engine, "-D", str(tmp_path))

    written = {tuple(map(int, line.split())) for line in (tmp_path / "shown.csv").read_text().splitlines()}
    assert written == run(text, engine=engine)["shown"] == {(2, 1), (3, 2)}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_number_may_be_used_in_the_body(engine):
    """What depends on a number is asked once the derivation has it: all others have theirs already."""
    text = """
    .decl a(x: number)  a(5). a(6). a(7).
    .decl b(n: number, x: number)  b(1, 10). b(1, 11). b(2, 12).
    .type P = [n: number, x: number]
    .decl p(p: P)  p([0, 1]). p([2, 1]).
    .decl even(n: number, x: number)
    even(n, x) :- n = autoinc(), a(x), n % 2 = 0, !b(n, _).
    .decl found(x: number, y: number)
    found(x, y) :- a(x), m = autoinc() - 3, y = m * 10.
    .decl taken(x: number)
    taken(x) :- p([autoinc(), x]).
    """

    found = run(text, engine=engine)

    assert found["even"] == {(0, 5)}
    assert found["found"] == {(5, 0), (6, 10), (7, 20)}
    assert found["taken"] == set()


@pytest.mark.parametrize("engine", ENGINES)
def test_every_counter_of_a_rule_has_a_number_of_its_own(engine):
    """Two of them in a rule, two rules, a fact, and rules that read alike never share a number."""
    text = """
    .decl a(x: number)  a(1). a(2).
    .decl r(n: number, m: number, x: number)
    r(autoinc(), autoinc(), 0).
    r(autoinc(), autoinc(), x) :- a(x), a(_).
    r(autoinc(), autoinc(), x) :- a(x).
    r(autoinc(), autoinc(), x) :- a(x).
    """

    found = run(text, engine=engine)["r"]

    assert sorted(number for n, m, _ in found for number in (n, m)) == list(range(18))
    assert {m - n for n, m, _ in found} == {1}


# --- epochs that do not happen ----------------------------------------------------------------------


KEYED = """
.decl line(text: symbol, size: number)
.input line
.decl size_of(text: symbol, size: number) keys text
size_of(text, size) :- line(text, size).
.decl row(n: number, text: symbol)
row(autoinc(), text) :- line(text, _).
"""


@each_way
def test_a_failed_epoch_gives_no_numbers(engine, strategy):
    """An epoch that is undone leaves the next number where it was."""
    text = f"{KEYED}.decl late(x: symbol, n: number) keys x\nlate(x, n) :- row(n, x)."
    db = tidelog.open(text, facts={"line": [("a", 1)]}, engine=engine, strategy=strategy)

    with pytest.raises(TidelogError):
        db.apply(insert={"line": [("b", 1), ("b", 2)]})
    db.apply(insert={"line": [("c", 1)]})

    assert rows(db) == {"a": 0, "c": 1}


def test_a_trial_epoch_gives_no_numbers():
    """A world that is only looked at leaves the next number where it was."""
    maintained = Maintained(build(ROWS)).start({"line": [("a",)]})
    code = maintained.codec.symbols.code_of("b")
    change = RelationChange([np.array([code])], [np.array([], np.int64)])

    with maintained.engine.trial({"line": change}, MaintenanceSettings()) as result:
        assert len(result.inserted["row"][0]) == 1
    maintained.change(insert={"line": [("c",)]})

    assert maintained.relations()["row"] == {(0, "a"), (1, "c")}


@pytest.mark.parametrize("engine", ENGINES)
def test_blame_gives_no_numbers_and_knows_the_old_ones(engine):
    """A fact with a number that vanished is explained by the change that took its derivation."""
    db = tidelog.open(ROWS, facts=lines("a", "b", "c"), engine=engine)
    db.apply(insert=lines("d"), delete=lines("b"))
    db.apply(insert=lines("e"))

    blamed = db.blame(missing=['row(1, "b")'], epoch=1)
    db.apply(insert=lines("f"))

    assert [str(change) for change in blamed.changes] == ['-line("b")']
    assert rows(db) == {"a": 0, "c": 2, "d": 3, "e": 4, "f": 5}


@pytest.mark.parametrize("engine", ENGINES)
def test_an_epoch_the_store_refuses_gives_no_numbers(engine, tmp_path, monkeypatch):
    """The engine goes back when the disk is full, and counts on as if nothing had been."""
    db = tidelog.open(ROWS, facts=lines("a"), engine=engine, store=tmp_path / "s")

    def fail(store: Store, seconds: float) -> None:
        store.roll_back()
        raise OSError(28, f"no space left after {seconds}")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "commit", fail)
        with pytest.raises(OSError, match="no space"):
            db.apply(insert=lines("x"))
    db.apply(insert=lines("b"))
    before = rows(db)
    db.close()
    again = tidelog.open(store=tmp_path / "s", engine=engine)

    assert before == rows(again) == {"a": 0, "b": 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_numbered_fact_has_a_proof(engine):
    """A proof rests on the facts of the derivation that has the number, also after epochs."""
    db = tidelog.open(ROWS, facts=lines("b", "c"), engine=engine)
    db.apply(insert=lines("a"), delete=lines("b"))

    proof = db.why('row(2, "a")')

    assert {name: set(facts) for name, facts in proof.support().items()} == {"line": {("a",)}}


# --- rules, stores --------------------------------------------------------------------------------


@each_way
def test_a_rule_that_stays_keeps_its_numbers(engine, strategy):
    """Rules that are inserted or deleted change no number of another rule, wherever they stand."""
    db = tidelog.open(ROWS, facts=lines("a", "b"), engine=engine, strategy=strategy)

    db.add_rules('row(autoinc(), cat(text, "!")) :- line(text).')
    added = rows(db)
    db.remove_rules("row(autoinc(), text) :- line(text).")
    db.apply(insert=lines("c"))

    assert added == {"a": 0, "b": 1, "a!": 2, "b!": 3}
    assert rows(db) == {"a!": 2, "b!": 3, "c!": 4}


@each_way
@pytest.mark.parametrize("has_snapshot", [False, True])
def test_a_reopened_store_has_the_same_numbers(engine, strategy, has_snapshot, tmp_path):
    """Numbers come back from the snapshot and from the log, those of deleted derivations too."""
    db = tidelog.open(ROWS, facts=lines("b", "x"), engine=engine, store=tmp_path / "s", strategy=strategy)
    db.apply(insert=lines("a", "c"), delete=lines("x"))
    if has_snapshot:
        db.checkpoint()
    db.apply(insert=lines("0"))
    before = rows(db)
    db.close()

    again = tidelog.open(store=tmp_path / "s", engine=engine, strategy=strategy)
    reopened = rows(again)
    again.apply(insert=lines("x", "y"))

    assert reopened == before == {"b": 0, "a": 2, "c": 3, "0": 4}
    assert rows(again) == {**before, "x": 1, "y": 5}


@pytest.mark.parametrize(("first", "second"), [("local", "reference"), ("reference", "local")])
def test_a_store_goes_from_engine_to_engine(first, second, tmp_path):
    """Another engine that opens a store goes on with its numbers."""
    db = tidelog.open(ROWS, facts=lines("b", "c"), engine=first, store=tmp_path / "s")
    db.apply(insert=lines("a"))
    db.checkpoint()
    db.close()

    again = tidelog.open(store=tmp_path / "s", engine=second)
    again.apply(insert=lines("0"), delete=lines("b"))

    assert rows(again) == {"c": 1, "a": 2, "0": 3}
    assert set(again["early"]) == {("c",)}


def test_status_shows_no_files_of_numbers(tmp_path):
    """The sizes of a store are those of its relations."""
    tidelog.open(ROWS, facts=lines("a"), store=tmp_path / "s").close()

    facts = Store.open(tmp_path / "s", read_only=True).status().facts

    assert facts == {"line": 1, "row": 1, "early": 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_statistics_are_those_of_written_relations(engine):
    """What an engine makes of a rule that counts is not shown."""
    db = tidelog.open(ROWS, facts=lines("a"), engine=engine)

    assert [name for stratum in db.statistics.strata for name in stratum.relations] == [
        "line",
        "row",
        "early",
    ]
    assert list(db) == ["line", "row", "early"]
    assert [report.relations[0] for report in db.apply(insert=lines("b")).strata] == ["line", "row", "early"]


# --- the table of numbers -------------------------------------------------------------------------


def test_numbers_are_given_once_and_taken_back_to_a_mark():
    """Known rows keep their numbers, new ones are numbered in value order, and a mark forgets them."""
    codec, numbering = Codec(build(ROWS).types), Numbering()
    one = CountedRule("one", "r", "derivation/one", "number/one", ("number",), 1)
    two = CountedRule("two", "s", "derivation/two", "number/two", ("number", "number"), 2)
    numbering.give(one, [np.array([5, -3])], 2, codec)
    numbering.give(two, [np.array([1, 1]), np.array([9, 8])], 2, codec)
    mark = numbering.mark()
    numbering.give(one, [np.array([5, 7, 6])], 3, codec)

    copied = numbering.copy()
    numbering.rewind(mark)
    numbering.give(one, [np.array([7])], 1, codec)

    assert copied.find("one", [np.array([-3, 5, 6, 7])], 4).tolist() == [0, 1, 6, 7]
    assert numbering.find("two", [np.array([1, 1]), np.array([8, 9])], 2).tolist() == [2, 4]
    assert numbering.find("one", [np.array([7])], 1).tolist() == [6]
    assert numbering.export(mark).keys() == {"one"}


# --- misplaced ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule",
    [
        "b(n) :- n = count : { a(x), x < autoinc() }.",
        "b(n) :- n = sum autoinc() : { a(_) }.",
        "b(n) :- n = max x : { a(x), x < count : { a(y), y > autoinc() } }.",
        "a(x) <= a(y) :- x < y, y < autoinc().",
    ],
)
def test_a_counter_outside_of_derivations_is_refused(rule):
    """An aggregate and a subsumption have no derivations to number."""
    with pytest.raises(TidelogError) as caught:
        build(f".decl a(x: number) .input a .decl b(n: number) {rule}")

    assert {each.code for each in caught.value.diagnostics} == {"misplaced-autoinc"}


# --- random programs and epochs -------------------------------------------------------------------

Rows = set[tuple[int, ...]]
World = dict[str, Rows]


@dataclass(frozen=True)
class Numbered:
    """A rule, its derivations in a world, and the facts that a numbered derivation makes."""

    head: str
    text: str
    derivations: Callable[[World], Iterable[tuple[int, ...]]]
    facts: Callable[[int, tuple[int, ...]], Iterable[tuple[int, ...]]]
    step: int = 1


RULES = (
    Numbered("p", "p(autoinc(), x) :- a(x, _).", lambda w: w["a"], lambda n, d: [(n, d[0])]),
    Numbered(
        "p", "p(autoinc(), x) :- b(x), !a(x, _).",
        lambda w: [d for d in w["b"] if all(x != d[0] for x, _ in w["a"])], lambda n, d: [(n, d[0])],
    ),
    Numbered(
        "q", "q(n, y) :- n = autoinc(), a(x, y), b(x), (n + y) % 2 = 0.",
        lambda w: [d for d in w["a"] if (d[0],) in w["b"]],
        lambda n, d: [(n, d[1])] if (n + d[1]) % 2 == 0 else [],
    ),
    Numbered(
        "q", "q(autoinc(), autoinc()) :- b(x), c = count : { a(x, _) }, c > 0.",
        lambda w: [(x, c) for (x,) in w["b"] if (c := sum(x == y for y, _ in w["a"]))],
        lambda n, _: [(n, n + 1)], 2,
    ),
    Numbered(
        "r", "r(autoinc(), n) :- p(n, x), b(x).",
        lambda w: [(n, x) for n, x in w["p"] if (x,) in w["b"]], lambda n, d: [(n, d[0])],
    ),
    Numbered("b2", "b2(autoinc()).", lambda _: [()], lambda n, _: [(n,)]),
    Numbered(
        "b2", "b2(autoinc() * 0 + x) :- b(x), a(y, z), y < z.",
        lambda w: [(x, y, z) for (x,) in w["b"] for y, z in w["a"] if y < z], lambda _, d: [(d[0],)],
    ),
)  # fmt: skip
DECLARED = """
.decl a(x: number, y: number) .input a
.decl b(x: number) .input b
.decl p(n: number, x: number) .decl q(n: number, x: number) .decl r(n: number, m: number)
.decl b2(n: number) .decl closed(n: number, x: number)
closed(n, x) :- p(n, x).
closed(n, y) :- closed(n, x), a(x, y).
"""


@dataclass
class Model:
    """The oracle: a map from derivations to numbers that is kept from epoch to epoch."""

    rules: list[Numbered]
    numbers: dict[tuple[str, tuple[int, ...]], int] = field(default_factory=dict)
    following: int = 0

    def relations(self, inputs: World) -> World:
        """Return all relations after another epoch."""
        world: World = {"p": set(), "q": set(), "r": set(), "b2": set(), **inputs}
        for rule in self.rules:
            found = sorted(set(rule.derivations(world)))
            for each in found:
                if (rule.text, each) not in self.numbers:
                    self.numbers[rule.text, each] = self.following
                    self.following += rule.step
            world[rule.head] |= {
                fact for each in found for fact in rule.facts(self.numbers[rule.text, each], each)
            }
        closed, new = set(), world["p"]
        while new:
            closed |= new
            new = {(n, y) for n, x in new for z, y in world["a"] if x == z} - closed
        return {**world, "closed": closed}


def in_order(text: str, rules: Iterable[Numbered]) -> list[Numbered]:
    """Return rules in the order of their strata."""
    order = [name for stratum in build(text).strata for name in stratum.relations]
    return sorted(rules, key=lambda rule: order.index(rule.head))


def random_world(chance: random.Random) -> World:
    """Return facts for the inputs."""
    pairs = {(chance.randrange(4), chance.randrange(4)) for _ in range(chance.randrange(6))}
    return {"a": pairs, "b": {(chance.randrange(4),) for _ in range(chance.randrange(4))}}


@settings(max_examples=examples(12), deadline=None)
@given(
    rules=st.lists(st.sampled_from(RULES), min_size=1, max_size=4, unique=True),
    way=st.sampled_from(WAYS),
    chance=st.randoms(use_true_random=False),
)
def test_random_rules_count_like_the_model(rules, way, chance, tmp_path_factory):
    """Random rules over random epochs, reopened now and then, have the numbers of the model."""
    engine, strategy = way
    text = "\n".join([DECLARED, *(rule.text for rule in rules)])
    model, folder = Model(in_order(text, rules)), tmp_path_factory.mktemp("random") / "store"
    world = random_world(chance)
    db = tidelog.open(text, facts=world, engine=engine, strategy=strategy, store=folder)

    for _ in range(5):
        expected = model.relations(world)

        assert {name: set(db[name]) for name in expected} == expected

        after = random_world(chance)
        db.apply(
            insert={name: sorted(after[name] - world[name]) for name in world},
            delete={name: sorted(world[name] - after[name]) for name in world},
        )
        world = after
        match chance.randrange(4):
            case 0:
                db.checkpoint()
            case 1:
                db.close()
                db = reopened(folder, engine, strategy)
            case _:
                pass
    db.close()


def reopened(folder: Path, engine: str, strategy: str) -> Session:
    """Return the session of a store."""
    return tidelog.open(store=folder, engine=engine, strategy=strategy)


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_an_aggregate_may_wait_for_a_number(engine):
    """What an aggregate needs of a number is computed before the rule's own stratum."""
    text = """
    .decl p(x: number)
    .input p
    .decl q(y: number)
    .input q
    .decl r(n: number, c: number)
    r(n, c) :- p(x), n = autoinc(), c = sum y : { q(y), y < n }.
    """
    db = tidelog.open(text, facts={"p": [(5,), (6,), (7,)], "q": [(0,), (1,)]}, engine=engine)

    assert set(db["r"]) == {(0, 0), (1, 0), (2, 1)}
    db.apply(insert={"p": [(1,)], "q": [(2,)]})
    assert set(db["r"]) == {(0, 0), (1, 0), (2, 1), (3, 3)}


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_a_rule_without_variables_may_count(engine):
    """Its one derivation has a number as soon as there is one, and none before."""
    text = """
    .decl p(x: number)
    .input p
    .decl r(n: number)
    r(7) :- p(0), autoinc() >= 0.
    """
    db = tidelog.open(text, engine=engine)

    assert set(db["r"]) == set()
    db.apply(insert={"p": [(0,)]})
    assert set(db["r"]) == {(7,)}


@pytest.mark.parametrize("strategy", [each.value for each in STRATEGIES])
def test_two_rules_with_one_head_may_count(strategy):
    """A fact that one rule derived has no number by the other, which is asked for it all the same."""
    text = """
    .decl a(x: number, y: number)
    .input a
    .decl b(x: number)
    .input b
    .decl p(n: number, x: number)
    p(autoinc(), x) :- a(x, _).
    p(autoinc(), x) :- b(x), !a(x, _).
    """
    db = tidelog.open(text, facts={"a": [(0, 1)], "b": [(2,)]}, strategy=strategy)

    db.apply(insert={"b": [(3,)]}, delete={"a": [(0, 1)]})
    db.apply(insert={"a": [(2, 0)]})

    assert {x for _, x in db["p"]} == {2, 3}
    assert len(set(db["p"])) == 2
