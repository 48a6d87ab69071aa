"""Kernel parts: the derivations of a chain around one row, one after the other."""

import numpy as np

from tidelog.maintain.small.joins import compare, compute, find_posting, next_entry, open_posting
from tidelog.maintain.small.layout import (
    ARITY,
    CHAIN_FIRST_VARIANT,
    CHAIN_RELATION,
    CHAIN_VARIANT_COUNT,
    COMPARE,
    COMPUTE,
    DIVIDE,
    FIND,
    JOIN,
    REMAINDER,
    ROWS,
)
from tidelog.maintain.small.membership import find_visible, value_of
from tidelog.maintain.small.walk import cheapest_variant
from tidelog.storage.address import load_code
from tidelog.storage.kernel import CodeArray, Int64s, Integer, inlined

# Where a visit stands: the instruction to go on with, -1 for the next entry of the deepest join, and
# how many joins are open.
INSTRUCTION = 0
OPEN_JOINS = 1


@inlined
def begin_visit(
    relations: Int64s, indexes: Int64s, chains: Int64s, variants: Int64s, code: Int64s, constants: Int64s,
    chain: Integer, row: Integer, registers: Int64s, position: Int64s, like: CodeArray,
) -> None:  # fmt: skip
    """Stand before the first derivation of a chain from one row."""
    start = chains[chain, CHAIN_RELATION]
    width = relations[start, ARITY]
    for column in range(width):
        registers[column] = load_code(relations[start, ROWS], row * width + column, like)
    registers[width] = row
    position[INSTRUCTION] = cheapest_variant(
        indexes, code, constants, variants, chains[chain, CHAIN_FIRST_VARIANT],
        chains[chain, CHAIN_VARIANT_COUNT], registers, like,
    )  # fmt: skip
    position[OPEN_JOINS] = 0


@inlined
def next_derivation(
    relations: Int64s, indexes: Int64s, code: Int64s, constants: Int64s, registers: Int64s, cursors: Int64s,
    position: Int64s, counters: Int64s, like: CodeArray,
) -> Integer:  # fmt: skip
    """Bind the next derivation; return where its outputs stand in the code, -1 after the last."""
    at = np.int64(position[INSTRUCTION])
    depth = np.int64(position[OPEN_JOINS])
    while True:
        if at < 0:
            while depth > 0:
                at = np.int64(
                    next_entry(
                        relations, indexes, code, constants, registers, cursors, depth - 1, counters, like
                    )
                )
                if at >= 0:
                    # After a join stand the number of its relation and its bounds.
                    at += 2 + 2 * code[at + 1]
                    break
                depth -= 1
            if depth == 0:
                return np.int64(-1)
        op = code[at]
        goes_on: bool | np.bool = True
        if op == JOIN:
            group = find_posting(indexes, code[at + 1], registers, constants, code, at + 3, like)
            if group >= 0:
                open_posting(indexes, code, constants, registers, cursors, depth, at, group, like)
                depth += 1
            goes_on = False
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
            position[INSTRUCTION] = -1
            position[OPEN_JOINS] = depth
            return np.int64(at + 2)
        if not goes_on:
            at = np.int64(-1)
