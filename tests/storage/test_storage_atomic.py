"""Atomic operations: each returns what stood there, and threads lose nothing."""

import threading

import numpy as np
import pytest

from tidelog.storage import atomic
from tidelog.storage.kernel import IS_COMPILED, kernel

THREADS = 4
TIMES = 20_000 if IS_COMPILED else 200


@kernel
def swap(array, index, expected, desired):
    """Run the operation once."""
    return atomic.swap_if_equal(array, index, expected, desired)


@kernel
def add(array, index, amount):
    """Run the operation once."""
    return atomic.add(array, index, amount)


@kernel
def set_bits(array, index, bits):
    """Run the operation once."""
    return atomic.set_bits(array, index, bits)


@kernel
def count_up(array, times):
    """Add one to the first element, again and again."""
    for _ in range(times):
        atomic.add(array, 0, 1)


@kernel
def claim(array, mine):
    """Take every free element; return how many were taken."""
    taken = 0
    for index in range(array.shape[0]):
        if atomic.swap_if_equal(array, index, np.uint64(0), mine) == np.uint64(0):
            taken += 1
    return taken


@kernel
def set_all(array):
    """Set every bit one by one; return how many were not set before."""
    fresh = 0
    for index in range(array.shape[0]):
        for place in range(64):
            bit = np.uint64(1) << np.uint64(place)
            if not atomic.set_bits(array, index, bit) & bit:
                fresh += 1
    return fresh


def in_threads(action):
    """Return what `action(thread)` gave in each of several threads run at once."""
    results = [None] * THREADS

    def work(thread):
        results[thread] = action(thread)

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_swap_stores_only_where_the_expected_value_stands():
    """A swap returns what stood there and changes it only if that was expected."""
    array = np.array([5, 7], np.uint64)

    missed = swap(array, 0, np.uint64(6), np.uint64(1))
    hit = swap(array, 1, np.uint64(7), np.uint64(2**63))

    assert (missed, hit) == (5, 7)
    assert array.tolist() == [5, 2**63]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_add_returns_what_stood_there(dtype):
    """An addition returns the value before it."""
    array = np.array([10, 20], dtype)

    before = add(array, 1, -5)

    assert before == 20
    assert array.tolist() == [10, 15]


def test_set_bits_keeps_the_others():
    """Setting bits returns the word before and keeps the bits that are set."""
    array = np.array([0b0101], np.uint64)

    before = set_bits(array, 0, np.uint64(0b0110))

    assert before == 0b0101
    assert array.tolist() == [0b0111]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_threads_add_without_losing_anything(dtype):
    """What several threads add to one element arrives."""
    array = np.zeros(1, dtype)

    in_threads(lambda _: count_up(array, TIMES))

    assert array[0] == THREADS * TIMES


def test_each_element_is_claimed_by_one_thread():
    """Of several threads that swap, one succeeds per element."""
    array = np.zeros(TIMES, np.uint64)

    taken = in_threads(lambda thread: claim(array, np.uint64(thread + 1)))

    assert sum(taken) == TIMES
    assert np.bincount(array.astype(np.int64), minlength=THREADS + 1).tolist() == [0, *taken]


def test_each_bit_is_set_first_by_one_thread():
    """Of several threads that set a bit, one learns that it was not set."""
    array = np.zeros(TIMES // 100, np.uint64)

    fresh = in_threads(lambda _: set_all(array))

    assert sum(fresh) == 64 * array.size
    assert (array == np.uint64(2**64 - 1)).all()
