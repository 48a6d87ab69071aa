"""Kernel: one epoch of all strata, as far as it goes without help.

Changes of a stratum reach those that read it, so strata are updated in order; nothing is done for one that
no change reaches. The kernel stops before a stratum that is not its own, with all results so far in its
tables, and continues from there when it is called again.
"""

import numpy as np

from tidelog.engine.local.by_row.layout import (
    ASKS,
    DONE,
    FORCED,
    KERNEL,
    NEEDS_JOURNAL,
    Epoch,
    RelationRecord,
    StratumRecord,
    Tables,
    open_epoch,
    open_tables,
)
from tidelog.maintain.small.heads import KEPT
from tidelog.maintain.small.kernel import update_stratum
from tidelog.maintain.small.projection import update_projection
from tidelog.storage.judge_row import ABSENT_LEVEL, Literal
from tidelog.storage.kernel import CodeArray, Int64s, Integer, inlined, kernel

_MOST_WORK = 4e18


@inlined
def _reaching(tables: Tables, stratum: StratumRecord) -> Integer:
    """Return how many changed rows reach a stratum."""
    rows = np.int64(0)
    for number in range(stratum.first_relation, stratum.first_relation + stratum.relation_count):
        relation = tables.relations[number]
        rows += relation.input_deleted_count + relation.input_inserted_count
    for read in range(stratum.first_read, stratum.first_read + stratum.read_count):
        relation = tables.relations[tables.reads[read]]
        rows += relation.deleted_count + relation.inserted_count
    return rows


@inlined
def _is_growing(tables: Tables, stratum: StratumRecord) -> bool:
    """Say whether all changes add: no deletion at a positive atom, no insertion at a negated one."""
    for number in range(stratum.first_relation, stratum.first_relation + stratum.relation_count):
        if tables.relations[number].input_deleted_count > 0:
            return False
    for number in range(stratum.first_forward, stratum.first_forward + stratum.forward_count):
        forward = tables.forwards[number]
        relation = tables.relations[forward.relation]
        if (relation.inserted_count if forward.is_negated != 0 else relation.deleted_count) > 0:
            return False
    return True


@inlined
def point_literal(tables: Tables, literal: Literal) -> None:
    """Set the addresses of the annotations of a literal's rows."""
    relation = tables.relations[literal.relation]
    literal.levels = relation.levels
    literal.before = relation.before
    literal.marks = relation.marks


@inlined
def _prepare(tables: Tables, stratum: StratumRecord) -> None:
    """Reset the counters, and mark the literals over earlier strata at which derivations may fail."""
    counters = tables.counters
    counters.first_own = stratum.first_relation
    counters.own_count = stratum.relation_count
    counters.level_limit = 0
    counters.work = 0
    counters.work_limit = np.int64(min(stratum.budget, _MOST_WORK))
    counters.level_count = 0
    counters.highest = 0
    counters.queue_count = 0
    counters.taken_count = 0
    counters.offer_count = 0
    stratum.is_growing = _is_growing(tables, stratum)
    for number in range(stratum.first_literal, stratum.first_literal + stratum.literal_count):
        literal = tables.literals[number]
        point_literal(tables, literal)
        relation = tables.relations[literal.relation]
        is_changed = relation.deleted_count + relation.inserted_count > 0
        literal.must_check = int(is_changed or literal.is_negated != 0)


@inlined
def _change(relation: RelationRecord, row: Integer) -> int:
    """Return 1 for a row that became a fact, -1 for one that was a fact, otherwise 0."""
    if relation.marks[row] & KEPT == 0:
        return 0
    was = ~relation.before[row] != ABSENT_LEVEL
    now = relation.levels[row] != ABSENT_LEVEL
    return int(now) - int(was)


@inlined
def _count_changes(tables: Tables, epoch: Epoch, begin: Integer, writes: Integer) -> None:
    """Count the rows that became facts or stopped being facts and, once the places are known, write them."""
    for position in range(begin, tables.counters.touched_count):
        touched = epoch.journal[position]
        relation = tables.relations[touched.relation]
        change = _change(relation, touched.row)
        if change > 0:
            if writes != 0:
                epoch.changed[relation.first_inserted + relation.inserted_count] = touched.row
            relation.inserted_count += 1
        elif change < 0:
            if writes != 0:
                epoch.changed[relation.first_deleted + relation.deleted_count] = touched.row
            relation.deleted_count += 1


