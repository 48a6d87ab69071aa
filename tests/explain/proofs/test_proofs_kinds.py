"""Proofs quote the rule the user wrote, whatever sort of fact they prove."""

import pytest

import tidelog
from support.programs import ENGINES
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.session import Session

each_engine = pytest.mark.parametrize("engine", ENGINES)


def opened(text: str, engine: str, **facts: object) -> Session:
    """Return a session over a program."""
    return tidelog.open(text, facts=facts, engine=engine)  # type: ignore[arg-type]


EDGE = ".decl edge(x: number, y: number)\n.input edge\n"


@each_engine
def test_an_aggregate_rests_on_its_group(engine: str) -> None:
    """The premises of an aggregate are the facts of its group."""
    text = EDGE + ".decl out(x: number, n: number)\nout(x, n) :- edge(x, _), n = sum y : { edge(x, y) }.\n"
    db = opened(text, engine, edge=[(1, 2), (1, 3), (2, 9)])

    proof = db.why("out(1, 5)")

    assert proof.check()
    (aggregation,) = proof.aggregations
    assert (aggregation.value, [str(each) for each in aggregation.group]) == (5, ["edge(1, 2)", "edge(1, 3)"])
    assert proof.support() == {"edge": {(1, 2), (1, 3)}}


@each_engine
def test_an_equivalence_goes_by_the_shortest_chain(engine: str) -> None:
    """Pairs are asserted by rules; the others follow by symmetry and transitivity, the nearest way."""
    text = EDGE + ".decl same(x: number, y: number) eqrel\nsame(x, y) :- edge(x, y).\n"
    db = opened(text, engine, edge=[(1, 2), (3, 2), (3, 4), (1, 5), (5, 6), (6, 4)])

    proof = db.why("same(1, 4)")

    assert proof.kind == "equivalence"
    assert [str(each.atom) for each in proof.premises] == ["same(1, 2)", "same(3, 2)", "same(3, 4)"]
    assert proof.check()
    assert db.why("same(4, 4)").kind == "equivalence"
    assert db.why("same(1, 2)").kind == "rule"


@each_engine
def test_an_inlined_relation_is_proved_by_its_own_rule(engine: str) -> None:
    """No engine holds its facts, but the proof shows the rule that was inlined."""
    text = EDGE + (
        ".decl apart(x: number, y: number) inline\napart(x, y) :- x < y.\napart(x, y) :- y < x.\n"
        ".decl step(x: number, y: number)\nstep(a, b) :- edge(a, b), apart(a, b).\n"
    )
    db = opened(text, engine, edge=[(2, 1), (3, 3)])

    proof = db.why("step(2, 1)")

    inlined = proof.premises[1]
    assert inlined.rule is not None
    assert (inlined.rule.name, inlined.rule.text) == ("apart#2", "apart(x, y) :- y < x.")
    assert proof.check()
    assert proof.height == 1
    assert db.why("apart(2, 1)").constraints == ("1 < 2",)
    literals = db.why_not("step(3, 3)").near_misses[0].literals
    assert [each.verdict.value for each in literals] == ["holds", "fails"]


@each_engine
def test_heads_and_alternatives_quote_the_whole_rule(engine: str) -> None:
    """A rule with two heads and a disjunction is quoted as it was written, at its line."""
    rule = "a(x), b(x) :- edge(x, y), (y = 1 ; edge(y, _))."
    db = opened(EDGE + f".decl a(x: number)\n.decl b(x: number)\n{rule}\n", engine, edge=[(7, 8), (8, 2)])

    proof = db.why("b(7)")

    assert proof.rule is not None
    assert (proof.rule.text, proof.rule.span.line, proof.rule.name) == (rule, 5, "b#2")
    assert proof.rule.id == db.rules[0].id
    assert proof.bindings == {"x": 7, "y": 8}


@each_engine
def test_records_and_branches_are_values(engine: str) -> None:
    """Patterns take records and branches apart; the proof shows whole values."""
    text = """
    .type Pair = [a: number, b: symbol]
    .type Shape = Dot {} | Box { w: number }
    .decl in(p: Pair, s: Shape)
    .input in
    .decl wide(p: Pair, w: number)
    wide([a, b], w) :- in([a, b], $Box(w)), w > 1.
    """
    from tidelog import Branch  # noqa: PLC0415 - a value of the test alone

    fact = ((1, "x"), Branch("Box", (3,)))
    db = opened(text, engine, **{"in": [fact]})

    proof = db.why('wide([1, "x"], 3)')

    assert proof.premises[0].atom == GroundAtom("in", fact)
    assert proof.bindings == {"a": 1, "b": "x", "w": 3}
    assert proof.check()


