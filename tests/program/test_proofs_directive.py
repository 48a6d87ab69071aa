"""`.proofs`: the steps of proofs as relations that rules of the same program read."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import examples
from support.epochs_programs import FUNCTIONS, LAWS, tangled_epochs, tangled_programs
from support.split_inputs import split_inputs
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.derivation import Premise
from tidelog.explain.proofs.prover import Prover
from tidelog.program.nodes import NegatedAtom
from tidelog.program.walk_nodes import relations_read
from tidelog.values import Fact

PATHS = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.proofs path
"""
EDGES = [(1, 2), (2, 3), (1, 3)]
# Epochs that give a key two values are refused, with proofs or without.
_LAWS = tuple(law for law in LAWS if law != "keys")


def _prover(db: tidelog.Session, atom: GroundAtom) -> Prover:
    return db._proofs_of(str(atom)).explorer().prover


def _branch(atom: GroundAtom) -> tidelog.Branch:
    return tidelog.Branch(atom.relation, atom.fact)


def _listed(facts: list[tidelog.Branch]) -> object:
    rest: object = None
    for fact in reversed(facts):
        rest = (fact, rest)
    return rest


def _steps_by_search(db: tidelog.Session, root: str) -> tuple[set[Fact], set[tuple[Fact, tidelog.Branch]]]:
    """Return steps, and the premises of each, as the search for proofs finds them."""
    steps: set[Fact] = set()
    premises: set[tuple[Fact, tidelog.Branch]] = set()
    for atom in (GroundAtom(name, fact) for name in _read_below(db, root) for fact in db[name]):
        for name, listed, rest in _derivations(db, atom):
            step = (name, _branch(atom), _listed([_branch(each) for each in listed]))
            steps.add((step, _branch(atom), name))
            premises.update((step, _branch(premise)) for premise in (*listed, *rest))
    return steps, premises


def _has_law(db: tidelog.Session, name: str) -> bool:
    is_subsumed = any(each.less.relation == name for each in db.program.subsumptions)
    return is_subsumed or db.program.relations[name].law is not None


def _read_below(db: tidelog.Session, root: str) -> set[str]:
    """Return the relations that proofs lead through: no negated ones, and nothing below a law."""
    found = {root}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        for rule in db.program.rules if not _has_law(db, name) else ():
            if rule.head.relation == name:
                positive = [part for part in rule.body if not isinstance(part, NegatedAtom)]
                waiting.extend(relations_read((*rule.head.terms, *positive)) - found)
                found.update(waiting)
    return found


def _derivations(
    db: tidelog.Session, atom: GroundAtom
) -> Iterator[tuple[str, list[GroundAtom], list[GroundAtom]]]:
    """Yield all steps of a fact: the rule, the premises of its atoms, and those of its aggregates."""
    rules = [rule for rule in db.program.rules if rule.head.relation == atom.relation]
    if not any(rule.body for rule in rules):
        yield "input", [], []
        return
    if _has_law(db, atom.relation):
        yield "law", [], []
        return
    prover = _prover(db, atom)
    if prover.source.is_input(atom.relation, atom.fact):
        yield "input", [], []
    for each in prover.deriver.derivations(atom):
        listed = [part.atom for part in each.parts if isinstance(part, Premise)]
        grouped = [fact for aggregation in each.aggregations for fact in aggregation.group]
        yield each.rule.name, listed, grouped


