"""Strata that work on texts and records run on workers, and partners agree on the codes of what they make."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.functions import FUNCTIONS
from conformance.test_conformance import CASES, NAMES
from support.programs import build, outputs, read_inputs, run, show
from support.strategies import RandomProgram, programs
from support.threaded_spark import LIMIT, evaluate
from tidelog import TidelogError
from tidelog.engine.spark import skew
from tidelog.engine.spark.engine import Where
from tidelog.engine.spark.work import StratumEvaluation


@settings(max_examples=60)
@given(program=programs(), partners=st.integers(1, 4))
def test_partners_agree_with_the_reference(program: RandomProgram, partners):
    """Programs with texts, records and aggregates give the same facts, and no stratum runs in the driver."""
    built = build(program.text)
    try:
        expected = run(program.text, inputs=program.inputs, settings=LIMIT)
    except TidelogError:
        return

    found, placements = evaluate(built, program.inputs, partners=partners)

    assert found == expected
    in_driver = [each for each in placements if each.where is Where.DRIVER]
    assert {each.reason for each in in_driver} <= {"the program has its facts"}


@settings(max_examples=40)
@given(program=programs(), partners=st.integers(2, 3))
def test_partners_agree_if_nothing_is_copied_to_all(program: RandomProgram, partners):
    """Rules that are cut to divide what they read, and frequent values that are spread, change no facts."""
    built = build(program.text)
    try:
        expected = run(program.text, inputs=program.inputs, settings=LIMIT)
    except TidelogError:
        return

    with pytest.MonkeyPatch.context() as patch:
        # Values are frequent in relations of any size.
        patch.setattr(skew, "_LEAST_ROWS", 1)
        found, _ = evaluate(built, program.inputs, partners=partners, replicated_facts=0)

    assert found == expected


def test_placements_tell_what_all_partners_have():
    """A small relation is copied, and a large one is divided; both are in the reason of the stratum."""
    program = build("""
    .decl deref(x: number, y: number)
    .input deref
    .decl alias(x: number, y: number)
    alias(x, x) :- deref(x, _).
    alias(x, w) :- deref(y, x), alias(y, z), deref(z, w).
    alias(x, y) :- alias(x, z), alias(z, y).
    """)
    facts = {"deref": [(n, n + 1) for n in range(20)]}

    copied, small = evaluate(program, facts, partners=2)
    divided, large = evaluate(program, facts, partners=2, replicated_facts=19)

    assert copied == divided
    assert small[-1].reason == "2 partners exchange facts; all of them have `deref` (20 facts)"
    assert large[-1].reason == "2 partners exchange facts; rules are cut to divide `deref`"


HUB = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z).
"""


def test_a_value_in_half_of_the_rows_is_spread(monkeypatch):
    """The largest share of its rows, and of the derivations that join them, falls; the answer is the same."""
    edges = [(100 + n, 0) for n in range(20)] + [(0, 200 + n) for n in range(60)]
    edges += [(1000 + n, 2000 + n) for n in range(40)]
    shares = []
    run_work = StratumEvaluation.run

    def note(work):
        result = run_work(work)
        shares.append((work._state.relations["edge"].count, result["statistics"]["derivations"]))
        return result

    monkeypatch.setattr(StratumEvaluation, "run", note)

    divided, before = evaluate(build(HUB), {"edge": edges}, partners=4)
    rows, derivations = (max(each) for each in zip(*shares, strict=True))
    shares.clear()
    monkeypatch.setattr(skew, "_LEAST_ROWS", 1)
    spread, after = evaluate(build(HUB), {"edge": edges}, partners=4)

    assert divided == spread == run(HUB, inputs={"edge": edges})
    assert max(each for each, _ in shares) < 0.7 * rows
    assert max(each for _, each in shares) < 0.7 * derivations
    assert "spread" not in before[-1].reason
    assert after[-1].reason.endswith("; rows of 1 frequent value are spread")


@pytest.mark.parametrize("name", NAMES)
def test_case_gives_its_relations(name):
    """Partners derive exactly the facts that are beside the program; only what holds state stays here."""
    program = build((CASES / f"{name}.dl").read_text(encoding="utf-8"), f"{name}.dl")
    inputs = read_inputs(program, CASES / f"{name}.facts")
    expected = (CASES / f"{name}.expected").read_text(encoding="utf-8")

    relations, placements = evaluate(program, inputs, FUNCTIONS)

    assert show(relations, outputs(program)) == expected
    reasons = {each.reason for each in placements if each.where is Where.DRIVER}
    assert all(reason == "the program has its facts" or "is stateful" in reason for reason in reasons), (
        reasons
    )


