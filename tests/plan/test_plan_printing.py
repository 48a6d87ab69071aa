"""Plans and the relational algebra of rules as text."""
# ruff: noqa: RUF001 - the symbols of relational algebra

import os
from pathlib import Path

import pytest

from support.programs import build
from tidelog.algebra.nodes import Select, walk_expression
from tidelog.algebra.plan_report import report_plan
from tidelog.algebra.translate import translate_rule
from tidelog.plan import plan_stratum
from tidelog.plan.measured import Measurements
from tidelog.plan.passes import keep_wanted
from tidelog.plan.printing import indexes_of, print_plan
from tidelog.plan.statistics import KnownSizes
from tidelog.values import Kind

GOLDEN = Path(__file__).parents[1] / "golden" / "plan"

EDGES = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.decl one(x: number)
"""


@pytest.mark.parametrize("name", ["aggregates", "closure", "pointsto"])
def test_plan_reads_as_before(name: str):
    """Algebra, operators, orders, sizes and indexes of a program; TIDELOG_GOLDEN=write renews them."""
    program = keep_wanted(build((GOLDEN / f"{name}.dl").read_text(encoding="utf-8"), f"{name}.dl"))
    sizes = KnownSizes({"edge": 10_000, "sale": 500, "closed": 2, "assign": 1_000, "load": 200, "store": 100})
    golden = GOLDEN / f"{name}.plan"

    report = report_plan(program, sizes)

    if os.environ.get("TIDELOG_GOLDEN") == "write":
        golden.write_text(report, encoding="utf-8")
    assert report == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("path(x, y) :- edge(x, y).", "π[x, y](edge)"),
        ("path(x, z) :- path(x, y), edge(y, z).", "π[x, z](path ⋈ ρ[x→y, y→z](edge))"),
        ("one(y) :- edge(5, y).", "π[y](π[y](σ[x = 5](edge)))"),
        ("one(x) :- edge(x, x).", "π[x](π[x](σ[x = y](edge)))"),
        ("one(x) :- edge(x, _), !edge(_, x).", "π[x](π[x](edge) ▷ ρ[y→x](π[y](edge)))"),
        ("path(a, b) :- one(a), one(b), a <= b.", "π[a, b](σ[a ≤ b](ρ[x→a](one) × ρ[x→b](one)))"),
        ("one(x + 1) :- edge(x, y), y > 2.", "π[(x + 1)](σ[y > 2](edge))"),
        ("one(n) :- n = count : { edge(x, y) }.", "π[n](γ[n ← count(*)](edge))"),
        ("path(x, n) :- one(x), n = max y : { edge(x, y) }.", "π[x, n](one ⋈ γ[x; n ← max(y)](edge))"),
        ("one(1).", "{(1)}"),
    ],
)
def test_rule_as_algebra(rule: str, expected: str):
    """A rule is a projection of joined, selected and renamed relations."""
    program = build(EDGES + rule)

    assert str(translate_rule(program.rules[0], program)) == expected


def test_plan_names_the_indexes_it_needs():
    """A join looks facts up by the columns that are bound."""
    program = build(EDGES + "path(x, z) :- path(x, y), edge(y, z).")
    plan = plan_stratum(program.strata[1], program, KnownSizes())

    text = print_plan(plan, program)

    assert indexes_of(plan) == (("edge", (0,)),)
    assert "path(x, z) :- path(x, y), edge(y, z)." in text
    assert "scan delta path: x, y" in text
    assert "index edge by x" in text


def test_kinds_are_those_of_columns():
    """A selection made for a constant compares values of its column's kind."""
    program = build('.decl s(x: symbol)\n.decl r(x: symbol)\nr(x) :- s(x), s("a").')

    expression = translate_rule(program.rules[0], program)

    selects = [node for node in walk_expression(expression) if isinstance(node, Select)]
    assert [constraint.kind for node in selects for constraint in node.constraints] == [Kind.SYMBOL]


def test_measured_plans_stand_for_those_of_their_rules():
    """A rule that was planned again has each plan that ran; one that never ran has its last plan."""
    program = build(EDGES + "path(x, z) :- path(x, y), edge(y, z).")
    plan = plan_stratum(program.strata[1], program, KnownSizes()).repeated[0]
    measurements = Measurements()
    for edges, bindings in ((10, 0), (100, 40), (1_000, 400)):
        measured = measurements.begin(plan, program, KnownSizes({"edge": edges}))
        measured.bindings.update({(0,): bindings // 4, (1,): bindings} if bindings else {})

    report = report_plan(program, KnownSizes(), measurements.gather())

    assert [line.strip() for line in report.split("\n") if "join" in line] == [
        "join full edge by x = y: y as z (~10 each, measured 4: 40) → x, z",
        "join full edge by x = y: y as z (~32 each, measured 4: 400) → x, z",
    ]
    assert "measured 5 for each of 10" in report
