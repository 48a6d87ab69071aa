"""The engine `cuda`: the kernels it writes, run on this machine's processor, agree with the other engines.

What only a GPU can show is in test_cuda_device.py.
"""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings

from support.cuda_engine import needs_compiler, places, run_kernels
from support.host_device import HostDevice
from support.programs import build, outcome_of, read_inputs, run, run_program
from support.strategies import RandomProgram, dense_programs, programs
from tidelog.engine.cuda import CudaEngine
from tidelog.engine.protocol import Settings
from tidelog.errors import TidelogError

CASES = Path(__file__).parents[2] / "conformance" / "cases"
pytestmark = needs_compiler

# A graph whose vertices have very different numbers of arcs, so that some postings are cut into pieces.
SKEWED = """
.decl e(x: number, y: number)
.input e
.decl path(x: number, y: number)
path(x, y) :- e(x, y).
path(x, z) :- path(x, y), e(y, z).
.decl both(x: number, y: number)
both(x, y) :- e(x, y).
both(x, z) :- both(x, y), both(y, z).
.decl generation(x: number, y: number)
generation(x, y) :- e(z, x), e(z, y), x != y.
generation(x, y) :- e(a, x), generation(a, b), e(b, y).
.decl triangle(x: number, y: number, z: number)
triangle(x, y, z) :- e(x, y), e(y, z), e(z, x).
.decl one_way(x: number, y: number)
one_way(x, y) :- e(x, y), !path(y, x).
.decl sink(x: number)
sink(x) :- e(_, x), !e(x, _).
.decl reached(x: number, n: number)
reached(x, n) :- e(x, _), n = count : { path(x, _) }.
.decl steps(x: number, y: number, n: number)
steps(x, y, 1) :- e(x, y).
steps(x, z, n + 1) :- steps(x, y, n), e(y, z), n < 5.
"""
ONTOLOGY = """
.decl p(x: number, z: number)
.input p
.decl q(x: number, r: number, z: number)
.input q
.decl r(r: number, p: number, e: number)
.input r
.decl c(y: number, z: number, w: number)
.input c
.decl s(r: number, p: number)
.input s
p(x, z) :- p(x, y), p(y, z).
q(x, r, z) :- p(x, y), q(y, r, z).
p(x, z) :- c(y, w, z), p(x, w), p(x, y).
q(x, q, z) :- q(x, r, z), s(r, q).
q(x, e, o) :- q(x, y, z), r(y, u, e), q(z, u, o).
"""


def skewed_arcs(seed: int, arcs: int = 300, vertices: int = 120) -> set[tuple[int, int]]:
    """Return arcs of a graph in which few vertices have most of them."""
    chosen = random.Random(seed)  # noqa: S311 - any numbers will do

    def vertex() -> int:
        return int(vertices * chosen.random() ** 3)

    return {(vertex(), vertex()) for _ in range(arcs)}


@pytest.mark.parametrize("name", sorted(path.stem for path in CASES.glob("*.dl")))
def test_conformance_case(name, case_functions):
    """A conformance case has the relations of the reference engine, wherever its strata run."""
    program = build((CASES / f"{name}.dl").read_text(encoding="utf-8"), f"{name}.dl")
    inputs = read_inputs(program, CASES / f"{name}.facts")

    found, _ = run_kernels(program, inputs, functions=case_functions)

    assert found == run_program(program, inputs=inputs, functions=case_functions)


def check_agreement(program: RandomProgram, device: HostDevice) -> None:
    """Compare a random program with the local engine."""
    try:
        limits = Settings(jobs=1, iteration_limit=200)
        found: object = run_kernels(program.text, program.inputs, device=device, settings=limits)[0]
    except TidelogError as error:
        found = [diagnostic.code for diagnostic in error.diagnostics]

    assert found == outcome_of(program)


@settings(max_examples=25, deadline=None)
@given(dense_programs())
def test_where_much_is_derived(program):
    """Random programs over numbers derive what they must while everything has to be enlarged."""
    check_agreement(program, HostDevice(least_capacity=64, workers=2))


@settings(max_examples=25, deadline=None)
@given(programs())
def test_random_programs(program):
    """Random programs of many types derive what they must."""
    check_agreement(program, HostDevice(least_capacity=256, workers=4))


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("least_capacity", [64, 4096])
def test_unequal_postings(least_capacity, workers):
    """Long postings are shared among threads, and no fact is lost when memory runs out on the way."""
    inputs = {"e": skewed_arcs(least_capacity)}

    found, engine = run_kernels(SKEWED, inputs, device=HostDevice(least_capacity, workers))

    assert found == run(SKEWED, engine="local", inputs=inputs)
    assert set(places(engine).values()) == {"device"}


@pytest.mark.parametrize("workers", [1, 4])
def test_recursion_through_two_relations(workers):
    """Relations that grow together, with indexes that are kept up to date, and choices between joins."""
    chosen = random.Random(workers)  # noqa: S311 - any numbers will do

    def some(count: int, *sizes: int) -> set[tuple[int, ...]]:
        return {tuple(int(size * chosen.random() ** 2) for size in sizes) for _ in range(count)}

    inputs = {
        "p": some(50, 90, 90),
        "q": some(60, 90, 5, 90),
        "r": some(5, 5, 5, 5),
        "c": some(50, 90, 90, 90),
        "s": some(4, 5, 5),
    }

    found, _ = run_kernels(ONTOLOGY, inputs, device=HostDevice(64, workers))

    assert found == run(ONTOLOGY, engine="local", inputs=inputs)