@each_engine
def test_a_component_is_quoted_where_it_stands(engine: str) -> None:
    """Facts of instances are proved by the rule of the component."""
    text = EDGE + (
        ".comp Reach {\n  .decl from(x: number)\n  from(y) :- from(x), edge(x, y).\n}\n"
        ".init r = Reach\nr.from(1).\n"
    )
    db = opened(text, engine, edge=[(1, 2), (2, 3)])

    proof = db.why("r.from(3)")

    assert proof.rule is not None
    assert (proof.rule.text, proof.rule.span.line) == ("from(y) :- from(x), edge(x, y).", 5)
    assert proof.check()


@each_engine
def test_a_fact_outlives_what_it_was_derived_from(engine: str) -> None:
    """Subsumption deletes `d(1, 9)` after `far(9)` was derived from it: the proof tells what held then."""
    text = (
        EDGE
        + """
    .decl d(x: number, n: number)
    .decl seen(n: number)
    d(1, 9). d(2, 0).
    d(y, n + 1) :- d(x, n), edge(x, y).
    seen(n) :- d(_, n).
    d(x, n) <= d(x, m) :- m < n, seen(_).
    d(x, n) :- seen(n), edge(x, _), n > 100.
    """
    )
    db = opened(text, engine, edge=[(2, 1)])

    proof = db.why("seen(9)")

    assert (1, 9) not in db["d"]
    assert [str(each.atom) for each in proof.premises] == ["d(1, 9)"]
    assert proof.check()


@each_engine
def test_a_lattice_fact_is_a_least_upper_bound(engine: str) -> None:
    """The parts that were joined are the premises."""
    text = """
    .functor join(a: unsigned, b: unsigned): unsigned
    .type bits <: unsigned
    .lattice bits<> { Lub -> @join(_, _), Bottom -> 0u }
    .decl in(x: number, b: bits)
    .input in
    .decl all(x: number, b: bits<>)
    all(x, b) :- in(x, b).
    """
    db = tidelog.open(
        text,
        facts={"in": [(1, 1), (1, 4), (2, 8)]},
        functions={"join": lambda a, b: a | b},
        engine=engine,  # type: ignore[arg-type]
    )

    proof = db.why("all(1, 5)")

    assert proof.kind == "join"
    assert {str(each.atom) for each in proof.premises} == {"all(1, 1)", "all(1, 4)"}
    assert proof.check()
    assert db.why("all(2, 8)").kind == "rule"


LATTICE = """
.functor join(a: unsigned, b: unsigned): unsigned
.type bits <: unsigned
.lattice bits<> { Lub -> @join(_, _), Bottom -> 0u }
.decl in(x: number, b: bits)
.decl edge(x: number, y: number)
.input in, edge
.decl all(x: number, b: bits<>)
all(x, b) :- in(x, b).
all(y, b) :- all(x, b), edge(x, y).
"""


@each_engine
def test_lattice_facts_that_feed_each_other(engine: str) -> None:
    """Both facts are 3 in the end, each by way of what the other was before."""
    db = tidelog.open(
        LATTICE,
        facts={"in": [(1, 1), (2, 2)], "edge": [(1, 2), (2, 1)]},
        functions={"join": lambda a, b: a | b},
        engine=engine,  # type: ignore[arg-type]
    )

    for fact in ((1, 3), (2, 3)):
        proof = db.why(("all", fact))

        assert proof.check(), proof.check().problems
        assert proof.support()["in"] == {(1, 1), (2, 2)}


@each_engine
def test_a_shortest_path_is_proved_step_by_step(engine: str) -> None:
    """A stratum whose least values are found by best paths has proofs after every epoch, circles or not."""
    text = """
    .type d <: number
    .lattice d<> { Lub -> min(_, _) }
    .decl e(x: number, y: number, w: number)
    .input e
    .decl dist(x: number, d: d<>)
    dist(0, 0).
    dist(y, d + w) :- dist(x, d), e(x, y, w).
    """
    edges = [(0, 1, 5), (0, 2, 1), (2, 1, 1), (1, 3, 1), (3, 0, 0), (3, 2, 0), (2, 3, 2)]
    db = tidelog.open(text, facts={"e": edges}, engine=engine)  # type: ignore[arg-type]
    for change in [None, (0, 2, 1), (2, 1, 1)]:
        if change is not None:
            db.apply(delete={"e": [change]})

        proofs = [db.why(("dist", fact)) for fact in db["dist"]]

        assert all(proof.check() for proof in proofs)


