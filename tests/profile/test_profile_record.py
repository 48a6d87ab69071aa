"""What an evaluation writes into its profile."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.cli.app import app
from tidelog.engine.profile.iterations import MOST_RECORDS, MOST_TALLIES, IterationRecords
from tidelog.engine.profile.record import IterationProfile, RuleProfile, StratumProfile, Tally
from tidelog.profile.json_form import read_profile
from tidelog.profile.profile import Profile

PATHS = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z).
"""
CHAIN = {"edge": [(number, number + 1) for number in range(40)]}
# One third of the nodes is reached from everywhere: joined pair by pair, the triangle wastes bindings.
TRIANGLES = """
.decl edge(x: number, y: number)
.decl reach(x: number, y: number)
.decl triangle(x: number, y: number, z: number)
reach(x, y) :- edge(x, y).
reach(x, z) :- reach(x, y), edge(y, z), z < 60.
triangle(x, y, z) :- edge(x, y), edge(y, z), edge(z, x).
"""
CLOSED = """
.decl edge(x: number, y: number)
.decl near(x: number, y: number)
near(x, y) :- edge(x, y).
near(x, z) :- edge(y, z), near(x, y), near(x, z).
near(x, z) :- near(x, y), near(y, z), edge(x, z).
"""
STAR = {"edge": [(0, spoke) for spoke in range(1, 400)] + [(spoke, 400 + spoke) for spoke in range(1, 400)]}


def stratum_of(profile: Profile, relation: str) -> StratumProfile:
    """Return the stratum of a relation."""
    return next(each for each in profile.strata if relation in each.relations)


def profiled(program: str, facts: object, **options: object) -> Profile:
    """Return the profile of a session's evaluation."""
    with tidelog.open(program, facts=facts, profile=True, **options) as db:  # type: ignore[arg-type]
        return db.profile()


def test_a_rule_has_its_bindings_derivations_and_new_facts():
    """Totals of delta rules add up to what the stratum derived."""
    stratum = stratum_of(profiled(PATHS, CHAIN), "path")

    assert stratum.facts == 40 * 41 // 2
    assert sum(rule.total.new_facts for rule in stratum.rules) == stratum.facts
    assert sum(rule.total.derivations for rule in stratum.rules) == stratum.derivations
    assert sum(rule.total.bindings for rule in stratum.rules) == stratum.bindings
    assert [(rule.line, rule.delta_atom) for rule in stratum.rules] == [(4, None), (5, 1), (5, 2)]
    assert all(rule.total.duplicates >= 0 for rule in stratum.rules)


def test_iterations_have_what_their_rules_did():
    """Every iteration is there, one after the other, and its tallies add up to the totals."""
    stratum = stratum_of(profiled(PATHS, CHAIN), "path")

    assert [record.first for record in stratum.records] == list(range(1, stratum.iterations + 1))
    assert sum(record.new_facts for record in stratum.records) == stratum.facts
    assert all(one.begun <= other.begun for one, other in pairwise(stratum.records))
    for number, rule in enumerate(stratum.rules):
        tallies = [record.rules.get(number, Tally()) for record in stratum.records]
        assert sum(tally.derivations for tally in tallies) == rule.total.derivations
        assert sum(tally.new_facts for tally in tallies) == rule.total.new_facts


def test_what_an_operator_yields_the_next_one_takes():
    """Rows flow through a chain, from the scan of the delta to the insertion of candidates."""
    stratum = stratum_of(profiled(PATHS, CHAIN), "path")
    rule = stratum.rules[1]

    (chain,) = [each for each in rule.chains if each.operators[0].rows_out]
    assert [operator.kind for operator in chain.operators] == ["scan", "join", "insert"]
    assert chain.operators[0].rows_out == stratum.facts
    for one, other in pairwise(chain.operators):
        assert other.rows_in == one.rows_out
    assert chain.operators[-1].rows_in == rule.total.derivations
    assert all(operator.seconds is not None and operator.seconds >= 0.0 for operator in chain.operators)
    assert sum(operator.seconds or 0.0 for operator in chain.operators) <= chain.seconds


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("program", [PATHS, TRIANGLES])
def test_profiled_runs_count_the_same_as_others(program: str, jobs: int):
    """Facts and derivations do not depend on being profiled, with one thread or more."""
    facts = {"edge": [(number % 97, (number * 7) % 89) for number in range(600)]}

    with tidelog.open(program, facts=facts, jobs=jobs) as plain:
        expected = {name: list(plain[name]) for name in plain}
        derivations = [each.derivations for each in plain.statistics.strata]
    with tidelog.open(program, facts=facts, jobs=jobs, profile=True) as db:
        found = {name: list(db[name]) for name in db}
        assert found == expected
        assert [each.derivations for each in db.statistics.strata] == derivations
        assert [each.derivations for each in db.profile().strata] == derivations


