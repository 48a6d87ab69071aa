"""The structs in the tables of small epochs, and the numbers that kernels are compiled with.

A field named for an array holds its address. A range of another table is its first row and a count.
"""

from typing import NamedTuple

import numpy as np

from tidelog.storage.judge_row import Literal, literals_at
from tidelog.storage.kernel import CodeArray, Int64s, inlined
from tidelog.storage.structs import (
    ByteArray,
    Int32Array,
    Int64Array,
    RealWord,
    SlotArray,
    Table,
    Word,
    codes_like,
    struct,
    table_of,
)

REGISTERS = 64
DEPTH = 16


@struct
class RelationRecord:
    """A relation; `marks` are only set if its stratum is laid out.

    Uses are chains of that stratum from a literal of the relation, backs chains from its head. The ranges of
    the changed rows are those that stop and start being input facts, and being facts. While a stratum is
    evaluated, its rows from `delta` to `end` are those of the last iteration.
    """

    rows: Word
    capacity: Word
    arity: Word
    count: Word
    hidden_count: Word
    slots: SlotArray
    slot_count: Word
    alive: ByteArray
    levels: Int32Array
    before: Int32Array
    counts: Int32Array
    marks: ByteArray
    first_use: Word
    use_count: Word
    first_back: Word
    back_count: Word
    first_index: Word
    first_input_deleted: Word
    input_deleted_count: Word
    first_input_inserted: Word
    input_inserted_count: Word
    first_deleted: Word
    deleted_count: Word
    first_inserted: Word
    inserted_count: Word
    delta: Word
    end: Word


@struct
class IndexRecord:
    """An index of a relation; `next` is another one of the same relation, or -1 for the last one.

    `sorted_lengths` and `position` belong to ordered ones: the lengths of the sorted runs, and where the
    ordered column is in an entry. An index that is not used is not kept up to date, and may not even exist.

    A direct index has `earlier` in place of postings, and `slots` lead to rows (see `storage.direct`). Groups
    of an index with more entries than 32 bits count are `wide_groups`.

    A level has the keys of the index `below` it as its rows, by their group numbers; others have -1 there.
    """

    slots: SlotArray
    keys: Word
    groups: Int32Array
    wide_groups: Int64Array
    arena: Word
    arena_state: Word
    exact: Word
    key_columns: Int32Array
    rest_columns: Int32Array
    key_width: Word
    rest_width: Word
    slot_count: Word
    key_capacity: Word
    group_capacity: Word
    arena_capacity: Word
    exact_count: Word
    is_dense: Word
    group_count: Word
    rows_indexed: Word
    earlier: Int32Array
    sorted_lengths: Int64Array
    position: Word
    next: Word
    is_used: Word
    below: Word


@struct
class StratumRecord:
    """A stratum: ranges of other tables, what the kernel may do to it, and what it did in this epoch.

    Reads are relations of earlier strata, forwards the literals over them with the chains from there. The
    rate is the work per row so far. A projection is followed by the index `projected`, less one.
    """

    handler: Word
    first_relation: Word
    relation_count: Word
    first_literal: Word
    literal_count: Word
    first_forward: Word
    forward_count: Word
    first_read: Word
    read_count: Word
    row_limit: Word
    budget: RealWord
    rate: RealWord
    reaching: Word
    work: Word
    level: Word
    is_growing: Word
    projected: Word


@struct
class Forward:
    """A literal over an earlier stratum, and the chain that begins there."""

    relation: Word
    is_negated: Word
    chain: Word


@struct
class RuleRecord:
    """A rule; one that reads its own stratum is asked backward for derivations of affected facts."""

    head: Word
    arity: Word
    first_literal: Word
    literal_count: Word
    asks_backward: Word


@struct
class Chain:
    """The derivations of a rule from a literal, or from the head where `place` is -1.

    Variants are places in the code; they differ in what they join first.
    """

    rule: Word
    place: Word
    relation: Word
    first_variant: Word
    variant_count: Word


@struct
class Cursor:
    """An open join: the entries left, those of an unsorted tail after them, and what to do with each.

    With `hides_rows`, entries whose rows are not alive are passed over; with `is_limited` those whose rows
    are marked or have no level below the limit, which rows that are not alive never have. Through a direct
    index an entry is a row. The next one, plus one, is in `earlier`; `columns` says which columns of the row
    an entry has.
    """

    entry: Word
    end: Word
    tail: Word
    tail_end: Word
    arena: Word
    width: Word
    earlier: Int32Array
    columns: Int32Array
    rest_width: Word
    alive: ByteArray
    hides_rows: Word
    is_limited: Word
    levels: Int32Array
    marks: ByteArray
    binds: Word
    bind_count: Word
    filter_count: Word
    next: Word


@struct
class TouchedRow:
    """A row that an epoch touched, and the count it had before."""

    relation: Word
    row: Word
    count: Word


@struct
class Offer:
    """The lowest level that a row was offered, and how many derivations offer it."""

    level: Word
    count: Word


@struct
class Counters:
    """Where a kernel is, what it counts and what limits it.

    `instruction` and `open_joins` say how far the derivations of a chain have been listed; at `pause` the
    caller checks the work. The fields from `first_own` to `offer_count` belong to one stratum. With a
    `level_limit` only derivations are listed whose facts of that stratum are unmarked and have lower levels.
    """

    instruction: Word
    open_joins: Word
    pause: Word
    work: Word
    derivations: Word
    stratum: Word
    touched_count: Word
    changed_count: Word
    free_work: Word
    work_per_level: Word
    most_work: RealWord
    few_rows: Word
    is_decided: Word
    queue_room: Word
    journal_room: Word
    journal_needed: Word
    short_index: Word
    short_key: Word
    first_own: Word
    own_count: Word
    level_limit: Word
    work_limit: Word
    level_count: Word
    highest: Word
    queue_count: Word
    taken_count: Word
    offer_count: Word


