"""The kernel of a join that drops candidates known to be facts, before they reach a relation's table.

Nine of ten candidates of a recursive rule are facts already. If bindings that give the head the same key
follow each other, the facts with that key are entered into a small table once. Each match is then looked up
there, in the processor's cache, instead of at a random place in a table of hundreds of megabytes.

The small table forgets: of two words that fall on one place it keeps the later. Candidates that it does
not know are passed on.
"""

from typing import Final

import numpy as np

from tidelog.storage.join import code_of, fetch_posting, passes, rows_in_view
from tidelog.storage.kernel import CodeArray, Int32s, Int64s, Integer, Words, inlined, kernel
from tidelog.storage.marked import write_matches
from tidelog.storage.postings import LENGTH, START
from tidelog.storage.slots import AHEAD, EMPTY

# What is kept of a join between two calls: the next binding, the next entry of its posting, the group of the
# head's index that was considered last, and how many matches there were.
ROW: Final = 0
ENTRY: Final = 1
HEAD: Final = 2
MATCHES: Final = 3
STATES: Final = 4
NO_GROUP: Final = -1

# The groups and the entries of an index.
Postings = tuple[CodeArray, CodeArray]

# A word that is known has this bit, so that none is zero.
_KNOWN: Final = np.uint64(1 << 63)
# Places of neighbouring codes in the last column are neighbours.
_SPREAD: Final = np.uint64(0x9E3779B1)


@inlined
def _enter_facts(
    known: Words,
    word: np.uint64,
    head: Integer,
    level: Postings,
    facts: Postings,
    has_level: bool,
    shifts: Words,
) -> None:
    """Enter the facts of the head's group; the word has their key, and `shifts` place the other columns."""
    if not has_level:
        _enter_posting(known, word, EMPTY, facts[1], facts[0][head], shifts)
        return
    groups, arena = level
    others = arena.shape[1] - 1
    start = np.int64(groups[head, START])
    for entry in range(start, start + np.int64(groups[head, LENGTH])):
        key, place = word, EMPTY
        for column in range(others):
            code = np.uint64(np.int64(arena[entry, column]))
            key |= code << shifts[column]
            place = place * _SPREAD + code
        _enter_posting(known, key, place, facts[1], facts[0][arena[entry, others]], shifts[others:])


@inlined
def _enter_posting(
    known: Words, word: np.uint64, home: np.uint64, arena: CodeArray, posting: CodeArray, shifts: Words
) -> None:
    mask = np.uint64(known.shape[0] - 1)
    start = np.int64(posting[START])
    for entry in range(start, start + np.int64(posting[LENGTH])):
        fact, place = word, home
        for column in range(shifts.shape[0]):
            code = np.uint64(np.int64(arena[entry, column]))
            fact |= code << shifts[column]
            place = place * _SPREAD + code
        known[place & mask] = fact


@inlined
def _fact_count(head: Integer, level: Postings, facts: Postings, has_level: bool) -> Integer:
    """Return how many facts the head's group has."""
    if not has_level:
        return np.int64(facts[0][head, LENGTH])
    groups, arena = level
    start = np.int64(groups[head, START])
    count = np.int64(0)
    for entry in range(start, start + np.int64(groups[head, LENGTH])):
        count += np.int64(facts[0][arena[entry, arena.shape[1] - 1], LENGTH])
    return count


@inlined
def _matches_ahead(found: Int64s, groups: CodeArray, heads: Int64s, row: Integer) -> Integer:
    """Return how many entries match the bindings from a row on that have the same group of the head."""
    head = heads[row]
    matches = np.int64(0)
    while row < heads.shape[0] and heads[row] == head:
        if found[row] >= 0:
            matches += np.int64(groups[found[row], LENGTH])
        row += 1
    return matches


@inlined
def _with_columns(
    word: np.uint64, batch: CodeArray, row: Integer, constants: Int64s, columns: Int64s, sources: Int32s,
    widths: Int64s, shifts: Words,
) -> tuple[np.uint64, np.uint64]:  # fmt: skip
    """Return a word with columns of the head that a binding has, and a place; 0 if one does not fit."""
    place, outside = EMPTY, EMPTY
    for position in range(columns.shape[0]):
        column = columns[position]
        code = np.uint64(code_of(batch, row, constants, sources[column]))
        outside |= code >> np.uint64(widths[column])
        word |= code << shifts[column]
        place = place * _SPREAD + code
    return (word, place) if outside == EMPTY else (EMPTY, place)


