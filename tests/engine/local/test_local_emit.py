"""Several threads insert into one relation while one of them enlarges it."""

import sys
import threading

import numpy as np
import pytest

from support.code_rows import as_rows, as_tuples, random_rows
from tidelog.engine.local.emit import EmitStep, Halt, SharedEmitStep, SharedInsertion
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import IS_COMPILED
from tidelog.storage.packed import PackedWords
from tidelog.storage.pairs import PairBits
from tidelog.storage.relation import NO_COUNTS

THREADS = 4
MANY = 40_000 if IS_COMPILED else 800


def insert_from_threads(relation, parts, *, first_new=0, batch_rows=MANY // 40):
    """Insert each part from a thread of its own, in batches; return what went wrong."""
    insertion = SharedInsertion(relation, len(parts), first_new)
    failures = []

    def work(thread):
        try:
            for first in range(0, len(parts[thread]), batch_rows):
                batch = parts[thread][first : first + batch_rows]
                insertion.insert(batch, NO_COUNTS, thread)
        except BaseException as failure:  # noqa: BLE001 - a thread's failure must reach the test
            failures.append(failure)
            insertion.halted = True

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(len(parts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    insertion.close()
    return failures


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_threads_insert_while_the_relation_grows(dtype):
    """Rows of all threads arrive once each, with all derivations, though arrays are replaced."""
    parts = [random_rows(MANY, 2, MANY // 300, seed=thread, dtype=dtype) for thread in range(THREADS)]
    relation = StoredRelation(2, dtype, counting=True)

    failures = insert_from_threads(relation, parts)

    expected = {row for part in parts for row in as_tuples(part)}
    assert failures == []
    assert relation.count == len(expected)
    assert set(as_tuples(relation.live_rows())) == expected
    assert (relation.find(as_rows(sorted(expected), 2, dtype)) >= 0).all()
    assert int(relation.counts[: relation.count].sum()) == THREADS * MANY


def test_rows_of_earlier_iterations_keep_their_numbers():
    """What was there before stays where it was and counts no further derivations."""
    old = as_rows([(number, number) for number in range(100)], 2)
    relation = StoredRelation(2, np.int32, counting=True)
    relation.insert(old)
    parts = [np.concatenate([old, random_rows(MANY, 2, 50, seed=thread)]) for thread in range(THREADS)]

    failures = insert_from_threads(relation, parts, first_new=100)

    assert failures == []
    assert as_tuples(relation.rows[:100]) == as_tuples(old)
    assert (relation.counts[:100] == 1).all()


def test_threads_leave_bits_together(monkeypatch):
    """When one thread meets a pair outside the bits, all go on with slots."""
    monkeypatch.setattr("tidelog.storage.pairs._SMALLEST_ROWS", 1)
    small = 40 if IS_COMPILED else 15
    every = as_rows([(left, right) for left in range(small) for right in range(small)], 2)
    relation = StoredRelation(2, np.int32)
    relation.needs_numbers = False
    relation.insert(every)
    relation.insert(every)
    used_bits = relation._presence is not None
    inside = [random_rows(MANY // 4, 2, small, seed=thread) for thread in range(THREADS - 1)]
    outside = random_rows(MANY // 4, 2, small + 3, seed=9)

    failures = insert_from_threads(relation, [*inside, outside])

    expected = set(as_tuples(every)) | set(as_tuples(outside))
    assert used_bits
    assert relation._presence is None
    assert failures == []
    assert relation.count == len(expected)
    assert set(as_tuples(relation.live_rows())) == expected


@pytest.mark.parametrize("threads", [4, 8])
@pytest.mark.parametrize("membership", [PackedWords, PairBits])
def test_threads_that_wait_help_to_enlarge_membership(monkeypatch, membership, threads):
    """Ranges of the old table are entered by several threads, and no fact is lost or entered twice."""
    monkeypatch.setattr("tidelog.storage.packed._SMALLEST_ROWS", 1)
    monkeypatch.setattr("tidelog.engine.local.morsels._SMALLEST_RANGE", 16)
    monkeypatch.setattr("tidelog.storage.relation._NUMBERS_PER_LARGE_BLOCK", 8)
    few = 400 if IS_COMPILED else 60
    highest = few if membership is PairBits else MANY
    monkeypatch.setattr("tidelog.storage.pairs._SMALLEST_ROWS", 1 if membership is PairBits else 1 << 60)
    helpers = set()
    for kernel in ("tidelog.storage.packed.grow_words", "tidelog.storage.pairs.mark_pairs"):
        monkeypatch.setattr(kernel, noting_threads(kernel, helpers))
    parts = [random_rows(MANY // 4, 2, highest, seed=thread) for thread in range(threads)]
    relation = StoredRelation(2, np.int32)
    relation.needs_numbers = False

    failures = insert_from_threads(relation, parts)

    expected = {row for part in parts for row in as_tuples(part)}
    assert failures == []
    assert isinstance(relation._presence, membership)
    assert helpers
    assert relation.count == len(expected)
    assert set(as_tuples(relation.live_rows())) == expected
    assert relation.insert(as_rows(sorted(expected), 2)) == 0


def noting_threads(name, threads):
    """Return a kernel that notes which threads call it."""
    module, _, kernel = name.rpartition(".")
    called = getattr(sys.modules[module], kernel)

    def note(*arguments):
        threads.add(threading.get_ident())
        return called(*arguments)

    return note


def test_a_mistake_of_a_thread_that_helps_is_raised_where_help_was_asked_for():
    """All threads end, and the one that has exclusive access raises what another met."""
    insertion = SharedInsertion(StoredRelation(1, np.int32), 2, 0)
    begun, raised, outcome = threading.Event(), threading.Event(), []

    def task(first, _last):
        if threading.current_thread() is helper:
            raised.set()
            raise ZeroDivisionError
        begun.set()
        assert raised.wait(30) or first

    def ask():
        with pytest.raises(ZeroDivisionError):
            insertion._alone(lambda: insertion._share(task, 1 << 16))
        outcome.append("raised")

    helper = threading.Thread(target=insertion._wait)
    asking = threading.Thread(target=ask)
    asking.start()
    begun.wait(30)
    helper.start()
    helper.join(30)
    asking.join(30)

    assert outcome == ["raised"]
    assert not insertion._is_alone


def test_halted_insertion_lets_nobody_wait():
    """A thread that needs room gives up when the run was given up."""
    relation = StoredRelation(1, np.int32)
    insertion = SharedInsertion(relation, 2, 0)
    insertion.halted = True

    with pytest.raises(Halt):
        insertion.insert(random_rows(1000, 1, 1000), NO_COUNTS, 0)


def test_end_steps_count_derivations():
    """Both ends of a chain count every candidate and insert the new ones."""
    alone, shared = EmitStep(), SharedEmitStep(0)
    alone.relation = StoredRelation(1, np.int32)
    other = StoredRelation(1, np.int32)
    shared.insertion = SharedInsertion(other, 1, 0)

    for step in (alone, shared):
        step.run(as_rows([(1,), (2,), (1,)], 1))
        step.run(as_rows([(2,), (3,)], 1))
    shared.insertion.close()

    assert (alone.derivations, shared.derivations) == (5, 5)
    assert as_tuples(alone.relation.live_rows()) == as_tuples(other.live_rows()) == [(1,), (2,), (3,)]


def test_the_room_a_thread_was_promised_is_not_taken():
    """While a thread inserts a large batch, small batches of another wait rather than take its room."""
    relation = StoredRelation(2, np.int32)
    large, small = random_rows(MANY // 4, 2, MANY, seed=1), random_rows(MANY, 2, MANY, seed=2)
    insertion = SharedInsertion(relation, 2, 0)
    insertion._enter(len(large), 0)

    def insert_small():
        for first in range(0, len(small), 50):
            insertion.insert(small[first : first + 50], NO_COUNTS, 1)

    other = threading.Thread(target=insert_small)
    other.start()
    while other.is_alive() and not insertion._is_alone:
        other.join(0.01)
    room_left = relation.rows.shape[0] - int(relation.shared[0])
    handled = relation.insert_shared(large, NO_COUNTS, 0, insertion._blocks[0])
    insertion._leave(0)
    other.join()
    insertion.close()

    assert room_left >= len(large)
    assert handled == len(large)
    assert set(as_tuples(relation.live_rows())) == {*as_tuples(large), *as_tuples(small)}


def test_threads_append_rows_that_are_new():
    """Rows known to be distinct are all there, and the table that finds them is built when it is needed."""
    rows = as_rows([(number, -number) for number in range(MANY)], 2)
    relation = StoredRelation(2, np.int32)
    insertion = SharedInsertion(relation, THREADS, 0, appends=True)

    threads = [
        threading.Thread(target=insertion.insert, args=(rows[thread::THREADS], NO_COUNTS, thread))
        for thread in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    insertion.close()

    assert set(as_tuples(relation.live_rows())) == set(as_tuples(rows))
    assert relation.insert(rows) == 0
    assert (relation.find(rows) >= 0).all()
