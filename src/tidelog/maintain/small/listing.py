"""Kernel: lists the derivations around a few rows, those of many chains in one call."""

from tidelog.engine.local.by_row.interpreter import EXHAUSTED, begin_chain, next_derivation
from tidelog.engine.local.by_row.layout import NEVER, open_tables
from tidelog.storage.kernel import CodeArray, Int64s, kernel


@kernel
def list_derivations(
    arrays: Int64s, like: CodeArray, wanted: Int64s, rows: Int64s, found: Int64s, ends: Int64s
) -> int:
    """Write the outputs of the wanted chains from the rows; return their number.

    Requires all wanted chains to begin at the relation of the rows. Ensures that those of each chain end
    at its number in `ends`. Where `found` is too short the result is -1. A negated fact that joins do not
    see has the row number -1.
    """
    tables = open_tables(arrays, like)
    tables.counters.pause = NEVER
    count = 0
    for place in range(wanted.shape[0]):
        for number in range(rows.shape[0]):
            begin_chain(tables, tables.chains[wanted[place]], rows[number])
            while True:
                outputs = next_derivation(tables)
                if outputs == EXHAUSTED:
                    break
                if count == found.shape[0]:
                    return -1
                for column in range(outputs):
                    found[count, column] = tables.gathered[column]
                count += 1
        ends[place] = count
    return count
