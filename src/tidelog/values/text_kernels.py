"""Kernels that find and keep texts in one array of bytes.

Loops copy element by element: slices take seconds to compile and are not quicker.

Texts lie end to end in `arena`; `starts[code]` and `starts[code + 1]` bound the text of a code.
`table` is an open-addressing hash table of codes, -1 where it is free, with a power of two of
places, at least one of them free; `hashes` keeps the hash of every code.
"""

import numpy as np
import numpy.typing as npt

from tidelog.values.codes import Codes
from tidelog.values.kernel import inlined, kernel

Bytes = npt.NDArray[np.uint8]
Int32s = npt.NDArray[np.int32]
Hashes = npt.NDArray[np.uint32]

FREE = -1


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
    at = start
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


@kernel
def find_text(text: Bytes, table: Int32s, hashes: Hashes, arena: Bytes, starts: Codes) -> int:
    """Return the code of a text, or -1."""
    mask = table.size - 1
    value = hash_text(text, 0, text.size)
    place = int(value) & mask
    while table[place] != FREE:
        code = int(table[place])
        start = int(starts[code])
        if (
            hashes[code] == value
            and starts[code + 1] - start == text.size
            and is_same(text, 0, arena, start, text.size)
        ):
            return code
        place = (place + 1) & mask
    return FREE


@kernel
def intern_texts(  # noqa: PLR0913, PLR0917 - a kernel takes arrays, not objects
    data: Bytes,
    offsets: Codes,
    table: Int32s,
    hashes: Hashes,
    arena: Bytes,
    starts: Codes,
    count: int,
    codes: Codes,
) -> int:
    """Write the codes of texts to `codes` and return the number of codes there are then.

    Text i lies in `data` from `offsets[i]` to `offsets[i + 1]`.
    Requires room in every array for all texts to be new.
    """
    mask = table.size - 1
    for row in range(offsets.size - 1):
        start = int(offsets[row])
        length = int(offsets[row + 1]) - start
        value = hash_text(data, start, start + length)
        place = int(value) & mask
        found = FREE
        while table[place] != FREE:
            code = int(table[place])
            begin = int(starts[code])
            if (
                hashes[code] == value
                and starts[code + 1] - begin == length
                and is_same(data, start, arena, begin, length)
            ):
                found = code
                break
            place = (place + 1) & mask
        if found == FREE:
            found = count
            begin = int(starts[found])
            table[place] = found
            hashes[found] = value
            for at in range(length):
                arena[begin + at] = data[start + at]
            starts[found + 1] = begin + length
            count += 1
        codes[row] = found
    return count


@kernel
def fill_table(table: Int32s, hashes: Hashes, count: int) -> None:
    """Put the codes 0 to `count` into an empty table."""
    mask = table.size - 1
    for code in range(count):
        place = int(hashes[code]) & mask
        while table[place] != FREE:
            place = (place + 1) & mask
        table[place] = code


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