def test_alternatives_of_a_cyclic_rule_have_their_own_rows():
    """A binding goes on by one alternative, and each of them says how many it got."""
    stratum = stratum_of(profiled(CLOSED, STAR), "near")
    operators = [operator for rule in stratum.rules for chain in rule.chains for operator in chain.operators]
    choices = [place for place, operator in enumerate(operators) if operator.kind == "choose"]

    assert choices
    for place in choices:
        taken = operators[place]
        assert taken.rows_out <= taken.rows_in == operators[place - 1].rows_out
        assert operators[place + 1].depth == 1
        assert operators[place + 1].rows_in <= taken.rows_out


def test_the_body_of_an_aggregate_is_measured(tmp_path: Path):
    """What is joined inside an aggregate has its rows too, one deeper than the aggregate."""
    program = """
    .decl edge(x: number, y: number)
    .decl node(x: number)
    .decl reached(x: number, c: number)
    .output reached
    node(1). node(2). node(3).
    edge(1, 2). edge(2, 3). edge(2, 4). edge(3, 1).
    reached(x, c) :- node(x), c = count : { edge(x, y), edge(y, _) }.
    """
    (tmp_path / "p.dl").write_text(program)

    files = [str(tmp_path / "p.dl"), "-D", str(tmp_path), "-p", str(tmp_path / "p.json")]
    app(["run", *files], standalone_mode=False)

    stratum = stratum_of(read_profile(tmp_path / "p.json"), "reached")
    operators = stratum.rules[0].chains[0].operators
    rows = [(each.kind, each.depth, each.rows_in, each.rows_out) for each in operators]
    assert rows == [
        ("scan", 0, 0, 3),
        ("reduce", 0, 3, 3),
        ("start", 1, 0, 3),
        ("join", 1, 3, 4),
        ("join", 1, 4, 4),
        ("insert", 0, 3, 3),
    ]


def test_strata_that_a_pass_made_are_called_by_what_they_are_for():
    """A session keeps aggregates and projections as relations, whose names nobody has written."""
    program = """
    .decl edge(x: number, y: number)
    .decl most(n: number)
    .decl end(x: number)
    .decl numbered(n: number)
    most(n) :- n = max c : { edge(x, _), c = count : { edge(x, _) } }.
    end(y) :- edge(_, y), !edge(y, _).
    numbered(autoinc()) :- edge(_, _).
    """

    profile = profiled(program, CHAIN)

    titles = {stratum.title for stratum in profile.strata}
    written = {"edge", "most", "end", "numbered"}
    made = {"the aggregate count", "the aggregate max", "fewer columns of edge", "numbers of autoinc()"}
    assert titles == written | made


def test_indexes_are_listed_with_their_memory():
    """An index of the stratum's own relation has its key, facts and bytes."""
    stratum = stratum_of(profiled(PATHS, CHAIN), "path")

    assert {tuple(index.key) for index in stratum.indexes} == {("x",), ("y",)}
    assert all(index.rows == stratum.facts and index.memory_bytes > 0 for index in stratum.indexes)


def test_a_session_without_a_profile_has_totals_only():
    """Nothing is measured by rule unless it is asked for; totals and epochs are known anyway."""
    with tidelog.open(PATHS, facts=CHAIN) as db:
        db.apply(insert={"edge": [(100, 101)]})
        profile = db.profile()

    stratum = stratum_of(profile, "path")
    assert (stratum.rules, stratum.records) == ([], [])
    assert stratum.facts == 40 * 41 // 2
    assert [epoch.epoch for epoch in profile.epochs] == [1]


def test_an_epoch_has_what_was_decided_and_its_budget():
    """Decisions, predictions, budgets and work are those of the epoch's report."""
    with tidelog.open(PATHS, facts=CHAIN, profile=True) as db:
        delta = db.apply(delete={"edge": [(39, 40)]})
        profile = db.profile()

    (epoch,) = profile.epochs
    assert (epoch.changes, epoch.inserted, epoch.deleted) == (1, 0, 41)
    for report, stratum in zip(delta.strata, epoch.strata, strict=True):
        assert (stratum.action, stratum.work) == (report.action.value, report.work)
        assert stratum.predicted_work == report.predicted_work
    path = next(each for each in epoch.strata if each.relations == ["path"])
    assert path.budget is not None
    assert path.budget >= 20_000