def test_equivalences_are_closed_on_the_device():
    """An equivalence, with input facts, derived facts and rules that read it, has all its pairs."""
    text = """
    .decl link(x: number, y: number)
    .input link
    .decl same(x: number, y: number) eqrel
    .input same
    same(x, y) :- link(x, y).
    same(x + 100, y + 100) :- same(x, y), x < 100, y < 100.
    same(1000, 1001).
    .decl class_size(x: number, n: number)
    class_size(x, n) :- same(x, x), n = count : { same(x, _) }.
    """
    inputs = {"link": {(n, n + 3) for n in range(0, 60, 2)}, "same": {(7, 8)}}

    found, engine = run_kernels(text, inputs)

    assert found == run(text, inputs=inputs)
    assert places(engine) == {"same": "device", "class_size": "device"}


def test_facts_of_any_width():
    """Facts of several words, keys of more bits than a word, and negative numbers are told apart."""
    text = """
    .decl wide(a: number, b: number, c: number, d: unsigned)
    .input wide
    .decl twin(a: number, b: number, c: number, d: unsigned)
    twin(a, b, c, e) :- wide(a, b, c, d), wide(b, a, c, e), d != e.
    twin(c, b, a, d) :- twin(a, b, c, d).
    .decl alone(a: number, b: number)
    alone(a, b) :- wide(a, b, _, _), !twin(a, b, _, _), !wide(b, a, b, 1).
    .decl power(n: number)
    power(1).
    power(n * -3) :- power(n), n < 1000000000000000.
    """
    large = [-(2**63), 2**63 - 1, -1, 0, 5_000_000_000]
    chosen = random.Random(3)  # noqa: S311 - any numbers will do
    inputs = {
        "wide": {
            (*(chosen.choice(large) for _ in range(3)), chosen.choice([0, 1, 2**64 - 1])) for _ in range(120)
        }
    }

    limits = Settings(jobs=1, iteration_limit=100)
    found, engine = run_kernels(text, inputs, settings=limits, device=HostDevice(64, 2))

    assert found == run(text, inputs=inputs, settings=limits)
    assert set(places(engine).values()) == {"device"}


def test_strata_that_need_texts_run_on_the_host():
    """What kernels cannot do the local engine does between strata on the device, and placements say why."""
    text = """
    .decl e(x: symbol, y: symbol)
    .input e
    .decl path(x: symbol, y: symbol)
    path(x, y) :- e(x, y).
    path(x, z) :- path(x, y), e(y, z).
    .decl label(x: symbol, t: symbol)
    label(x, cat(x, y)) :- path(x, y).
    .decl seen(t: symbol)
    seen(t) :- label(_, t).
    """
    inputs = {"e": [("a", "b"), ("b", "c")]}

    found, engine = run_kernels(text, inputs)

    assert found == run(text, inputs=inputs)
    assert places(engine) == {"path": "device", "label": "host", "seen": "device"}
    reasons = {placement.reason for placement in engine.placements}
    assert "the functor `cat` needs the texts behind codes" in reasons


LARGE = ".decl e(x: number, y: number) .input e .decl p(x: number, y: number) p(x, y) :- e(x, _), e(_, y)."


def test_a_gpu_without_memory_is_a_diagnostic():
    """Where there is no memory left, the diagnostic has what was found so far."""
    inputs = {"e": [(n, n) for n in range(200)]}

    with pytest.raises(TidelogError) as caught:
        run_kernels(LARGE, inputs, device=HostDevice(64, most_bytes=200_000))

    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "memory-limit"
    assert "facts so far: p " in diagnostic.message


def test_facts_that_do_not_fit_the_gpu_are_a_diagnostic():
    """Input facts for which there is no memory are reported before any kernel runs."""
    inputs = {"e": [(n, n) for n in range(200)]}

    with pytest.raises(TidelogError, match="the GPU has no memory for the facts of `e`"):
        run_kernels(LARGE, inputs, device=HostDevice(64, most_bytes=1_000))


def test_the_memory_limit_holds_on_the_device(monkeypatch):
    """`memory_limit` bounds what kernels may use, beside what the process takes on the host."""
    monkeypatch.setattr(CudaEngine, "_check_memory", lambda _: None)
    inputs = {"e": [(n, n) for n in range(200)]}

    with pytest.raises(TidelogError, match="the limit is 0 MiB"):
        run_kernels(LARGE, inputs, settings=Settings(jobs=1, memory_limit_bytes=100_000))


def test_relations_of_earlier_strata_leave_the_device():
    """Relations that a stratum does not need make room for it, and later strata still read them."""
    text = """
    .decl e(x: number, y: number)
    .input e
    .decl first(x: number, y: number)
    first(x, y) :- e(x, _), e(_, y).
    .decl n(x: number)
    n(x) :- e(x, _).
    .decl second(x: number, y: number)
    second(x, y) :- n(x), n(y), x != y.
    .decl all(x: number, y: number)
    all(x, y) :- first(x, y), !second(x, y).
    """
    inputs = {"e": [(n, n) for n in range(60)]}
    device = HostDevice(64, most_bytes=300_000)

    found, engine = run_kernels(text, inputs, device=device)

    assert found == run(text, inputs=inputs)
    assert set(places(engine).values()) == {"device"}
