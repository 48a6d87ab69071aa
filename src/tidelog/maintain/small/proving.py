"""Kernels: proofs of many facts of a stratum at once, and which of their facts hold in every world."""

from typing import NamedTuple

import numpy as np

from tidelog.engine.local.by_row.interpreter import EXHAUSTED, begin_chain, next_derivation
from tidelog.engine.local.by_row.layout import (
    DONE,
    NEEDS_ROOM,
    NEVER,
    RelationRecord,
    RuleRecord,
    Tables,
    open_tables,
)
from tidelog.maintain.small.strata import point_literal
from tidelog.storage.judge_row import HOLDING, Question, judge_row
from tidelog.storage.kernel import CodeArray, Int64s, Integer, inlined, kernel
from tidelog.storage.structs import ByteArray, Int32Array, Table, Word, struct, table_of

# In place of a rule, for a fact without a derivation: it is an input fact, or is assumed.
INPUT = -1
ASSUMED = -2

# Columns of what is found: a fact of the stratum, a rule, and the row numbers of its literals.
FOUND_RELATION = 0
FOUND_ROW = 1
FOUND_RULE = 2
FOUND_FIRST = 3


@struct
class ProofMarks:
    """What is known about the rows of a relation while faults are explained; see `explain.blame.marks`."""

    changed: ByteArray
    seen: Int32Array
    certain: ByteArray
    suspect: ByteArray
    is_affected: Word
    is_unsure: Word
    is_opaque: Word


@struct
class Waiting:
    """A fact of the stratum that waits for a proof."""

    relation: Word
    row: Word


@struct
class Met:
    """A fact of another stratum that a proof uses, or whose absence it uses."""

    relation: Word
    row: Word
    is_negated: Word


@struct
class SearchState:
    """How many facts wait, are found and are met, and the number of this search."""

    waiting: Word
    found: Word
    met: Word
    search: Word


marks_at, _waiting_at = table_of(ProofMarks), table_of(Waiting)
_met_at, _progress_at = table_of(Met), table_of(SearchState)


class Search(NamedTuple):
    """What a search for proofs reads and writes."""

    marks: Table[ProofMarks]
    waiting: Table[Waiting]
    met: Table[Met]
    progress: SearchState
    found: Int64s


@inlined
def _score(tables: Tables, search: Search, rule: RuleRecord, level: Integer) -> Integer:
    """Return how many facts of a derivation may differ in other worlds, or -1 if it does not hold.

    It holds if its facts of this stratum have lower levels than its head.
    """
    question = Question(tables.literals, rule.first_literal, rule.literal_count, np.int64(-1), HOLDING)
    _, now = judge_row(question, tables.gathered, 1)
    if now >= level:
        return np.int64(-1)
    score = np.int64(0)
    for other in range(rule.literal_count):
        literal = tables.literals[rule.first_literal + other]
        row = tables.gathered[1 + other]
        if literal.is_negated != 0:
            score += row >= 0
        else:
            score += search.marks[literal.relation].changed[row] != 0
    return score


@inlined
def _find_proof(tables: Tables, search: Search, relation: RelationRecord, line: Integer) -> None:
    """Write a derivation of a fact with as few changed facts as possible: its rule, and row numbers."""
    found = search.found
    row = found[line, FOUND_ROW]
    level = relation.levels[row]
    least: Integer = np.int64(-1)
    for back in range(relation.first_back, relation.first_back + relation.back_count):
        chain = tables.chains[tables.backs[back]]
        rule = tables.rules[chain.rule]
        begin_chain(tables, chain, row)
        while next_derivation(tables) != EXHAUSTED:
            score = _score(tables, search, rule, level)
            if score >= 0 and (least < 0 or score < least):
                least = score
                found[line, FOUND_RULE] = chain.rule
                for other in range(rule.literal_count):
                    found[line, FOUND_FIRST + other] = tables.gathered[1 + other]
                if least == 0:
                    return


@inlined
def _is_news(marks: ProofMarks, row: Integer, search: Integer) -> bool:
    """Say whether a fact has yet to be proved in this search, and mark it as seen."""
    if marks.is_affected == 0 or marks.certain[row] != 0:
        return False
    if marks.seen[row] == search:
        return False
    marks.seen[row] = search
    return True


