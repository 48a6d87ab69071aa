"""Profiles written, read, shown, compared, and what is concluded from them."""

import json
from pathlib import Path

import pytest

import tidelog
from support.command_line import Command, make_command
from tidelog.engine.profile.record import (
    ChainProfile,
    CheaperOrder,
    IndexProfile,
    OperatorProfile,
    RuleProfile,
    StratumProfile,
    Tally,
)
from tidelog.errors import TidelogError
from tidelog.profile.advice import advise
from tidelog.profile.compare import compare_profiles
from tidelog.profile.hot import most_expensive, wasteful_rules
from tidelog.profile.json_form import profile_from_json, read_profile
from tidelog.profile.profile import FORM, Advice, Profile
from tidelog.profile.spark_line import spark_line
from tidelog.program.nodes import Program

PROGRAM = """.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl out(y: number)
.output out
out(y) :- path(1, y).
"""


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Return `tidelog` as a function."""
    return make_command(monkeypatch, capfd)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the present folder, with a program and its facts."""
    (tmp_path / "prog.dl").write_text(PROGRAM)
    edges = "".join(f"{number}\t{number + 1}\n" for number in range(300))
    (tmp_path / "edge.facts").write_text(edges)
    (tmp_path / "changes.txt").write_text("+edge(500, 501).\ncommit.\n-edge(1, 2).\ncommit.\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rule(text: str, total: Tally, *operators: OperatorProfile, delta: int | None = 1) -> RuleProfile:
    """Return the profile of a rule with one chain."""
    made = RuleProfile(0, "p", text, "prog.dl", 7, delta, total=total)
    made.chains = [ChainProfile(1.0, begins_with_keys=False, seconds=total.seconds, operators=[*operators])]
    return made


def a_profile(*rules: RuleProfile, **fields: object) -> Profile:
    """Return a profile with one stratum that has these rules."""
    stratum = StratumProfile(0, ["p"], is_recursive=True, seconds=10.0, rules=list(rules))
    return Profile(strata=[stratum], **fields)  # type: ignore[arg-type]


def test_a_profile_is_read_as_it_was_written():
    """JSON loses nothing: numbers of rules are numbers again, and what is None stays None."""
    with tidelog.open(PROGRAM, facts={"edge": [(1, 2), (2, 3)]}, profile=True) as db:
        db.apply(insert={"edge": [(3, 4)]})
        text = db.profile().to_json()

    profile = profile_from_json(text)

    assert profile.to_json() == text
    assert profile.form == FORM
    assert profile.strata[1].records[0].rules[0].derivations == 2


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("nothing", "it is not JSON"),
        ("[]", "it has no `form` and no `strata`"),
        ('{"form": 99, "strata": []}', "its form is 99, and this version reads 1"),
        ('{"form": 1, "strata": [{}]}', "strata[0] lacks a field"),
        ('{"form": 1, "strata": 5}', "strata is 5"),
        ('{"form": 1, "strata": [], "jobs": "two"}', 'jobs is "two"'),
    ],
)
def test_what_is_not_a_profile_is_a_diagnostic(text: str, because: str):
    """The diagnostic says what is wrong, and where."""
    with pytest.raises(TidelogError) as caught:
        profile_from_json(text, "p.json")

    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "bad-profile"
    assert because in diagnostic.message


def test_a_missing_file_is_a_diagnostic(folder: Path, command: Command):
    """The command says which file it cannot read."""
    status, _, err = command("profile", str(folder / "none.json"))

    assert status == 1
    assert "error[bad-profile]: cannot read" in err


def test_run_writes_a_profile_and_the_command_shows_it(folder: Path, command: Command):
    """Strata, delta rules, operators and where each stands in the program are shown."""
    assert command("run", "prog.dl", "--profile", "p.json", "-D", "out")[0] == 0
    status, out, _ = command("profile", "p.json")

    assert status == 0
    assert "stratum 1: path" in out
    assert "301 iterations" in out
    assert "prog.dl:5 δ1 path(x, z) :- path(x, y), edge(y, z)." in out
    assert "the most expensive operators" in out
    assert "join full edge by x = y: y as z" in out
    assert "▁" in out
    assert read_profile(folder / "p.json").relations["path"] == 300 * 301 // 2