LISTS = """
.type List = [head: symbol, tail: List]
.type Shape = Dot {} | Pair {left: symbol, right: Shape}
.decl word(x: symbol)
.decl line(x: symbol, n: number)
line(x, 1) :- word(x).
line(cat(x, y), n + 1) :- line(x, n), word(y), n < 3.
.decl path(x: List, n: number)
path([x, nil], 1) :- word(x).
path([cat(y, "-"), l], n + 1) :- path(l, n), word(y), n < 3.
.decl shape(x: Shape)
shape($Dot()).
shape($Pair(h, $Pair(h, $Dot()))) :- path([h, _], _).
.decl longest(x: symbol)
longest(x) :- x = max y : { line(y, _) }.
.decl found(x: symbol)
found(x) :- shape($Pair(x, _)), line(x, _).
found(x) :- word(y), x = cat(y, "-"), path([x, _], _).
"""


@pytest.mark.parametrize("partners", [1, 2, 4])
def test_values_made_by_several_partners_are_one(partners):
    """A text or record that many partners make in one iteration has one code from then on."""
    inputs = {"word": [("a",), ("b",), ("c",), ("é",), ("",)]}

    found, placements = evaluate(build(LISTS), inputs, partners=partners)

    assert found == run(LISTS, inputs=inputs)
    wheres = {each.relations[0]: each.where for each in placements}
    derived = ("line", "path", "shape", "longest", "found")
    assert {wheres[name] for name in derived} == {Where.PARTNERS}


LAWS = """
.decl edge(x: number, y: number)
.decl same(x: number, y: number) eqrel
same(x, y) :- edge(x, y).
.decl tree(x: number, y: number) choice-domain y
tree(x, y) :- edge(x, y).
.decl best(x: number, y: number)
best(x, y) :- edge(x, y).
best(x, y1) <= best(x, y2) :- y2 <= y1.
.decl numbered(n: number, x: number)
numbered(autoinc(), x) :- edge(x, _).
"""


def test_facts_that_are_decided_together_are_with_one_owner():
    """Numbering needs all facts: one worker has them. Choices, subsumption and equivalences are divided."""
    inputs = {"edge": [(1, 2), (2, 3), (4, 3), (7, 8)]}

    found, placements = evaluate(build(LAWS), inputs)

    assert found == run(LAWS, inputs=inputs)
    reasons = {each.relations[0]: (each.where, each.reason) for each in placements if each.relations}
    where, reason = reasons["numbered"]
    assert where is Where.WORKER
    assert reason.endswith("so one worker has all its facts")
    for name in ("tree", "best", "same"):
        where, reason = reasons[name]
        assert where is Where.PARTNERS
        assert reason.endswith(
            "which rules close" if name == "same" else "each partner decides about the facts that it owns"
        )


LOUD = """
.functor shout(x: symbol): symbol
.decl word(x: symbol)
.decl loud(x: symbol)
loud(@shout(x)) :- word(x).
"""


def test_functions_of_the_user_are_sent():
    """Workers call Python functions, also those without a name; a call that fails is a diagnostic."""
    inputs = {"word": [("a",), ("b",), ("c",)]}
    mark = "!"

    found, placements = evaluate(build(LOUD), inputs, {"shout": lambda x: x.upper() + mark})

    assert found["loud"] == {("A!",), ("B!",), ("C!",)}
    assert next(each.where for each in placements if each.relations == ("loud",)) is Where.PARTNERS
    with pytest.raises(TidelogError, match=r"the functor `shout\('.'\)` failed: ZeroDivisionError"):
        evaluate(build(LOUD), inputs, {"shout": lambda x: str(1 / 0) + x})


def test_a_function_that_cannot_be_sent_stays_in_the_driver():
    """What cannot be pickled runs in the driver, and the placement says why."""
    lock = threading.Lock()

    found, placements = evaluate(build(LOUD), {"word": [("a",)]}, {"shout": lambda x: x + str(lock.locked())})

    assert found["loud"] == {("aFalse",)}
    (reason,) = [each.reason for each in placements if each.where is Where.DRIVER]
    assert reason.startswith("the function `shout` cannot be sent to workers")