@settings(max_examples=examples(12), deadline=None)
@given(data=st.data())
def test_steps_are_all_derivations_in_every_epoch(data: st.DataObject) -> None:
    """Steps and premises are what the search for proofs finds; deltas lead from each epoch to the next."""
    drawn = data.draw(tangled_programs(special=_LAWS, aggregates=("count", "sum", "max")))
    program, of_epoch = split_inputs(drawn)
    derived = sorted({line.split("(")[0] for line in program.text.splitlines() if ":-" in line})
    root = data.draw(st.sampled_from([name for name in derived if "<=" not in name]))
    text = f"{program.text}\n.proofs {root}\n"
    strategy = data.draw(st.sampled_from(["auto", "update", "counting", "dred", "recompute"]))
    with tidelog.open(text, facts=program.inputs, functions=FUNCTIONS, jobs=1, strategy=strategy) as db:
        names = (f"{root}.step", f"{root}.premise")
        for epoch in [None, *data.draw(tangled_epochs(drawn, max_epochs=2))]:
            before = {name: set(db[name]) for name in names}
            if epoch is not None:
                changes = of_epoch(epoch)
                delta = db.apply(insert=changes.inserts, delete=changes.deletes)
                for name in names:
                    inserted, deleted = set(delta[name].inserted), set(delta[name].deleted)
                    assert set(db[name]) == (before[name] - deleted) | inserted
                    assert not inserted & before[name]
                    assert deleted <= before[name]

            steps, premises = _steps_by_search(db, root)
            assert set(db[names[0]]) == steps
            assert {(step, fact) for step, _, fact in db[names[1]]} == premises


def test_rules_read_steps_and_premises() -> None:
    """A rule of the same program reads proofs and is followed under change like any other."""
    rules = """
    .decl used(f: proof.fact, n: number)
    used(f, n) :- path.step(_, f, "input"), n = count : { path.premise(_, _, f) }.
    """
    with tidelog.open(PATHS + rules, facts={"edge": EDGES}) as db:
        assert set(db.query("used($edge(x, y), n)")) == {(1, 2, 1), (2, 3, 2), (1, 3, 1)}

        delta = db.apply(insert=["edge(3, 4)"], delete=["edge(1, 3)"])

        assert set(db.query("used($edge(x, y), n)")) == {(1, 2, 1), (2, 3, 2), (3, 4, 3)}
        assert len(delta["path.step"].deleted) == 2
        assert {str(row[2]) for row in delta["path.step"].inserted} == {"input", "path#1", "path#2"}


def test_facts_are_values_that_rules_take_apart() -> None:
    """A step names its rule and has its premises in order."""
    with tidelog.open(PATHS, facts={"edge": EDGES}) as db:
        found = db.query("path.step(i, $path(1, 3), r), path.premise(i, 1, $edge(x, y))")

        assert [(r, x, y) for _, r, x, y in found] == [("path#2", 2, 3)]


def test_groups_of_aggregates_are_premises() -> None:
    """All facts that an aggregate gathers share the position of its atom; negated atoms have none."""
    program = """
    .decl sale(shop: symbol, n: number)
    .decl shut(shop: symbol)
    .decl total(shop: symbol, n: number)
    total(s, n) :- sale(s, _), n = sum m : { sale(s, m), m > 1 }, !shut(s).
    .proofs total
    """
    sales = [("a", 1), ("a", 2), ("a", 3), ("b", 5)]
    with tidelog.open(program, facts={"sale": sales, "shut": [("b",)]}) as db:
        found = db.query("total.premise([_, $total('a', 5), [$sale(_, 2), _]], p, $sale(_, n))")

        assert set(found) == {(0, 2), (1, 2), (1, 3)}
        assert not db.query("total.step(_, $total('b', _), _)")
        assert not db.query("total.step(_, $shut(_), _)")


def test_proofs_of_a_component() -> None:
    """Inside a component `path.step` means that of the instance."""
    program = """
    .comp Graph {
        .decl edge(x: number, y: number)
        .decl path(x: number, y: number)
        path(x, y) :- edge(x, y).
        .proofs path
        .decl rule(name: symbol)
        rule(r) :- path.step(_, _, r).
    }
    .init g = Graph
    g.edge(1, 2).
    """
    with tidelog.open(program) as db:
        assert set(db["g.rule"]) == {("input",), ("g.path#1",)}
        assert [fact for _, _, fact in db["g.path.premise"]] == [tidelog.Branch("g.edge", (1, 2))]


