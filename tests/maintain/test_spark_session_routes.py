"""Sessions keep relations of earlier strata in parts, by the variables of the rules that read them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import examples
from support.epochs_programs import tangled_epochs, tangled_programs
from support.partner_epochs import divided, follow, followable, history_of
from support.programs import build, run
from support.resident_session import Resident
from support.resident_threads import MOMENTS, tasks_in_threads
from support.strategies import epochs, programs
from tidelog.engine.epoch import Strategy
from tidelog.maintain.partners.session_routes import cut_for, routes_of

POINTS_TO = """
.decl assign(x: number, y: number) .input assign
.decl deref(x: number, y: number) .input deref
.decl off(x: number) .input off
.decl value(x: number, y: number)
value(x, x) :- assign(x, _), !off(x).
value(x, y) :- assign(x, z), value(z, y), !off(z).
value(x, y) :- value(x, z), value(z, y).
.decl memory(x: number, w: number)
memory(x, w) :- deref(y, x), value(y, z), deref(z, w).
"""


def routes(text, large=()):
    """Return where each relation is kept."""
    program, aggregates = divided(text)
    cut = cut_for(program, large, aggregates.keys())
    found = routes_of(cut.program, cut.dividing)
    return {name: route for each in found for name, route in each.relations.items()}


def test_relations_are_kept_by_the_columns_that_rules_need():
    """What is read by its divided variable is in parts, what has none of it is everywhere."""
    found = routes(POINTS_TO)

    assert (found["assign"].columns, found["assign"].is_everywhere) == ((0, 1), False)
    assert (found["off"].columns, found["off"].is_everywhere) == ((0,), False)
    assert found["deref"].is_everywhere
    assert not found["value"].is_everywhere


def test_rules_are_cut_for_a_large_relation():
    """If `deref` is large, no partner has all of it: the rule that reads it twice becomes two."""
    found = routes(POINTS_TO, large=["deref"])

    assert not any(route.is_everywhere for route in found.values())
    assert any(name.startswith("memory/") for name in found)


TOTALS = """
.decl sale(x: number, p: number) .input sale
.decl shop(x: number) .input shop
.decl total(x: number, n: number)
total(x, n) :- shop(x), n = sum p : { sale(x, p) }.
"""


def test_what_aggregates_read_is_divided():
    """Derivations of the body are found where its facts are, and groups are kept where rules read them."""
    found = routes(TOTALS)

    assert not any(route.is_everywhere for route in found.values())
    assert any(name.startswith("sum/") for name in found)


def test_each_partner_keeps_a_part():
    """With four partners none has more than 6 of 10 rows of a relation that is kept by one column or two."""
    text = """
    .decl edge(x: number, y: number) .input edge
    .decl step(x: number, y: number)
    step(x, z) :- edge(x, y), edge(y, z).
    .decl far(x: number, y: number)
    far(x, z) :- step(x, y), step(y, z).
    """
    edges = {(n, n + 1) for n in range(300)} | {(n, n * 7 % 300) for n in range(300)}

    states, _ = follow(followable(text), [{"edge": edges}, {"edge": edges - {(3, 4)}}], 4, Strategy.UPDATE)

    for state in states:
        for name in ("edge", "step"):
            rows = [len(each[f"{name} kept"]) for each in state]
            assert max(rows) < 0.6 * sum(len(each[name]) for each in state)


@settings(max_examples=examples(20))
@given(data=st.data(), strategy=st.sampled_from([Strategy.UPDATE, Strategy.UPDATE, Strategy.RECOMPUTE]))
@pytest.mark.parametrize("partners", [2, 3])
def test_partners_follow_epochs_without_copies(partners, data, strategy):
    """If every relation is large, levels and counts are those of one partner, and facts the program's."""
    drawn = data.draw(tangled_programs())
    program, aggregates = divided(drawn.text)
    cut = cut_for(program, program.relations.keys(), aggregates.keys())
    history = history_of(drawn, data.draw(tangled_epochs(drawn, max_epochs=3)))

    states, _ = follow(cut.program, history, partners, strategy, aggregates, cut.dividing)

    for number, inputs in enumerate(history):
        alone, _ = follow(cut.program, [inputs], 1, strategy, aggregates, cut.dividing)
        uncut, _ = follow(program, [inputs], 1, strategy, aggregates)
        for name in cut.program.relations:
            together = {}
            for state in states[number]:
                together.update(state[name])
                levels = alone[0][0][name]
                assert all(levels[row][0] == level for row, level in state[f"{name} kept"].items())
            assert together == alone[0][0][name], name
            if name in program.relations:
                assert together.keys() == uncut[0][0][name].keys()


@settings(max_examples=examples(20))
@given(data=st.data(), strategy=st.sampled_from([Strategy.UPDATE, Strategy.AUTO, Strategy.RECOMPUTE]))
def test_sessions_that_copy_nothing_are_exact(data, strategy):
    """Random programs over all types are followed exactly, whoever dies, if no relation may be copied."""
    drawn = data.draw(programs())
    kill = st.tuples(st.integers(0, 2), st.sampled_from(MOMENTS), st.integers(0, 12))
    with tasks_in_threads(data.draw(st.integers(1, 3))) as tasks:
        session = NothingCopied(build(drawn.text))
        try:
            session.start(drawn.inputs)
            assert session.relations() == session.expected()
            for epoch in data.draw(epochs(drawn, max_epochs=3)):
                for each in data.draw(st.lists(kill, max_size=1)):
                    tasks.kill(*each)
                session.change(epoch.inserts, epoch.deletes, strategy=strategy)
                assert session.relations() == session.expected()
        finally:
            session.engine.close()


class NothingCopied(Resident):
    """A session in which every relation is large."""

    replicated_facts = 0


def test_placements_tell_what_all_partners_have():
    """A relation that is copied to all partners is named, and so is a large one that is not."""
    facts = {"assign": [(n, n + 1) for n in range(9)], "deref": [(n, n) for n in range(9)], "off": [(4,)]}
    reasons = []
    for kind in (Resident, NothingCopied):
        with tasks_in_threads():
            session = kind(build(POINTS_TO)).start(facts)
            session.change(insert={"deref": [(3, 7)]}, delete={"assign": [(6, 7)]})
            assert session.relations() == run(
                POINTS_TO, inputs={name: sorted(each) for name, each in session.inputs.items()}
            )
            reasons.append(session.engine.placements[-1].reason)
            session.engine.close()

    assert reasons[0] == "kept by 3 partners; all of them have `deref`"
    assert reasons[1].startswith("kept by 3 partners; rules are divided by what `assign`, `deref`, ")
