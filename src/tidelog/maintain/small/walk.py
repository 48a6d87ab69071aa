"""Kernel part: the derivations around one row, found one binding at a time."""

import numpy as np

from tidelog.maintain.small.derivations import offer_found, offer_smaller, take_lost
from tidelog.maintain.small.joins import compare, compute, find_posting, next_entry, open_posting
from tidelog.maintain.small.layout import (
    ARITY,
    CHAIN_FIRST_VARIANT,
    CHAIN_PLACE,
    CHAIN_RELATION,
    CHAIN_RULE,
    CHAIN_VARIANT_COUNT,
    COMPARE,
    COMPUTE,
    DIVIDE,
    DONE,
    FIND,
    FREE_WORK,
    INDEX_GROUPS,
    JOIN,
    LEVEL_COUNT,
    LOSE,
    LOSE_BY_LOWER,
    OVER_BUDGET,
    RELAX,
    REMAINDER,
    ROWS,
    TOO_LARGE,
    WORK,
    WORK_LIMIT,
    WORK_PER_LEVEL,
)
from tidelog.maintain.small.membership import find_visible, value_of
from tidelog.storage.address import load_code, load_int64
from tidelog.storage.kernel import CodeArray, Int64s, Integer, inlined
from tidelog.storage.postings import LENGTH


@inlined
def cheapest_variant(
    indexes: Int64s, code: Int64s, constants: Int64s, variants: Int64s, first: Integer, count: Integer,
    registers: Int64s, like: CodeArray,
) -> Integer:  # fmt: skip
    """Return the variant whose first join has the shortest posting for the row in the registers."""
    best = np.int64(variants[first])
    if count == 1:
        return best
    least = np.int64(-1)
    for number in range(count):
        place = np.int64(variants[first + number])
        size = np.int64(0)
        if code[place] == JOIN:
            index = code[place + 1]
            group = find_posting(indexes, index, registers, constants, code, place + 3, like)
            if group >= 0:
                size = load_int64(indexes[index, INDEX_GROUPS], group * 3 + LENGTH)
        if least < 0 or size < least:
            least = size
            best = place
    return best


@inlined
def spend(counters: Int64s) -> int:
    """Return whether the work done so far is allowed, and small enough for this kernel."""
    if counters[WORK] > counters[WORK_LIMIT]:
        return OVER_BUDGET
    if counters[WORK] > counters[FREE_WORK] + counters[WORK_PER_LEVEL] * counters[LEVEL_COUNT]:
        return TOO_LARGE
    return DONE


@inlined
def walk(
    relations: Int64s, indexes: Int64s, rules: Int64s, literals: Int64s, chains: Int64s, variants: Int64s,
    code: Int64s, constants: Int64s, chain: Integer, row: Integer, purpose: Integer, registers: Int64s,
    cursors: Int64s, queue: Int64s, journal: Int64s, counters: Int64s, like: CodeArray,
) -> int:  # fmt: skip
    """Find the derivations of a chain that begin at one row, and do with each what the purpose says."""
    start = chains[chain, CHAIN_RELATION]
    rule = np.int64(chains[chain, CHAIN_RULE])
    place = np.int64(chains[chain, CHAIN_PLACE])
    width = relations[start, ARITY]
    for column in range(width):
        registers[column] = load_code(relations[start, ROWS], row * width + column, like)
    registers[width] = row
    at = cheapest_variant(
        indexes, code, constants, variants, chains[chain, CHAIN_FIRST_VARIANT],
        chains[chain, CHAIN_VARIANT_COUNT], registers, like,
    )  # fmt: skip
    depth = 0
    work = 0
    while True:
        op = code[at]
        goes_on: bool | np.bool = True
        if op == JOIN:
            index = code[at + 1]
            group = find_posting(indexes, index, registers, constants, code, at + 3, like)
            goes_on = False
            if group >= 0:
                open_posting(indexes, code, constants, registers, cursors, depth, at, group, like)
                depth += 1
        elif op == FIND:
            width = code[at + 2]
            found = find_visible(relations, code[at + 1], registers, constants, code, at + 3, like)
            goes_on = found >= 0 or code[at + 4 + width] != 0
            registers[code[at + 3 + width]] = found
            at += 5 + width
        elif op == COMPARE:
            left = value_of(registers, constants, code[at + 2])
            goes_on = compare(code[at + 1], left, value_of(registers, constants, code[at + 3]))
            at += 4
        elif op == COMPUTE:
            right = value_of(registers, constants, code[at + 4])
            functor = code[at + 1]
            if functor in (DIVIDE, REMAINDER) and right == 0:
                goes_on = False
            else:
                left = value_of(registers, constants, code[at + 3])
                registers[code[at + 2]] = compute(functor, left, right)
            at += 5
        else:
            work += 1
            if purpose in (LOSE, LOSE_BY_LOWER):
                status = take_lost(
                    relations, rules, literals, code, constants, rule, place, purpose == LOSE_BY_LOWER,
                    at + 2, registers, queue, journal, counters, like,
                )  # fmt: skip
            elif purpose == RELAX:
                status = offer_smaller(
                    relations, rules, literals, code, constants, rule, place, at + 2, registers, queue,
                    journal, counters, like,
                )  # fmt: skip
            else:
                status = offer_found(
                    relations, rules, literals, code, constants, rule, place, at + 2, registers, queue,
                    journal, counters, like,
                )  # fmt: skip
            if status != DONE:
                return status
            goes_on = False
        if goes_on:
            continue
        while depth > 0:
            at = next_entry(
                relations, indexes, code, constants, registers, cursors, depth - 1, counters, like
            )
            if at >= 0:
                # After a join stand the number of its relation and its bounds.
                at += 2 + 2 * code[at + 1]
                work += 1
                break
            depth -= 1
        if depth == 0:
            counters[WORK] += work
            return DONE
        if work >= 1024:
            counters[WORK] += work
            work = 0
            status = spend(counters)
            if status != DONE:
                return status
