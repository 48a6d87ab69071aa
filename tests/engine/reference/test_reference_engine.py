"""The reference engine: iterations, order, values without a name, and what it reports."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.programs import build, insert, run, run_program
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.engine.reference import ReferenceEngine
from tidelog.errors import TidelogError
from tidelog.program.nodes import (
    Application,
    Atom,
    Column,
    Constant,
    Constraint,
    Program,
    RecordTerm,
    Relation,
    Rule,
    RuleId,
    Stratum,
    Variable,
)
from tidelog.source import Source, Span
from tidelog.values import PRIMITIVES, Codec, Field, Kind, ValueType

CLOSURE = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.input edge
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


def engine_for(text: str, functions=None) -> tuple[ReferenceEngine, Program, Codec]:
    """Return an engine that has not been evaluated."""
    program = build(text)
    codec = Codec(program.types)
    return ReferenceEngine(program, codec, Settings(), functions or {}), program, codec


@given(edges=st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12))
def test_closure_is_the_closure(edges):
    """Transitive closure equals what plain breadth-first search finds."""
    relations = run(CLOSURE, inputs={"edge": edges})

    expected = set()
    for start in range(7):
        frontier = [start]
        while frontier:
            here = frontier.pop()
            for x, y in edges:
                if x == here and (start, y) not in expected:
                    expected.add((start, y))
                    frontier.append(y)
    assert relations["path"] == expected


def test_rule_sees_only_facts_of_earlier_iterations():
    """Facts found in an iteration are not yet there for the other rules of that iteration.

    `b` follows `a` by one iteration, so that of the two ways to `r` the one through `a` comes first.
    """
    relations = run(
        """
        .decl a(x: number)
        .decl b(x: number)
        .decl r(k: number, from: symbol) choice-domain k
        a(1) :- true.
        b(x) :- a(x).
        a(x) :- b(x), r(x, _), x > 1.
        r(x, "z") :- a(x).
        r(x, "a") :- b(x).
        """
    )

    assert relations["r"] == {(1, "z")}


def test_match_returns_the_agreeing_facts():
    """`match` compares only the columns that have a code."""
    engine, program, codec = engine_for(CLOSURE)
    insert(engine, program.relations["edge"], codec, [(1, 2), (2, 3)])
    engine.evaluate(SilentObserver())

    found = engine.match("path", [1, None])
    nothing = engine.match("path", [7, None])

    assert sorted(zip(*(column.tolist() for column in found), strict=True)) == [(1, 2), (1, 3)]
    assert [column.tolist() for column in nothing] == [[], []]


def test_facts_are_code_columns():
    """Every column comes back as int64 codes of the codec that was given."""
    engine, program, codec = engine_for(
        '.decl a(s: symbol, f: float, u: unsigned) a("x", 0.5, 7u).',
    )
    engine.evaluate(SilentObserver())

    columns = engine.facts("a")

    assert all(column.dtype == np.int64 for column in columns)
    assert [
        codec.decode(int(c[0]), d.type) for c, d in zip(columns, program.relations["a"].columns, strict=True)
    ] == [
        "x",
        0.5,
        7,
    ]


def test_statistics_name_every_stratum():
    """Statistics tell iterations, facts and derivations of each stratum; a derivation counts once."""
    engine, program, codec = engine_for(CLOSURE)
    insert(engine, program.relations["edge"], codec, [(1, 2), (2, 3), (1, 3)])

    statistics = engine.evaluate(SilentObserver())

    by_name = {stratum.relations: stratum for stratum in statistics.strata}
    assert by_name["edge",].facts == 3
    assert by_name["path",].facts == 3
    # Three from the first rule; path(1, 2), edge(2, 3) from the second.
    assert by_name["path",].derivations == 4
    assert by_name["path",].is_recursive


def test_observer_hears_strata_and_iterations():
    """An observer is told of each stratum's start, iterations and end, in that order."""

    class Recorder:
        """Keeps what it hears."""

        def __init__(self) -> None:
            self.heard = []

        def stratum_started(self, stratum, strata, relations):
            self.heard.append(("start", stratum, strata, tuple(relations)))

        def iteration_finished(self, stratum, iteration, new_facts, total_facts):
            self.heard.append(("iteration", stratum, iteration, new_facts, total_facts))

        def stratum_finished(self, stratum, statistics):
            self.heard.append(("end", stratum, statistics.facts))

    engine, program, codec = engine_for(CLOSURE)
    insert(engine, program.relations["edge"], codec, [(1, 2), (2, 3)])
    recorder = Recorder()

    engine.evaluate(recorder)

    assert recorder.heard == [
        ("start", 0, 2, ("edge",)),
        ("end", 0, 2),
        ("start", 1, 2, ("path",)),
        ("iteration", 1, 1, 2, 4),
        ("iteration", 1, 2, 1, 5),
        ("iteration", 1, 3, 0, 5),
        ("end", 1, 3),
    ]


def test_iteration_limit_is_a_diagnostic():
    """A program without a fixpoint stops at the limit and says which relations it was about."""
    with pytest.raises(TidelogError) as caught:
        run(".decl n(x: number) n(0). n(x + 1) :- n(x).", settings=Settings(iteration_limit=20))

    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["iteration-limit"]
    assert "`n`" in caught.value.diagnostics[0].message


