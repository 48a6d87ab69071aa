"""Kernels: proofs of many facts of a stratum at once, and which of their facts hold whatever changes."""

import numpy as np

from tidelog.maintain.small.layout import (
    ABSENT_LEVEL,
    BACK_COUNT,
    CHAIN_RULE,
    DEPTH,
    DONE,
    FIRST_BACK,
    LEVELS,
    LITERAL_IS_NEGATED,
    LITERAL_IS_OWN,
    LITERAL_RELATION,
    NEEDS_ROOM,
    REGISTERS,
    RULE_FIRST_LITERAL,
    RULE_LITERAL_COUNT,
)
from tidelog.maintain.small.membership import value_of
from tidelog.maintain.small.visit import begin_visit, next_derivation
from tidelog.storage.address import load_byte, load_int32, store_byte, store_int32
from tidelog.storage.kernel import CodeArray, Int64s, Integer, inlined, kernel

# Columns of the table of marks, a line for each relation; those named for an array hold its address.
CHANGED = 0
SEEN = 1
CERTAIN = 2
SUSPECT = 3
IS_AFFECTED = 4
IS_UNSURE = 5
IS_OPAQUE = 6
MARK_WIDTH = 7

# What stands in place of a rule for facts without a derivation.
GIVEN = -1
ASSUMED = -2

# Columns of what is found: a fact of the stratum, a rule, and the row numbers of its literals.
FOUND_RELATION = 0
FOUND_ROW = 1
FOUND_RULE = 2
FOUND_FIRST = 3

# Columns of what is met in other strata: a fact, and whether it is one or is not.
MET_RELATION = 0
MET_ROW = 1
MET_IS_NEGATED = 2

# Positions in the array of progress: how many facts wait, are found and are met.
WAITING = 0
FOUND = 1
MET = 2


@inlined
def _score(
    relations: Int64s, rules: Int64s, literals: Int64s, code: Int64s, constants: Int64s, marks: Int64s,
    rule: Integer, level: Integer, out: Integer, registers: Int64s,
) -> Integer:  # fmt: skip
    """Return how many facts of a derivation may be others in other worlds, -1 if it does not hold.

    It holds if its facts of this stratum have lower levels than its head.
    """
    score = np.int64(0)
    for other in range(rules[rule, RULE_LITERAL_COUNT]):
        literal = rules[rule, RULE_FIRST_LITERAL] + other
        relation = literals[literal, LITERAL_RELATION]
        row = value_of(registers, constants, code[out + 1 + other])
        if literals[literal, LITERAL_IS_NEGATED] != 0:
            if row >= 0:
                if load_int32(relations[relation, LEVELS], row) != ABSENT_LEVEL:
                    return np.int64(-1)
                score += 1
            continue
        own_level = load_int32(relations[relation, LEVELS], row)
        if own_level == ABSENT_LEVEL:
            return np.int64(-1)
        if literals[literal, LITERAL_IS_OWN] != 0 and own_level >= level:
            return np.int64(-1)
        if load_byte(marks[relation, CHANGED], row) != 0:
            score += 1
    return score


@inlined
def _find_proof(
    relations: Int64s, indexes: Int64s, rules: Int64s, literals: Int64s, chains: Int64s, variants: Int64s,
    backs: Int64s, code: Int64s, constants: Int64s, marks: Int64s, relation: Integer, row: Integer,
    registers: Int64s, cursors: Int64s, position: Int64s, best: Int64s, counters: Int64s, like: CodeArray,
) -> None:  # fmt: skip
    """Write a derivation of a fact with as few changed facts as possible: its rule, and row numbers."""
    level = load_int32(relations[relation, LEVELS], row)
    least = np.int64(-1)
    first = relations[relation, FIRST_BACK]
    for back in range(first, first + relations[relation, BACK_COUNT]):
        chain = backs[back]
        rule = np.int64(chains[chain, CHAIN_RULE])
        begin_visit(
            relations, indexes, chains, variants, code, constants, chain, row, registers, position, like
        )
        while True:
            out = next_derivation(
                relations, indexes, code, constants, registers, cursors, position, counters, like
            )
            if out < 0:
                break
            score = _score(relations, rules, literals, code, constants, marks, rule, level, out, registers)
            if score >= 0 and (least < 0 or score < least):
                least = np.int64(score)
                best[0] = rule
                for other in range(rules[rule, RULE_LITERAL_COUNT]):
                    best[1 + other] = value_of(registers, constants, code[out + 1 + other])
                if least == 0:
                    return


@inlined
def _is_news(marks: Int64s, relation: Integer, row: Integer, stamp: Integer) -> bool:
    """Say whether a fact is to be proved that nobody has seen in this search; it is seen then."""
    if marks[relation, IS_AFFECTED] == 0 or load_byte(marks[relation, CERTAIN], row) != 0:
        return False
    if load_int32(marks[relation, SEEN], row) == stamp:
        return False
    store_int32(marks[relation, SEEN], row, stamp)
    return True


