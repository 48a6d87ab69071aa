"""Kernel parts: one epoch of one stratum, row by row, level by level.

It does what `maintain.sweeps` describes, in the same three sweeps and over the same annotations,
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
    COME,
    COME_COUNT,
    COUNTS,
    CURRENT,
    DELETED,
    DONE,
    FIRST_BACK,
    FIRST_FORWARD,
    FIRST_RELATION,
    FIRST_USE,
    FORWARD_CHAIN,
    FORWARD_COUNT,
    FORWARD_IS_NEGATED,
    FORWARD_RELATION,
    GONE,
    GONE_COUNT,
    HIGHEST,
    INPUT_COME,
    INPUT_COME_COUNT,
    INPUT_GONE,
    INPUT_GONE_COUNT,
    LEVEL_COUNT,
    LEVEL_WORK,
    LEVELS,
    LOSE,
    LOSE_BY_LOWER,
    MARKS,
    OFFER_BACKWARD,
    OFFER_NEW,
    PREVIOUS,
    QUEUE,
    RELATION_COUNT,
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
from tidelog.storage.kernel import CodeArray, Int64s, Integer, inlined


@inlined
def _lose_first(
    strata: Int64s, stratum: Integer, forwards: Int64s, changed: Int64s, relations: Int64s, indexes: Int64s,
    rules: Int64s, literals: Int64s, chains: Int64s, variants: Int64s, code: Int64s, constants: Int64s,
    registers: Int64s, cursors: Int64s, queue: Int64s, journal: Int64s, counters: Int64s, like: CodeArray,
) -> int:  # fmt: skip
    """Lose what is no longer given, and the derivations that changes of earlier strata take away."""
    first = strata[stratum, FIRST_RELATION]
    for own in range(first, first + strata[stratum, RELATION_COUNT]):
        place = relations[own, INPUT_GONE]
        for position in range(place, place + relations[own, INPUT_GONE_COUNT]):
            status = lose_derivation(relations, own, changed[position], queue, journal, counters)
            if status != DONE:
                return status
    first = strata[stratum, FIRST_FORWARD]
    for forward in range(first, first + strata[stratum, FORWARD_COUNT]):
        relation = forwards[forward, FORWARD_RELATION]
        is_negated = forwards[forward, FORWARD_IS_NEGATED] != 0
        place = relations[relation, COME if is_negated else GONE]
        count = relations[relation, COME_COUNT if is_negated else GONE_COUNT]
        for position in range(place, place + count):
            status = walk(
                relations, indexes, rules, literals, chains, variants, code, constants,
                forwards[forward, FORWARD_CHAIN], changed[position], LOSE_BY_LOWER, registers, cursors,
                queue, journal, counters, like,
            )  # fmt: skip
            if status != DONE:
                return status
    return DONE


@inlined
def find_affected(
    relations: Int64s, indexes: Int64s, rules: Int64s, literals: Int64s, chains: Int64s, variants: Int64s,
    uses: Int64s, code: Int64s, constants: Int64s, strata: Int64s, stratum: Integer, forwards: Int64s,
    changed: Int64s, registers: Int64s, cursors: Int64s, queue: Int64s, journal: Int64s,
    affected: Int64s, counters: Int64s, like: CodeArray,
) -> int:  # fmt: skip
    """Mark the facts whose level grows or that vanish, write them to `affected`, take their levels."""
    status = _lose_first(
        strata, stratum, forwards, changed, relations, indexes, rules, literals, chains, variants, code,
        constants, registers, cursors, queue, journal, counters, like,
    )  # fmt: skip
    if status != DONE:
        return status
    total = np.int64(0)
    while counters[QUEUE] > 0:
        level = level_of(queue[0])
        first = total
        while counters[QUEUE] > 0 and level_of(queue[0]) == level:
            item = pop(queue, counters)
            relation, row = relation_of(item, counters), row_of(item)
            if load_byte(relations[relation, MARKS], row) == UNTOUCHED:
                if total == affected.shape[0]:
                    return TOO_LARGE
                store_byte(relations[relation, MARKS], row, CURRENT)
                affected[total] = item
                total += 1
        for position in range(first, total):
            relation, row = relation_of(affected[position], counters), row_of(affected[position])
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
                relations[relation_of(affected[position], counters), MARKS],
                row_of(affected[position]),
                AFFECTED,
            )
        counters[LEVEL_COUNT] += 1
        counters[WORK] += LEVEL_WORK
        status = spend(counters)
        if status != DONE:
            return status
    for position in range(total):
        store_int32(
            relations[relation_of(affected[position], counters), LEVELS],
            row_of(affected[position]),
            ABSENT_LEVEL,
        )
    counters[AFFECTED_COUNT] = total
    return DONE


@inlined
def offer_levels(
    relations: Int64s, indexes: Int64s, rules: Int64s, literals: Int64s, chains: Int64s, variants: Int64s,
    backs: Int64s, code: Int64s, constants: Int64s, strata: Int64s, stratum: Integer, forwards: Int64s,
    changed: Int64s, registers: Int64s, cursors: Int64s, queue: Int64s, journal: Int64s,
    affected: Int64s, counters: Int64s, like: CodeArray,
) -> int:  # fmt: skip
    """Offer levels to affected facts by what is not affected, and to heads of new derivations."""
    first = strata[stratum, FIRST_RELATION]
    for own in range(first, first + strata[stratum, RELATION_COUNT]):
        place = relations[own, INPUT_COME]
        for position in range(place, place + relations[own, INPUT_COME_COUNT]):
            status = offer_level(relations, own, changed[position], np.int64(0), queue, journal, counters)
            if status != DONE:
                return status
    for position in range(counters[AFFECTED_COUNT]):
        relation, row = relation_of(affected[position], counters), row_of(affected[position])
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
    first = strata[stratum, FIRST_FORWARD]
    for forward in range(first, first + strata[stratum, FORWARD_COUNT]):
        relation = forwards[forward, FORWARD_RELATION]
        is_negated = forwards[forward, FORWARD_IS_NEGATED] != 0
        place = relations[relation, GONE if is_negated else COME]
        count = relations[relation, GONE_COUNT if is_negated else COME_COUNT]
        for position in range(place, place + count):
            status = walk(
                relations, indexes, rules, literals, chains, variants, code, constants,
                forwards[forward, FORWARD_CHAIN], changed[position], OFFER_NEW, registers, cursors, queue,
                journal, counters, like,
            )  # fmt: skip
            if status != DONE:
                return status
    return spend(counters)


@inlined
def settle_offers(
    relations: Int64s, indexes: Int64s, rules: Int64s, literals: Int64s, chains: Int64s, variants: Int64s,
    uses: Int64s, code: Int64s, constants: Int64s, first_own: Integer, last_own: Integer,
    registers: Int64s, cursors: Int64s, queue: Int64s, journal: Int64s, settled: Int64s, counters: Int64s,
    like: CodeArray,
) -> int:  # fmt: skip
    """Settle offers in increasing order; a settled fact makes offers to the heads it helps derive."""
    while counters[QUEUE] > 0:
        level = level_of(queue[0])
        total = 0
        while counters[QUEUE] > 0 and level_of(queue[0]) == level:
            item = pop(queue, counters)
            relation, row = relation_of(item, counters), row_of(item)
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
        status = index_new_rows(relations, indexes, first_own, last_own, counters, like)
        if status != DONE:
            return status
        for position in range(total):
            relation, row = relation_of(settled[position], counters), row_of(settled[position])
            first = relations[relation, FIRST_USE]
            for use in range(first, first + relations[relation, USE_COUNT]):
                status = walk(
                    relations, indexes, rules, literals, chains, variants, code, constants, uses[use], row,
                    RELAX, registers, cursors, queue, journal, counters, like,
                )  # fmt: skip
                if status != DONE:
                    return status
        for position in range(total):
            store_byte(
                relations[relation_of(settled[position], counters), MARKS],
                row_of(settled[position]),
                UNTOUCHED,
            )
        counters[HIGHEST] = max(counters[HIGHEST], level)
        counters[LEVEL_COUNT] += 1
        counters[WORK] += LEVEL_WORK
        status = spend(counters)
        if status != DONE:
            return status
    return DONE
