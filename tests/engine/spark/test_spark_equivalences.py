"""Partners close equivalences by rules, each the part that it owns."""

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from support.epochs import examples
from support.equivalence_programs import equivalence_programs
from support.programs import build, run
from support.threaded_spark import LIMIT, evaluate
from tidelog.engine.spark.engine import Where
from tidelog.engine.spark.work import StratumEvaluation


@settings(max_examples=examples(120))
@given(program=equivalence_programs(), partners=st.integers(1, 4), replicated=st.sampled_from([0, 100]))
def test_equivalences_are_those_of_the_reference(program, partners, replicated):
    """Classes given and derived, alone and in a recursion with others, are the reference engine's."""
    text, inputs = program.text, program.inputs

    found, placements = evaluate(build(text), inputs, partners=partners, replicated_facts=replicated)

    event(str(sorted({each.where.value for each in placements})))
    assert found == run(text, inputs=inputs, settings=LIMIT)
    assert all(each.where is not Where.WORKER for each in placements)


LINKS = """
.decl link(x: number, y: number) .input link
.decl same(x: number, y: number) eqrel
same(x, y) :- link(x, y).
"""


def test_an_equivalence_is_divided(monkeypatch):
    """Each partner owns its part of the pairs; the placement says that rules close them."""
    links = {"link": tuple((n, n + 1) for n in range(120) if n % 40 != 39)}
    owned = {}
    write = StratumEvaluation._write

    def note(evaluation, file, first, names):
        written = write(evaluation, file, first, names)
        owned[evaluation._wire.me] = dict(written[1])
        return written

    monkeypatch.setattr(StratumEvaluation, "_write", note)

    found, placements = evaluate(build(LINKS), links, partners=3)

    assert len(found["same"]) == 3 * 40 * 40
    assert placements[-1].where is Where.PARTNERS
    assert (
        placements[-1].reason
        == "3 partners exchange facts; `same` is an equivalence relation, which rules close"
    )
    # What partners make for it is no output.
    assert {frozenset(each) for each in owned.values()} == {frozenset({"same"})}
    assert all(each["same"] < 0.6 * len(found["same"]) for each in owned.values())


@pytest.mark.parametrize("kind", ["number", "symbol"])
def test_an_equivalence_that_is_only_given(kind):
    """Input facts of an equivalence without rules are closed, too."""
    text = f".decl same(x: {kind}, y: {kind}) eqrel .input same"
    values = range(4) if kind == "number" else "abcd"
    pairs = {"same": tuple(zip(values, [*values][1:], strict=False))}

    found, _ = evaluate(build(text), pairs, partners=2)

    assert found["same"] == {(x, y) for x in values for y in values}
