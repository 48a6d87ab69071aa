"""Small epochs run in one kernel; whatever is too large for it runs at large, with the same state."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import Maintained, examples, follow
from support.epochs_programs import tangled_epochs, tangled_programs
from support.programs import build
from support.strategies import dense_programs, epochs
from tidelog.engine.epoch import Strategy
from tidelog.engine.local.by_row import sync
from tidelog.engine.protocol import Settings
from tidelog.maintain.row_delta import RowDelta
from tidelog.maintain.small import epoch as small
from tidelog.maintain.sweeps import Sweeps
from tidelog.storage import Index, StoredRelation
from tidelog.storage.direct import DirectIndex
from tidelog.storage.relation_indexes import IndexName


@pytest.fixture
def at_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be tried in the kernel."""
    monkeypatch.setattr(small.SmallEpochs, "takes", lambda *_: False)


@pytest.fixture
def given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the kernel give up after a few bindings."""
    monkeypatch.setattr(small, "_FREE_WORK", 6)
    monkeypatch.setattr(small, "_WORK_PER_LEVEL", 1)
    monkeypatch.setattr(small, "_FEW_ROWS", 1 << 30)


@pytest.fixture
def wide_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every index have more entries than 32 bits count."""
    monkeypatch.setattr("tidelog.storage.index._NARROW_PLACES", 0)


