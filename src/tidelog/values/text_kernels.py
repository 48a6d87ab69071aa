"""Kernels that find and keep texts in one array of bytes.

Loops copy element by element: slices take seconds to compile and are not quicker.

Texts lie end to end in `arena`; `starts[code]` and `starts[code + 1]` bound the text of a code.
`table` is an open-addressing hash table with a power of two of places, at least one of them free: a word
has the hash of a text above and its code plus one below, and is 0 where the place is free.
"""

import numpy as np
import numpy.typing as npt

from tidelog.kernels import inlined, kernel
from tidelog.kernels.fetch import fetch
from tidelog.values.codes import Codes

Bytes = npt.NDArray[np.uint8]
Hashes = npt.NDArray[np.uint32]
Words = npt.NDArray[np.uint64]

FREE = np.uint64(0)
_HALF = np.uint64(32)
# The bits of a word that have a code plus one.
CODE = np.uint64(0xFFFFFFFF)
# This many texts are looked up together, while the places of the next ones are fetched.
_BLOCK = 16


@inlined
def _word(data: Bytes, at: int) -> np.uint64:
    """Return four bytes as one number."""
    return (
        np.uint64(data[at])
        | np.uint64(data[at + 1]) << np.uint64(8)
        | np.uint64(data[at + 2]) << np.uint64(16)
        | np.uint64(data[at + 3]) << np.uint64(24)
    )


@inlined
def hash_text(data: Bytes, start: int, end: int) -> np.uint32:
    """Return a hash of the bytes from `start` to `end`."""
    # Products of two 32-bit numbers fit 64 bits, so that nothing overflows when this runs as
    # plain Python.
    low = np.uint64(0xFFFFFFFF)
    value = np.uint64(end - start) & low
    beside = np.uint64(0)
    at = start
    # Two lanes: neither waits for the product of the other.
    while at + 8 <= end:
        value = ((value ^ _word(data, at)) * np.uint64(0x85EBCA6B)) & low
        beside = ((beside ^ _word(data, at + 4)) * np.uint64(0xC2B2AE3D)) & low
        value ^= value >> np.uint64(15)
        beside ^= beside >> np.uint64(16)
        at += 8
    value ^= (beside * np.uint64(0x27D4EB2F)) & low
    while at + 4 <= end:
        value = ((value ^ _word(data, at)) * np.uint64(0x85EBCA6B)) & low
        value ^= value >> np.uint64(15)
        at += 4
    while at < end:
        value = ((value ^ np.uint64(data[at])) * np.uint64(0xC2B2AE35)) & low
        value ^= value >> np.uint64(13)
        at += 1
    value = (value * np.uint64(0x9E3779B1)) & low
    return np.uint32(value ^ (value >> np.uint64(16)))


@inlined
def is_same(left: Bytes, left_start: int, right: Bytes, right_start: int, length: int) -> bool:
    """Say whether two ranges of bytes are equal."""
    at = 0
    while at + 4 <= length:
        if _word(left, left_start + at) != _word(right, right_start + at):
            return False
        at += 4
    while at < length:
        if left[left_start + at] != right[right_start + at]:
            return False
        at += 1
    return True


@inlined
def _search(  # noqa: PLR0913, PLR0917 - a kernel takes arrays, not objects
    value: np.uint32, data: Bytes, start: int, length: int, table: Words, arena: Bytes, starts: Codes
) -> int:
    """Return the place of a text in the table, or the free one where it would be."""
    mask = table.size - 1
    place = int(value) & mask
    while table[place] != FREE:
        if table[place] >> _HALF == value:
            code = int(table[place] & CODE) - 1
            begin = int(starts[code])
            if starts[code + 1] - begin == length and is_same(data, start, arena, begin, length):
                break
        place = (place + 1) & mask
    return place


@kernel
def find_text(text: Bytes, table: Words, arena: Bytes, starts: Codes) -> int:
    """Return the code of a text, or -1."""
    place = _search(hash_text(text, 0, text.size), text, 0, text.size, table, arena, starts)
    return int(table[place] & CODE) - 1


