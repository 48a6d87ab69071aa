"""Tables of structs: what kernels read and write by name is what NumPy has in its arrays."""

import numpy as np

from tidelog.storage.kernel import CodeArray, Int64s, kernel
from tidelog.storage.structs import (
    ByteArray,
    Int32Array,
    Int64Array,
    RealWord,
    SlotArray,
    Word,
    addresses_of,
    columns,
    first_struct,
    struct,
    table_of,
    words_of,
)


@struct
class Shelf:
    """A struct with a field of every kind."""

    count: Word
    rate: RealWord
    flags: ByteArray
    levels: Int32Array
    numbers: Int64Array
    slots: SlotArray


shelves_at = table_of(Shelf)
numbers_at = table_of(np.int64)


@kernel
def tidy(arrays: Int64s) -> int:
    """Change every field of every shelf; return what was counted before."""
    shelves, totals = shelves_at(arrays, 0), numbers_at(arrays, 1)
    total = 0
    for number in range(arrays[0, 1]):
        shelf = shelves[number]
        total += shelf.count
        totals[number] = shelf.count + shelf.levels[1] + shelf.flags[0]
        shelf.count += 1
        shelf.rate *= 2
        shelf.flags[1] = 255
        shelf.levels[0] = shelf.levels[1] - 1
        shelf.numbers[0] = shelf.numbers[1] + (0 if shelf.slots.address == 0 else 1)
        shelf.slots[0] = shelf.slots[0] | np.uint64(1)
    return total


def address(array: CodeArray) -> int:
    """Return where an array begins."""
    return int(array.ctypes.data)


def test_kernels_change_structs_and_arrays_in_place() -> None:
    """Integers, floats and elements of arrays of every width go both ways, negative and unsigned ones too."""
    flags, levels = np.array([200, 0], np.uint8), np.array([0, -7], np.int32)
    numbers, slots = np.array([0, -(2**62)], np.int64), np.array([2**31], np.uint32)
    shelves = np.zeros(2, words_of(Shelf))
    shelves["count"], shelves["rate"] = [5, 6], 1.25
    for name, array in ("flags", flags), ("levels", levels), ("numbers", numbers), ("slots", slots):
        shelves[name] = address(array)
    totals = np.zeros(2, np.int64)

    counted = tidy(addresses_of(shelves, totals))

    assert counted == 11
    assert shelves["count"].tolist() == [6, 7]
    assert shelves["rate"].tolist() == [2.5, 2.5]
    assert totals.tolist() == [5 - 7 + 200, 6 - 7 + 200]
    assert (flags.tolist(), levels.tolist()) == ([200, 255], [-8, -7])
    assert (numbers.tolist(), slots.tolist()) == ([1 - 2**62, -(2**62)], [2**31 + 1])


def test_neighbouring_fields_are_columns_that_can_be_written() -> None:
    """Outside of kernels some fields of all structs are one array, and one struct has its fields by name."""
    shelves = np.zeros(2, words_of(Shelf))

    columns(shelves, "levels", "numbers")[1] = 3, 4
    first = first_struct(Shelf, shelves)
    first.count, first.rate = 9, 0.5

    assert shelves.tolist() == [(9, 0.5, 0, 0, 0, 0), (0, 0.0, 0, 3, 4, 0)]
    assert (first.count, first.rate) == (9, 0.5)
    assert columns(np.zeros(0, words_of(Shelf)), "count", "rate").shape == (0, 2)
