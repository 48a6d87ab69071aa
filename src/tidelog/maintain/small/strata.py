"""Kernel: one epoch of all strata, as far as it goes without help.

What changes in a stratum reaches those that read it, so strata are gone through in order; nothing is
done for one that nothing reaches. The kernel stops before a stratum that is not its own, with all that
happened so far in its tables, and goes on from there when it is called again.
"""

import numpy as np
import numpy.typing as npt

from tidelog.maintain.small.kernel import find_affected, offer_levels, settle_offers
from tidelog.maintain.small.layout import (
    ABSENT_LEVEL,
    AFFECTED_COUNT,
    ALIVE,
    ASKS,
    CHANGED,
    COME,
    COME_COUNT,
    COUNTS,
    DELETED,
    DEPTH,
    DONE,
    FEW_ROWS,
    FIRST_FORWARD,
    FIRST_LITERAL,
    FIRST_OWN,
    FIRST_READ,
    FIRST_RELATION,
    FLAGS,
    FORCED,
    FORWARD_COUNT,
    FORWARD_IS_NEGATED,
    FORWARD_RELATION,
    GONE,
    GONE_COUNT,
    HANDLER,
    HIGHEST,
    INPUT_COME_COUNT,
    INPUT_GONE_COUNT,
    IS_GROWING,
    JOURNAL,
    KERNEL,
    LEVEL_COUNT,
    LEVELS,
    LITERAL_COUNT,
    LITERAL_IS_NEGATED,
    LITERAL_MUST_CHECK,
    LITERAL_RELATION,
    MARKS,
    NEEDS_JOURNAL,
    PREVIOUS,
    QUEUE,
    REACHING,
    READ_COUNT,
    REGISTERS,
    RELATION_COUNT,
    ROW_LIMIT,
    STRATUM,
    STRATUM_LEVEL,
    STRATUM_WORK,
    TENTATIVE,
    UNTOUCHED,
    WORK,
    WORK_LIMIT,
)
from tidelog.storage.address import load_byte, load_int32, store_byte, store_int32
from tidelog.storage.kernel import CodeArray, Int64s, Integer, inlined, kernel

Float64s = npt.NDArray[np.float64]


@inlined
def _reaching(strata: Int64s, stratum: Integer, reads: Int64s, relations: Int64s) -> Integer:
    """Return how many changed rows a stratum has to do with."""
    rows = np.int64(0)
    first = strata[stratum, FIRST_RELATION]
    for relation in range(first, first + strata[stratum, RELATION_COUNT]):
        rows += relations[relation, INPUT_GONE_COUNT] + relations[relation, INPUT_COME_COUNT]
    first = strata[stratum, FIRST_READ]
    for read in range(first, first + strata[stratum, READ_COUNT]):
        rows += relations[reads[read], GONE_COUNT] + relations[reads[read], COME_COUNT]
    return rows


@inlined
def _is_growing(strata: Int64s, stratum: Integer, forwards: Int64s, relations: Int64s) -> bool:
    """Say whether nothing can be lost: no deletion at a positive atom, no insertion at a negated one."""
    first = strata[stratum, FIRST_RELATION]
    for relation in range(first, first + strata[stratum, RELATION_COUNT]):
        if relations[relation, INPUT_GONE_COUNT] > 0:
            return False
    first = strata[stratum, FIRST_FORWARD]
    for forward in range(first, first + strata[stratum, FORWARD_COUNT]):
        is_negated = forwards[forward, FORWARD_IS_NEGATED] != 0
        if relations[forwards[forward, FORWARD_RELATION], COME_COUNT if is_negated else GONE_COUNT] > 0:
            return False
    return True


@inlined
def _prepare(
    strata: Int64s, stratum: Integer, forwards: Int64s, relations: Int64s, literals: Int64s, counters: Int64s
) -> None:
    """Begin to count for a stratum, and say at which literals over earlier strata a derivation may fail."""
    counters[FIRST_OWN] = strata[stratum, FIRST_RELATION]
    counters[WORK] = 0
    counters[LEVEL_COUNT] = 0
    counters[HIGHEST] = 0
    counters[QUEUE] = 0
    counters[AFFECTED_COUNT] = 0
    strata[stratum, IS_GROWING] = _is_growing(strata, stratum, forwards, relations)
    first = strata[stratum, FIRST_LITERAL]
    for literal in range(first, first + strata[stratum, LITERAL_COUNT]):
        relation = literals[literal, LITERAL_RELATION]
        is_changed = relations[relation, GONE_COUNT] + relations[relation, COME_COUNT] > 0
        literals[literal, LITERAL_MUST_CHECK] = is_changed or literals[literal, LITERAL_IS_NEGATED] != 0