def test_proofs_follow_changes_of_rules() -> None:
    """Steps of a rule that is added or removed come and go; what was known keeps its meaning."""
    with tidelog.open(PATHS, facts={"edge": EDGES}) as db:
        db.add_rules(".decl link(x: number, y: number)\npath(x, y) :- link(x, y).")
        db.apply(insert=["link(7, 8)"])

        assert set(db.query("path.step(_, $path(7, y), r)")) == {(8, "path#3")}
        with tidelog.open(
            PATHS + ".decl link(x: number, y: number)\npath(x, y) :- link(x, y).",
            facts={"edge": EDGES, "link": [(7, 8)]},
        ) as fresh:
            assert set(db["path.step"]) == set(fresh["path.step"])
            assert set(db["path.premise"]) == set(fresh["path.premise"])

        db.remove_rules("path(x, y) :- link(x, y).")

        assert not db.query("path.step(_, $path(7, _), _)")


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ("path(x, y) :- path.step(_, $path(x, y), _).", "recursive-proofs"),
        ("path(x, x) :- edge(x, _), !path.premise(_, _, $edge(x, x)).", "recursive-proofs"),
        (
            ".decl a(x: number)\na(x) :- path.step(_, $path(x, x), _).\npath(x, x) :- a(x).",
            "recursive-proofs",
        ),
        (".input path", "mixed-proofs"),
        (".proofs nowhere", "undeclared-relation"),
        (".proofs edge(depth=3)", "bad-proofs"),
        (".proofs path", "bad-proofs"),
        (".decl i(x: number) inline\ni(x) :- edge(x, _).\npath(x, x) :- i(x).", "inlined-directive"),
    ],
)
def test_what_cannot_be_recorded_is_a_diagnostic(lines: str, code: str) -> None:
    """Recursion through its own proofs, facts that are input and derived, and relations without facts."""
    with pytest.raises(tidelog.TidelogError) as raised:
        tidelog.open(PATHS + lines)

    assert code in {each.code for each in raised.value.diagnostics}
    assert all(each.span is not None for each in raised.value.diagnostics)


def test_proofs_that_read_other_proofs() -> None:
    """Proofs of one relation may be read by another with proofs; two that read each other may not."""
    other = """
    .decl ruled(r: symbol)
    ruled(r) :- path.step(_, _, r).
    .proofs ruled
    """
    with tidelog.open(PATHS + other, facts={"edge": EDGES}) as db:
        assert set(db.query("ruled.step(_, $ruled(r), _)")) == {("input",), ("path#1",), ("path#2",)}
    with pytest.raises(tidelog.TidelogError, match="recursive-proofs"):
        tidelog.open(f"{PATHS}{other}path(0, 0) :- ruled.step(_, _, _).")


def test_a_derived_relation_with_proofs_takes_no_input_facts() -> None:
    """Facts for it are refused when a session is opened, in an epoch, and when rules make it derived."""
    with pytest.raises(tidelog.TidelogError, match="mixed-proofs"):
        tidelog.open(PATHS, facts={"edge": EDGES, "path": [(8, 9)]})
    with tidelog.open(PATHS, facts={"edge": EDGES}) as db:
        with pytest.raises(tidelog.TidelogError, match="not-an-input"):
            db.apply(insert=["path(8, 9)"])
        with pytest.raises(tidelog.TidelogError, match="mixed-proofs"):
            db.add_rules("edge(x, y) :- path(y, x).")

        assert len(db["path"]) == 3


def test_a_store_keeps_steps(tmp_path: Path) -> None:
    """Steps and premises are as they were when a store is opened again, and follow changes from there."""
    with tidelog.open(PATHS, facts={"edge": EDGES}, store=tmp_path / "store") as db:
        db.apply(insert=["edge(3, 4)"])
        before = set(db["path.step"])

    with tidelog.open(PATHS, store=tmp_path / "store") as db:
        assert set(db["path.step"]) == before
        db.apply(delete=["edge(3, 4)"])

        with tidelog.open(PATHS, facts={"edge": EDGES}) as fresh:
            assert set(db["path.step"]) == set(fresh["path.step"])
            assert set(db["path.premise"]) == set(fresh["path.premise"])
