"""Kernel parts: one epoch of a projection, key by key.

A projection has a fact for every key of an index (`storage.projected`). Its rows are those of keys of which a
fact changed; what they say is read from the postings of the index.
"""

from tidelog.engine.local.by_row.interpreter import begin_chain
from tidelog.engine.local.by_row.key_facts import read_key
from tidelog.engine.local.by_row.layout import DONE, Epoch, Forward, StratumRecord, Tables
from tidelog.engine.local.by_row.lookup import gather, locate_row
from tidelog.maintain.small.derivations import spend
from tidelog.maintain.small.heads import change_level, show_row, touch
from tidelog.storage.annotations import TOUCHED
from tidelog.storage.judge_row import ABSENT_LEVEL
from tidelog.storage.kernel import Integer, inlined


@inlined
def _take_row(tables: Tables, epoch: Epoch, stratum: StratumRecord, forward: Forward, row: Integer) -> int:
    """Enter the key of a changed row, and whether it had a fact and has one now; return a status."""
    # The chain is no more than the head: its outputs are the key.
    begin_chain(tables, tables.chains[forward.chain], row)
    key = tables.counters.instruction + 2
    relation = tables.relations[stratum.first_relation]
    gather(tables, key, relation.arity)
    found = locate_row(tables, relation)
    if found < 0:
        return int(-found)
    if relation.marks[found] & TOUCHED != 0:
        return DONE
    of_key = read_key(tables, stratum.projected - 1, forward.relation, key)
    if of_key.was_there:
        # What a key without a row has always said.
        relation.levels[found] = 1
        show_row(relation, found)
    status = touch(tables, epoch, stratum.first_relation, found)
    if status != DONE:
        return status
    if of_key.is_there != of_key.was_there:
        change_level(relation, found, 1 if of_key.is_there else ABSENT_LEVEL)
    if of_key.is_there:
        show_row(relation, found)
    return DONE


@inlined
def update_projection(tables: Tables, epoch: Epoch, stratum: StratumRecord) -> int:
    """Update the stratum of a projection and return a status."""
    forward = tables.forwards[stratum.first_forward]
    base = tables.relations[forward.relation]
    for position in range(base.first_deleted, base.first_deleted + base.deleted_count):
        status = _take_row(tables, epoch, stratum, forward, epoch.changed[position])
        if status != DONE:
            return status
    for position in range(base.first_inserted, base.first_inserted + base.inserted_count):
        status = _take_row(tables, epoch, stratum, forward, epoch.changed[position])
        if status != DONE:
            return status
    tables.counters.work += base.deleted_count + base.inserted_count
    return spend(tables.counters)
