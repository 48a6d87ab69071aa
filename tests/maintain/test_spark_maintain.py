"""Partners in threads follow changes: after every epoch their state is what evaluation gives."""

import threading
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import Maintained
from support.epochs_programs import tangled_epochs, tangled_programs
from support.partner_epochs import LIMIT, check_history, divided, follow, followable, history_of, rows
from support.programs import run
from tidelog.engine.epoch import Action, MaintenanceSettings, Strategy
from tidelog.engine.local.by_row.layout import CALLER
from tidelog.engine.spark.wire import between_threads
from tidelog.maintain.partners.engine import CodeDelta, PartnerEngine
from tidelog.maintain.prices import DEFAULT_RATIO
from tidelog.maintain.small.epoch import SmallEpochs

CLOSURE = """
.decl edge(x: number, y: number) .input edge
.decl stop(x: number) .input stop
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z), !stop(y), x != z.
"""


def epochs_of(history, partners, settings_):
    """Return the reports of each epoch after the first evaluation, and the work of that one."""
    program = followable(CLOSURE)
    found = []

    def work(wire):
        engine = PartnerEngine(program, {}, LIMIT, wire, is_wide=False)
        for name, facts in history[0].items():
            engine.insert(name, rows(facts, program.relations[name].arity))
        engine.evaluate()
        reports = [list(engine.work)]
        for before, after in pairwise(history):
            changes = {
                name: CodeDelta(
                    rows(after[name] - before[name], width), rows(before[name] - after[name], width)
                )
                for name, width in (("edge", 2), ("stop", 1))
            }
            reports.append(engine.apply(changes, settings_)[1])
            engine.commit()
        found.append(reports)

    threads = [threading.Thread(target=work, args=(wire,)) for wire in between_threads(partners)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found[0]


def closures():
    """Return inputs of several epochs: edges and stops that come and go."""
    edges = {(x, (x * 7 + 3) % 40) for x in range(40)} | {(x, x + 1) for x in range(30)}
    first = {"edge": edges, "stop": {(5,)}}
    second = {"edge": edges - {(3, 4), (10, 11)}, "stop": {(5,), (9,)}}
    third = {"edge": (edges - {(3, 4)}) | {(39, 2)}, "stop": set()}
    return [first, second, third]


def local_epochs(history, settings_, monkeypatch):
    """Return what the local engine reports of the same epochs, all of them followed batch by batch."""
    monkeypatch.setattr("tidelog.maintain.epoch.KERNEL", CALLER)
    monkeypatch.setattr(SmallEpochs, "takes", lambda *_: False)
    run = Maintained(followable(CLOSURE)).start(history[0])
    reports = [list(run.engine.export_state().stratum_work)]
    for before, after in pairwise(history):
        changed = run.change(
            insert={name: after[name] - before[name] for name in after},
            delete={name: before[name] - after[name] for name in after},
            strategy=settings_.strategy, switch=settings_.switch,
        )  # fmt: skip
        reports.append(changed.strata)
    return reports


def test_a_partner_alone_counts_work_like_the_local_engine(monkeypatch):
    """An evaluation and its epochs have one price: the same derivations, bindings, facts and levels.

    Partners count derivations while they evaluate, the local engine when a fact loses one.
    """
    ask = MaintenanceSettings(Strategy.UPDATE)

    alone = epochs_of(closures(), 1, ask)

    local = local_epochs(closures(), ask, monkeypatch)
    assert alone[0] == local[0]
    for theirs, ours in zip(alone[1:], local[1:], strict=True):
        for counted, counts in zip(theirs, ours, strict=True):
            assert counted.work <= counts.work <= 2 * counted.work


@pytest.mark.parametrize("partners", [1, 2, 3])
def test_partners_give_up_at_the_budget_of_the_local_engine(partners, monkeypatch):
    """Partners allow an update the share of a recompute that the local engine allows it."""
    monkeypatch.setattr("tidelog.maintain.prices.FREE_WORK", 0)
    ask = MaintenanceSettings(Strategy.AUTO, switch=0.3)

    found = epochs_of(closures(), partners, ask)

    assert f"{0.3 * found[0][-1] / DEFAULT_RATIO:,.0f} are allowed" in found[1][-1].reason


APART = """
.decl e(x: number, y: number) .input e
.decl mark(x: number) .input mark
.decl reach(x: number, y: number)
reach(x, y) :- e(x, y), !mark(x).
reach(x, z) :- reach(x, y), e(y, z).
"""


def test_parts_with_different_iterations_decide_alike(monkeypatch):
    """Parts that exchange no facts go through different numbers of iterations, and still give up together."""
    monkeypatch.setattr("tidelog.maintain.prices.FREE_WORK", 0)
    program = followable(APART)
    long = {(n, n + 1) for n in range(60)}
    history = [{"e": long, "mark": {(n,) for n in range(1, 60)}}]
    history.append({"e": long - {(30, 31), (2, 3)}, "mark": {(n,) for n in range(5, 60)}})
    history.append({"e": long, "mark": set()})

    states, _ = follow(program, history, 3, Strategy.AUTO)

    for number, inputs in enumerate(history):
        alone, _ = follow(program, [inputs], 1, Strategy.AUTO)
        together = {row: each for state in states[number] for row, each in state["reach"].items()}
        assert together == alone[0][0]["reach"]


@settings(max_examples=25)
@given(data=st.data(), strategy=st.sampled_from([Strategy.UPDATE, Strategy.UPDATE, Strategy.RECOMPUTE]))
@pytest.mark.parametrize("partners", [1, 2, 3])
def test_partners_follow_epochs(partners, data, strategy):
    """After every epoch the state is that of evaluation, count by count, and the deltas lead there."""
    check_partners(partners, data, strategy)


@settings(max_examples=15)
@given(data=st.data())
@pytest.mark.parametrize("partners", [1, 2, 3])
def test_partners_that_may_give_up_follow_epochs(partners, data):
    """With hardly any room for updates, which then are given up midway, the same holds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tidelog.maintain.prices.FREE_WORK", 0)
        check_partners(partners, data, Strategy.AUTO)


def check_partners(partners, data, strategy):
    """Take random programs through random epochs and compare each with an evaluation."""
    drawn = data.draw(tangled_programs())
    program, aggregates = divided(drawn.text)
    history = history_of(drawn, data.draw(tangled_epochs(drawn, max_epochs=3)))

    check_history(program, history, partners, strategy, aggregates)


TOTALS = """
.decl shop(x: number, y: number) .input shop
.decl sale(x: number, p: number) .input sale
.decl shut(x: number) .input shut
.decl total(x: number, n: number, m: number)
total(x, n, m) :-
    shop(x, _), !shut(x), n = sum p : { sale(x, p), p < 9 }, m = count : { shop(x, _), sale(_, x) }.
.decl best(x: number, p: number)
best(x, p) :- total(x, _, _), p = max q : { sale(x, q) }.
.decl middle(f: float)
middle(f) :- f = mean n : { total(_, n, _) }.
.decl linked(x: number, y: number)
linked(x, y) :- shop(x, y), best(x, p), p > 2.
linked(x, z) :- linked(x, y), linked(y, z).
.decl far(x: number, n: number)
far(x, n) :- shop(x, _), n = count : { linked(x, _) }.
"""
PAIRS = st.sets(st.tuples(st.integers(0, 5), st.integers(0, 12)), max_size=10)


@pytest.mark.parametrize("partners", [1, 2, 3])
@settings(max_examples=20)
@given(
    history=st.lists(st.tuples(PAIRS, PAIRS, st.sets(st.tuples(st.integers(0, 5)))), min_size=2, max_size=4)
)
def test_aggregates_are_followed_group_by_group(partners, history):
    """Counts, sums, means and extremes of divided groups are those of an evaluation after every epoch."""
    program, aggregates = divided(TOTALS)
    assert len(aggregates) == 5
    inputs = [{"shop": shop, "sale": sale, "shut": shut} for shop, sale, shut in history]

    check_history(program, inputs, partners, Strategy.UPDATE, aggregates)
    states, _ = follow(program, inputs, partners, Strategy.AUTO, aggregates)
    for number, facts in enumerate(inputs):
        expected = run(TOTALS, inputs=facts)
        for name in ("total", "best", "linked", "far"):
            assert set().union(*(state[name] for state in states[number])) == expected[name]


def test_partners_that_have_their_groups_do_not_evaluate_again():
    """An aggregate is updated where groups are in memory; each partner has only groups that it owns."""
    program, aggregates = divided(TOTALS)
    first = {"shop": {(x, x + 1) for x in range(20)}, "sale": {(x, 3) for x in range(20)}, "shut": set()}
    kept, reports = [], []

    def work(wire):
        engine = PartnerEngine(program, {}, LIMIT, wire, is_wide=True, aggregates=aggregates)
        for name, facts in first.items():
            engine.insert(name, rows(facts, program.relations[name].arity))
        engine.evaluate()
        nothing = rows(set(), 2)
        found = engine.apply({"sale": CodeDelta(rows({(4, 5)}, 2), nothing)}, MaintenanceSettings())
        reports.append({report.relations[0]: report.action for report in found[1]})
        engine.commit()
        kept.append([len(groups._table) for groups in engine.groups.groups.values()])

    threads = [threading.Thread(target=work, args=(wire,)) for wire in between_threads(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    of_aggregates = {action for name, action in reports[0].items() if name in aggregates}
    assert of_aggregates == {Action.UPDATED, Action.SKIPPED}
    assert all(sum(sizes) <= 20 for sizes in zip(*kept, strict=True))
    assert all(max(sizes) < 20 for sizes in kept)