@inlined
def _meet(search: Search, relation: Integer, row: Integer, is_negated: Integer) -> None:
    """Note a fact of another stratum."""
    met = search.met[search.progress.met]
    met.relation = relation
    met.row = row
    met.is_negated = is_negated
    search.progress.met += 1


@inlined
def _note_premises(tables: Tables, search: Search, line: Integer) -> None:
    """Queue the facts of a derivation for their proofs, or note that they are met."""
    progress = search.progress
    rule = tables.rules[search.found[line, FOUND_RULE]]
    for other in range(rule.literal_count):
        literal = tables.literals[rule.first_literal + other]
        marks = search.marks[literal.relation]
        row = search.found[line, FOUND_FIRST + other]
        if literal.is_negated != 0:
            if row >= 0 or marks.is_unsure != 0:
                _meet(search, literal.relation, row, np.int64(1))
        elif _is_news(marks, row, progress.search):
            if literal.is_own != 0:
                waiting = search.waiting[progress.waiting]
                waiting.relation = literal.relation
                waiting.row = row
                progress.waiting += 1
            else:
                _meet(search, literal.relation, row, np.int64(0))


@kernel
def prove_facts(arrays: Int64s, like: CodeArray, searched: Int64s, found: Int64s, assumes: int) -> int:
    """Prove the waiting facts of a stratum, and all facts of it that their proofs use.

    Each gets a line in `found`; what proofs use of other strata is met, negated atoms only where joins see
    their fact. With `assumes` a proof stops at facts that did not change. On NEEDS_ROOM the caller gives
    longer arrays and calls again. Requires `searched` to be the addresses of marks, waiting facts (seen
    already), met facts and progress.
    """
    tables = open_tables(arrays, like)
    progress = _progress_at(searched, 3)[np.int64(0)]
    search = Search(marks_at(searched, 0), _waiting_at(searched, 1), _met_at(searched, 2), progress, found)
    tables.counters.pause = NEVER
    for number in range(arrays[4, 1]):
        point_literal(tables, tables.literals[number])
    width = found.shape[1]
    while progress.waiting > 0:
        if progress.found == found.shape[0]:
            return NEEDS_ROOM
        if progress.waiting + width > searched[1, 1] or progress.met + width > searched[2, 1]:
            return NEEDS_ROOM
        progress.waiting -= 1
        fact = search.waiting[progress.waiting]
        row, line = fact.row, progress.found
        progress.found += 1
        found[line, FOUND_RELATION] = fact.relation
        found[line, FOUND_ROW] = row
        relation = tables.relations[fact.relation]
        if assumes != 0 and search.marks[fact.relation].changed[row] == 0:
            found[line, FOUND_RULE] = ASSUMED
        elif relation.levels[row] == 0:
            found[line, FOUND_RULE] = INPUT
        else:
            _find_proof(tables, search, relation, line)
            _note_premises(tables, search, line)
    return DONE


@inlined
def _is_certain(relation: RelationRecord, marks: ProofMarks, row: Integer) -> bool:
    if marks.is_affected == 0 or marks.certain[row] != 0:
        return True
    if marks.is_opaque != 0:
        return False
    # An input fact that is not a suspect.
    return bool(relation.levels[row] == 0 and marks.suspect[row] == 0)


@inlined
def _rests_on_certain(tables: Tables, marks_of: Table[ProofMarks], line: Int64s) -> bool:
    """Say whether all premises of a fact hold in every world."""
    rule = tables.rules[line[FOUND_RULE]]
    for other in range(rule.literal_count):
        literal = tables.literals[rule.first_literal + other]
        marks = marks_of[literal.relation]
        row = line[FOUND_FIRST + other]
        if literal.is_negated != 0:
            if row >= 0 or (marks.is_unsure != 0 and marks.is_affected != 0):
                return False
        elif not _is_certain(tables.relations[literal.relation], marks, row):
            return False
    return True


@kernel
def spread_certainty(arrays: Int64s, like: CodeArray, searched: Int64s, found: Int64s, order: Int64s) -> None:
    """Mark the facts whose proofs rest only on facts that hold in every world.

    Requires `order` to name lines of `found` by increasing level, and the facts met in other strata to
    be marked.
    """
    tables = open_tables(arrays, like)
    marks_of = marks_at(searched, 0)
    for line in order:
        if found[line, FOUND_RULE] >= 0 and _rests_on_certain(tables, marks_of, found[line]):
            marks_of[found[line, FOUND_RELATION]].certain[found[line, FOUND_ROW]] = 1
