"""The conformance suite on Spark, every stratum on workers wherever it can be."""

import pytest
from hypothesis import HealthCheck, given, settings

from conformance.functions import FUNCTIONS
from conformance.test_conformance import CASES, NAMES
from conformance.test_engines_agree import LIMIT
from conformance.test_libraries import LIBRARIES
from conformance.test_libraries import NAMES as LIBRARY_NAMES
from support.compiled import SOURCES, library, needs_compiler
from support.programs import build, insert, not_yet, outputs, read, read_inputs, run, show
from support.strategies import RandomProgram, dense_programs, programs
from tidelog.engine.functions import bind_functions
from tidelog.engine.lattice_tables import with_tables
from tidelog.engine.libraries import Libraries
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.engine.spark.engine import SparkEngine, Where
from tidelog.engine.spark.options import SparkOptions
from tidelog.values import Codec

# What Spark cannot do yet, with the reason.
GAPS: dict[str, str] = {}


def evaluate(spark, program, inputs, functions, *, options=None, limit=None):
    """Return every relation after evaluation on workers, and where each stratum ran."""
    codec = Codec(program.types)
    chosen = SparkOptions(spark, driver_facts=-1, partners=2, **(options or {}))
    engine = SparkEngine(program, codec, limit or Settings(jobs=1), with_tables(program, functions), chosen)
    for name, facts in inputs.items():
        insert(engine, program.relations[name], codec, facts)
    engine.evaluate(SilentObserver())
    relations = {name: read(engine, relation, codec) for name, relation in program.relations.items()}
    return relations, engine.placements


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=not_yet("spark", GAPS[n]) if n in GAPS else ()) for n in NAMES]
)
def test_case_gives_its_relations(spark, name):
    """Spark derives exactly the facts that stand beside the program."""
    program = build((CASES / f"{name}.dl").read_text(encoding="utf-8"), f"{name}.dl")
    inputs = read_inputs(program, CASES / f"{name}.facts")
    expected = (CASES / f"{name}.expected").read_text(encoding="utf-8")

    relations, _ = evaluate(spark, program, inputs, FUNCTIONS)

    assert show(relations, outputs(program)) == expected


@needs_compiler
@pytest.mark.parametrize("name", LIBRARY_NAMES)
def test_libraries_are_called_in_the_driver(spark, name):
    """Functors of C libraries give what stands beside the program; their strata say why they stay."""
    program = build((SOURCES / f"{name}.dl").read_text(encoding="utf-8"), f"{name}.dl")
    inputs = read_inputs(program, SOURCES / f"{name}.facts")
    libraries = Libraries(tuple(str(library(each)) for each in LIBRARIES), (), 64)

    relations, placements = evaluate(spark, program, inputs, bind_functions(program, {}, libraries))

    assert show(relations, outputs(program)) == (SOURCES / f"{name}.expected").read_text(encoding="utf-8")
    assert any(each.where is Where.DRIVER for each in placements)


@settings(max_examples=5, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(program=programs() | dense_programs())
def test_spark_agrees_with_the_reference(spark, program: RandomProgram):
    """Spark derives the same facts as naive substitution, in every relation."""
    expected = run(program.text, inputs=program.inputs, settings=LIMIT)

    found, _ = evaluate(spark, build(program.text), program.inputs, {}, limit=LIMIT)

    assert found == expected


RECURSIVE = """
.decl e(x: number, y: number)
.input e
.decl t(x: number, y: number)
.output t
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), t(y, z).
.decl n(x: number)
n(x) :- e(x, _).
n(y) :- e(_, y).
.decl apart(x: number, y: number)
.output apart
apart(x, y) :- n(x), n(y), !t(x, y), x < y.
"""
EDGES = {"e": ((1, 2), (2, 3), (3, 1), (4, 5), (5, 6))}


@pytest.mark.parametrize(
    ("options", "wheres"),
    [
        ({}, {Where.PARTNERS, Where.DATAFRAME, Where.NOWHERE}),
        ({"rendezvous": "barrier"}, {Where.PARTNERS, Where.DATAFRAME, Where.NOWHERE}),
        ({"exchange": "shuffle"}, {Where.SHUFFLE, Where.DATAFRAME, Where.NOWHERE}),
    ],
)
def test_every_way_gives_the_same(spark, options, wheres):
    """Barrier stages, however partners meet, and the shuffle derive what the reference engine derives."""
    expected = run(RECURSIVE, inputs=EDGES)

    found, placements = evaluate(spark, build(RECURSIVE), EDGES, {}, options=options)

    assert found == expected
    assert {placement.where for placement in placements} == wheres


def test_more_partners_than_slots_go_by_the_shuffle(spark):
    """Where Spark has too few slots for a barrier stage, the reason is told and the shuffle used."""
    codec_program = build(RECURSIVE)
    codec = Codec(codec_program.types)
    engine = SparkEngine(
        codec_program, codec, Settings(jobs=1), {}, SparkOptions(spark, driver_facts=-1, partners=64)
    )
    insert(engine, codec_program.relations["e"], codec, EDGES["e"])

    engine.evaluate(SilentObserver())

    by_name = {placement.relations: placement for placement in engine.placements}
    assert by_name["t",].where is Where.SHUFFLE
    assert "64 partners need as many slots at once" in by_name["t",].reason
    assert engine.size("t") == 12


def test_decomposable_recursion_needs_no_barrier(spark):
    """Recursion that keeps a column from body to head runs in parts that never talk."""
    text = RECURSIVE.replace("t(x, y), t(y, z)", "t(x, y), e(y, z)")
    expected = run(text, inputs=EDGES)

    found, placements = evaluate(spark, build(text), EDGES, {})

    assert found == expected
    assert Where.DECOMPOSED in {placement.where for placement in placements}


FRAMES = """
.decl e(x: number, X: number)
.input e
.decl none(x: number)
.decl turned(x: number, y: number)
turned(X, x) :- e(x, X), x < X.
.decl always(x: number)
always(1) :- e(1, _), e(_, 2).
always(2) :- !none(1), !none(_).
.decl apart(x: number, y: number)
apart(x, y) :- e(x, x), e(y, _), !e(9, 9), y = 1.
"""


def test_rules_of_all_shapes_are_frames(spark):
    """Names that differ in case alone, atoms without variables and bodies without atoms are frames too."""
    inputs = {"e": [(1, 2), (2, 2), (3, 1)]}

    relations, placements = evaluate(spark, build(FRAMES), inputs, {})

    assert {p.where for p in placements} <= {Where.DATAFRAME, Where.NOWHERE}
    assert relations == run(FRAMES, inputs=inputs)
    assert relations["turned"] == {(2, 1)}
    assert relations["apart"] == {(2, 1)}
