"""Kernel parts: what a derivation does to its head, in each of the sweeps of `maintain.sweeps`."""

import numpy as np

from tidelog.engine.local.by_row.interpreter import EXHAUSTED, PAUSED, begin_chain, next_derivation
from tidelog.engine.local.by_row.layout import (
    DONE,
    OVER_BUDGET,
    PAUSE,
    TOO_LARGE,
    Chain,
    Counters,
    Epoch,
    RuleRecord,
    Tables,
)
from tidelog.engine.local.by_row.lookup import find_row, locate_row
from tidelog.maintain.small.heads import lose_derivation, offer_level
from tidelog.storage.annotations import level_before, status_of
from tidelog.storage.judge_row import ABSENT_LEVEL, AFFECTED, GAINING, HOLDING, LOSING, Question, judge_row
from tidelog.storage.kernel import Integer, inlined


@inlined
def _lose(tables: Tables, epoch: Epoch, rule: RuleRecord, level: Integer) -> int:
    """Take a lost derivation of this level from its head if it was tight."""
    head = tables.relations[rule.head]
    row = find_row(tables, head)
    if row < 0 or head.levels[row] != level:
        return DONE
    return lose_derivation(tables, epoch, rule.head, row)


@inlined
def _offer(tables: Tables, epoch: Epoch, rule: RuleRecord, level: Integer, reading: Integer) -> int:
    """Offer a head the level of a derivation, unless the head found the derivation by itself."""
    head = tables.relations[rule.head]
    row = locate_row(tables, head)
    if row < 0:
        return int(-row)
    if (
        reading == GAINING
        and status_of(head.marks, row) == AFFECTED
        # Going backward it found this derivation, unless the rule is only asked for input facts.
        and (rule.asks_backward != 0 or level_before(head.levels, head.before, row) == 0)
    ):
        return DONE
    return offer_level(tables, epoch, rule.head, row, level)


@inlined
def _conclude(tables: Tables, epoch: Epoch, chain: Chain, reading: Integer) -> int:
    """Apply the derivation whose outputs are gathered to its head; return a status."""
    rule = tables.rules[chain.rule]
    question = Question(tables.literals, rule.first_literal, rule.literal_count, chain.place, reading)
    was, now = judge_row(question, tables.gathered, 1 if chain.place < 0 else rule.arity)
    if reading == LOSING:
        return _lose(tables, epoch, rule, was + 1) if was < now else DONE
    if reading == HOLDING:
        if now == ABSENT_LEVEL:
            return DONE
        return offer_level(tables, epoch, rule.head, tables.gathered[0], now + 1)
    return _offer(tables, epoch, rule, now + 1, reading) if now < was else DONE


@inlined
def spend(counters: Counters) -> int:
    """Say whether the work so far is allowed, and small enough for this kernel."""
    if counters.work > counters.work_limit:
        return OVER_BUDGET
    if counters.work > counters.free_work + counters.work_per_level * counters.level_count:
        return TOO_LARGE
    return DONE


@inlined
def walk(tables: Tables, epoch: Epoch, number: Integer, row: Integer, reading: Integer) -> int:
    """Find the derivations of a chain from one row, and apply them to their heads."""
    chain, counters = tables.chains[number], tables.counters
    begin_chain(tables, chain, row)
    counters.pause = counters.work + PAUSE
    while True:
        found = next_derivation(tables)
        if found == EXHAUSTED:
            return DONE
        if found == PAUSED:
            counters.pause = counters.work + PAUSE
            status = spend(counters)
        else:
            status = _conclude(tables, epoch, chain, reading)
        if status != DONE:
            return status


@inlined
def stands(tables: Tables, number: Integer, row: Integer, level: Integer) -> int:
    """Say whether a chain from a head's row has a derivation of this level that the epoch leaves standing.

    A negative number is a status, negated: that was too much work.
    """
    # A join goes no further from a fact that no such derivation has.
    tables.counters.level_limit = level
    found = _finds(tables, number, row, level)
    tables.counters.level_limit = 0
    return found


@inlined
def _finds(tables: Tables, number: Integer, row: Integer, level: Integer) -> int:
    """Do what `stands` says, with the limit of levels set."""
    chain, counters = tables.chains[number], tables.counters
    rule = tables.rules[chain.rule]
    question = Question(
        tables.literals, rule.first_literal, rule.literal_count, np.int64(-1), np.int64(LOSING)
    )
    begin_chain(tables, chain, row)
    counters.pause = counters.work + PAUSE
    while True:
        found = next_derivation(tables)
        if found == EXHAUSTED:
            return 0
        if found == PAUSED:
            counters.pause = counters.work + PAUSE
            status = spend(counters)
            if status != DONE:
                return -status
        else:
            _, now = judge_row(question, tables.gathered, 1)
            if now + 1 == level:
                return 1
