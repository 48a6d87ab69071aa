"""Dense numbers of keys, against their order of appearance."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import as_rows, as_tuples, distinct, row_lists, widths
from support.kernel_oracles import oracle_of
from tidelog.storage.node_numbers import NodeNumbers, number_keys


@oracle_of(number_keys)
@given(batches=st.lists(row_lists(1, of=st.integers(0, 9), max_size=12), max_size=3), dtype=widths)
def test_keys_are_numbered_as_they_are_met(batches, dtype):
    """A key gets the next number when it is met first, and has it from then on."""
    every = [key for batch in batches for key in batch]
    table, known, count = np.zeros(10, np.int32), np.zeros((10, 1), dtype), 0
    numbers = []

    for batch in batches:
        written = np.empty(len(batch), np.int64)
        count = number_keys(as_rows(batch, 1, dtype), table, known, count, written)
        numbers.extend(written.tolist())

    expected = distinct(every)
    assert as_tuples(known[:count]) == expected
    assert [expected[number] for number in numbers] == every


@given(data=st.data(), arity=st.integers(0, 2), dtype=widths)
def test_keys_that_are_not_dense_are_numbered_too(data, arity, dtype):
    """Keys of any width, negative or far apart, and those that were dense before, keep one number each."""
    batches = data.draw(st.lists(row_lists(arity, max_size=20), max_size=4))
    numbers = NodeNumbers(arity, dtype)

    found = [number for batch in batches for number in numbers.locate(as_rows(batch, arity, dtype)).tolist()]

    every = [key for batch in batches for key in batch]
    expected = distinct(every)
    assert as_tuples(numbers.rows[: numbers.count]) == expected
    assert [expected[number] for number in found] == every
