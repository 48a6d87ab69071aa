"""Programs as relational algebra: what is printed, what it means, and what is refused."""
# ruff: noqa: RUF001 - the symbols of relational algebra

import pyarrow as pa
import pytest
from hypothesis import given, settings

import tidelog
from support.programs import build, insert
from support.strategies import RandomProgram, programs, whole_language_programs
from tidelog import TidelogError
from tidelog.algebra.nodes import Fixpoint, Scan, Union
from tidelog.algebra.program import check_algebra
from tidelog.algebra.translate import translate_rule
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.engine.reference import ReferenceEngine
from tidelog.program.nodes import Program
from tidelog.values import Codec

PATHS = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
EDGES = pa.table({"x": [1, 2], "y": [2, 3]})


def tables_of(engine: ReferenceEngine, program: Program, codec: Codec) -> dict[str, pa.Table]:
    """Return the relations of an engine as Arrow tables; one without columns has its row."""
    tables = {}
    for name, relation in program.relations.items():
        arrays = [pa.nulls(engine.size(name))]
        for codes, column in zip(engine.facts(name), relation.columns, strict=True):
            arrays.append(codec.column_to_arrow(codes, column.type))
        names = [column.name for column in relation.columns]
        tables[name] = pa.Table.from_arrays(arrays, names=["", *names]).select(names)
    return tables


def rows(table: pa.Table) -> list[str]:
    """Return the rows as texts, in which NaN equals itself."""
    if not table.column_names:
        return ["()"] * table.num_rows
    return sorted(repr(row) for row in table.to_pylist())


def evaluated(program: RandomProgram) -> tuple[Program, ReferenceEngine, dict[str, pa.Table]]:
    """Return a random program with the engine that evaluated it, and its relations."""
    built = build(program.text)
    codec = Codec(built.types)
    engine = ReferenceEngine(built, codec, Settings(jobs=1, iteration_limit=500), program.functions)
    for name, facts in program.inputs.items():
        insert(engine, built.relations[name], codec, facts)
    engine.evaluate(SilentObserver())
    return built, engine, tables_of(engine, built, codec)


# --- what is printed -------------------------------------------------------------------------------


def test_a_program_is_printed_relation_by_relation():
    """A recursive relation is a fixpoint, others are unions of their rules; wide ones take lines."""
    text = PATHS + ".decl far(x: number)\nfar(x) :- path(x, _), !edge(x, _).\nfar(9)."

    algebra = build(text).algebra()

    assert str(algebra) == (
        "path = fix[path](π[x, y](edge) ∪ π[x, z](path ⋈ ρ[x→y, y→z](edge)))\n"
        "far = π[x](π[x](path) ▷ π[x](edge)) ∪ {(9)}"
    )
    assert str(algebra.rules["path(x, y) :- edge(x, y)."]) == "π[x, y](edge)"


def test_relations_defined_by_one_another_share_a_fixpoint():
    """Each of them is a fixpoint of all; what does not fit on a line is indented."""
    algebra = build("""
        .decl even(n: number)
        .decl odd(n: number)
        even(0).
        even(n + 1) :- odd(n), n < 100, n != 51, n != 53, n != 55, n != 57.
        odd(n + 1) :- even(n), n < 100, n != 50.
    """).algebra()

    assert isinstance(algebra["odd"], Fixpoint)
    assert str(algebra["odd"]) == (
        "fix[odd]\n"
        "  even = {(0)} ∪ π[(n + 1)](σ[n < 100 ∧ n ≠ 51 ∧ n ≠ 53 ∧ n ≠ 55 ∧ n ≠ 57](odd))\n"
        "  odd = π[(n + 1)](σ[n < 100 ∧ n ≠ 50](even))"
    )


def test_input_facts_of_a_derived_relation_are_a_source():
    """A relation that is given facts and has rules is the union of both."""
    algebra = build(".decl a(x: number)\n.input a\na(1).").algebra()

    assert algebra["a"] == Union((Scan(*scan_of(algebra), is_input=True), algebra.rules["a(1)."]))
    assert str(algebra["a"]) == "input a ∪ {(1)}"


def scan_of(algebra: tidelog.algebra.Algebra) -> tuple:
    """Return what a scan of the only input is made of."""
    (relation,) = algebra.inputs.values()
    return relation, algebra.types


def test_expressions_know_their_columns():
    """The columns of a relation's expression are those declared; those of a body are variables."""
    algebra = build(PATHS).algebra()

    assert algebra["path"].columns == ("x", "y")
    assert algebra.rules["path(x, z) :- path(x, y), edge(y, z)."].source.columns == ("x", "y", "z")


# --- what it means ---------------------------------------------------------------------------------


def test_an_expression_is_evaluated_over_tables():
    """A rule reads the tables of its relations; a fixpoint needs none for what it defines."""
    algebra = build(PATHS).algebra()
    step = algebra.rules["path(x, z) :- path(x, y), edge(y, z)."]

    found = step.evaluate({"edge": EDGES, "path": EDGES})

    assert found.to_pylist() == [{"x": 1, "y": 3}]
    assert algebra["path"].evaluate({"edge": EDGES}).to_pylist() == [
        {"x": 1, "y": 2}, {"x": 1, "y": 3}, {"x": 2, "y": 3},
    ]  # fmt: skip


def test_a_session_lends_its_relations_as_tables():
    """Anything that speaks Arrow is a table; columns are matched by name."""
    with tidelog.open(PATHS, facts={"edge": [(1, 2), (2, 3)]}, engine="reference") as db:
        found = db.program.algebra().evaluate({"edge": db["edge"]})
        turned = db.program.algebra().evaluate({"edge": EDGES.select(["y", "x"])})

        assert found["path"] == turned["path"] == db["path"].to_arrow()


