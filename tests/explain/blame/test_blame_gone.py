"""Blame of facts that are no longer stored, where aggregates and laws decide which facts there are."""

from pathlib import Path

import pytest

import tidelog
from support.command_line import make_command
from tidelog.session import Session

HEAD = """
.decl e(g: symbol, x: number)
.input e
"""
LOW = ".type Low <: number\n.lattice Low<> { Lub -> min(_, _) }\n"
# A program over e, and the fact of s that goes when e("a", 1) is deleted.
LOST = {
    "count": (".decl s(g: symbol, y: number)\ns(g, y) :- e(g, _), y = count : { e(g, _) }.", 's("a", 2)'),
    "sum": (".decl s(g: symbol, y: number)\ns(g, y) :- e(g, _), y = sum x : { e(g, x) }.", 's("a", 3)'),
    "min": (".decl s(y: number)\ns(y) :- y = min x : { e(_, x) }.", "s(1)"),
    "max": (".decl s(y: number)\ns(y) :- y = max x : { e(_, z), x = 0 - z }.", "s(-1)"),
    "mean": (".decl s(y: float)\ns(y) :- y = mean x : { e(_, x) }.", "s(2.0)"),
    "concat": ('.decl s(y: symbol)\ns(y) :- y = @@concat g : "+", { e(g, _) }.', 's("a+a+b")'),
    "eqrel": (".decl s(x: symbol, y: symbol) eqrel\ns(g, to_string(x)) :- e(g, x).", 's("1", "2")'),
    "subsumption": (
        ".decl s(g: symbol, x: number)\ns(g, x) :- e(g, x).\ns(g, x) <= s(g, y) :- y < x.",
        's("a", 1)',
    ),
    "choice": (
        ".decl s(g: symbol, x: symbol) choice-domain g\ns(g, to_string(x)) :- e(g, x).",
        's("a", "1")',
    ),
    "lattice": (f"{LOW}.decl s(g: symbol, x: Low<>)\ns(g, as(x, Low)) :- e(g, x).", 's("a", 1)'),
    "keys": (".decl s(x: number, g: symbol) keys x\ns(x, g) :- e(g, x).", 's(1, "a")'),
    "limit": (
        ".decl s(x: number)\n.limitsize s(n=3)\ns(x) :- e(_, x).\ns(x + 10) :- s(x).",
        "s(1)",
    ),
}  # fmt: skip


def _opened(law: str) -> Session:
    """Return a session in which the fact of a law is gone."""
    program, _ = LOST[law]
    db = tidelog.open(HEAD + program, facts={"e": [("a", 1), ("a", 2), ("b", 3)]})
    db.apply('-e("a", 1). +e("c", 9).')
    return db


@pytest.mark.parametrize("law", list(LOST))
def test_a_fact_that_is_gone_is_told_with_the_change_that_took_it(law: str) -> None:
    """The proof names the missing fact itself, and the deleted fact below it; nothing else is blamed."""
    _, lost = LOST[law]
    with _opened(law) as db:
        blame = db.blame(missing=lost)

        repair = db.repair(missing=lost)

    (proof,) = blame.proofs
    assert proof.fact == lost
    assert proof.role.value == "vanished"
    assert '-e("a", 1)' in [str(change) for change in blame]
    assert '- e("a", 1)   (deleted)' in str(blame)
    assert '-e("a", 1)' in [str(change) for change in repair.taken_back]


def test_the_count_of_what_is_gone() -> None:
    """A count that went down is told by its rule and the deleted fact."""
    program = ".decl e(x: number)\n.input e\n.decl s(y: number)\ns(y) :- y = count : { e(_) }."
    with tidelog.open(program, facts={"e": [(1,), (2,), (3,)]}) as db:
        db.apply("-e(1).")

        blame = db.blame(unwanted="s(2)", missing="s(3)")

    assert str(blame).split("\n\n")[1:] == [
        "+ s(2)   by s(y) :- y = count : { e(_) }.\n|   - e(1)   (deleted)",
        "- s(3)   no more by s(y) :- y = count : { e(_) }.\n|   - e(1)   (deleted)",
    ]


