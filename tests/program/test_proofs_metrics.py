"""`.proofs` with metrics: the sizes of smallest proofs, and their steps, in every epoch."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import examples
from support.epochs_programs import tangled_epochs, tangled_programs
from support.split_inputs import split_inputs
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.metric import Metric, named_metric, smallest_steps
from tidelog.explain.proofs.steps import places_of

WEIGHTS = {"p10": 3, "p10#2": 0, "p20": 7}
PATHS = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z).
"""


def _metric(name: str, weights: dict[str, int]) -> Metric:
    return Metric.weighted(weights) if name == "weighted" else named_metric(name)


def _by_search(
    db: tidelog.Session, atom: GroundAtom, metric: Metric, sizes: dict[GroundAtom, object]
) -> tuple[object, list[object]]:
    """Return the size of the smallest proof of a fact, and the sizes of all that begin differently.

    `sizes` are those that were found before.
    """
    prover = db._proofs_of(str(atom)).explorer().prover
    if atom not in sizes:
        found = smallest_steps(prover, atom, metric)
        sizes.update((place[0], size) for place, (size, _) in found.items())
    costs = [
        metric.combine(step, [sizes[each] for each in places_of(step)])
        for step in prover.deriver.derivations(atom)
        if all(each in sizes for each in places_of(step))
    ]
    return sizes[atom], costs


@settings(max_examples=examples(10), deadline=None)
@given(data=st.data())
def test_sizes_are_those_of_a_search_in_every_epoch(data: st.DataObject) -> None:
    """After every epoch sizes equal those of a search from scratch, and steps are the k smallest."""
    drawn = data.draw(tangled_programs())
    assume("count :" not in drawn.text)
    program, of_epoch = split_inputs(drawn)
    rules = [line for line in program.text.splitlines() if ":-" in line]
    root = data.draw(st.sampled_from(sorted({line.split("(")[0] for line in rules})))
    metrics = data.draw(
        st.sampled_from([("leaves",), ("nodes",), ("weighted",), ("height", "nodes"), ("leaves", "weighted")])
    )
    k = data.draw(st.integers(1, 3))
    heads = [line.split("(")[0] for line in rules]
    weights = {name: weight for name, weight in WEIGHTS.items() if name.partition("#")[0] in heads}
    weighed = ", ".join(f"{name}={weight}" for name, weight in weights.items())
    asked = f'weights="{weighed}", ' if "weighted" in metrics and weights else ""
    text = f'{program.text}\n.proofs {root}(metric="{", ".join(metrics)}", {asked}k={k})\n'
    chosen = [_metric(name, weights) for name in metrics]
    metric = chosen[0] if len(chosen) == 1 else Metric.lexicographic(*chosen)
    with tidelog.open(text, facts=program.inputs, jobs=1) as db:
        for epoch in [None, *data.draw(tangled_epochs(drawn, max_epochs=3))]:
            if epoch is not None:
                changes = of_epoch(epoch)
                db.apply(insert=changes.inserts, delete=changes.deletes)
            sizes = {(fact.name, fact.fields): tuple(size) for fact, *size in db[f"{root}.size"]}
            steps = list(db[f"{root}.step"])
            searched: dict[GroundAtom, object] = {}
            for fact in db[root]:
                size, costs = _by_search(db, GroundAtom(root, fact), metric, searched)
                found = sizes[root, fact]
                assert (found if len(metrics) > 1 else found[0]) == size
                kept = [row for row in steps if row[1] == tidelog.Branch(root, fact)]
                smallest = [cost for cost in costs if sum(other < cost for other in costs) < k]
                assert len(kept) == len(smallest)


def test_smallest_proofs_follow_changes() -> None:
    """A shortcut that is deleted makes proofs larger, one that is inserted smaller."""
    program = f'{PATHS}.proofs path(metric="leaves")\n'
    with tidelog.open(program, facts={"edge": [(1, 2), (2, 3), (3, 4), (1, 4)]}) as db:
        assert set(db.query("path.size($path(1, 4), n)")) == {(1,)}

        delta = db.apply(delete=["edge(1, 4)"])

        assert set(db.query("path.size($path(1, 4), n)")) == {(3,)}
        assert set(db.query("path.step(_, $path(1, 4), r)")) == {("path#2",)}
        assert (tidelog.Branch("path", (1, 4)), 3) in delta["path.size"].inserted
        assert all(report.action.value != "recomputed" for report in delta.strata)


def test_weights_decide_among_rules() -> None:
    """A rule weighs what its name or its relation has, and 1 by default."""
    program = """
    .decl a(x: number)
    .decl b(x: number)
    .decl c(x: number)
    b(x) :- a(x).
    c(x) :- b(x).
    c(x) :- a(x), a(x).
    """
    for weights, size, rule in (("b=5", 1, "c#2"), ("c#2=9", 2, "c#1"), ("c#2=9, b=0", 1, "c#1")):
        text = f'{program}.proofs c(metric="weighted", weights="{weights}")'
        with tidelog.open(text, facts={"a": [(1,)]}) as db:
            assert set(db.query("c.size($c(_), n)")) == {(size,)}
            assert set(db.query("c.step(_, $c(_), r)")) == {(rule,)}


def test_sizes_beyond_numbers_end() -> None:
    """A tree may have more leaves than a number counts: from 10 to the 18 on all sizes are equal."""
    program = """
    .decl n(x: number)
    n(0).
    n(x + 1) :- n(x), n(x), x < 80.
    .proofs n(metric="nodes")
    """
    with tidelog.open(program) as db:
        assert set(db.query("n.size($n(3), s)")) == {(15,)}
        assert set(db.query("n.size($n(80), s)")) == {(10**18,)}


@pytest.mark.parametrize(
    "parameters",
    [
        'metric="size"',
        'metric=""',
        "k=2",
        'metric="leaves", k=0',
        'metric="leaves", weights="path=2"',
        'metric="weighted", weights="path#9=2"',
        'metric="weighted", weights="path=-2"',
        'metric="weighted", weights="path"',
        'metrics="leaves"',
    ],
)
def test_wrong_parameters_are_diagnostics(parameters: str) -> None:
    """Every mistake has the place of the directive and a hint."""
    with pytest.raises(tidelog.TidelogError) as raised:
        tidelog.open(f"{PATHS}.proofs path({parameters})")

    assert {each.code for each in raised.value.diagnostics} == {"bad-proofs"}
    assert all(each.span is not None and each.hint for each in raised.value.diagnostics)


def test_metrics_do_not_reach_behind_aggregates() -> None:
    """Sizes of what an aggregate derives are refused, not left out."""
    rules = '.decl n(n: number)\nn(n) :- n = count : { path(_, _) }.\n.proofs n(metric="leaves")'
    with pytest.raises(tidelog.TidelogError, match="bad-proofs"):
        tidelog.open(PATHS + rules)
