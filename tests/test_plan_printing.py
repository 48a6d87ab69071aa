"""Plans and relational algebra as text, and what the algebra means."""
# ruff: noqa: RUF001 - the symbols of relational algebra

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from programs import build, insert
from strategies import RandomProgram, programs
from tidelog.algebra import nodes as algebra
from tidelog.algebra.aggregates import combine
from tidelog.algebra.printing import columns_of, print_algebra
from tidelog.algebra.translate import translate_relation, translate_rule
from tidelog.cli.plan_report import report_plan
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.engine.reference import ReferenceEngine
from tidelog.plan import plan_stratum
from tidelog.plan.passes import keep_wanted
from tidelog.plan.printing import indexes_of, print_plan
from tidelog.plan.statistics import KnownSizes
from tidelog.program.nodes import Constraint, Program, Term, Variable
from tidelog.values import Codec, Kind, NoValueError, Value

GOLDEN = Path(__file__).parent / "golden" / "plan"

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

    assert print_algebra(translate_rule(program.rules[0], program)) == expected


def test_relation_is_the_union_of_its_rules():
    """All rules of a relation together are one expression."""
    program = build(EDGES + "path(x, y) :- edge(x, y). path(x, y) :- edge(y, x).")

    expression = translate_relation("path", program)

    assert print_algebra(expression) == "π[x, y](edge) ∪ π[x, y](ρ[x→y, y→x](edge))"
    assert columns_of(expression) == ("x", "y")


def test_plan_names_the_indexes_it_needs():
    """A join looks facts up by the columns that are bound."""
    program = build(EDGES + "path(x, z) :- path(x, y), edge(y, z).")
    plan = plan_stratum(program.strata[1], program, KnownSizes())

    text = print_plan(plan, program)

    assert indexes_of(plan) == (("edge", (0,)),)
    assert "path(x, z) :- path(x, y), edge(y, z)." in text
    assert "scan delta path: x, y" in text
    assert "index edge by x" in text


# --- what an expression means ----------------------------------------------------------------

Row = dict[str, Value]


class Evaluator:
    """Evaluates algebra row by row over the facts of a reference engine."""

    def __init__(self, engine: ReferenceEngine, program: Program) -> None:
        self.facts = engine._facts
        self.solver = engine._solver
        self.program = program

    def rows(self, expression: algebra.Expression, given: list[Row]) -> list[Row]:
        """Return the rows of an expression; `given` are those around an aggregate."""
        match expression:
            case algebra.Unit():
                return [{}]
            case algebra.Given():
                return distinct({name: row[name] for name in expression.columns} for row in given)
            case algebra.Scan():
                facts = self.facts[expression.relation]
                return [dict(zip(expression.columns, fact, strict=True)) for fact in facts]
            case algebra.Join():
                right = self.rows(expression.right, given)
                return [
                    left | other
                    for left in self.rows(expression.left, given)
                    for other in right
                    if agree(left, other)
                ]
            case algebra.Antijoin():
                right = self.rows(expression.right, given)
                left = self.rows(expression.left, given)
                return [row for row in left if not any(agree(row, other) for other in right)]
            case algebra.Union():
                return distinct(row for part in expression.sources for row in self.rows(part, given))
            case algebra.Group():
                rows = self.rows(expression.source, given)
                body = self.rows(expression.body, rows)
                return [new for row in rows for new in self.grouped(expression, row, body)]
            case _:
                rows = self.rows(expression.source, given)
                made = [new for row in rows for new in self.made(expression, row)]
                return distinct(made) if isinstance(expression, algebra.Project) else made

    def made(self, expression: algebra.Expression, row: Row) -> Iterator[Row]:
        """Yield what becomes of one row."""
        match expression:
            case algebra.Select():
                yield from self.solved(expression.constraints, row)
            case algebra.Rename():
                yield {new: row[old] for old, new in expression.names}
            case algebra.Project():
                values = [(name, self.value(term, row)) for name, term in expression.columns]
                if all(value is not MISSING for _, value in values):
                    yield dict(values)
            case algebra.Extend():
                value = self.value(expression.term, row)
                if value is not MISSING:
                    yield row | {expression.column: value}
            case algebra.TakeApart():
                column = Variable(expression.column, expression.pattern.type, span=expression.pattern.span)
                kind = self.program.kind_of(column.type)
                same = Constraint("=", kind, column, expression.pattern, span=column.span)
                yield from self.solved((same,), row)
            case algebra.Expand():
                target = replace(expression.generator.target, name=expression.column)
                yield from self.solved((replace(expression.generator, target=target),), row)

    def grouped(self, group: algebra.Group, row: Row, body: list[Row]) -> Iterator[Row]:
        """Yield a row with its aggregate."""
        aggregate = group.aggregate
        members = [other for other in body if all(agree({n: row[n]}, other) for n in group.by)]
        target = aggregate.target
        values = [0 if target is None else self.value(target, row | member) for member in members]
        try:
            value = combine(
                aggregate.functor, aggregate.kind, [each for each in values if each is not MISSING]
            )
        except NoValueError:
            return
        yield row | {group.column: value}

    def solved(self, body: tuple, row: Row) -> Iterator[Row]:
        """Yield the row as often as a body holds for it."""
        yield from (dict(binding) for binding in self.solver.bindings(body, row))

    def value(self, term: Term, row: Row) -> Value:
        """Return a term's value, or MISSING."""
        try:
            return self.solver.terms.value(term, row)
        except NoValueError:
            return MISSING


MISSING: Value = "no value"


def agree(left: Row, right: Row) -> bool:
    """Say whether rows have the same values under the same names."""
    return all(as_key(left[name]) == as_key(right[name]) for name in left.keys() & right.keys())


def distinct(rows: Iterator[Row]) -> list[Row]:
    """Return each row once."""
    return list({as_key(tuple(row.items())): row for row in rows}.values())


def as_key(value: Value) -> str:
    """Return a text that is the same for the same values; NaN equals itself."""
    return repr(value)


@settings(max_examples=40)
@given(program=programs(max_facts=4))
def test_algebra_means_what_the_rule_means(program: RandomProgram):
    """Every rule's expression gives the facts that the reference engine derives by the rule."""
    built = build(program.text)
    codec = Codec(built.types)
    engine = ReferenceEngine(built, codec, Settings(jobs=1, iteration_limit=500), {})
    for name, facts in program.inputs.items():
        insert(engine, built.relations[name], codec, facts)
    engine.evaluate(SilentObserver())
    evaluator = Evaluator(engine, built)

    for rule in built.rules:
        expected = {as_key(fact) for fact in engine._derive(engine._rules[rule.id])}

        rows = evaluator.rows(translate_rule(rule, built), [])

        assert {as_key(tuple(row.values())) for row in rows} == expected


def test_kinds_are_those_of_columns():
    """A selection made for a constant compares values of its column's kind."""
    program = build('.decl s(x: symbol)\n.decl r(x: symbol)\nr(x) :- s(x), s("a").')

    expression = translate_rule(program.rules[0], program)

    selects = [node for node in walk(expression) if isinstance(node, algebra.Select)]
    assert [constraint.kind for node in selects for constraint in node.constraints] == [Kind.SYMBOL]


def walk(expression: algebra.Expression) -> Iterator[algebra.Expression]:
    """Yield an expression and all below it."""
    yield expression
    for name in ("source", "left", "right", "body"):
        below = getattr(expression, name, None)
        if below is not None:
            yield from walk(below)