_relations_at, _indexes_at, _strata_at = (
    table_of(RelationRecord),
    table_of(IndexRecord),
    table_of(StratumRecord),
)
_forwards_at, _rules_at, _chains_at = table_of(Forward), table_of(RuleRecord), table_of(Chain)
_cursors_at, _counters_at = table_of(Cursor), table_of(Counters)
_touched_at, _offers_at = table_of(TouchedRow), table_of(Offer)
words_at = table_of(np.int64)


class Tables(NamedTuple):
    """What kernels read of strata, and where they are in it.

    `values` are the registers of the chain that is followed, then the constants; `gathered` are the values
    to look up, or the outputs of a derivation. Only the type of `codes` matters: that of all stored codes.
    """

    strata: Table[StratumRecord]
    relations: Table[RelationRecord]
    indexes: Table[IndexRecord]
    rules: Table[RuleRecord]
    literals: Table[Literal]
    chains: Table[Chain]
    forwards: Table[Forward]
    variants: Table[np.int64]
    uses: Table[np.int64]
    backs: Table[np.int64]
    reads: Table[np.int64]
    code: Table[np.int64]
    values: Table[np.int64]
    gathered: Table[np.int64]
    cursors: Table[Cursor]
    counters: Counters
    codes: CodeArray
    has_narrow_codes: bool


class Epoch(NamedTuple):
    """What an epoch writes to: rows that wait, were taken from the queue, were touched, and have changed.

    Offers are those of the stratum that is updated.
    """

    queue: Table[np.int64]
    taken: Table[np.int64]
    journal: Table[TouchedRow]
    offers: Table[Offer]
    changed: Table[np.int64]


@inlined
def open_tables(arrays: Int64s, like: CodeArray) -> Tables:
    """Return the tables from their addresses and lengths, in the order of the fields of `Tables`."""
    return Tables(
        _strata_at(arrays, 0),
        _relations_at(arrays, 1),
        _indexes_at(arrays, 2),
        _rules_at(arrays, 3),
        literals_at(arrays, 4),
        _chains_at(arrays, 5),
        _forwards_at(arrays, 6),
        words_at(arrays, 7),
        words_at(arrays, 8),
        words_at(arrays, 9),
        words_at(arrays, 10),
        words_at(arrays, 11),
        words_at(arrays, 12),
        words_at(arrays, 13),
        _cursors_at(arrays, 14),
        _counters_at(arrays, 15)[np.int64(0)],
        codes_like(like),
        like.itemsize == 4,
    )


@inlined
def open_epoch(arrays: Int64s) -> Epoch:
    """Return what an epoch writes to, from the addresses and lengths after those of the tables."""
    return Epoch(
        words_at(arrays, 16),
        words_at(arrays, 17),
        _touched_at(arrays, 18),
        _offers_at(arrays, 19),
        words_at(arrays, 20),
    )


# What updates a stratum if a change reaches it; FORCED: the caller, in any case.
KERNEL = 0
CALLER = 1
FORCED = 2

# Instructions; operands are places in `values`.
#   JOIN     index, relation, how many keys, binds, filters and bounds it has, then these: a key each; the
#            column of the entry and a register each; comparison, left and right each; kind and value each
#   EXPAND   as JOIN, but the only key is the number of a group that a join through a level has found
#   FIND     relation, register for the row number, is negated, how many columns, then these
#   LACK     as FIND of a projection: relation, register for the row number, index and relation that it is a
#            projection of, then as many columns as the relation has
#   COMPARE  comparison, left, right
#   COMPUTE  functor, register, left, right
#   END      how many outputs, then these
JOIN = 0
FIND = 1
COMPARE = 2
COMPUTE = 3
END = 4
EXPAND = 5
LACK = 6
JOIN_WIDTH = 7
FIND_WIDTH = 5
LACK_WIDTH = 5

# What COMPUTE can do. Numbers and unsigned are the same bits; what is only for unsigned or floats says so.
ADD = 0
SUBTRACT = 1
MULTIPLY = 2
DIVIDE = 3
REMAINDER = 4
COPY = 5
AND = 6
OR = 7
XOR = 8
SHIFT_LEFT = 9
SHIFT_RIGHT = 10
SHIFT_IN_ZEROS = 11
BOTH = 12
EITHER = 13
ONE_OF_TWO = 14
LESSER = 15
GREATER = 16
UNSIGNED_DIVIDE = 17
UNSIGNED_REMAINDER = 18
FLOAT_ADD = 19
FLOAT_SUBTRACT = 20
FLOAT_MULTIPLY = 21
FLOAT_DIVIDE = 22
FLOAT_IS_LESS = 23
FLOAT_IS_AT_MOST = 24
NUMBER_TO_FLOAT = 25
UNSIGNED_TO_FLOAT = 26

# How the kernel ended. DONE: all strata are up to date. Otherwise the stratum it stopped at is unchanged: it
# is the caller's, it is predicted or found to be too much work, or the kernel lacks something.
DONE = 0
OVER_BUDGET = 1
TOO_LARGE = 2
NEEDS_ROOM = 3
NEEDS_WIDE_CODES = 4
NEEDS_JOURNAL = 5
ASKS = 6

# A place in the queue is level, relation (counted from the stratum's first) and row in one number; what
# does not fit is not small.
ROW_BITS = 32
RELATION_BITS = 8
LEVEL_LIMIT = 1 << 22
RELATION_LIMIT = 1 << RELATION_BITS

# What a level costs beside its rows, in bindings, and how many are walked between checks of the work.
LEVEL_WORK = 4
PAUSE = 1024
NEVER = 2**62
