"""The published examples of trace maintenance, number by number."""

import numpy as np

from support.code_rows import as_rows
from tidelog.engine.local.leapfrog_trace import RuleTrace
from tidelog.engine.local.trace_trie import TraceTrie
from tidelog.plan.leapfrog_trace import TraceAtom, TracePlan
from tidelog.program.nodes import RuleId
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.intervals import IntervalIndex
from tidelog.storage.leapfrog_join import HIGHEST, LOWEST

LOW, END = int(LOWEST), int(HIGHEST)


def stored(facts: list[tuple[int, ...]]) -> StoredRelation:
    """Return a relation whose facts hold in the old and in the new epoch."""
    relation = StoredRelation(len(facts[0]), np.int32, counting=True)
    relation.insert(as_rows(facts, relation.arity))
    return relation


def change(
    relation: StoredRelation, insert: list[tuple[int, ...]], erase: list[tuple[int, ...]]
) -> np.ndarray:
    """Let facts hold in one of the two epochs only; return the rows of all of them."""
    come = relation.locate(as_rows(insert, relation.arity))
    relation.keep_levels(come)
    relation.levels[come] = 0
    gone = relation.find(as_rows(erase, relation.arity))
    relation.keep_levels(gone)
    relation.levels[gone] = ABSENT
    return np.concatenate([gone, come])


def unary_join(a: StoredRelation, b: StoredRelation) -> RuleTrace:
    """Return the recorded join `a(x), b(x)` with the intervals of both atoms."""
    atoms = tuple(TraceAtom(name, (0,), (0,), (), ()) for name in "ab")
    relations = {"a": a, "b": b}
    tries = [TraceTrie(atom, relations[atom.relation], {}) for atom in atoms]
    for trie in tries:
        trie.load()
    trace = RuleTrace(TracePlan(RuleId(0), ("x",), atoms), relations, tries, keeps_all=True)
    trace.record()
    return trace


def intervals(trace: RuleTrace, atom: int) -> set[tuple[int, int]]:
    """Return the intervals of an atom that are not deleted."""
    batches = trace.sensitivities[atom].index.batches
    return {tuple(record) for batch in batches for record in batch.live().tolist()}


def ones(*values: int) -> list[tuple[int, ...]]:
    """Return facts of one column."""
    return [(value,) for value in values]


def test_sensitivity_of_the_unary_join():
    """The join of {0, 2, 4, 5, 6} and {1, 2, 6, 7} depends on these intervals and no others."""
    trace = unary_join(stored(ones(0, 2, 4, 5, 6)), stored(ones(1, 2, 6, 7)))

    assert intervals(trace, 0) == {(LOW, 0), (1, 2), (2, 4), (6, 6), (6, END)}
    assert intervals(trace, 1) == {(LOW, 1), (2, 2), (4, 6)}


def test_change_oracle_of_the_unary_join():
    """Erasing 5 and inserting 3 change nothing; 8 and 2 open the windows [6, ∞] and [2, 2]."""
    a, b = stored(ones(0, 2, 4, 5, 6)), stored(ones(1, 2, 6, 7))
    trace = unary_join(a, b)
    changed = {"a": change(a, ones(8), ones(5)), "b": change(b, ones(3), ones(2))}
    for trie in trace.tries:
        trie.look(changed[trie.name])

    windows = trace.oracle()

    assert windows.keys() == {0}
    assert windows[0].tolist() == [[2, 2], [6, END]]


def test_maintenance_of_the_unary_join():
    """The value 2 is lost, nothing is gained, and the refreshed intervals serve the next epoch."""
    a, b = stored(ones(0, 2, 4, 5, 6)), stored(ones(1, 2, 6, 7))
    trace = unary_join(a, b)
    changed = {"a": change(a, ones(8), ones(5)), "b": change(b, ones(3), ones(2))}
    for trie in trace.tries:
        trie.look(changed[trie.name])

    found = trace.follow()
    trace.commit()

    assert found.lost[:, 0].tolist() == [2]
    assert found.gained.tolist() == []
    # What was hit is gone, and every value that now blocks 8 or 2 is watched again.
    assert not {(6, END)} & (intervals(trace, 0) - intervals(unary_join(a, b), 0) - {(6, 8)})
    assert any(low <= 8 <= high for low, high in intervals(trace, 1))
    assert any(low <= 2 <= high for low, high in intervals(trace, 1))


def test_surgeries_of_a_changed_trie():
    """A new fact adds a branch on every level it is new on; an erased one takes its leaf."""
    before = [(0, 30, 80), (0, 30, 81), (1, 35, 60), (1, 35, 61), (3, 40, 90), (3, 50, 91), (3, 50, 92)]
    relation = stored(before)
    trie = TraceTrie(TraceAtom("a", (0, 1, 2), (0, 1, 2), (), ()), relation, {})
    trie.load()
    changed = change(relation, [(4, 60, 71)], [(0, 30, 81), (3, 40, 90), (3, 50, 92)])

    trie.look(changed)

    first, second, third = trie.surgeries

    assert first.tolist() == [[4]]
    assert second.tolist() == [[4, 60]]
    assert third.tolist() == [[0, 30, 81], [3, 40, 90], [3, 50, 92], [4, 60, 71]]


def test_dead_rows_are_dropped_and_their_branches_cleared():
    """Once dead rows are as many as facts, the next epoch's trie is without them; a fact can come back."""
    relation = stored([(0, 30), (0, 31), (1, 35), (2, 40)])
    trie = TraceTrie(TraceAtom("a", (0, 1), (0, 1), (), ()), relation, {})
    trie.load()
    trie.look(change(relation, [], [(0, 31), (1, 35)]))
    trie.advance()
    relation.forget_before(np.arange(4))
    changed = change(relation, [(2, 41)], [])

    trie.look(changed)

    assert [points.tolist() for points in trie.cleared] == [[[1]], [[0, 31], [1, 35]]]
    assert [points.tolist() for points in trie.surgeries] == [[], [[2, 41]]]
    trie.advance()
    assert sorted(np.concatenate([batch.numbers for batch in trie.batches]).tolist()) == [0, 3, 4]
    trie.look(change(relation, [(1, 35)], []))
    assert [points.tolist() for points in trie.surgeries] == [[[1]], [[1, 35]]]


def test_interval_query():
    """Of [2, 10], [3, 7], [5, 15] and [6, 9] the first and the third contain 10."""
    index = IntervalIndex(0, 2)
    index.add(np.array([[2, 10], [3, 7], [5, 15], [6, 9]]))

    found = index.find(np.array([[10]]))

    assert found.records.tolist() == [[2, 10], [5, 15]]