@inlined
def _note_changes(
    strata: Int64s, stratum: Integer, relations: Int64s, journal: Int64s, begin: Integer, changed: Int64s,
    counters: Int64s,
) -> None:  # fmt: skip
    """Write the rows that were or became facts, those of one relation side by side."""
    for position in range(begin, counters[JOURNAL]):
        relation, row = journal[position, 0], journal[position, 1]
        was = load_int32(relations[relation, PREVIOUS], row) != ABSENT_LEVEL
        now = load_int32(relations[relation, LEVELS], row) != ABSENT_LEVEL
        if was and not now:
            relations[relation, GONE_COUNT] += 1
        elif now and not was:
            relations[relation, COME_COUNT] += 1
    place = counters[CHANGED]
    first = strata[stratum, FIRST_RELATION]
    for relation in range(first, first + strata[stratum, RELATION_COUNT]):
        relations[relation, GONE] = place
        place += relations[relation, GONE_COUNT]
        relations[relation, COME] = place
        place += relations[relation, COME_COUNT]
        # Counted again below, as places to write to.
        relations[relation, GONE_COUNT] = 0
        relations[relation, COME_COUNT] = 0
    counters[CHANGED] = place
    for position in range(begin, counters[JOURNAL]):
        relation, row = journal[position, 0], journal[position, 1]
        was = load_int32(relations[relation, PREVIOUS], row) != ABSENT_LEVEL
        now = load_int32(relations[relation, LEVELS], row) != ABSENT_LEVEL
        if was and not now:
            changed[relations[relation, GONE] + relations[relation, GONE_COUNT]] = row
            relations[relation, GONE_COUNT] += 1
        elif now and not was:
            changed[relations[relation, COME] + relations[relation, COME_COUNT]] = row
            relations[relation, COME_COUNT] += 1


@inlined
def _forget(relations: Int64s, relation: Integer, row: Integer) -> None:
    """Clear the marks of a row, and hide it if it is no fact."""
    if load_int32(relations[relation, LEVELS], row) == ABSENT_LEVEL:
        if load_byte(relations[relation, ALIVE], row) != 0:
            store_byte(relations[relation, ALIVE], row, 0)
            relations[relation, DELETED] += 1
    store_byte(relations[relation, MARKS], row, UNTOUCHED)
    store_byte(relations[relation, FLAGS], row, 0)
    store_int32(relations[relation, TENTATIVE], row, 0)


@inlined
def _undo(relations: Int64s, journal: Int64s, begin: Integer, counters: Int64s) -> None:
    """Restore the annotations of the rows in the journal from a place on."""
    for position in range(begin, counters[JOURNAL]):
        relation, row = journal[position, 0], journal[position, 1]
        store_int32(relations[relation, COUNTS], row, journal[position, 2])
        store_int32(relations[relation, LEVELS], row, load_int32(relations[relation, PREVIOUS], row))
        _forget(relations, relation, row)
    counters[JOURNAL] = begin


@kernel
def undo_strata(relations: Int64s, journal: Int64s, counters: Int64s) -> None:
    """Go back to the old epoch in all strata that the kernel brought to the new one."""
    _undo(relations, journal, np.int64(0), counters)


@kernel
def commit_strata(relations: Int64s, journal: Int64s, counters: Int64s) -> None:
    """Forget the old epoch in all strata that the kernel brought to the new one."""
    for position in range(counters[JOURNAL]):
        relation, row = journal[position, 0], journal[position, 1]
        store_int32(relations[relation, PREVIOUS], row, load_int32(relations[relation, LEVELS], row))
        _forget(relations, relation, row)
    counters[JOURNAL] = 0


