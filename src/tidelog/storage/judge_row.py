"""Kernel parts: does a derivation count, and at which level?

A derivation is a rule and the rows of its literals. It was possible in the old epoch if all literals held
then, and is possible now if all hold now. Its level is the largest among its facts of the rule's own
stratum, or 0 without any; it gives its head one more. Two levels, the old one and the new one, with
ABSENT_LEVEL where it is not possible, answer every question:

    lost      was < now == absent    tight if `was + 1` is the level of the head
    gained    now < was == absent    offers `now + 1`
    improved  now < was < absent     offers `now + 1`

During an epoch, "was" and "now" are what is known so far. How a row is read depends on the sweep:

    reading   at a literal of an earlier stratum   at a fact of the own stratum
              was         now                      was                        now
    LOSING    old epoch   new epoch                its level                  absent if marked, else its level
    GAINING   old epoch   new epoch                its level                  its level
    HOLDING   new epoch   new epoch                its level                  its level
    SETTLING  new epoch   new epoch                absent if current,         its level
                                                   the old one if improved

A derivation that changes at several literals counts at one of them: the first that changed in an earlier
stratum, otherwise the first affected fact (found at lower levels), otherwise the first current one.
"""

from typing import NamedTuple

import numpy as np

from tidelog.storage.annotations import level_before, status_of
from tidelog.storage.kernel import CodeArray, Int32s, Int64s, Integer, inlined, kernel
from tidelog.storage.structs import (
    ByteArray,
    Int32Array,
    Table,
    Word,
    struct,
    table_of,
)

# The level of a row that is not a fact.
ABSENT_LEVEL = np.int64(2**31 - 1)

# The status of a row; a row is current while it is processed: just found to be affected, or just settled. If
# it has had a level until then, the one of the old epoch, it is improved instead.
UNTOUCHED = 0
AFFECTED = 1
CURRENT = 2
IMPROVED = 3

# The first marks are also the order in which changed facts of the own stratum find derivations; literals of
# earlier strata come before them.
_BY_EARLIER = 0
_UNCHANGED = 3

LOSING = 0
GAINING = 1
HOLDING = 2
SETTLING = 3


@struct
class Literal:
    """A literal of a rule; fields named for arrays are addresses, and earlier strata have no marks.

    A literal of an earlier stratum that need not be checked holds in both epochs.
    """

    relation: Word
    is_negated: Word
    is_own: Word
    must_check: Word
    levels: Int32Array
    before: Int32Array
    marks: ByteArray


literals_at = table_of(Literal)


class Question(NamedTuple):
    """What is asked about derivations of a rule: its literals, and how they are found and read.

    `place` is the literal through which they are found, or -1 if they are not found through one.
    """

    literals: Table[Literal]
    first_literal: Integer
    literal_count: Integer
    place: Integer
    reading: Integer


@inlined
def _earlier_level(literal: Literal, row: Integer, is_old: bool) -> np.int64:
    """Return 0 if a literal of an earlier stratum holds, in the old epoch or in the new one."""
    is_fact = False
    if row >= 0:
        levels = literal.levels
        is_fact = (level_before(levels, literal.before, row) if is_old else levels[row]) != ABSENT_LEVEL
    return np.int64(0) if is_fact != (literal.is_negated != 0) else ABSENT_LEVEL


@inlined
def _read(literal: Literal, row: Integer, reading: Integer) -> tuple[np.int64, np.int64, Integer]:
    """Return the old and the new level of a literal's fact, and when it finds derivations."""
    if literal.is_own == 0:
        now = _earlier_level(literal, row, False)
        if reading in (HOLDING, SETTLING):
            return now, now, np.int64(_UNCHANGED)
        was = _earlier_level(literal, row, True)
        return was, now, np.int64(_UNCHANGED if was == now else _BY_EARLIER)
    level = literal.levels[row]
    if reading in (GAINING, HOLDING):
        return level, level, np.int64(_UNCHANGED)
    mark = status_of(literal.marks, row)
    if mark == UNTOUCHED:
        return level, level, np.int64(_UNCHANGED)
    if reading == LOSING:
        return level, ABSENT_LEVEL, mark
    if mark == IMPROVED:
        return level_before(literal.levels, literal.before, row), level, np.int64(CURRENT)
    return ABSENT_LEVEL if mark == CURRENT else level, level, mark


@inlined
def judge_row(
    question: Question, rows: Table[np.int64] | CodeArray, offset: Integer
) -> tuple[np.int64, np.int64]:
    """Return the old and the new level of a derivation; `rows[offset]` is the row of its first literal.

    Both are absent if the derivation counts at another literal, was not possible (LOSING), or is not
    possible now (other readings).
    """
    literals, first, count, place, reading = question
    # If it is not found through a literal, nothing comes before it.
    is_by_own = place >= 0 and literals[first + place].is_own != 0
    own_turn = CURRENT if is_by_own else _BY_EARLIER
    was = np.int64(0)
    now = np.int64(0)
    for other in range(count):
        literal = literals[first + other]
        if literal.is_own == 0 and literal.must_check == 0:
            continue
        literal_was, literal_now, turn = _read(literal, np.int64(rows[offset + other]), reading)
        if (literal_was if reading == LOSING else literal_now) == ABSENT_LEVEL:
            return ABSENT_LEVEL, ABSENT_LEVEL
        if turn < own_turn or (turn == own_turn and other < place):
            return ABSENT_LEVEL, ABSENT_LEVEL
        was = max(was, literal_was)
        now = max(now, literal_now)
    return was, now


@kernel
def judge_batch(
    literals: Int64s, batch: CodeArray, first: int, place: int, reading: int, was: Int32s, now: Int32s
) -> None:
    """Write what `judge_row` returns for each row of a batch; column `first` is that of the first literal.

    Requires `literals` to have the `addresses_of` a table of the rule's literals.
    """
    table, count = literals_at(literals, 0), literals[0, 1]
    question = Question(table, np.int64(0), count, np.int64(place), np.int64(reading))
    for row in range(batch.shape[0]):
        was[row], now[row] = judge_row(question, batch[row], first)