@each_engine
def test_an_aggregate_over_its_own_stratum(engine: str) -> None:
    """Control of companies: the shares that count are those controlled before."""
    text = """
    .decl own(x: symbol, y: symbol, n: number)
    .input own
    .decl ctrl(x: symbol, y: symbol)
    ctrl(x, y) :- own(x, y, n), n > 50.
    ctrl(x, z) :- own(_, z, _), ctrl(x, _), s = sum n : { ctrl(x, y), own(y, z, n), n >= 0 }, s > 50.
    """
    own = [("a", "b", 60), ("b", "c", 30), ("a", "d", 70), ("d", "c", 30), ("c", "b", 10), ("c", "d", 9)]
    db = tidelog.open(text, facts={"own": own}, engine=engine)  # type: ignore[arg-type]

    proof = db.why("ctrl('a', 'c')")

    assert proof.check()
    assert {str(atom) for atom in proof.aggregations[0].group if atom.relation == "ctrl"} == {
        'ctrl("a", "b")',
        'ctrl("a", "d")',
    }


def test_all_derivations_of_a_fact() -> None:
    """Of `why_all` each proof begins with another derivation; limit ends the search."""
    text = EDGE + ".decl p(x: number)\np(x) :- edge(x, _).\np(y) :- edge(_, y).\np(x) :- p(x), edge(x, x).\n"
    db = tidelog.open(text, facts={"edge": [(1, 1), (1, 2), (3, 1)]})

    proofs = db.why_all("p(1)")

    assert sorted(str(proof.derivation) for proof in proofs) == [
        "p(1) :- edge(1, 1).", "p(1) :- edge(1, 1).", "p(1) :- edge(1, 2).", "p(1) :- edge(3, 1).",
    ]  # fmt: skip
    assert {proof.rule.name for proof in proofs if proof.rule} == {"p#1", "p#2"}
    assert len(db.why_all("p(1)", limit=2)) == 2


def test_a_proof_follows_the_epoch_it_was_asked_in() -> None:
    """Expanded parts stay readable; what was not expanded is refused once the epoch is over."""
    text = EDGE + ".decl p(x: number, y: number)\np(x, y) :- edge(x, y).\np(x, z) :- p(x, y), edge(y, z).\n"
    db = tidelog.open(text, facts={"edge": [(1, 2), (2, 3), (3, 4)]})
    proof = db.why("p(1, 4)")
    first = [str(each.atom) for each in proof.premises]

    db.apply(delete={"edge": [(2, 3)]}, insert={"edge": [(1, 4)]})

    assert first == [str(each.atom) for each in proof.premises]
    with pytest.raises(tidelog.TidelogError, match="proof-outdated"):
        _ = proof.premises[0].premises
    assert str(db.why("p(1, 4)").derivation) == "p(1, 4) :- edge(1, 4)."


def test_a_wrong_proof_does_not_check() -> None:
    """Checking finds a step whose bindings, premises or leaves are not those of the rule."""
    text = EDGE + ".decl p(x: number, y: number)\np(x, y) :- edge(x, y), x < y.\n"
    db = tidelog.open(text, facts={"edge": [(1, 2), (2, 3)]})
    wrong = db.why("p(1, 2)").with_step(db.why("p(2, 3)").step)

    checked = wrong.check()

    assert not checked
    assert checked.problems == ("p(1, 2): the step derives p(2, 3)",)


def test_deep_proofs_need_no_stack() -> None:
    """A chain of thousands of steps is proved, checked, measured and written."""
    text = EDGE + ".decl p(x: number)\np(0).\np(y) :- p(x), edge(x, y).\n"
    length = 3000
    db = tidelog.open(text, facts={"edge": [(x, x + 1) for x in range(length)]})

    proof = db.why(("p", (length,)))

    assert (proof.height, proof.size) == (length + 1, 2 * length + 1)
    assert proof.check()
    assert len(proof.support()["edge"]) == length
    assert proof.to_dot().count("->") == 2 * length
    assert f"edge({length - 1}, {length})" in proof.to_html()
    assert max(map(len, proof.text(width=60).splitlines())) <= 60


def test_a_fact_behind_an_aggregate_over_its_own_stratum_is_proved_after_an_epoch():
    """An epoch derives such a stratum again without levels; a proof puts its facts in order."""
    db = tidelog.open(
        """
        .decl a(x: number)
        .input a
        .decl b(x: number)
        .input b
        .decl r(x: number)
        r(x) :- b(x), count : { r(_) } >= 1.
        r(1) :- a(_).
        """,
        facts={"a": [(7,)]},
    )
    db.apply(insert={"b": [(0,)]})

    proof = db.why("r(0)")

    assert proof.check()
    assert proof.support() == {"a": {(7,)}, "b": {(0,)}}


def test_an_equivalence_of_nan_has_a_proof():
    """NaN is one value, which equals itself in pairs."""
    db = tidelog.open(
        """
        .decl a(x: float)
        .input a
        .decl same(x: float, y: float) eqrel
        same(0.0, sum x : { a(x) }).
        """,
        facts={"a": [(float("nan"),)]},
    )
    facts = [fact for fact in db["same"] if fact[0] != fact[0] and fact[1] != fact[1]]

    proof = db.why(("same", facts[0]))

    assert len(facts) == 1
    assert proof.check()


