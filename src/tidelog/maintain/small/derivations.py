"""Kernel parts: what a derivation does to its head, in each of the sweeps of `maintain.sweeps`."""

import numpy as np

from tidelog.maintain.small.annotations import holds, lose_derivation, offer_level
from tidelog.maintain.small.layout import (
    ABSENT_LEVEL,
    AFFECTED,
    BEFORE,
    CURRENT,
    DONE,
    LEVELS,
    LITERAL_IS_NEGATED,
    LITERAL_IS_OWN,
    LITERAL_MUST_CHECK,
    LITERAL_RELATION,
    MARKS,
    PREVIOUS,
    RULE_ARITY,
    RULE_ASKS_BACKWARD,
    RULE_FIRST_LITERAL,
    RULE_HEAD,
    RULE_LITERAL_COUNT,
)
from tidelog.maintain.small.membership import find_row, hash_of, locate_row, value_of
from tidelog.storage.address import load_byte, load_int32
from tidelog.storage.kernel import CodeArray, Int64s, Integer, inlined


@inlined
def take_lost(
    relations: Int64s, rules: Int64s, literals: Int64s, code: Int64s, constants: Int64s, rule: Integer,
    place: Integer, by_earlier: bool, at: Integer, registers: Int64s, queue: Int64s, journal: Int64s,
    counters: Int64s, like: CodeArray,
) -> int:  # fmt: skip
    """Take a lost derivation from its head if it was tight; the outputs begin at `code[at]`."""
    arity = rules[rule, RULE_ARITY]
    level = np.int64(0)
    for other in range(rules[rule, RULE_LITERAL_COUNT]):
        literal = rules[rule, RULE_FIRST_LITERAL] + other
        relation = literals[literal, LITERAL_RELATION]
        row = value_of(registers, constants, code[at + arity + other])
        if literals[literal, LITERAL_IS_OWN] != 0:
            level = max(level, load_int32(relations[relation, LEVELS], row))
            if not by_earlier and other != place:
                mark = load_byte(relations[relation, MARKS], row)
                if mark == AFFECTED or (mark == CURRENT and other < place):
                    return DONE
        elif literals[literal, LITERAL_MUST_CHECK] != 0 and other != place:
            is_negated = literals[literal, LITERAL_IS_NEGATED]
            if not holds(relations, relation, row, PREVIOUS, is_negated):
                return DONE
            if (not by_earlier or other < place) and not holds(relations, relation, row, LEVELS, is_negated):
                return DONE
    if level == ABSENT_LEVEL:
        return DONE
    head = rules[rule, RULE_HEAD]
    digest = hash_of(registers, constants, code, at, arity)
    number = find_row(relations, head, registers, constants, code, at, digest, like)
    if number < 0 or load_int32(relations[head, LEVELS], number) != level + 1:
        return DONE
    return lose_derivation(relations, head, number, queue, journal, counters)


@inlined
def offer_found(
    relations: Int64s, rules: Int64s, literals: Int64s, code: Int64s, constants: Int64s, rule: Integer,
    place: Integer, at: Integer, registers: Int64s, queue: Int64s, journal: Int64s, counters: Int64s,
    like: CodeArray,
) -> int:  # fmt: skip
    """Offer a derivation's level to its head: one found backward (`place` -1), or newly possible."""
    head = rules[rule, RULE_HEAD]
    columns = 1 if place < 0 else rules[rule, RULE_ARITY]
    level = np.int64(0)
    for other in range(rules[rule, RULE_LITERAL_COUNT]):
        literal = rules[rule, RULE_FIRST_LITERAL] + other
        relation = literals[literal, LITERAL_RELATION]
        row = value_of(registers, constants, code[at + columns + other])
        if literals[literal, LITERAL_IS_OWN] != 0:
            level = max(level, load_int32(relations[relation, LEVELS], row))
        elif literals[literal, LITERAL_MUST_CHECK] != 0 and other != place:
            is_negated = literals[literal, LITERAL_IS_NEGATED]
            if not holds(relations, relation, row, LEVELS, is_negated):
                return DONE
            if other < place and not holds(relations, relation, row, PREVIOUS, is_negated):
                return DONE
    if level == ABSENT_LEVEL:
        return DONE
    if place < 0:
        given = value_of(registers, constants, code[at])
        return offer_level(relations, head, given, level + 1, queue, journal, counters)
    number = locate_row(relations, head, registers, constants, code, at, like)
    if number < 0:
        return int(-number)
    if load_byte(relations[head, MARKS], number) == AFFECTED:
        # It found this derivation going backward, unless the rule is asked only of given facts.
        if rules[rule, RULE_ASKS_BACKWARD] != 0 or load_int32(relations[head, PREVIOUS], number) == 0:
            return DONE
    return offer_level(relations, head, number, level + 1, queue, journal, counters)


@inlined
def offer_smaller(
    relations: Int64s, rules: Int64s, literals: Int64s, code: Int64s, constants: Int64s, rule: Integer,
    place: Integer, at: Integer, registers: Int64s, queue: Int64s, journal: Int64s, counters: Int64s,
    like: CodeArray,
) -> int:  # fmt: skip
    """Offer a head the level that settled facts made smaller."""
    arity = rules[rule, RULE_ARITY]
    level = np.int64(0)
    before = np.int64(0)
    for other in range(rules[rule, RULE_LITERAL_COUNT]):
        literal = rules[rule, RULE_FIRST_LITERAL] + other
        relation = literals[literal, LITERAL_RELATION]
        row = value_of(registers, constants, code[at + arity + other])
        if literals[literal, LITERAL_IS_OWN] != 0:
            now = load_int32(relations[relation, LEVELS], row)
            level = max(level, now)
            if load_byte(relations[relation, MARKS], row) == CURRENT:
                if other < place:
                    return DONE
                now = load_int32(relations[relation, BEFORE], row)
            before = max(before, now)
        elif literals[literal, LITERAL_MUST_CHECK] != 0:
            if not holds(relations, relation, row, LEVELS, literals[literal, LITERAL_IS_NEGATED]):
                return DONE
    if level >= before:
        return DONE
    head = rules[rule, RULE_HEAD]
    number = locate_row(relations, head, registers, constants, code, at, like)
    if number < 0:
        return int(-number)
    return offer_level(relations, head, number, level + 1, queue, journal, counters)
