"""Evaluation by substitution and delete/rederive, against the reference engine."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchmarks.reasoners.indexes import INDEXES
from benchmarks.reasoners.substitution.reasoner import SubstitutionReasoner, reason_against
from support.epochs import examples
from support.epochs_programs import tangled_epochs, tangled_programs
from support.programs import build, run
from tidelog.values import Codec
from tidelog.values.functors import canonical_value


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data(), index=st.sampled_from(list(INDEXES)), threads=st.integers(1, 3))
def test_every_epoch_is_as_from_nothing(data: st.DataObject, index: str, threads: int):
    """Recursion and negation, facts both given and derived: after every epoch all relations are right."""
    random = data.draw(tangled_programs())
    program = build(random.text)
    assume(reason_against(program) is None)
    inputs = {name: _canonical(random.inputs.get(name, ())) for name in program.relations}
    reasoner = SubstitutionReasoner(program, Codec(program.types), index, threads, least_shared=1)

    reasoner.evaluate(inputs)
    _check(reasoner, random.text, inputs)
    for epoch in data.draw(tangled_epochs(random)):
        after = {
            name: (facts - _canonical(epoch.deletes.get(name, ()))) | _canonical(epoch.inserts.get(name, ()))
            for name, facts in inputs.items()
        }
        reasoner.apply(
            {name: facts - inputs[name] for name, facts in after.items()},
            {name: facts - after[name] for name, facts in inputs.items()},
        )
        inputs = after
        _check(reasoner, random.text, inputs)


@pytest.mark.parametrize("index", INDEXES)
def test_a_large_delta_is_shared_by_threads(index: str):
    """The closure of a ring of forty arcs, by three threads; without one arc it is that of a line."""
    text = """
    .decl arc(x: number, y: number)
    .decl tc(x: number, y: number)
    tc(x, y) :- arc(x, y).
    tc(x, y) :- tc(x, z), arc(z, y).
    """
    arcs = {(number, (number + 1) % 40) for number in range(40)}
    program = build(text)
    reasoner = SubstitutionReasoner(program, Codec(program.types), index, threads=3, least_shared=8)

    reasoner.evaluate({"arc": arcs})
    ring = len(reasoner.facts["tc"])
    reasoner.apply({}, {"arc": {(39, 0)}})

    assert ring == 40 * 40
    assert len(reasoner.facts["tc"]) == 40 * 39 // 2


def test_what_it_cannot_run_has_a_reason():
    """Aggregates and relations with laws of their own are left to other reasoners."""
    aggregate = ".decl a(x: number)\n.decl b(x: number)\nb(n) :- n = count : { a(_) }."
    choice = ".decl a(x: number, y: number) choice-domain x"

    assert reason_against(build(aggregate)) == "it counts or aggregates"
    assert reason_against(build(choice)) == "`a` has a law of its own"


def _canonical(facts):
    return {tuple(map(canonical_value, fact)) for fact in facts}


def _check(reasoner: SubstitutionReasoner, text: str, inputs) -> None:
    expected = run(text, inputs={name: facts for name, facts in inputs.items() if facts})
    assert {name: frozenset(reasoner.facts[name]) for name in expected} == expected