def test_facts_above_what_is_gone() -> None:
    """Rules above an equivalence tell which of its pairs they lost, or negate no more."""
    program = """
    .decl e(x: number, y: number)
    .input e
    .decl same(x: number, y: number) eqrel
    same(x, y) :- e(x, y).
    .decl near(x: number)
    near(x) :- same(x, 3).
    .decl far(x: number)
    far(x) :- e(x, _), !same(x, 3).
    """
    with tidelog.open(program, facts={"e": [(1, 2), (2, 3)]}) as db:
        db.apply("-e(2, 3).")

        blame = db.blame(unwanted="far(1)", missing="near(1)")

    lost = "- same(1, 3)\n|   |   - e(2, 3)   (deleted)"
    assert str(blame).split("\n\n")[1:] == [
        f"+ far(1)   by far(x) :- e(x, _), !same(x, 3).\n|     e(1, 2)\n|   {lost}",
        f"- near(1)   no more by near(x) :- same(x, 3).\n|   {lost}",
    ]


def test_a_strict_guard_on_the_command_line_tells_what_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The epoch is refused with status 3, and the report names the fact."""
    program, lost = LOST["choice"]
    monkeypatch.chdir(tmp_path)
    Path("p.dl").write_text(HEAD + program)
    Path("e.facts").write_text("a\t1\na\t2\n")
    Path("c.changes").write_text('-e("a", 1).\n')
    Path("g.guards").write_text(f"always {lost}\n")
    command = make_command(monkeypatch, capsys)

    status, out, err = command("apply", "p.dl", "c.changes", "-F", ".", "--guards", "g.guards", "--strict")

    assert status == 3
    assert f"{lost} vanished" in out + err
    assert '+e("a", 1)' in out + err


# --- rules -------------------------------------------------------------------------------------------

PATHS = """
.decl e(x: number, y: number)
.input e
.decl p(x: number, y: number)
p(x, y) :- e(x, y).
p(x, y) :- e(x, z), p(z, y).
.decl q(x: number)
q(x) :- p(x, 3).
"""


def test_a_removed_rule_is_told_with_what_it_derived_a_fact_from() -> None:
    """What is missing after a rule was removed is told by the derivations that it had through the rule."""
    with tidelog.open(PATHS, facts={"e": [(1, 2), (2, 3)]}) as db:
        db.remove_rules("p(x, y) :- e(x, z), p(z, y).")

        blame = db.blame(missing="q(1)")

    assert str(blame).split("\n\n")[1].splitlines()[:-1] == [
        "- q(1)   no more by q(x) :- p(x, 3).",
        "|   - p(1, 3)   no more by p(x, y) :- e(x, z), p(z, y).",
        "|   |     e(1, 2)",
        "|   |     p(2, 3)",
        "|   |   - rule p(x, y) :- e(x, z), p(z, y).   (deleted)",
    ]


def test_a_removed_rule_below_an_aggregate() -> None:
    """Above an aggregate the removed rule stands below the fact that it changed."""
    program = """
    .decl e(x: number)
    .input e
    .decl q(x: number)
    q(x) :- e(x).
    .decl s(y: number)
    s(y) :- y = count : { q(_) }.
    """
    with tidelog.open(program, facts={"e": [(1,), (2,)]}) as db:
        db.remove_rules("q(x) :- e(x).")

        blame = db.blame(missing="s(2)")

    assert str(blame).split("\n\n")[1].splitlines()[:-1] == [
        "- s(2)   no more by s(y) :- y = count : { q(_) }.",
        "|   - rule q(x) :- e(x).   (deleted)",
    ]


def test_facts_too_wide_for_the_newer_epoch() -> None:
    """A number beyond 32 bits that only the older epoch has is blamed, with the rules evaluated once more."""
    with tidelog.open(PATHS, facts={"e": [(1, 2), (1 << 40, 3)]}) as db:
        db.apply(f"-e({1 << 40}, 3).")
        db.remove_rules("q(x) :- p(x, 3).")

        blame = db.blame(missing=f"p({1 << 40}, 3)", epoch=(0, 2))
        repair = db.repair(missing=f"q({1 << 40})", epoch=(0, 2))

    assert [str(change) for change in blame] == [f"-e({1 << 40}, 3)"]
    assert [str(change) for change in repair.taken_back] == [f"-e({1 << 40}, 3)", "-q(x) :- p(x, 3)."]


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_an_epoch_before_other_rules_and_relations(engine: str) -> None:
    """An earlier epoch is asked about after rules were added, with a relation that got facts since then."""
    program = """
    .decl e(x: number)
    .decl is_on()
    .input e, is_on
    .decl p(x: number)
    p(x) :- e(x), is_on().
    """
    with tidelog.open(program, facts={"e": [(1,), (2,)], "is_on": [()]}, engine=engine) as db:
        db.apply("-e(1). -is_on().")
        db.add_rules(".decl z(x: number)\n.input z\np(x) :- z(x).")
        db.apply("+z(9). +is_on().")

        blame = db.blame(missing="p(2)", epoch=1)
        repair = db.repair(unwanted="p(9)", epoch=3)

    assert [str(change) for change in blame] == ["-is_on()"]
    assert [str(change) for change in repair.taken_back] == ["+z(9)"]


# --- worlds that cannot be -----------------------------------------------------------------------------

SEATS = """
.decl wish(guest: symbol, place: number)
.input wish
.decl seat(guest: symbol, place: number) keys guest
seat(g, p) :- wish(g, p).
"""


@pytest.mark.parametrize("method", ["reasons", "ddmin"])
def test_a_world_with_two_values_for_a_key_is_no_answer(method: str) -> None:
    """Where a value was replaced, the new one is blamed together with the deletion that made room."""
    with tidelog.open(SEATS, facts={"wish": [("ann", 1), ("bob", 2)]}) as db:
        db.apply('-wish("ann", 1). +wish("ann", 3). +wish("eve", 4).')

        blame = db.blame(unwanted='seat("ann", 3)', method=method)  # type: ignore[arg-type]
        unwanted = db.repair(unwanted='seat("ann", 3)', method=method)  # type: ignore[arg-type]
        missing = db.repair(missing='seat("ann", 1)', method=method)  # type: ignore[arg-type]

        assert db.apply(missing).epoch == 2
        assert set(db["seat"]) == {("ann", 1), ("bob", 2), ("eve", 4)}
    assert {str(change) for change in blame} == {'+wish("ann", 3)', '-wish("ann", 1)'}
    assert [str(change) for change in unwanted.taken_back] == ['+wish("ann", 3)']
    assert {str(change) for change in missing.taken_back} == {'+wish("ann", 3)', '-wish("ann", 1)'}


class Only:
    """The one value of a group; more than one is a mistake."""

    def __init__(self) -> None:
        self.values: set[int] = set()

    def add(self, value: int) -> None:
        """Take a value."""
        self.values.add(value)

    def result(self) -> int:
        """Return the value."""
        (value,) = self.values
        return value


def test_a_world_in_which_an_aggregate_raises_is_no_answer() -> None:
    """A change that leads nowhere alone is blamed, and taken back, with the one that makes room for it."""
    program = """
    .functor only(x: number): number
    .decl a(x: number)
    .input a
    .decl s(x: number)
    s(y) :- y = @@only x : { a(x) }.
    """
    functions = {"only": tidelog.aggregate(Only)}
    with tidelog.open(program, facts={"a": [(1,)]}, functions=functions) as db:
        db.apply("-a(1). +a(2).")

        blame = db.blame(unwanted="s(2)")
        repair = db.repair(missing="s(1)")

        db.apply(repair)
        assert list(db["s"]) == [(1,)]
    assert [str(change) for change in blame] == ["+a(2)", "-a(1)"]
    assert [str(change) for change in repair.taken_back] == ["+a(2)", "-a(1)"]