@inlined
def _note_changes(tables: Tables, epoch: Epoch, stratum: StratumRecord, begin: Integer) -> None:
    """Write the rows that became facts or stopped being facts, those of one relation together."""
    _count_changes(tables, epoch, begin, 0)
    place = tables.counters.changed_count
    for number in range(stratum.first_relation, stratum.first_relation + stratum.relation_count):
        relation = tables.relations[number]
        relation.first_deleted = place
        relation.first_inserted = place + relation.deleted_count
        place += relation.deleted_count + relation.inserted_count
        relation.deleted_count = 0
        relation.inserted_count = 0
    tables.counters.changed_count = place
    _count_changes(tables, epoch, begin, 1)


@inlined
def _forget(relation: RelationRecord, row: Integer) -> None:
    """Clear the mark of a row and its level of before, and hide it if it is not a fact."""
    is_absent = relation.levels[row] == ABSENT_LEVEL
    if is_absent and relation.alive[row] != 0:
        relation.alive[row] = 0
        relation.hidden_count += 1
    if relation.marks[row] & KEPT != 0:
        relation.before[row] = 0
    relation.marks[row] = 0


@inlined
def _undo(tables: Tables, epoch: Epoch, begin: Integer) -> None:
    """Restore the annotations of the rows in the journal from a place on."""
    for position in range(begin, tables.counters.touched_count):
        touched = epoch.journal[position]
        relation = tables.relations[touched.relation]
        relation.counts[touched.row] = touched.count
        if relation.marks[touched.row] & KEPT != 0:
            relation.levels[touched.row] = ~relation.before[touched.row]
        _forget(relation, touched.row)
    tables.counters.touched_count = begin


@kernel
def undo_strata(arrays: Int64s, like: CodeArray) -> None:
    """Restore the old epoch in all strata that the kernel updated."""
    _undo(open_tables(arrays, like), open_epoch(arrays), np.int64(0))


@kernel
def commit_strata(arrays: Int64s, like: CodeArray) -> None:
    """Forget the old epoch in all strata that the kernel updated."""
    tables, epoch = open_tables(arrays, like), open_epoch(arrays)
    for position in range(tables.counters.touched_count):
        touched = epoch.journal[position]
        relation = tables.relations[touched.relation]
        _forget(relation, touched.row)
    tables.counters.touched_count = 0


@inlined
def _may_run(tables: Tables, stratum: StratumRecord) -> int:
    """Return DONE if a stratum that rows reach is the kernel's, otherwise why not."""
    counters = tables.counters
    if stratum.handler != KERNEL:
        return ASKS
    if counters.journal_room - counters.touched_count < counters.journal_needed:
        return NEEDS_JOURNAL
    if counters.is_decided != 0:
        return DONE
    if stratum.reaching > max(stratum.row_limit, counters.few_rows):
        return ASKS
    if stratum.rate * stratum.reaching >= counters.most_work and stratum.forward_count > 0:
        return ASKS
    return DONE


@kernel
def update_strata(arrays: Int64s, like: CodeArray, stratum_count: int) -> int:
    """Update strata from `counters.stratum` on, and return why it stopped there.

    The caller decides about a stratum that is expected to take `counters.most_work`, unless it was decided
    that the first one is done here. Requires annotations and `alive` of all relations of the kernel's strata
    to be as long as their rows, and indexes to cover all rows; `changed` has room for all of `journal`.
    """
    tables, epoch = open_tables(arrays, like), open_epoch(arrays)
    counters = tables.counters
    while counters.stratum < stratum_count:
        stratum = tables.strata[counters.stratum]
        stratum.reaching = _reaching(tables, stratum)
        if stratum.reaching > 0 or stratum.handler == FORCED:
            status = _may_run(tables, stratum)
            if status != DONE:
                return status
            begin = counters.touched_count
            _prepare(tables, stratum)
            if stratum.projected != 0:
                status = update_projection(tables, epoch, stratum)
            else:
                status = update_stratum(tables, epoch, stratum, like)
            stratum.work = counters.work
            stratum.level = counters.highest
            if status != DONE:
                _undo(tables, epoch, begin)
                return status
            _note_changes(tables, epoch, stratum, begin)
        counters.is_decided = 0
        counters.stratum += 1
    return DONE