def test_failing_functor_is_a_diagnostic():
    """An exception in a user's function names the functor, its arguments and the place."""

    def fail(_: int) -> int:
        raise ZeroDivisionError("boom")

    with pytest.raises(TidelogError) as caught:
        run(".functor f(x: number): number\n.decl a(x: number)\na(@f(3)).", functions={"f": fail})

    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "functor-failed"
    assert "f(3)" in diagnostic.message
    assert "boom" in diagnostic.message
    assert diagnostic.span is not None
    assert diagnostic.span.line == 3


def test_missing_function_is_a_diagnostic():
    """A functor that no Python function is bound to is the user's mistake."""
    with pytest.raises(TidelogError) as caught:
        run(".functor f(x: number): number\n.decl a(x: number)\na(@f(3)).")

    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["missing-function"]


def test_functor_of_wrong_result_is_a_diagnostic():
    """A function must give a value of the type that was declared."""
    with pytest.raises(TidelogError) as caught:
        run(
            ".functor f(x: number): number\n.decl a(x: number)\na(@f(3)).",
            functions={"f": lambda _: "three"},
        )

    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["wrong-value-type"]


def test_stateful_functor_is_called_once_per_derivation():
    """Naive evaluation meets a derivation many times, a stateful function only once."""
    calls = []

    def stamp(number: int) -> int:
        calls.append(number)
        return len(calls)

    relations = run(
        """
        .functor stamp(x: number): number stateful
        .decl a(x: number)
        .decl stamped(x: number, s: number)
        a(0).
        a(x + 1) :- a(x), x < 5, stamped(x, _).
        stamped(x, @stamp(x)) :- a(x).
        """,
        functions={"stamp": stamp},
    )

    assert len(relations["stamped"]) == 6
    assert sorted(calls) == [0, 1, 2, 3, 4, 5]


def test_counter_gives_one_number_per_derivation():
    """`autoinc()` numbers derivations, also those that differ only in a wildcard."""
    relations = run(
        """
        .decl a(x: number, y: number)
        .decl r(n: number, x: number)
        a(1, 1). a(1, 2). a(2, 1).
        r(autoinc(), x) :- a(x, _).
        """
    )

    assert {n for n, _ in relations["r"]} == {0, 1, 2}
    assert sorted(x for _, x in relations["r"]) == [1, 1, 2]


def test_counter_bound_by_equality_comes_last():
    """A number is drawn only for derivations of the whole body."""
    relations = run(
        """
        .decl a(x: number)
        .decl b(x: number)
        .decl r(n: number, x: number)
        a(1). a(2). a(3). b(2). b(3).
        r(n, x) :- n = autoinc(), a(x), b(x).
        """
    )

    assert {n for n, _ in relations["r"]} == {0, 1}


def test_ord_tells_symbols_apart():
    """`ord` gives equal numbers to equal symbols and other numbers to others."""
    relations = run(
        """
        .decl s(x: symbol)
        .decl same(x: symbol, y: symbol)
        s("a"). s("b"). s("c").
        same(x, y) :- s(x), s(y), ord(x) = ord(y).
        """
    )

    assert relations["same"] == {("a", "a"), ("b", "b"), ("c", "c")}


def test_relation_without_columns_can_be_given():
    """Inserting into a relation without columns makes it hold."""
    engine, *_ = engine_for(".decl on()\n.input on\n.decl r(x: number)\nr(1) :- on().")
    engine.insert("on", [])

    engine.evaluate(SilentObserver())

    assert (engine.size("on"), engine.size("r")) == (1, 1)
    assert engine.facts("on") == []


def test_record_equal_to_record_is_taken_apart():
    """`[x, b] = [a, y]` binds `x` and `y` where `a` and `b` are known."""
    span = Span(Source("t", ""), 0, 0)
    x, y, z = (Variable(name, "number", span=span) for name in "xyz")
    one = Constant(1, "number", span=span)
    next_z = Application("+", Kind.NUMBER, (z, one), "number", span=span)
    left = RecordTerm((x, z), "Pair", span=span)
    right = RecordTerm((next_z, y), "Pair", span=span)
    body = (Constraint("=", Kind.RECORD, left, right, span=span), Atom("a", (z,), span=span))
    rule = Rule(RuleId(0), Atom("r", (x, y), span=span), body, span=span)
    number = Column("n", "number")
    program = Program(
        types={
            **PRIMITIVES,
            "Pair": ValueType("Pair", Kind.RECORD, fields=(Field("l", "number"), Field("r", "number"))),
        },
        relations={"a": Relation("a", (number,)), "r": Relation("r", (number, number))},
        strata=(
            Stratum(("a",), (), (), is_recursive=False),
            Stratum(("r",), (rule,), (), is_recursive=False),
        ),
        directives=(),
        functors={},
        lattices={},
        pragmas={},
    )

    relations = run_program(program, inputs={"a": [(4,)]})

    assert relations["r"] == {(5, 4)}


def test_order_of_literals_does_not_matter():
    """A body means the same however its literals are written, also where some have no value."""
    literals = ["a(x)", "y = 12 / x", "a(y)", "!b(12 / y)", "z = x + y", "z > 5"]
    orders = [literals, literals[::-1], literals[3:] + literals[:3]]

    answers = {
        run(
            f"""
            .decl a(x: number)
            .decl b(x: number)
            .decl r(x: number, y: number, z: number)
            a(0). a(2). a(3). a(4). a(6). b(6).
            r(x, y, z) :- {", ".join(order)}.
            """
        )["r"]
        for order in orders
    }

    assert answers == {frozenset({(2, 6, 8), (3, 4, 7), (4, 3, 7)})}
