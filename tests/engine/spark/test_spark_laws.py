"""Partners decide together which facts stay, each about the facts that it owns, as one place would."""

import math

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from support.epochs import examples
from support.law_programs import LAW_FUNCTIONS, law_programs
from support.programs import build, run
from support.threaded_spark import LIMIT, evaluate
from tidelog import TidelogError
from tidelog.engine.spark.engine import Where


@settings(max_examples=examples(100))
@given(
    data=st.data(), has_texts=st.booleans(), partners=st.integers(1, 4), replicated=st.sampled_from([0, 100])
)
def test_partners_decide_as_the_reference(data, has_texts, partners, replicated):
    """Lattices, choices and subsumption that depend on each other give the reference engine's facts."""
    program = data.draw(law_programs(has_texts=has_texts))
    try:
        built = build(program.text)
        expected = run(program.text, functions=LAW_FUNCTIONS, inputs=program.inputs, settings=LIMIT)
    except TidelogError as mistake:
        event(f"refused: {mistake.diagnostics[0].code}")
        return

    found, placements = evaluate(
        built, program.inputs, LAW_FUNCTIONS, partners=partners, replicated_facts=replicated
    )

    event(str(sorted({each.where.value for each in placements})))
    assert found == expected


EDGES = {"edge": tuple((n * 7 % 20, n * 13 % 17, n % 9 + 1) for n in range(60))}
EDGE = """
.decl edge(x: number, y: number, n: Length)
.input edge
.type Length <: number
.lattice Length<> { Lub -> min(_, _) }
"""

DIVIDED = {
    "a lattice by its plain columns": """
    .decl distance(x: number, y: number, n: Length<>)
    distance(x, y, n) :- edge(x, y, n).
    distance(x, z, n + m) :- distance(x, y, n), distance(y, z, m).
    """,
    "a choice by a column of all its domains": """
    .decl tree(x: number, y: number, z: number) choice-domain (z, x), (z, y)
    tree(x, y, y) :- edge(x, y, _).
    tree(x, w, z) :- tree(x, y, z), tree(y, w, _).
    """,
    "subsumption by the columns on which facts agree": """
    .decl way(x: number, y: number, n: number)
    way(x, y, n) :- edge(x, y, n).
    way(x, z, n + m) :- way(x, y, n), way(y, z, m), n + m < 12.
    way(x, y, n) <= way(x, y, m) :- m < n.
    """,
    "keys by one of them": """
    .decl after(x: number, y: number) keys y
    after(y * 100 + x, y) :- edge(x, y, n), n = min m : { edge(_, y, m) }, x = max v : { edge(v, y, n) }.
    """,
    # Were the rule cut in two, what is chosen would be there an iteration later.
    "a rule of three atoms, which stays whole": """
    .decl tree(x: number, y: number) choice-domain y
    .decl step(x: number, y: number)
    tree(x, y) :- edge(x, y, 1).
    tree(x, w) :- step(x, y), step(y, z), step(z, w).
    tree(y, x) :- step(x, y), edge(x, y, 2).
    step(x, y) :- edge(x, y, n), n < 4.
    step(x, y) :- tree(y, x).
    """,
}


@pytest.mark.parametrize("what", DIVIDED)
def test_a_law_is_divided(what):
    """Partners get the reference engine's facts, and the placement says that they decide."""
    text = EDGE + DIVIDED[what]

    found, placements = evaluate(build(text), EDGES, partners=3)

    assert found == run(text, inputs=EDGES)
    assert placements[-1].where is Where.PARTNERS
    assert placements[-1].reason.endswith("and each partner decides about the facts that it owns")


LINEAR = """
.decl distance(x: number, y: number, n: Length<>)
distance(x, y, n) :- edge(x, y, n).
distance(x, z, n + m) :- distance(x, y, n), edge(y, z, m).
"""


def test_a_decomposed_law():
    """Partners that need not exchange facts decide about theirs without a connection."""
    found, placements = evaluate(build(EDGE + LINEAR), EDGES, partners=3)

    assert found == run(EDGE + LINEAR, inputs=EDGES)
    assert placements[-1].where is Where.DECOMPOSED


def test_a_law_that_reads_a_large_relation_is_not_decomposed():
    """Partners that would all need a large relation exchange facts, and each has its part of both."""
    found, placements = evaluate(build(EDGE + LINEAR), EDGES, partners=3, replicated_facts=10)

    assert found == run(EDGE + LINEAR, inputs=EDGES)
    assert placements[-1].where is Where.PARTNERS
    assert "all of them have" not in placements[-1].reason