@inlined
def _update_stratum(
    strata: Int64s, stratum: Integer, forwards: Int64s, relations: Int64s, indexes: Int64s, rules: Int64s,
    literals: Int64s, chains: Int64s, variants: Int64s, uses: Int64s, backs: Int64s, code: Int64s,
    constants: Int64s, changed: Int64s, queue: Int64s, journal: Int64s, affected: Int64s, settled: Int64s,
    registers: Int64s, cursors: Int64s, counters: Int64s, like: CodeArray,
) -> int:  # fmt: skip
    """Bring one stratum to the new epoch and return a status."""
    status = find_affected(
        relations, indexes, rules, literals, chains, variants, uses, code, constants, strata, stratum,
        forwards, changed, registers, cursors, queue, journal, affected, counters, like,
    )  # fmt: skip
    if status != DONE:
        return status
    status = offer_levels(
        relations, indexes, rules, literals, chains, variants, backs, code, constants, strata, stratum,
        forwards, changed, registers, cursors, queue, journal, affected, counters, like,
    )  # fmt: skip
    if status != DONE:
        return status
    first = strata[stratum, FIRST_RELATION]
    return settle_offers(
        relations, indexes, rules, literals, chains, variants, uses, code, constants, first,
        first + strata[stratum, RELATION_COUNT], registers, cursors, queue, journal, settled, counters, like,
    )  # fmt: skip


@inlined
def _may_run(
    strata: Int64s, stratum: Integer, rows: Integer, is_decided: bool, rate: float, most_work: float,
    journal: Int64s, journal_room: Integer, counters: Int64s,
) -> int:  # fmt: skip
    """Return DONE if a stratum that rows reach is the kernel's, otherwise why not."""
    if strata[stratum, HANDLER] != KERNEL:
        return ASKS
    if journal.shape[0] - counters[JOURNAL] < journal_room:
        return NEEDS_JOURNAL
    if is_decided:
        return DONE
    if rows > max(strata[stratum, ROW_LIMIT], counters[FEW_ROWS]):
        return ASKS
    if rate * rows >= most_work and strata[stratum, FORWARD_COUNT] > 0:
        return ASKS
    return DONE


@kernel
def update_strata(
    strata: Int64s, reads: Int64s, forwards: Int64s, budgets: Float64s, rates: Float64s, relations: Int64s,
    indexes: Int64s, rules: Int64s, literals: Int64s, chains: Int64s, variants: Int64s, uses: Int64s,
    backs: Int64s, code: Int64s, constants: Int64s, changed: Int64s, queue: Int64s, journal: Int64s,
    affected: Int64s, settled: Int64s, counters: Int64s, is_decided: bool, most_work: float,
    journal_room: int, like: CodeArray,
) -> int:  # fmt: skip
    """Bring strata to the new epoch from `counters[STRATUM]` on, and return why it stopped there.

    The tables are those of `layout`. `budgets` are the work each stratum may take, `rates` what it took per
    row; one that is expected to take `most_work` is the caller's to decide, unless it `is_decided` that the
    first one is done here. Requires labels and `alive` of all relations of strata that are the kernel's to
    be as long as their rows, and indexes to cover all rows; `changed` has room for all of `journal`.
    """
    registers = np.empty(REGISTERS, np.int64)
    cursors = np.empty((DEPTH, 6), np.int64)
    while counters[STRATUM] < strata.shape[0]:
        stratum = np.int64(counters[STRATUM])
        rows = _reaching(strata, stratum, reads, relations)
        strata[stratum, REACHING] = rows
        if rows > 0 or strata[stratum, HANDLER] == FORCED:
            status = _may_run(
                strata, stratum, rows, is_decided, rates[stratum], most_work, journal, journal_room, counters
            )
            if status != DONE:
                return status
            begin = np.int64(counters[JOURNAL])
            _prepare(strata, stratum, forwards, relations, literals, counters)
            counters[WORK_LIMIT] = np.int64(min(budgets[stratum], 4e18))
            status = _update_stratum(
                strata, stratum, forwards, relations, indexes, rules, literals, chains, variants, uses, backs,
                code, constants, changed, queue, journal, affected, settled, registers, cursors, counters,
                like,
            )  # fmt: skip
            strata[stratum, STRATUM_WORK] = counters[WORK]
            strata[stratum, STRATUM_LEVEL] = counters[HIGHEST]
            if status != DONE:
                _undo(relations, journal, begin, counters)
                return status
            _note_changes(strata, stratum, relations, journal, begin, changed, counters)
        is_decided = False
        counters[STRATUM] = stratum + 1
    return DONE