@inlined
def _word_of(
    arena: CodeArray, entry: Integer, key: np.uint64, home: np.uint64, columns: Int64s, widths: Int64s,
    shifts: Words,
) -> tuple[np.uint64, np.uint64]:  # fmt: skip
    """Return the word of a candidate, and a place for it; the word is 0 if a column does not fit."""
    word, place, outside = key, home, EMPTY
    for position in range(columns.shape[0]):
        code = np.uint64(np.int64(arena[entry, columns[position]]))
        outside |= code >> np.uint64(widths[position])
        word |= code << shifts[position]
        place = place * _SPREAD + code
    return (word, place) if outside == EMPTY and key != EMPTY else (EMPTY, place)


@inlined
def _shifts(widths: Int64s) -> Words:
    """Return where each column begins in a word."""
    shifts = np.zeros(widths.shape[0], np.uint64)
    for column in range(widths.shape[0] - 1, 0, -1):
        shifts[column - 1] = shifts[column] + np.uint64(widths[column])
    return shifts


@kernel
def join_unknown(
    batch: CodeArray, constants: Int64s, found: Int64s, groups: CodeArray, arena: CodeArray,
    view: tuple[int, int, int], filters: Int32s, sources: Int32s, heads: Int64s, level: Postings,
    facts: Postings, has_level: bool, key: Int64s, free: Int64s, widths: Int64s, known: Words, state: Int64s,
    out: CodeArray,
) -> int:  # fmt: skip
    """Write one row per binding and matching entry that is not known to be a fact; return how many.

    `found` are the groups that the bindings are joined with, `view` as in `rows_in_view`. `heads` are the
    groups of the bindings in an index of the head's relation by the columns `key`, which a binding has, or in
    a level above that index; `free` are the other columns, in the order in which the level and the index have
    them; if a binding has some of them, these are first. `widths` are how many bits each column of the head
    takes in a word. The work is done when `state[ROW]` is the number of bindings.
    """
    shifts = _shifts(widths)
    bound = 0
    while bound < free.shape[0] and sources[free[bound]] < batch.shape[1]:
        bound += 1
    own = free[bound:]
    columns = sources[own].astype(np.int64) - batch.shape[1]
    own_widths, own_shifts, free_shifts = widths[own], shifts[own], shifts[free]
    mask = np.uint64(known.shape[0] - 1)
    matching = np.empty(out.shape[0], np.int64)
    written = 0
    row = state[ROW]
    offset = state[ENTRY]
    while row < batch.shape[0]:
        fetch_posting(found, row + AHEAD // 2, groups, arena)
        if found[row] >= 0:
            head, _ = _with_columns(_KNOWN, batch, row, constants, key, sources, widths, shifts)
            if heads[row] != state[HEAD]:
                state[HEAD] = heads[row]
                if heads[row] >= 0 and head != EMPTY:
                    count = _fact_count(heads[row], level, facts, has_level)
                    if count <= _matches_ahead(found, groups, heads, row):
                        _enter_facts(known, head, heads[row], level, facts, has_level, free_shifts)
            begun, home = head, EMPTY
            if head != EMPTY:
                begun, home = _with_columns(
                    head, batch, row, constants, free[:bound], sources, widths, shifts
                )
            start, end = rows_in_view(groups, found[row], arena, *view)
            entry = start + offset
            begin = written
            while entry < end and written < out.shape[0]:
                word, place = _word_of(arena, entry, begun, home, columns, own_widths, own_shifts)
                is_new = word == EMPTY or known[place & mask] != word
                if filters.shape[0] > 0:
                    is_new = is_new and passes(batch, row, arena, entry, constants, filters)
                if is_new and word != EMPTY:
                    known[place & mask] = word
                # Written in any case: whether it is new cannot be predicted.
                matching[written] = entry
                written += 1 if is_new else 0
                entry += 1
            state[MATCHES] += entry - start - offset
            if written > begin:
                entries = matching[begin:written]
                write_matches(batch, row, arena, entries, constants, sources, out[begin:written])
            if entry < end:
                state[ROW] = row
                state[ENTRY] = entry - start
                return written
        offset = 0
        row += 1
    state[ROW] = row
    state[ENTRY] = 0
    return written
