"""Proofs as relations, in other layouts, and by other measures."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import examples
from support.epochs_programs import tangled_programs
from tidelog.explain.proofs.metric import Metric, measure_proof, named_metric
from tidelog.program.written_facts import read_pattern

PATHS = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl far(x: number)
far(x) :- path(x, y), y > 3, !edge(x, y).
"""
EDGES = [(1, 2), (2, 3), (3, 4), (1, 3)]


@pytest.fixture
def db() -> tidelog.Session:
    """Return paths along four edges."""
    return tidelog.open(PATHS, facts={"edge": EDGES})


@settings(max_examples=examples(20), deadline=None)
@given(data=st.data())
def test_steps_and_premises_are_proofs(data: st.DataObject) -> None:
    """Every fact asked about has a step, every premise too; all hold, and no fact rests on itself."""
    program = data.draw(tangled_programs())
    with tidelog.open(program.text, facts=program.inputs, jobs=1) as db:
        name = data.draw(st.sampled_from(sorted(db.relations)))
        terms = ", ".join(f"v{place}" for place in range(len(db[name].columns)))

        with db.proofs_of(f"{name}({terms})") as proofs:
            steps = {number: fact for number, fact, _ in proofs["step"]}
            premises = {(steps[number], fact) for number, _, fact in proofs["premise"]}
            findings = {fact for (fact,) in proofs["finding"]}
            proofs.add_rules(
                ".decl rests(a: symbol, b: symbol)\n"
                "rests(a, b) :- step(i, a, _), premise(i, _, b).\n"
                "rests(a, c) :- rests(a, b), rests(b, c)."
            )
            circles = list(proofs.query("rests(a, a)"))

        assert len(findings) == len(db[name])
        assert len(set(steps.values())) == len(steps)
        assert findings <= set(steps.values())
        assert {fact for _, fact in premises} <= set(steps.values())
        assert circles == []
        for fact in steps.values():
            written = read_pattern(fact, "fact", db.program, db.snapshot.codec)
            assert bool(db.query(fact)), written


def test_rules_read_proofs(db: tidelog.Session) -> None:
    """Which rules matter, and which input facts support most findings, are questions like any other."""
    rules = """
    .decl rests(a: symbol, b: symbol)
    rests(a, b) :- step(i, a, _), premise(i, _, b).
    rests(a, c) :- rests(a, b), step(i, b, _), premise(i, _, c).
    .decl supports(fact: symbol, n: number)
    supports(f, n) :- step(_, f, "input"), n = count : { finding(g), rests(g, f) }.
    """
    with db.proofs_of("path(x, 4)", rules=rules) as proofs:
        assert {rule for _, _, rule in proofs["step"]} == {"path#1", "path#2", "input"}
        assert ("edge(3, 4)", 3) in proofs["supports"]
        assert len(proofs["finding"]) == 3
    with db.proofs_of("path(x, x)") as proofs:
        assert len(proofs["finding"]) == 0
    with db.proofs_of("path(x, 4)", limit=1) as proofs:
        assert list(proofs["finding"]) == [("path(1, 4)",)]


@pytest.mark.parametrize("text", ["nowhere(x)", "path(x)", "path(", "path('a', x)"])
def test_what_cannot_be_asked_about_is_a_diagnostic(db: tidelog.Session, text: str) -> None:
    """A relation that is not declared, or an atom that is not one, is told as for every question."""
    with pytest.raises(tidelog.TidelogError):
        db.proofs_of(text)


def test_constraints_and_negated_atoms_stand_beside_the_premises(db: tidelog.Session) -> None:
    """The horizontal layout has one line for each rule; below the depth facts are not proved."""
    assert db.why("far(1)").horizontal(1).splitlines() == [
        "path(1, 4) ...  4 > 3",
        "                !edge(1, 4)",
        "---------------------------(R1)",
        "           far(1)",
    ]
    assert db.why("edge(1, 2)").horizontal() == "edge(1, 2)"


def test_the_smallest_proofs_come_first(db: tidelog.Session) -> None:
    """`why_all` with a metric gives the k smallest that begin with different derivations, in order."""
    db.apply(insert=["edge(2, 4)", "edge(1, 4)"])
    metric = named_metric("leaves")

    proofs = db.why_all("path(1, 4)", metric="leaves")

    sizes = [measure_proof(proof, metric) for proof in proofs]
    assert sizes == [1, 2, 2]
    assert proofs[0].size == db.why("path(1, 4)", metric="leaves").size
    assert len(db.why_all("path(1, 4)", metric="leaves", limit=2)) == 2
    assert all(proof.check() for proof in proofs)


def test_weighted_and_lexicographic_metrics() -> None:
    """Rules weigh what one says, by name or relation; the second of two metrics decides among equals."""
    program = """
    .decl a(x: number)
    .decl b(x: number)
    .decl c(x: number)
    .decl d(x: number)
    b(x) :- a(x).
    c(x) :- b(x).
    c(x) :- a(x), a(x).
    d(x) :- a(x), a(x).
    d(x) :- a(x).
    """
    with tidelog.open(program, facts={"a": [(1,)]}) as db:
        assert db.why("c(1)", metric=Metric.weighted({"c#2": 5})).rule.name == "c#1"
        assert db.why("c(1)", metric=Metric.weighted({"b": 5})).rule.name == "c#2"
        assert db.why("d(1)", metric=Metric.lexicographic("height", "leaves")).rule.name == "d#2"
        assert db.why("c(1)", metric=Metric.lexicographic("leaves", "height")).rule.name == "c#1"
        with pytest.raises(tidelog.TidelogError, match="weights"):
            Metric.weighted({"b": -1})
