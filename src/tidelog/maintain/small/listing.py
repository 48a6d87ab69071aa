"""Kernel: lists the derivations around a few rows, those of many chains in one call."""

import numpy as np

from tidelog.maintain.small.layout import DEPTH, REGISTERS
from tidelog.maintain.small.membership import value_of
from tidelog.maintain.small.visit import begin_visit, next_derivation
from tidelog.storage.kernel import CodeArray, Int64s, kernel


@kernel
def list_derivations(
    relations: Int64s, indexes: Int64s, chains: Int64s, variants: Int64s, code: Int64s, constants: Int64s,
    wanted: Int64s, rows: Int64s, found: Int64s, ends: Int64s, counters: Int64s, like: CodeArray,
) -> int:  # fmt: skip
    """Write the outputs of the wanted chains from the rows; return their number.

    Requires all wanted chains to begin at the relation of the rows. Ensures that those of each chain end
    at its number in `ends`. Where `found` is too short the result is -1. A negated fact that joins do not
    see has the row number -1.
    """
    registers = np.empty(REGISTERS, np.int64)
    cursors = np.empty((DEPTH, 6), np.int64)
    position = np.zeros(2, np.int64)
    count = 0
    for place in range(wanted.shape[0]):
        for number in range(rows.shape[0]):
            begin_visit(
                relations, indexes, chains, variants, code, constants, wanted[place], rows[number], registers,
                position, like,
            )  # fmt: skip
            while True:
                out = next_derivation(
                    relations, indexes, code, constants, registers, cursors, position, counters, like
                )
                if out < 0:
                    break
                if count == found.shape[0]:
                    return -1
                for column in range(code[out - 1]):
                    found[count, column] = value_of(registers, constants, code[out + column])
                count += 1
        ends[place] = count
    return count