def _at_large(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Return a list that receives the relations of each stratum that is not left to the kernel."""
    seen: list[tuple[str, ...]] = []
    run = Sweeps.run

    def watched(update: Sweeps, inputs: Mapping[str, RowDelta]) -> dict[str, RowDelta]:
        seen.append(tuple(update.judge.marks))
        return run(update, inputs)

    monkeypatch.setattr(Sweeps, "run", watched)
    return seen


def _follow(data: st.DataObject) -> None:
    if data.draw(st.booleans()):
        program = data.draw(tangled_programs())
        drawn = data.draw(tangled_epochs(program))
    else:
        program = data.draw(dense_programs())
        drawn = data.draw(epochs(program))
    follow(program.text, program.inputs, [(x.inserts, x.deletes) for x in drawn], Strategy.UPDATE)


@pytest.mark.usefixtures("at_large")
def test_update_at_large_follows_random_rules():
    """Batch by batch, every epoch is as from nothing: levels, counts and delta."""

    @settings(max_examples=examples(40))
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        _follow(data)

    check()


@pytest.mark.usefixtures("given_up")
def test_what_the_kernel_gives_up_is_undone():
    """An epoch that turns out too large in the middle of the kernel goes on at large, as from nothing."""

    @settings(max_examples=examples(40))
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        _follow(data)

    check()


@pytest.mark.usefixtures("wide_places")
def test_indexes_may_have_more_entries_than_32_bits_count():
    """Groups that lead to entries by 64 bits are followed as others are."""

    @settings(max_examples=examples(40))
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        _follow(data)

    check()


@pytest.mark.usefixtures("given_up")
def test_a_relation_with_as_many_rows_as_before_is_written_again():
    """The caller counts rows between two epochs; the kernel learns that there are as many as before that."""
    program = ".decl p(x: number)\n.input p\np(b) :- p(1), p(3), b = (0 + 1) % 4.\n"
    changes = [({"p": ((1,),)}, {}), ({"p": ((0,),)}, {"p": ((1,),)}), ({}, {"p": ((0,),)})]
    follow(program, {"p": [(3,)]}, changes, Strategy.UPDATE)


def test_kernel_computes_numbers_as_the_engine_does(monkeypatch: pytest.MonkeyPatch):
    """Arithmetic and comparisons of numbers in rules stay in the kernel and give the same facts."""
    at_large = _at_large(monkeypatch)
    text = """
    .decl e(x: number, y: number)
    .input e
    .decl f(x: number, y: number)
    f(x * 7 - y, x / y) :- e(x, y).
    f(x % y, y + 1) :- f(x, y), x - y < 3 * y, y != 4.
    .decl g(x: number)
    g(x) :- f(x, y), !e(x, y), x + y > 2.
    """
    run = Maintained(build(text)).start({"e": [(7, -2), (-7, 2), (5, 0), (-9, -4)]})

    run.change(insert={"e": [(2**40, 3), (-(2**63), -1)]}, delete={"e": [(7, -2)]})
    run.check()
    run.change(insert={"e": [(7, -2)]}, delete={"e": [(2**40, 3), (5, 0)]})
    run.check()

    assert not at_large


def test_a_recompute_sees_the_rows_of_earlier_small_epochs():
    """Facts that small epochs derived are there when a later epoch evaluates a stratum from nothing."""
    text = """
    .decl e(x: number, y: number)
    .decl on(x: number)
    .input e, on
    .decl p(x: number, y: number)
    p(x, y) :- e(x, y).
    .decl same(x: number, y: number) eqrel
    same(x, y) :- p(x, y), on(x).
    """
    run = Maintained(build(text)).start({"e": [(0, 1)], "on": [(0,)]})

    run.change(insert={"e": [(2, 3), (3, 4)]})
    found = run.change(insert={"on": [(2,), (3,)]})

    assert {(2, 3), (3, 4)} < found.inserted["same"]
    run.check()


def test_long_chains_are_small(monkeypatch: pytest.MonkeyPatch):
    """Thousands of levels of a single fact are one run of the kernel."""
    at_large = _at_large(monkeypatch)
    text = """
    .decl next(x: number, y: number)
    .input next
    .decl reached(x: number)
    reached(0).
    reached(y) :- reached(x), next(x, y).
    """
    links = [(x, x + 1) for x in range(3000)]
    run = Maintained(build(text), settings=Settings(jobs=1)).start({"next": links})

    change = run.change(delete={"next": [(10, 11)]})
    back = run.change(insert={"next": [(10, 11)]})

    assert len(change.deleted["reached"]) == len(back.inserted["reached"]) == 2990
    assert not at_large


def test_small_epochs_go_on_after_their_only_stratum_was_recomputed():
    """A recompute replaces relations; the kernel uses none of them then, and the new ones afterwards."""
    text = """
    .decl e(x: number, y: number)
    .input e
    e(x, z) :- e(x, y), e(y, z).
    """
    run = Maintained(build(text)).start({"e": [(0, 1), (1, 2)]})

    for strategy in (Strategy.UPDATE, Strategy.RECOMPUTE, Strategy.RECOMPUTE, Strategy.UPDATE):
        run.change(insert={"e": [(2, 3)]}, strategy=strategy)
        run.check()
        run.change(delete={"e": [(2, 3), (0, 1)]}, insert={"e": [(5, 0)]}, strategy=strategy)
        run.check()


def test_a_stratum_that_comes_into_use_leaves_the_indexes_of_others_alone(monkeypatch: pytest.MonkeyPatch):
    """The first small epoch of a stratum asks for its own indexes; those in use already are not visited."""
    visited: list[str] = []
    original = sync.index_named

    def watched(relation: StoredRelation, name: IndexName) -> Index | DirectIndex:
        visited.append(next(each for each, stored in run.engine.relations.items() if stored is relation))
        return original(relation, name)

    text = "".join(
        f"""
    .decl {edge}(x: number, y: number)
    .input {edge}
    .decl {path}(x: number, y: number)
    {path}(x, y) :- {edge}(x, y).
    {path}(x, z) :- {path}(x, y), {edge}(y, z).
    """
        for edge, path in (("road", "trip"), ("rail", "ride"))
    )
    links = [(n, n + 1) for n in range(9)]
    run = Maintained(build(text)).start({"road": links, "rail": links})
    run.change(delete={"road": [(3, 4)]}, strategy=Strategy.UPDATE)
    monkeypatch.setattr(sync, "index_named", watched)

    run.change(delete={"rail": [(3, 4)]}, strategy=Strategy.UPDATE)

    run.check()
    assert set(visited) == {"rail", "ride"}


def test_a_search_for_other_derivations_ends_at_affected_facts():
    """Facts that vanish together are not looked up for each other: a loss costs little more than a gain."""
    text = """
    .decl e(x: number, y: number)
    .decl again(x: number)
    .input e, again
    .decl t(x: number, y: number)
    .decl s(x: number, y: number)
    t(x, y) :- e(x, y).
    t(x, y) :- s(x, y), again(x).
    s(y, z) :- t(x, y), t(x, z).
    """
    star = {"e": [(0, n) for n in range(1, 13)]}
    run = Maintained(build(text)).start(star)

    deleted = run.change(delete=star, strategy=Strategy.UPDATE)
    inserted = run.change(insert=star, strategy=Strategy.UPDATE)

    run.check()
    lost, gained = (sum(report.work for report in epoch.strata) for epoch in (deleted, inserted))
    assert lost < 1.2 * gained


BEYOND_THE_KERNEL = """
.decl edge(x: number, y: number) .input edge
.decl weight(y: number, z: number) .input weight
.decl label(x: number, t: symbol) .input label
.decl link(x: number, y: number) .input link
.decl shown(t: symbol)
shown(t) :- link(x, y), link(y, _), label(x, t).
shown(cat(t, "!")) :- label(_, t).
.decl step(x: number, y: number)
step(x, y) :- edge(x, y), shown("one").
.decl joined(x: number, z: number)
joined(x, z) :- step(x, y), weight(y, z).
.output joined, shown
"""


def test_a_stratum_that_cannot_be_laid_out_leaves_indexes_in_step():
    """What the kernel enters into an index after it is known to the index, and is not entered again."""
    edges = {(x, y) for x in range(12) for y in range(4)}
    run = Maintained(build(BEYOND_THE_KERNEL))
    run.start({"edge": edges, "weight": {(0, 0)}, "label": {(1, "one")}, "link": {(1, 1)}})
    run.change({"weight": {(1, 1)}, "edge": {(13, 1)}}, {}, strategy=Strategy.AUTO)

    run.change({"edge": {(x, 9) for x in range(20, 32)}, "label": {(2, "two")}}, {}, strategy=Strategy.AUTO)

    for relation in run.engine.relations.values():
        assert {index.rows_indexed for index in relation.all_indexes()} <= {relation.count}
    run.change({"weight": {(9, 9)}}, {})
    run.check()


LINKS = """
.decl link(c: number, n: number, to: number)
.input link
.decl named(c: number, n: number, of: number)
.input named
.decl next(x: number, y: number)
next(x, y) :- named(c, n, x), link(c, n, y).
.decl reach(x: number, y: number)
reach(x, y) :- next(x, y).
reach(x, z) :- reach(x, y), next(y, z).
.decl ends(x: number)
ends(y) :- next(_, y), !next(y, _).
"""


def _links(first: int, last: int) -> dict[str, list[tuple[int, ...]]]:
    """Return links from each node of a range to the next; nodes are named by two numbers, far apart."""
    nodes = range(first, last)
    return {
        "link": [(node % 7, node << 10, (node + 1) << 10) for node in nodes],
        "named": [(node % 7, node << 10, node << 10) for node in nodes],
    }


@pytest.mark.parametrize("is_mapped", [False, True])
def test_keys_of_several_columns_or_sparse_codes_lead_straight_to_rows(tmp_path: Path, *, is_mapped: bool):
    """Direct indexes become slots and grow in small epochs; rows change, share keys and are in images."""
    run = Maintained(build(LINKS)).start(_links(0, 40))
    run.change(_links(50, 55), {"link": [(3, 3 << 10, 4 << 10)]})
    if is_mapped:
        run = run.mapped(tmp_path / "image")

    # More rows than there is room for at first, without a path among them.
    run.change({"link": [(9, node << 10, 1) for node in range(100, 1800)]})
    run.change({"named": [(9, node << 10, node << 11) for node in range(100, 1800)]})
    run.check()
    # Two rows for a key, in one epoch and for a time.
    run.change({"link": [(3, 3 << 10, 9 << 10), (4, 4 << 10, 2 << 10)]}, {"link": [(4, 4 << 10, 5 << 10)]})
    run.check()
    run.change({}, {"link": [(3, 3 << 10, 9 << 10)], "named": [(9, 200 << 10, 200 << 11)]})
    run.check()

    relations = run.engine.relations
    found = {key: relations[name].direct[key] for name, key in (("link", (0, 1)), ("next", (0,)))}
    assert not any(index.is_dense for index in found.values())