def test_the_short_option_is_that_of_souffle(folder: Path, command: Command):
    """`-p FILE` is what scripts for Soufflé have."""
    assert command("prog.dl", "-p", "p.json", "-D", "out")[0] == 0

    assert read_profile(folder / "p.json").is_complete


def test_a_run_that_is_stopped_tells_how_far_it_came(folder: Path, command: Command):
    """The profile of a run that ends at a limit has the iterations until then."""
    status, _, _ = command("run", "prog.dl", "-p", "p.json", "--iteration-limit", "5")

    profile = read_profile(folder / "p.json")
    assert status == 1
    assert not profile.is_complete
    assert sum(len(stratum.records) for stratum in profile.strata) == 5


def test_other_engines_have_totals(folder: Path, command: Command):
    """The reference engine has no operators; its strata are there with their facts."""
    (folder / "edge.facts").write_text("1\t2\n2\t3\n")

    assert command("run", "prog.dl", "-p", "p.json", "--engine", "reference", "-D", "out")[0] == 0

    profile = read_profile(folder / "p.json")
    assert profile.engine == "reference"
    assert [stratum.facts for stratum in profile.strata] == [2, 3, 2]


def test_apply_writes_what_epochs_took(folder: Path, command: Command):
    """Every epoch has its strata with actions, work and budgets, and is shown."""
    assert command("apply", "prog.dl", "changes.txt", "--profile", "p.json")[0] == 0
    _, out, _ = command("profile", "p.json")

    profile = read_profile(folder / "p.json")
    assert [epoch.epoch for epoch in profile.epochs] == [1, 2]
    assert "2 epochs" in out
    assert "path updated: 1 changed fact reaches it" in out


def test_json_is_the_form_of_the_file(folder: Path, command: Command):
    """`--format json` prints the profile, and for two of them what differs."""
    command("run", "prog.dl", "-p", "p.json", "-D", "out")

    assert json.loads(command("profile", "p.json", "--format", "json")[1]) == json.loads(
        (folder / "p.json").read_text(encoding="utf-8")
    )
    compared = json.loads(command("profile", "p.json", "p.json", "--format", "json")[1])
    assert compared["totals"]["derivations"][0] == compared["totals"]["derivations"][1]


def test_two_profiles_are_compared_rule_by_rule(command: Command, tmp_path: Path):
    """Rules are matched by their text; those that differ most come first, and new plans are told."""
    one = OperatorProfile("join full q by x = y", "join", "q", 10, 400, 1.0)
    other = OperatorProfile("join full r by x = y", "join", "r", 10, 20, 0.1)
    before = a_profile(rule("p(x) :- q(x).", Tally(1.0, 400, 10, 10), one), rule("p(x) :- s(x).", Tally(0.1)))
    after = a_profile(rule("p(x) :- q(x).", Tally(0.1, 20, 10, 10), other), rule("p(x) :- t(x).", Tally(0.2)))

    comparison = compare_profiles(before, after)

    assert [each.name for each in comparison.rules] == [
        "δ1 p(x) :- q(x).",
        "δ1 p(x) :- t(x).",
        "δ1 p(x) :- s(x).",
    ]
    assert not comparison.rules[0].is_planned_alike
    assert (comparison.rules[1].before, comparison.rules[2].after) == (None, None)
    for name, profile in (("a.json", before), ("b.json", after)):
        (tmp_path / name).write_text(profile.to_json())
    _, out, _ = command("profile", str(tmp_path / "a.json"), str(tmp_path / "b.json"))
    assert "prog.dl:7 δ1 p(x) :- q(x). (planned differently)" in out


