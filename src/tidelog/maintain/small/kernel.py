"""Kernel: one epoch of one stratum, row by row, level by level.

It does what `maintain.update` describes, in the same three sweeps and over the same annotations,
but follows chains of joins one binding at a time. A level of a few rows then costs a microsecond
instead of a few dozen kernel calls.
"""

import numpy as np

from tidelog.maintain.small.annotations import lose_derivation, offer_level
from tidelog.maintain.small.joins import index_new_rows
from tidelog.maintain.small.layout import (
    ABSENT_LEVEL,
    AFFECTED,
    AFFECTED_COUNT,
    ALIVE,
    BACK_COUNT,
    BEFORE,
    CHAIN_RULE,
    COUNTS,
    CURRENT,
    DELETE_INPUT,
    DELETED,
    DEPTH,
    DONE,
    FIRST_BACK,
    FIRST_USE,
    HIGHEST,
    INSERT_INPUT,
    LEVEL_COUNT,
    LEVEL_WORK,
    LEVELS,
    LOSE,
    LOSE_BY_LOWER,
    LOSE_START,
    MARKS,
    OFFER_BACKWARD,
    OFFER_NEW,
    OFFER_START,
    PREVIOUS,
    QUEUE,
    REGISTERS,
    RELAX,
    RULE_ASKS_BACKWARD,
    TENTATIVE,
    TENTATIVE_COUNTS,
    TOO_LARGE,
    UNTOUCHED,
    USE_COUNT,
    WORK,
)
from tidelog.maintain.small.queue import level_of, pop, relation_of, row_of
from tidelog.maintain.small.walk import spend, walk
from tidelog.storage.address import load_byte, load_int32, store_byte, store_int32
from tidelog.storage.kernel import CodeArray, Int64s, inlined, kernel


@inlined
def _find_affected(
    relations: Int64s, indexes: Int64s, rules: Int64s, literals: Int64s, chains: Int64s, variants: Int64s,
    uses: Int64s, code: Int64s, constants: Int64s, registers: Int64s, cursors: Int64s,
    starts: Int64s, start_rows: Int64s, queue: Int64s, journal: Int64s,
    affected: Int64s, counters: Int64s, like: CodeArray,
) -> int:  # fmt: skip
    """Mark the facts whose level grows or that vanish, write them to `affected`, take their levels."""
    for start in range(starts.shape[0]):
        kind = starts[start, 0]
        for position in range(starts[start, 2], starts[start, 3]):
            status = DONE
            if kind == DELETE_INPUT:
                status = lose_derivation(
                    relations, starts[start, 1], start_rows[position], queue, journal, counters
                )
            elif kind == LOSE_START:
                status = walk(
                    relations, indexes, rules, literals, chains, variants, code, constants,
                    starts[start, 1], start_rows[position], LOSE_BY_LOWER, registers, cursors, queue,
                    journal, counters, like,
                )  # fmt: skip
            if status != DONE:
                return status
    total = np.int64(0)
    while counters[QUEUE] > 0:
        level = level_of(queue[0])
        first = total
        while counters[QUEUE] > 0 and level_of(queue[0]) == level:
            item = pop(queue, counters)
            relation, row = relation_of(item), row_of(item)
            if load_byte(relations[relation, MARKS], row) == UNTOUCHED:
                if total == affected.shape[0]:
                    return TOO_LARGE
                store_byte(relations[relation, MARKS], row, CURRENT)
                affected[total] = item
                total += 1
        for position in range(first, total):
            relation, row = relation_of(affected[position]), row_of(affected[position])
            first_use = relations[relation, FIRST_USE]
            for use in range(first_use, first_use + relations[relation, USE_COUNT]):
                status = walk(
                    relations, indexes, rules, literals, chains, variants, code, constants, uses[use], row,
                    LOSE, registers, cursors, queue, journal, counters, like,
                )  # fmt: skip
                if status != DONE:
                    return status
        for position in range(first, total):
            store_byte(
                relations[relation_of(affected[position]), MARKS], row_of(affected[position]), AFFECTED
            )
        counters[LEVEL_COUNT] += 1
        counters[WORK] += LEVEL_WORK
        status = spend(counters)
        if status != DONE:
            return status
    for position in range(total):
        store_int32(
            relations[relation_of(affected[position]), LEVELS], row_of(affected[position]), ABSENT_LEVEL
        )
    counters[AFFECTED_COUNT] = total
    return DONE


