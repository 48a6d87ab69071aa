"""Kernel: many iterations of one stratum, each of a few rows.

It does what `engine.local.stratum` describes. An iteration collects its candidates first and inserts them
if there is room for all, so that whatever ends it leaves the stratum between two iterations.
"""

import numpy as np

from tidelog.engine.local.by_row.indexing import index_new_rows
from tidelog.engine.local.by_row.interpreter import EXHAUSTED, PAUSED, begin_chain, next_derivation
from tidelog.engine.local.by_row.layout import (
    ASKS,
    DONE,
    NEEDS_ROOM,
    TOO_LARGE,
    Chain,
    StratumRecord,
    Tables,
    open_tables,
)
from tidelog.engine.local.by_row.lookup import append_row, find_hashed, hash_gathered
from tidelog.storage.kernel import CodeArray, Int64s, Integer, inlined, kernel
from tidelog.storage.slots import FULLEST

# More rows in an iteration, or bindings from one row, are joined faster all together.
_MOST_ROWS = 512
_MOST_BINDINGS = 1 << 16


@inlined
def _counts_here(tables: Tables, chain: Chain) -> bool:
    """Say whether the derivation that was gathered holds, and has no earlier literal with a new fact."""
    rule = tables.rules[chain.rule]
    for other in range(rule.literal_count):
        literal = tables.literals[rule.first_literal + other]
        row = tables.gathered[rule.arity + other]
        if literal.is_negated != 0:
            if row >= 0:
                return False
        elif literal.is_own != 0 and other < chain.place and row >= tables.relations[literal.relation].delta:
            return False
    return True


@inlined
def _collect(tables: Tables, number: Integer, row: Integer, found: Int64s, count: Integer) -> Integer:
    """Collect the heads of a chain's derivations from one row; return how many there are, -1 if too many."""
    chain, counters = tables.chains[number], tables.counters
    rule = tables.rules[chain.rule]
    counters.pause = counters.work + _MOST_BINDINGS
    begin_chain(tables, chain, row)
    while True:
        outputs = next_derivation(tables)
        if outputs == EXHAUSTED:
            return count
        if outputs == PAUSED or count == found.shape[0]:
            return np.int64(-1)
        if _counts_here(tables, chain):
            found[count, 0] = rule.head
            for column in range(rule.arity):
                found[count, 1 + column] = tables.gathered[column]
            count += 1


@inlined
def _collect_all(tables: Tables, stratum: StratumRecord, found: Int64s) -> Integer:
    """Collect the candidates of an iteration; return how many there are, -1 if too many."""
    count: Integer = np.int64(0)
    for number in range(stratum.first_relation, stratum.first_relation + stratum.relation_count):
        relation = tables.relations[number]
        for row in range(relation.delta, relation.end):
            for use in range(relation.first_use, relation.first_use + relation.use_count):
                count = _collect(tables, tables.uses[use], np.int64(row), found, count)
                if count < 0:
                    return count
    return count


@inlined
def _has_room(tables: Tables, stratum: StratumRecord, extra: Integer) -> bool:
    """Say whether each relation of the stratum takes so many more rows."""
    for number in range(stratum.first_relation, stratum.first_relation + stratum.relation_count):
        relation = tables.relations[number]
        needed = relation.count + extra
        if needed > relation.capacity or needed > FULLEST * relation.slot_count:
            return False
    return True


@inlined
def _insert(tables: Tables, found: Int64s, place: Integer, is_annotated: Integer) -> int:
    """Insert a candidate; return a status."""
    relation, counters = tables.relations[found[place, 0]], tables.counters
    for column in range(relation.arity):
        tables.gathered[column] = found[place, 1 + column]
    digest = hash_gathered(tables, relation.arity)
    row = find_hashed(tables, relation, digest)
    if row >= 0:
        return DONE
    row = append_row(tables, relation, digest)
    if row < 0:
        return int(-row)
    if is_annotated != 0:
        relation.levels[row] = counters.level_count
    return DONE


@inlined
def _show_delta(tables: Tables, stratum: StratumRecord) -> Integer:
    """Let the next iteration see the new rows; return how many there are."""
    new = np.int64(0)
    for number in range(stratum.first_relation, stratum.first_relation + stratum.relation_count):
        relation = tables.relations[number]
        relation.delta = relation.end
        relation.end = relation.count
        new += relation.end - relation.delta
    return new


@kernel
def run_iterations(arrays: Int64s, like: CodeArray, found: Int64s, last: int, is_annotated: int) -> int:
    """Run iterations up to number `last` and return why the kernel stopped.

    DONE: the last iteration found nothing. TOO_LARGE: the next one is not for this kernel. ASKS: it may run
    on, but the caller wants to know. NEEDS_ROOM: it may run on with more room. `counters.level_count` is the
    number of the last iteration; indexes may lack its rows. `found` has room for candidates: a relation's
    number, and the columns of a row. After NEEDS_WIDE_CODES the stratum must be evaluated again.
    """
    tables = open_tables(arrays, like)
    stratum, counters = tables.strata[np.int64(0)], tables.counters
    while True:
        status = index_new_rows(tables, stratum, like)
        if status != DONE:
            return status
        if counters.level_count >= last or counters.work > counters.work_limit:
            return ASKS
        count = _collect_all(tables, stratum, found)
        if count < 0:
            return TOO_LARGE
        if not _has_room(tables, stratum, count):
            return NEEDS_ROOM
        counters.level_count += 1
        counters.derivations += count
        for place in range(count):
            status = _insert(tables, found, np.int64(place), is_annotated)
            if status != DONE:
                return status
        new = _show_delta(tables, stratum)
        if new == 0:
            return DONE
        if new > _MOST_ROWS:
            return TOO_LARGE