def test_a_wasteful_rule_is_found():
    """Many bindings for few derivations are waste; as many as derivations are work."""
    wasteful = rule("p(x) :- a(x), b(x).", Tally(1.0, 400_000_000, 3_000_000, 10))
    useful = rule("p(x) :- c(x).", Tally(5.0, 400_000_000, 400_000_000, 10))

    assert wasteful_rules(a_profile(useful, wasteful)) == [wasteful]


def test_the_most_expensive_operators_come_first():
    """Operators are listed by their own seconds."""
    operators = [OperatorProfile(f"join {number}", "join", "q", 1, 1, float(number)) for number in range(9)]

    found = most_expensive(a_profile(rule("p(x) :- q(x).", Tally(36.0), *operators)))

    assert [each.operator.text for each in found] == ["join 8", "join 7", "join 6", "join 5", "join 4"]


def judged(profile: Profile, program: Program, *, may_restrict: bool = False) -> list[Advice]:
    """Return the advice on a profile in which everything took as long as everything else."""
    for stratum in profile.strata:
        stratum.seconds = 1.0
        for each in stratum.rules:
            each.total.seconds = 1.0
    return advise(profile, program, may_restrict=may_restrict)


def advice_on(profile: Profile, program: str = PROGRAM) -> list[str]:
    """Return the codes of the advice on a profile."""
    with tidelog.open(program) as db:
        return [each.code for each in advise(profile, db.program, may_restrict=True)]


def test_another_order_is_advised_where_it_makes_far_fewer_bindings():
    """The order is written as `.plan` has it, and a `.plan` that asks for the bad one is named."""
    bad = rule("p(x) :- a(x), b(x).", Tally(5.0, 1_000_000, 10, 10))
    bad.cheaper = CheaperOrder(".plan 0: (1, 3, 2)", 2.0, 400.0)
    with tidelog.open(PROGRAM) as db:
        (advice,) = advise(a_profile(bad), db.program, may_restrict=True)
        bad.is_fixed = True
        (fixed,) = advise(a_profile(bad), db.program, may_restrict=True)

    assert (advice.code, advice.line) == ("atom-order", 7)
    assert "1,000,000 bindings for 10 derivations" in advice.message
    assert advice.hint == "write `.plan 0: (1, 3, 2)` below the rule"
    assert "leave it out" in fixed.hint


def test_a_bad_plan_is_found_in_a_real_run():
    """A `.plan` that pairs everything is advised against, with the order that is better."""
    program = """
    .decl edge(x: number, y: number)
    .decl label(y: number, z: number)
    .decl reach(x: number)
    reach(x) :- edge(x, _), x < 100.
    reach(z) :- reach(x), edge(x, y), label(y, z).
    .plan 0: (1, 3, 2)
    """
    # Too many facts in an iteration for the kernel that goes row by row, in orders of its own.
    facts = {"edge": [(n, 9000 + n) for n in range(900)], "label": [(9000 + n, n + 100) for n in range(900)]}
    with tidelog.open(program, facts=facts, profile=True) as db:
        advice = judged(db.profile(), db.program)
    with tidelog.open(program.replace("(1, 3, 2)", "(1, 2, 3)"), facts=facts, profile=True) as db:
        nothing = judged(db.profile(), db.program)

    assert [(each.code, each.line) for each in advice] == [("atom-order", 6)]
    assert "leave it out, or write `.plan 0: (1, 2, 3)`" in advice[0].hint
    assert nothing == []


def test_a_plan_that_keeps_bindings_from_choosing_is_found():
    """A cyclic rule joined in a fixed order is better off without its `.plan`, and the advice holds."""
    program = """
    .decl edge(x: number, y: number)
    .decl p(x: number, y: number)
    p(x, y) :- edge(x, y).
    p(x, z) :- p(x, y), p(y, z), edge(z, x). .plan 0: (1, 2, 3), 1: (2, 1, 3)
    """
    facts = {"edge": [(spoke, 0) for spoke in range(1, 500)] + [(0, spoke) for spoke in range(500, 1000)]}
    free = program.replace(".plan 0: (1, 2, 3), 1: (2, 1, 3)", "")
    with tidelog.open(program, facts=facts, profile=True) as db:
        bindings, advice = db.profile().strata[1].bindings, judged(db.profile(), db.program)
    with tidelog.open(free, facts=facts, profile=True) as db:
        few, nothing = db.profile().strata[1].bindings, judged(db.profile(), db.program)

    assert [each.code for each in advice] == ["atom-order"]
    assert advice[0].hint.startswith("leave out its `.plan`")
    assert bindings == 499 * 500
    assert few < 5_000
    assert nothing == []