@kernel
def prove_facts(
    relations: Int64s, indexes: Int64s, rules: Int64s, literals: Int64s, chains: Int64s, variants: Int64s,
    backs: Int64s, code: Int64s, constants: Int64s, marks: Int64s, waiting: Int64s, found: Int64s,
    met: Int64s, progress: Int64s, assumes: int, stamp: int, counters: Int64s, like: CodeArray,
) -> int:  # fmt: skip
    """Prove the waiting facts of a stratum, and all facts of it that their proofs use.

    Each gets a line in `found`; what proofs use of other strata is `met`, negated atoms only where joins
    see their fact. With `assumes` a proof stops at facts that did not change. On NEEDS_ROOM the caller
    gives longer arrays and calls again. `waiting` holds (relation, row), each seen already.
    """
    registers = np.empty(REGISTERS, np.int64)
    cursors = np.empty((DEPTH, 6), np.int64)
    position = np.zeros(2, np.int64)
    best = np.empty(found.shape[1], np.int64)
    width = found.shape[1]
    while progress[WAITING] > 0:
        if (
            progress[FOUND] == found.shape[0]
            or progress[WAITING] + width > waiting.shape[0]
            or progress[MET] + width > met.shape[0]
        ):
            return NEEDS_ROOM
        progress[WAITING] -= 1
        relation = np.int64(waiting[progress[WAITING], 0])
        row = np.int64(waiting[progress[WAITING], 1])
        line = progress[FOUND]
        progress[FOUND] += 1
        found[line, FOUND_RELATION] = relation
        found[line, FOUND_ROW] = row
        if assumes != 0 and load_byte(marks[relation, CHANGED], row) == 0:
            found[line, FOUND_RULE] = ASSUMED
            continue
        if load_int32(relations[relation, LEVELS], row) == 0:
            found[line, FOUND_RULE] = GIVEN
            continue
        _find_proof(
            relations, indexes, rules, literals, chains, variants, backs, code, constants, marks, relation,
            row, registers, cursors, position, best, counters, like,
        )  # fmt: skip
        rule = np.int64(best[0])
        found[line, FOUND_RULE] = rule
        for other in range(rules[rule, RULE_LITERAL_COUNT]):
            literal = rules[rule, RULE_FIRST_LITERAL] + other
            premise = literals[literal, LITERAL_RELATION]
            number = np.int64(best[1 + other])
            found[line, FOUND_FIRST + other] = number
            is_negated = literals[literal, LITERAL_IS_NEGATED]
            if is_negated != 0:
                if number >= 0 or marks[premise, IS_UNSURE] != 0:
                    met[progress[MET], MET_RELATION] = premise
                    met[progress[MET], MET_ROW] = number
                    met[progress[MET], MET_IS_NEGATED] = 1
                    progress[MET] += 1
            elif _is_news(marks, premise, number, stamp):
                if literals[literal, LITERAL_IS_OWN] != 0:
                    waiting[progress[WAITING], 0] = premise
                    waiting[progress[WAITING], 1] = number
                    progress[WAITING] += 1
                else:
                    met[progress[MET], MET_RELATION] = premise
                    met[progress[MET], MET_ROW] = number
                    met[progress[MET], MET_IS_NEGATED] = 0
                    progress[MET] += 1
    return DONE


@inlined
def _is_certain(relations: Int64s, marks: Int64s, relation: Integer, row: Integer) -> bool:
    if marks[relation, IS_AFFECTED] == 0 or load_byte(marks[relation, CERTAIN], row) != 0:
        return True
    if marks[relation, IS_OPAQUE] != 0:
        return False
    # A given fact that nobody suspects.
    return bool(
        load_int32(relations[relation, LEVELS], row) == 0 and load_byte(marks[relation, SUSPECT], row) == 0
    )


@kernel
def spread_certainty(
    relations: Int64s, rules: Int64s, literals: Int64s, marks: Int64s, found: Int64s, order: Int64s
) -> None:  # fmt: skip
    """Mark the facts whose proofs rest on nothing that may be otherwise.

    Requires `order` to name lines of `found` by increasing level, and the facts met in other strata to
    be marked.
    """
    for line in order:
        rule = found[line, FOUND_RULE]
        relation = found[line, FOUND_RELATION]
        if rule < 0:
            continue
        is_certain = True
        for other in range(rules[rule, RULE_LITERAL_COUNT]):
            literal = rules[rule, RULE_FIRST_LITERAL] + other
            premise = literals[literal, LITERAL_RELATION]
            number = found[line, FOUND_FIRST + other]
            if literals[literal, LITERAL_IS_NEGATED] != 0:
                is_sure = marks[premise, IS_UNSURE] == 0 or marks[premise, IS_AFFECTED] == 0
                is_certain = number < 0 and is_sure
            else:
                is_certain = _is_certain(relations, marks, premise, number)
            if not is_certain:
                break
        if is_certain:
            store_byte(marks[relation, CERTAIN], found[line, FOUND_ROW], 1)
