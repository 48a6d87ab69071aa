"""Kernel parts: the derivations of a chain around one row, found one binding at a time."""

import numpy as np

from tidelog.engine.local.by_row.compute import compute, divides
from tidelog.engine.local.by_row.joins import (
    is_limited,
    is_within,
    next_entry,
    open_join,
    passes,
    posting_size,
)
from tidelog.engine.local.by_row.key_facts import read_key
from tidelog.engine.local.by_row.layout import (
    COMPARE,
    END,
    EXPAND,
    FIND,
    FIND_WIDTH,
    JOIN,
    JOIN_WIDTH,
    LACK,
    LACK_WIDTH,
    Chain,
    Tables,
)
from tidelog.engine.local.by_row.lookup import find_posting, find_row, find_visible, gather
from tidelog.storage.kernel import Integer, inlined
from tidelog.storage.structs import elements_at

# What there is instead of a derivation, and instead of an instruction to go on with.
EXHAUSTED = -1
PAUSED = -2
_BACKTRACK = -1


@inlined
def _cheapest_variant(tables: Tables, chain: Chain) -> Integer:
    """Return the variant whose first join has the shortest posting for the row in the registers."""
    best = tables.variants[chain.first_variant]
    if chain.variant_count == 1:
        return best
    least: Integer = np.int64(-1)
    for variant in range(chain.first_variant, chain.first_variant + chain.variant_count):
        place = tables.variants[variant]
        size: Integer = np.int64(0)
        if tables.code[place] == JOIN:
            index = tables.indexes[tables.code[place + 1]]
            relation = tables.relations[tables.code[place + 2]]
            group = find_posting(tables, index, relation, place + JOIN_WIDTH)
            if group >= 0:
                size = posting_size(tables, index, group)
        if least < 0 or size < least:
            least = size
            best = place
    return best


@inlined
def begin_chain(tables: Tables, chain: Chain, row: Integer) -> None:
    """Begin to list the derivations of a chain from one row."""
    relation = tables.relations[chain.relation]
    for column in range(relation.arity):
        place = row * relation.arity + column
        tables.values[column] = elements_at(relation.rows, tables.codes)[place]
    tables.values[relation.arity] = row
    tables.counters.instruction = _cheapest_variant(tables, chain)
    tables.counters.open_joins = 0


@inlined
def _lack(tables: Tables, at: Integer) -> Integer:
    """Follow a LACK: there is nothing for a binding whose key has a fact in both epochs and needs no row."""
    code, values = tables.code, tables.values
    relation = tables.relations[code[at + 1]]
    count = relation.arity
    gather(tables, at + LACK_WIDTH, count)
    found = find_row(tables, relation)
    is_known = False
    if found >= 0:
        is_visible = relation.alive.address == 0 or relation.alive[found] != 0
        is_known = is_visible or relation.before[found] != 0
        found = found if is_visible else np.int64(-1)
    if not is_known:
        of_key = read_key(tables, code[at + 3], code[at + 4], at + LACK_WIDTH)
        if of_key.is_there:
            return _BACKTRACK
    values[code[at + 2]] = found
    return at + LACK_WIDTH + count


@inlined
def _step(tables: Tables, at: Integer) -> Integer:
    """Follow an instruction; return the next one, or that there is none for this binding."""
    code, values = tables.code, tables.values
    op = code[at]
    if op == JOIN:
        joined = tables.relations[code[at + 2]]
        group = find_posting(tables, tables.indexes[code[at + 1]], joined, at + JOIN_WIDTH)
        if group >= 0:
            open_join(tables, at, group)
        return _BACKTRACK
    if op == EXPAND:
        open_join(tables, at, values[code[at + JOIN_WIDTH]])
        return _BACKTRACK
    if op == FIND:
        count = code[at + 4]
        gather(tables, at + FIND_WIDTH, count)
        found = find_visible(tables, tables.relations[code[at + 1]])
        values[code[at + 2]] = found
        if found >= 0 and is_limited(tables, code[at + 1]):
            relation = tables.relations[code[at + 1]]
            if not is_within(tables, relation.levels, relation.marks, found):
                return _BACKTRACK
        return at + FIND_WIDTH + count if found >= 0 or code[at + 3] != 0 else _BACKTRACK
    if op == LACK:
        return _lack(tables, at)
    if op == COMPARE:
        return at + 4 if passes(tables, at + 1, 1) else _BACKTRACK
    functor, right = code[at + 1], values[code[at + 4]]
    if right == 0 and divides(functor):
        return _BACKTRACK
    values[code[at + 2]] = compute(functor, values[code[at + 3]], right)
    return at + 5


@inlined
def _next_binding(tables: Tables) -> Integer:
    """Take the next entry of the deepest join that has one; return the instruction after it."""
    counters = tables.counters
    while counters.open_joins > 0:
        cursor = tables.cursors[counters.open_joins - 1]
        if next_entry(tables, cursor):
            return cursor.next
        counters.open_joins -= 1
    return _BACKTRACK


@inlined
def next_derivation(tables: Tables) -> Integer:
    """Gather the outputs of the next derivation; return their number, EXHAUSTED, or PAUSED to go on later."""
    counters = tables.counters
    at: Integer = counters.instruction
    while True:
        if at == _BACKTRACK:
            at = _next_binding(tables)
            if at == _BACKTRACK:
                return EXHAUSTED
            if counters.work >= counters.pause:
                counters.instruction = at
                return PAUSED
        if tables.code[at] == END:
            break
        at = _step(tables, at)
    counters.work += 1
    counters.instruction = _BACKTRACK
    outputs = tables.code[at + 1]
    gather(tables, at + 2, outputs)
    return outputs