@inlined
def _offer_levels(
    relations: Int64s, indexes: Int64s, rules: Int64s, literals: Int64s, chains: Int64s, variants: Int64s,
    backs: Int64s, code: Int64s, constants: Int64s, registers: Int64s, cursors: Int64s,
    starts: Int64s, start_rows: Int64s, queue: Int64s, journal: Int64s,
    affected: Int64s, counters: Int64s, like: CodeArray,
) -> int:  # fmt: skip
    """Offer levels to affected facts by what is not affected, and to heads of new derivations."""
    for start in range(starts.shape[0]):
        if starts[start, 0] != INSERT_INPUT:
            continue
        for position in range(starts[start, 2], starts[start, 3]):
            status = offer_level(
                relations, starts[start, 1], start_rows[position], np.int64(0), queue, journal, counters
            )
            if status != DONE:
                return status
    for position in range(counters[AFFECTED_COUNT]):
        relation, row = relation_of(affected[position]), row_of(affected[position])
        first = relations[relation, FIRST_BACK]
        for back in range(first, first + relations[relation, BACK_COUNT]):
            chain = backs[back]
            if rules[chains[chain, CHAIN_RULE], RULE_ASKS_BACKWARD] == 0:
                if load_int32(relations[relation, PREVIOUS], row) != 0:
                    continue
            status = walk(
                relations, indexes, rules, literals, chains, variants, code, constants, chain, row,
                OFFER_BACKWARD, registers, cursors, queue, journal, counters, like,
            )  # fmt: skip
            if status != DONE:
                return status
        status = spend(counters)
        if status != DONE:
            return status
    for start in range(starts.shape[0]):
        if starts[start, 0] != OFFER_START:
            continue
        for position in range(starts[start, 2], starts[start, 3]):
            status = walk(
                relations, indexes, rules, literals, chains, variants, code, constants, starts[start, 1],
                start_rows[position], OFFER_NEW, registers, cursors, queue, journal, counters, like,
            )  # fmt: skip
            if status != DONE:
                return status
    return spend(counters)


@inlined
def _settle_offers(
    relations: Int64s, indexes: Int64s, rules: Int64s, literals: Int64s, chains: Int64s, variants: Int64s,
    uses: Int64s, code: Int64s, constants: Int64s, registers: Int64s, cursors: Int64s,
    queue: Int64s, journal: Int64s, settled: Int64s, growing: Int64s, counters: Int64s, like: CodeArray,
) -> int:  # fmt: skip
    """Settle offers in increasing order; a settled fact makes offers to the heads it helps derive."""
    while counters[QUEUE] > 0:
        level = level_of(queue[0])
        total = 0
        while counters[QUEUE] > 0 and level_of(queue[0]) == level:
            item = pop(queue, counters)
            relation, row = relation_of(item), row_of(item)
            if load_int32(relations[relation, TENTATIVE], row) != level + 1:
                continue
            if total == settled.shape[0]:
                return TOO_LARGE
            store_int32(relations[relation, BEFORE], row, load_int32(relations[relation, LEVELS], row))
            store_int32(relations[relation, LEVELS], row, level)
            store_int32(
                relations[relation, COUNTS], row, load_int32(relations[relation, TENTATIVE_COUNTS], row)
            )
            store_int32(relations[relation, TENTATIVE], row, 0)
            if load_byte(relations[relation, ALIVE], row) == 0:
                store_byte(relations[relation, ALIVE], row, 1)
                relations[relation, DELETED] -= 1
            store_byte(relations[relation, MARKS], row, CURRENT)
            settled[total] = item
            total += 1
        status = index_new_rows(relations, indexes, growing, like)
        if status != DONE:
            return status
        for position in range(total):
            relation, row = relation_of(settled[position]), row_of(settled[position])
            first = relations[relation, FIRST_USE]
            for use in range(first, first + relations[relation, USE_COUNT]):
                status = walk(
                    relations, indexes, rules, literals, chains, variants, code, constants, uses[use], row,
                    RELAX, registers, cursors, queue, journal, counters, like,
                )  # fmt: skip
                if status != DONE:
                    return status
        for position in range(total):
            store_byte(relations[relation_of(settled[position]), MARKS], row_of(settled[position]), UNTOUCHED)
        counters[HIGHEST] = max(counters[HIGHEST], level)
        counters[LEVEL_COUNT] += 1
        counters[WORK] += LEVEL_WORK
        status = spend(counters)
        if status != DONE:
            return status
    return DONE


@kernel
def update_small(
    relations: Int64s, indexes: Int64s, rules: Int64s, literals: Int64s, chains: Int64s, variants: Int64s,
    uses: Int64s, backs: Int64s, growing: Int64s, code: Int64s, constants: Int64s, starts: Int64s,
    start_rows: Int64s, queue: Int64s, journal: Int64s, affected: Int64s, settled: Int64s,
    counters: Int64s, like: CodeArray,
) -> int:  # fmt: skip
    """Bring a stratum to the new epoch and return a status; the tables are those of `layout`.

    Requires labels and `alive` of the stratum's relations to be as long as their rows, and indexes to
    cover all rows of other relations. Unless the status is DONE the caller undoes.
    """
    registers = np.empty(REGISTERS, np.int64)
    cursors = np.empty((DEPTH, 6), np.int64)
    status = _find_affected(
        relations, indexes, rules, literals, chains, variants, uses, code, constants, registers, cursors,
        starts, start_rows, queue, journal, affected, counters, like,
    )  # fmt: skip
    if status != DONE:
        return status
    status = _offer_levels(
        relations, indexes, rules, literals, chains, variants, backs, code, constants, registers, cursors,
        starts, start_rows, queue, journal, affected, counters, like,
    )  # fmt: skip
    if status != DONE:
        return status
    return _settle_offers(
        relations, indexes, rules, literals, chains, variants, uses, code, constants, registers, cursors,
        queue, journal, settled, growing, counters, like,
    )  # fmt: skip