def test_small_shares_are_not_worth_advice():
    """What takes less than a twentieth of the evaluation is left alone."""
    bad = rule("p(x) :- a(x), b(x).", Tally(0.1, 1_000_000, 10, 10))
    bad.cheaper = CheaperOrder(".plan 0: (1, 3, 2)", 2.0, 400.0)

    assert advice_on(a_profile(bad)) == []


def test_a_cross_product_that_is_mostly_dropped_is_told():
    """A join without a key whose pairs are dropped lacks a common variable."""
    pairs = OperatorProfile("join full q", "join", "q", 2_000, 4_000_000, 3.0)
    insert = OperatorProfile("insert p", "insert", "p", 10, 10, 0.0)

    assert advice_on(a_profile(rule("p(x) :- a(x), q(y).", Tally(5.0), pairs, insert))) == ["cross-product"]


def test_an_index_that_is_hardly_used_is_told():
    """An index that takes time to build for few lookups is named with the rule that needs it."""
    join = OperatorProfile("join full q by x = y", "join", "q", 10, 10, 0.1, key=["x"])
    profile = a_profile(rule("p(x) :- a(x), q(x, y).", Tally(0.2), join))
    profile.strata[0].indexes = [IndexProfile("q", ["x"], 1_000_000, 1 << 25, 4.0)]

    assert advice_on(profile) == ["costly-index"]


def test_a_relation_of_which_little_is_asked_is_restricted(folder: Path, command: Command):
    """`magic` is advised, and following it gives the same output from far fewer facts."""
    command("run", "prog.dl", "-p", "p.json", "-D", "whole")
    before = read_profile(folder / "p.json")
    advice = judged(before, tidelog.read_program(folder / "prog.dl"), may_restrict=True)
    declared = ".decl path(x: number, y: number)"
    (folder / "prog.dl").write_text(PROGRAM.replace(declared, f"{declared} magic"))
    command("run", "prog.dl", "-p", "q.json", "-D", "part")
    after = read_profile(folder / "q.json")

    assert [each.code for each in advice] == ["restrict"]
    assert judged(after, tidelog.read_program(folder / "prog.dl"), may_restrict=True) == []
    assert after.relations["path"] == 299 < before.relations["path"]
    assert (folder / "whole/out.csv").read_text() == (folder / "part/out.csv").read_text()


def test_a_session_is_not_advised_to_restrict():
    """A session can be asked for any relation."""
    with tidelog.open(PROGRAM, facts={"edge": [(n, n + 1) for n in range(300)]}, profile=True) as db:
        assert judged(db.profile(), db.program) == []


def test_spark_lines_have_a_bar_for_so_many_iterations():
    """A record of many iterations is as wide as it is long, and no line is too wide."""
    assert spark_line([(1.0, 1), (8.0, 1)]) == "▂█"
    assert spark_line([(4.0, 2), (4.0, 2)]) == "████"
    assert len(spark_line([(1.0, 1000)] * 7)) == 60
    assert spark_line([(0.0, 3)]) == "▁▁▁"


def test_a_profile_prints_as_tables():
    """`print(db.profile())` shows what the command shows."""
    with tidelog.open(PROGRAM, facts={"edge": [(1, 2), (2, 3)]}, profile=True) as db:
        text = str(db.profile())

    assert "stratum 1: path" in text
    assert "path(x, z) :- path(x, y), edge(y, z)." in text