@each_engine
def test_an_aggregate_sees_all_facts_whatever_was_asked_before(engine: str) -> None:
    """A proof in a lower stratum does not narrow what the aggregates of a higher one see."""
    text = EDGE + (
        ".decl hop(x: number)\nhop(x) :- edge(x, _).\n"
        ".decl total(x: number, n: number) keys x\ntotal(x, count : { hop(_) }) :- edge(x, _).\n"
        ".decl least(x: number)\nleast(min x : { hop(x) }).\n"
    )
    db = opened(text, engine, edge=[(1, 2), (3, 4)])

    proofs = [db.why(f"{asked}") for asked in ("hop(1)", "least(1)", "hop(3)", "total(3, 2)", "least(1)")]

    assert all(proof.check() for proof in proofs)


@each_engine
def test_an_aggregate_over_a_subsumed_relation_sees_what_holds(engine: str) -> None:
    """Facts that held for a while are premises in their own stratum, and count for nobody else."""
    text = """
    .decl start(x: number)
    .input start
    .decl best(x: number, n: number)
    best(x, n) <= best(x, m) :- m < n.
    best(x, 3) :- start(x).
    best(x, n - 1) :- best(x, n), n > 1.
    .decl total(x: number, n: number)
    total(x, n) :- best(x, 1), n = count : { best(_, _) }.
    """
    db = opened(text, engine, start=[(1,), (2,)])

    proof = db.why("total(1, 2)")

    assert proof.check()
    assert len(proof.aggregations[0].group) == 2


@each_engine
def test_a_lattice_with_an_aggregate_over_itself_is_proved(engine: str) -> None:
    """What the aggregate was worth in each iteration is found by evaluating the stratum once more."""
    text = """
    .type High <: number
    .lattice High<> { Lub -> max(_, _) }
    .decl start(x: number)
    .input start
    .decl high(x: number, v: High<>)
    high(0, as(0, High)) :- start(_).
    high(7, as(max(v, 1), High)) :- high(_, v).
    high(1, max v : { high(_, v) }) :- start(_).
    """
    db = opened(text, engine, start=[(1,)])

    assert all(db.why(("high", fact)).check() for fact in db["high"])


def test_what_a_stateful_functor_gave_is_not_asked_again() -> None:
    """A proof takes the value as given, and calls the functor neither to find it nor to check it."""
    called = []

    def next_number(x: int) -> int:
        called.append(x)
        return len(called)

    text = """
    .functor next(x: number): number stateful
    .decl start(x: number)
    .input start
    .decl row(n: number, x: number)
    row(@next(x), x) :- start(x).
    .decl same(x: number, y: number) eqrel
    same(@next(x), x) :- start(x).
    """
    db = tidelog.open(text, facts={"start": [(10,), (20,)]}, functions={"next": next_number})
    before = list(called)

    proofs = [db.why((name, fact)) for name in ("row", "same") for fact in db[name]]

    assert all(proof.check() for proof in proofs)
    assert {str(proof.support()) for proof in proofs} <= {"{'start': {(10,)}}", "{'start': {(20,)}}"}
    assert called == before


def test_a_proof_through_an_aggregate_over_its_own_stratum_has_one_order():
    """After an epoch the stratum is put in order before the first step, not in the middle of a proof."""
    db = tidelog.open(
        """
        .decl a(x: number)
        .input a
        .decl r(x: number)
        r(x) :- a(x), count : { r(_) } >= 1.
        r(0) :- a(_).
        r(7) :- a(_), max x : { r(x) } >= 3.
        """,
        facts={"a": [(1,), (3,)]},
    )
    db.apply(insert={"a": [(2,)]}, delete={"a": [(3,)]}, strategy="dred")
    db.apply(insert={"a": [(3,), (4,)]}, strategy="backward-forward")

    proofs = [db.why(("r", fact)) for fact in sorted(db["r"], reverse=True)]

    assert len(proofs) == 6
    assert all(proof.check() for proof in proofs)


def test_a_head_computed_from_what_a_stateful_functor_gave_has_a_proof():
    """What waits for such a value is taken as given too, in a chain of an equivalence as anywhere."""
    db = tidelog.open(
        """
        .functor next(x: number): number stateful
        .decl start(x: number)
        .input start
        .decl same(x: number, y: number) eqrel
        same(n % 3, x) :- start(x), n = @next(x) + 1, n > 0.
        """,
        facts={"start": [(10,)]},
        functions={"next": lambda x: x},
    )

    assert all(db.why(("same", fact)).check() for fact in db["same"])