def test_recomputed_strata_do_not_change_the_profile_of_the_evaluation():
    """An epoch that evaluates a stratum again is an epoch, and not part of the evaluation."""
    with tidelog.open(PATHS, facts=CHAIN, profile=True) as db:
        before = stratum_of(db.profile(), "path")
        derivations = before.derivations, [rule.total.derivations for rule in before.rules]
        db.apply(insert={"edge": [(50, 51)]}, strategy="recompute")
        after = stratum_of(db.profile(), "path")

    assert (after.derivations, [rule.total.derivations for rule in after.rules]) == derivations


def test_a_program_that_widens_its_codes_is_recorded_once():
    """A stratum that runs again with wider codes has the rules and rows of the second run."""
    program = ".decl n(x: number)\nn(2147483646).\nn(x + 1) :- n(x), x < 2147483660.\n"

    with tidelog.open(program, profile=True) as db:
        stratum = stratum_of(db.profile(), "n")

    assert stratum.facts == 15
    assert [record.first for record in stratum.records] == list(range(1, stratum.iterations + 1))
    assert len(stratum.rules) == 1
    assert stratum.rules[0].total.derivations == 14


def test_without_a_profile_nothing_of_it_is_loaded(tmp_path: Path):
    """A plain run imports no module of profiles, and its rules run in the plain steps."""
    (tmp_path / "p.dl").write_text(PATHS + ".printsize path\nedge(1, 2).\n")
    code = (
        "import sys; from tidelog.cli.app import app; app(['run', 'p.dl'], standalone_mode=False);"
        "print([name for name in sys.modules if 'profile' in name and name.startswith('tidelog')])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines() == ["path\t1", "[]"]


def record(first: int, iterations: int = 1, rules: int = 1) -> IterationProfile:
    """Return a record of iterations in which each rule found one fact in each."""
    tallies = {rule: Tally(0.5, iterations, iterations, iterations) for rule in range(rules)}
    return IterationProfile(first, iterations, 0.0, 0.5, iterations * rules, rules=tallies)


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=60), st.integers(1, 5))
def test_records_stay_few_and_lose_nothing(sizes: list[int], rules: int):
    """However many iterations come, one by one or many at once, the records are few and add up."""
    records = IterationRecords()
    first = 1
    for size in sizes:
        records.add(record(first, size, rules))
        first += size

    assert records.records[0].first == 1
    for one, other in pairwise(records.records):
        assert one.first + one.iterations == other.first
    assert sum(each.iterations for each in records.records) == sum(sizes)
    assert sum(each.new_facts for each in records.records) == rules * sum(sizes)
    for rule in range(rules):
        assert sum(each.rules[rule].derivations for each in records.records) == sum(sizes)


def test_a_million_iterations_take_a_thousand_records():
    """Neighbouring iterations are kept together, about as many in each record."""
    records = IterationRecords()
    for first in range(1, 100_001):
        records.add(record(first))

    assert MOST_RECORDS // 4 <= len(records.records) <= MOST_RECORDS
    spans = {each.iterations for each in records.records[:-1]}
    assert len(spans) == 1


def test_a_stratum_of_many_rules_has_fewer_records():
    """The tallies of rules are bounded too."""
    records = IterationRecords()
    for first in range(1, 501):
        records.add(record(first, rules=200))

    assert sum(len(each.rules) for each in records.records) <= MOST_TALLIES


def test_bindings_per_fact_are_those_of_the_facts_scanned():
    """What a rule made is told for each fact of its delta."""
    stratum = stratum_of(profiled(PATHS, CHAIN), "path")
    rule: RuleProfile = stratum.rules[1]

    assert rule.bindings_per_fact() == pytest.approx(rule.total.bindings / stratum.facts)


def test_small_iterations_are_one_record():
    """They run in one kernel, and their only delta rule has all that they found; a wide part follows."""
    text = """
    .decl next(x: number, y: number)
    .decl reached(x: number)
    reached(0).
    reached(y) :- reached(x), next(x, y).
    """
    wide = [(1000, 5000 + x) for x in range(1000)] + [(5000 + x, 7000 + x) for x in range(1000)]
    path = [(x, x + 1) for x in range(1000)]

    stratum = stratum_of(profiled(text, {"next": path + wide}, jobs=1), "reached")

    largest = max(stratum.records, key=lambda each: each.iterations)
    assert largest.iterations > 800
    assert stratum.iterations == 1004
    assert sum(each.iterations for each in stratum.records) == 1004
    assert sum(each.new_facts for each in stratum.records) == stratum.facts == 3001
    assert [rule.total.derivations for rule in stratum.rules] == [3000]
    assert [rule.total.new_facts for rule in stratum.rules] == [3000]
    assert stratum.rules[0].total.bindings == stratum.bindings