def test_inputs_without_a_table_are_empty():
    """A program is evaluated whatever of its inputs is given, and facts of its text hold."""
    algebra = build(PATHS + "edge(7, 8).\n.decl yes()\nyes() :- path(7, 8).\n.decl no()\n").algebra()

    found = algebra.evaluate({})

    assert found["path"].to_pylist() == [{"x": 7, "y": 8}]
    assert (found["yes"].num_rows, found["no"].num_rows) == (1, 0)


def test_records_are_their_text():
    """Records and algebraic values come and go as the text that sessions write."""
    algebra = build("""
        .type Pair = [a: number, b: symbol]
        .decl p(p: Pair)
        .decl q(b: symbol, p: Pair)
        q(b, [a + 1, b]) :- p([a, b]).
    """).algebra()

    found = algebra.evaluate({"p": pa.table({"p": ["[1, x]", "nil"]})})

    assert found["q"].to_pylist() == [{"b": "x", "p": "[2, x]"}]


@settings(max_examples=60)
@given(program=programs(max_facts=4))
def test_rules_mean_what_the_reference_engine_derives(program: RandomProgram):
    """Every rule's expression gives the facts that the reference engine derives by the rule."""
    built, engine, tables = evaluated(program)
    codec = Codec(built.types)

    for rule in built.rules:
        columns = built.relations[rule.head.relation].columns
        facts = list(dict.fromkeys(engine._derive(engine._rules[rule.id])))
        values = list(zip(*facts, strict=True)) or [()] * len(columns)
        expected = {
            column.name: codec.column_to_arrow(codec.encode_column(each, column.type), column.type)
            for column, each in zip(columns, values, strict=True)
        }

        found = translate_rule(rule, built).evaluate(tables)

        assert rows(found) == rows(pa.table(expected))


def assert_agrees(program: RandomProgram) -> None:
    """Compare a program's algebra with the reference engine; what is refused stands in the program."""
    built, _, tables = evaluated(program)
    refusals = list(check_algebra(built))
    if refusals:
        with pytest.raises(TidelogError) as caught:
            built.algebra()
        assert caught.value.diagnostics == tuple(refusals)
        assert all(each.code == "no-algebra" and each.span is not None for each in refusals)
        return
    algebra = built.algebra()

    found = algebra.evaluate({name: tables[name] for name in program.inputs})

    assert {name: rows(table) for name, table in found.items()} == {
        name: rows(tables[name]) for name in built.relations
    }


@settings(max_examples=100)
@given(program=programs(max_facts=4))
def test_algebra_agrees_with_the_reference_engine(program: RandomProgram):
    """Joins, negation, aggregates, ranges, records, equivalences, recursion: all relations are the same."""
    assert_agrees(program)


@settings(max_examples=40)
@given(program=whole_language_programs())
def test_the_whole_language_agrees_or_is_refused(program: RandomProgram):
    """Components, nullary relations, keys, gates: the same facts, or a refusal that says where."""
    assert_agrees(program)


# --- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        (".decl a(x: number) choice-domain x\na(1).", "the choice-domain of `a`"),
        (".decl a(x: number)\n.limitsize a(n=5)\na(1).", "the limitsize of `a`"),
        (".decl a(x: number)\na(1). a(x) <= a(y) :- x < y.", "the subsumption of `a`"),
        (".decl a(x: number)\n.decl b(x: number)\na(autoinc()) :- b(_).", "`autoinc()`"),
        (".functor f(x: number): number\n.decl a(x: number)\na(@f(1)).", "the user functor `@f`"),
        ('.decl a(x: number)\n.decl s(x: symbol)\ns("a"). a(ord(x)) :- s(x).', "`ord`"),
        (
            '.decl s(x: symbol)\n.decl t(x: symbol)\ns("a"). t(x) :- x = @@concat y : "", { s(y) }.',
            "the aggregate `@concat`",
        ),
    ],
)
def test_what_is_not_algebra_is_refused(text: str, construct: str):
    """The diagnostic names the construct and says where it stands."""
    program = build(text)

    with pytest.raises(TidelogError) as caught:
        program.algebra()

    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "no-algebra"
    assert construct in diagnostic.message
    assert diagnostic.span is not None


@pytest.mark.parametrize(
    ("tables", "code"),
    [
        ({}, "no-table"),
        ({"edge": pa.table({"x": [1]})}, "column-names"),
        ({"edge": pa.table({"x": ["a"], "y": ["b"]})}, "wrong-value-type"),
        ({"edge": pa.table({"x": [None], "y": [1]})}, "wrong-value-type"),
        ({"edge": [(1, 2)]}, "bad-argument"),
        ([EDGES], "bad-argument"),
    ],
)
def test_wrong_tables_are_diagnostics(tables: object, code: str):
    """A table that is missing, or that has other columns or values, is a mistake with a code."""
    expression = build(PATHS).algebra()["path"]

    with pytest.raises(TidelogError) as caught:
        expression.evaluate(tables)

    assert [each.code for each in caught.value.diagnostics] == [code]


def test_only_inputs_are_given():
    """A table for a relation that rules derive, or that is not there, is refused."""
    algebra = build(PATHS).algebra()

    with pytest.raises(TidelogError, match="`path` is not an input"):
        algebra.evaluate({"path": EDGES})
    with pytest.raises(TidelogError, match="did you mean `edge`"):
        algebra.evaluate({"egde": EDGES})