def test_copies_come_after_own_facts_are_judged():
    """Facts of others that come in the same iteration are as new as those that this partner judged."""
    text = """
    .decl start(x: number) .input start
    .decl least(x: number, y: number, z: number) .input least
    least(x, y, a) <= least(x, y, b) :- b < a.
    .decl plain(x: number, y: number)
    .decl chosen(x: number, y: number, z: number) choice-domain x
    plain(x, x) :- chosen(x, x, x).
    chosen(x, x, x) :- least(x, x, x), plain(y, y).
    least(x, x, x) :- start(x).
    least(x, x, x) :- plain(x, x).
    """
    inputs = {"start": ((0,),), "least": ((1, 0, 0),)}

    found, placements = evaluate(build(text), inputs, partners=3, replicated_facts=0)

    assert found == run(text, inputs=inputs)
    assert placements[-1].where is Where.PARTNERS


TOGETHER = {
    "`r` is an equivalence relation": """
    .decl r(x: number, y: number) eqrel r(x, y) :- c(x, y), edge(x, y, _). r(x, x) :- edge(x, _, _).
    .decl c(x: number, y: number) choice-domain x c(x, y) :- edge(x, y, _). c(x, y) :- r(y, x), edge(x, _, _).
    """,
    "`r` has a size limit": ".decl r(x: number) r(x) :- edge(x, _, _). .limitsize r(n=2)",
    "no column of `r` divides the facts that are decided together": """
    .decl r(x: number, y: number) choice-domain x, y r(x, y) :- edge(x, y, _).
    """,
    "a subsumption of `r` reads relations": """
    .decl r(x: number, y: number) r(x, y) :- edge(x, y, _). r(x, a) <= r(x, b) :- edge(a, b, _), a != b.
    """,
    "values are narrowed after the fixpoint": """
    .functor union(a: Bits, b: Bits): Bits
    .type Bits <: number
    .lattice Bits<> { Lub -> @union(_, _), Narrow -> @union(_, _) }
    .decl r(x: number, n: Bits<>) r(x, as(y, Bits)) :- edge(x, y, _).
    """,
    "joins make new values of `r`": """
    .functor longer(a: Word, b: Word): Word
    .type Word <: symbol
    .lattice Word<> { Lub -> @longer(_, _) }
    .decl r(x: number, n: Word<>) r(x, as(to_string(y), Word)) :- edge(x, y, _).
    """,
}


@pytest.mark.parametrize("reason", TOGETHER)
def test_a_law_that_is_not_divided(reason):
    """What needs more facts than an owner has is with one worker, and the placement says why."""
    text = EDGE + TOGETHER[reason]
    functions = {**LAW_FUNCTIONS, "longer": lambda left, right: max(left, right, key=lambda x: (len(x), x))}

    found, placements = evaluate(build(text), EDGES, functions, partners=3)

    assert found == run(text, inputs=EDGES, functions=functions)
    assert placements[-1].where is Where.WORKER
    assert placements[-1].reason == f"{reason}, so one worker has all its facts"


def test_a_repeated_key_is_told():
    """Owners notice two facts for a key; the diagnostic names the facts and rules as in one place."""
    text = EDGE + ".decl one(x: number, y: number) keys x one(x, y) :- edge(x, y, _)."
    with pytest.raises(TidelogError) as there:
        run(text, engine="local", inputs=EDGES)

    with pytest.raises(TidelogError) as found:
        evaluate(build(text), EDGES, partners=3)

    assert found.value.diagnostics == there.value.diagnostics
    assert found.value.diagnostics[0].code == "two-values"


MULTIPLE = """
.functor lcm(a: Large, b: Large): Large
.type Large <: number
.lattice Large<> { Lub -> @lcm(_, _) }
.decl given(x: number, n: Large)
.input given
.decl joined(x: number, n: Large<>)
joined(x, n) :- given(x, n).
"""


def test_joins_make_large_numbers():
    """A join whose value needs more than 32 bits gives that value, in one place and divided."""
    inputs = {"given": ((1, 100_000), (1, 100_003), (2, 5))}
    functions = {"lcm": math.lcm}

    alone = run(MULTIPLE, engine="local", inputs=inputs, functions=functions)
    divided, placements = evaluate(build(MULTIPLE), inputs, functions)

    assert alone["joined"] == divided["joined"] == {(1, 10_000_300_000), (2, 5)}
    assert placements[-1].where is Where.PARTNERS


def test_values_that_improve_for_ever_are_told():
    """Partners stop after as many iterations as their facts together allow, and say why."""
    text = """
    .type Length <: number
    .lattice Length<> { Lub -> min(_, _) }
    .decl down(x: number, n: Length<>)
    down(1, as(0, Length)).
    down(1 - x, n - 1) :- down(x, n).
    """

    with pytest.raises(TidelogError) as found:
        evaluate(build(text), {}, partners=2, limit=None)

    assert found.value.diagnostics[0].code == "no-convergence"