@inlined
def _fetch_places(data: Bytes, offsets: Codes, first: int, values: Hashes, table: Words) -> None:
    """Hash a block of texts and fetch their places in the table."""
    mask = table.size - 1
    for row in range(min(values.size, offsets.size - 1 - first)):
        values[row] = hash_text(data, int(offsets[first + row]), int(offsets[first + row + 1]))
        fetch(table, int(values[row]) & mask)


@inlined
def _fetch_texts(values: Hashes, count: int, table: Words, arena: Bytes, starts: Codes) -> None:
    """Fetch the texts that a block of hashes leads to."""
    mask = table.size - 1
    for row in range(count):
        word = table[int(values[row]) & mask]
        if word >> _HALF == values[row]:
            fetch(starts, int(word & CODE) - 1)
    for row in range(count):
        word = table[int(values[row]) & mask]
        if word >> _HALF == values[row] and word != FREE:
            fetch(arena, starts[int(word & CODE) - 1])


@kernel
def intern_texts(  # noqa: PLR0913, PLR0917 - see above
    data: Bytes, offsets: Codes, table: Words, arena: Bytes, starts: Codes, count: int, codes: Codes
) -> int:
    """Write the codes of texts to `codes` and return the number of codes there are then.

    Text i lies in `data` from `offsets[i]` to `offsets[i + 1]`.
    Requires room in every array for all texts to be new.
    """
    values, later = np.empty(_BLOCK, np.uint32), np.empty(_BLOCK, np.uint32)
    _fetch_places(data, offsets, 0, later, table)
    for first in range(0, offsets.size - 1, _BLOCK):
        values, later = later, values
        end = min(first + _BLOCK, offsets.size - 1)
        _fetch_places(data, offsets, end, later, table)
        _fetch_texts(values, end - first, table, arena, starts)
        for row in range(first, end):
            start = int(offsets[row])
            length = int(offsets[row + 1]) - start
            value = values[row - first]
            place = _search(value, data, start, length, table, arena, starts)
            if table[place] == FREE:
                begin = int(starts[count])
                for at in range(length):
                    arena[begin + at] = data[start + at]
                count += 1
                starts[count] = begin + length
                table[place] = (np.uint64(value) << _HALF) | np.uint64(count)
            codes[row] = int(table[place] & CODE) - 1
    return count


@kernel
def grow_table(old: Words, new: Words) -> None:
    """Move the codes of a table into an empty, larger one."""
    mask = new.size - 1
    for word in old:
        if word != FREE:
            place = int(word >> _HALF) & mask
            while new[place] != FREE:
                place = (place + 1) & mask
            new[place] = word


@inlined
def is_less(arena: Bytes, starts: Codes, left: int, right: int) -> bool:
    """Say whether the text of `left` stands before that of `right` in byte order.

    Byte order of UTF-8 is the order of code points.
    """
    left_start, right_start = int(starts[left]), int(starts[right])
    left_length, right_length = int(starts[left + 1]) - left_start, int(starts[right + 1]) - right_start
    for at in range(min(left_length, right_length)):
        left_byte, right_byte = int(arena[left_start + at]), int(arena[right_start + at])
        if left_byte != right_byte:
            return left_byte < right_byte
    return left_length < right_length


@kernel
def merge_orders(arena: Bytes, starts: Codes, order: Codes, added: Codes) -> Codes:
    """Return the codes of `order` and `added`, both sorted by text, in one sorted array."""
    merged = np.empty(order.size + added.size, dtype=np.int64)
    taken = 0
    for row in range(added.size):
        low, high = taken, order.size
        while low < high:
            middle = (low + high) // 2
            if is_less(arena, starts, int(order[middle]), int(added[row])):
                low = middle + 1
            else:
                high = middle
        for place in range(taken, low):
            merged[place + row] = order[place]
        merged[low + row] = added[row]
        taken = low
    for place in range(taken, order.size):
        merged[place + added.size] = order[place]
    return merged
