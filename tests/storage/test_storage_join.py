"""Join kernels against nested loops over lists: keys, filters, ranges of rows, and going on."""

import operator
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import as_rows, as_tuples, codes, row_lists, widths
from support.kernel_oracles import oracle_of
from tidelog.storage import StoredRelation
from tidelog.storage.join import (
    EQUAL,
    LESS,
    LESS_EQUAL,
    UNEQUAL,
    find_bindings,
    find_groups,
    has_entry,
    join_dense_pairs,
    join_postings,
    scan_rows,
    select_rows,
)

COMPARISONS = {EQUAL: operator.eq, UNEQUAL: operator.ne, LESS: operator.lt, LESS_EQUAL: operator.le}
NO_BYTES = np.empty(0, np.uint8)


def read(source, binding, entry, constants):
    """Return the code that a source names."""
    return constants[-1 - source] if source < 0 else (*binding, *entry)[source]


def passes(filters, binding, entry, constants):
    """Say whether all filters hold."""
    return all(
        COMPARISONS[op](read(left, binding, entry, constants), read(right, binding, entry, constants))
        for op, left, right in filters
    )


def sources_of(drawn):
    """Return sources as kernels take them."""
    return np.array(drawn, np.int32)


def filters_of(drawn):
    """Return filters as kernels take them."""
    return np.array(drawn, np.int32).reshape(-1, 3)


@dataclass
class Case:
    """One join: a batch of bindings, a relation, and what to read of both."""

    batch: list
    rows: list
    key: tuple
    operands: list
    constants: list
    filters: list
    sources: list
    lowest: int
    highest: int
    deleted: set
    limit: int
    dtype: type
    # Where the new rows begin, in an index without row numbers.
    boundary: int | None
    relation: StoredRelation = field(init=False)

    def __post_init__(self):
        self.relation = StoredRelation(3, self.dtype, counting=self.boundary is None)
        self.relation.insert(as_rows(self.rows, 3, self.dtype))
        if self.deleted:
            self.relation.delete_rows(np.array(sorted(self.deleted), np.int64))
        self.index = self.relation.index(self.key, self.boundary or 0)
        self.in_view = self.lowest, self.highest, self.index.boundary_between(self.lowest, self.highest)
        self.bindings = as_rows(self.batch, 2, self.dtype)
        self.codes = np.array(self.constants, np.int64)

    def groups(self):
        """Return the group of each binding."""
        index, found = self.index, np.empty(len(self.batch), np.int64)
        find_groups(
            self.bindings, self.codes, sources_of(self.operands), index.slots, index.keys, index.groups,
            index.is_dense, found,
        )  # fmt: skip
        return found

    def matches(self, binding):
        """Yield the entries that match a binding, by a loop over all rows."""
        wanted = [read(source, binding, (), self.constants) for source in self.operands]
        for number in range(self.lowest, self.highest):
            row = self.rows[number]
            if number not in self.deleted and [row[column] for column in self.key] == wanted:
                yield (*(row[column] for column in range(3) if column not in self.key), number)


@st.composite
def cases(draw):
    """Draw a join over a batch of two columns and a relation of three."""
    rows = draw(row_lists(3, max_size=40, unique=True))
    key = tuple(sorted(draw(st.sets(st.integers(0, 2), max_size=2))))
    boundary = draw(st.none() | st.integers(0, len(rows)))
    width = 2 + 3 - len(key) + (boundary is None)
    constants = draw(st.lists(codes, min_size=1, max_size=2))
    source = st.integers(-len(constants), width - 1)
    lowest = draw(st.integers(0, len(rows)))
    in_view = lowest, draw(st.integers(lowest, len(rows)))
    if boundary is not None:
        views = [(0, boundary), (boundary, len(rows)), (0, len(rows))]
        in_view = draw(st.sampled_from([view for view in views if view[0] < view[1]] or [(0, 0)]))
    may_delete = rows and boundary is None and draw(st.booleans())
    return Case(
        batch=draw(row_lists(2, max_size=70)),
        rows=rows,
        key=key,
        operands=[draw(st.integers(-len(constants), 1)) for _ in key],
        constants=constants,
        filters=draw(st.lists(st.tuples(st.sampled_from(list(COMPARISONS)), source, source), max_size=2)),
        sources=draw(st.lists(source, min_size=1, max_size=4)),
        lowest=in_view[0],
        highest=in_view[1],
        deleted=draw(st.sets(st.integers(0, len(rows) - 1))) if may_delete else set(),
        limit=draw(st.sampled_from([1, 2, 7, 1000])),
        dtype=draw(widths),
        boundary=boundary,
    )


@oracle_of(join_postings)
@given(case=cases())
def test_join_finds_what_nested_loops_find(case):
    """Every binding meets every matching entry in view, in order, whatever the output can hold."""
    found, index = case.groups(), case.index
    state = np.zeros(2, np.int64)
    out = np.empty((case.limit, len(case.sources)), case.dtype)
    joined = []

    while state[0] < len(case.batch):
        written = join_postings(
            case.bindings, found, case.codes, index.groups, index.arena, case.relation.alive,
            *case.in_view, filters_of(case.filters), sources_of(case.sources), state, out,
        )  # fmt: skip
        joined.extend(as_tuples(out[:written]))

    assert joined == [
        tuple(read(source, binding, entry, case.constants) for source in case.sources)
        for binding in case.batch
        for entry in case.matches(binding)
        if passes(case.filters, binding, entry, case.constants)
    ]


@oracle_of(has_entry)
@given(case=cases())
def test_has_entry_says_whether_anything_matches(case):
    """Existence is judged over the rows in view that are not deleted."""
    found, index = case.groups(), case.index
    result = np.full(len(case.batch), 7, np.uint8)

    has_entry(
        case.bindings,
        found,
        index.groups,
        index.arena,
        case.relation.alive,
        *case.in_view,
        result,
    )

    assert result.tolist() == [int(any(True for _ in case.matches(binding))) for binding in case.batch]


@oracle_of(find_bindings)
@given(
    rows=row_lists(2, max_size=60),
    batch=row_lists(2, max_size=70),
    operands=st.tuples(st.integers(-2, 1), st.integers(-2, 1)),
    constants=st.tuples(codes, codes),
    dtype=widths,
)
def test_bindings_find_the_row_they_name(rows, batch, operands, constants, dtype):
    """A key of all columns, from bindings and constants, leads to the row's number or to -1."""
    relation = StoredRelation(2, dtype)
    relation.insert(as_rows(rows, 2, dtype))
    found = np.empty(len(batch), np.int64)

    find_bindings(
        as_rows(batch, 2, dtype), np.array(constants, np.int64), sources_of(operands),
        relation.slots, relation.rows, relation.all_columns, found,
    )  # fmt: skip

    numbers = {row: number for number, row in enumerate(as_tuples(relation.live_rows()))}
    keys = [tuple(read(source, binding, (), constants) for source in operands) for binding in batch]
    assert found.tolist() == [numbers.get(key, -1) for key in keys]


@oracle_of(scan_rows)
@given(
    rows=row_lists(2, max_size=60),
    data=st.data(),
    filters=st.lists(
        st.tuples(st.sampled_from(list(COMPARISONS)), st.integers(-1, 1), st.integers(-1, 1)), max_size=2
    ),
    sources=st.lists(st.integers(-1, 1), max_size=3),
    constant=codes,
)
def test_scan_yields_the_rows_that_pass(rows, data, filters, sources, constant):
    """A scan goes on where it stopped and leaves out deleted rows and those that filters reject."""
    first = data.draw(st.integers(0, len(rows)))
    last = data.draw(st.integers(first, len(rows)))
    alive = data.draw(st.just([]) | st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    out = np.empty((data.draw(st.sampled_from([1, 3, 100])), len(sources)), np.int32)
    state = np.array([first], np.int64)
    scanned, count = [], 0

    while state[0] < last:
        written = scan_rows(
            as_rows(rows, 2), np.array(alive, np.uint8), np.array([constant], np.int64),
            filters_of(filters), sources_of(sources), state, last, out,
        )  # fmt: skip
        count += written
        scanned.extend(as_tuples(out[:written]))

    kept = [
        rows[number]
        for number in range(first, last)
        if (not alive or alive[number]) and passes(filters, rows[number], (), [constant])
    ]
    assert count == len(kept)
    assert scanned == [tuple(read(source, row, (), [constant]) for source in sources) for row in kept]


@oracle_of(select_rows)
@given(batch=row_lists(2, max_size=50), data=st.data(), constant=codes)
def test_select_keeps_and_rearranges(batch, data, constant):
    """Kept bindings come in order with the columns asked for."""
    keep = data.draw(st.lists(st.integers(0, 1), min_size=len(batch), max_size=len(batch)))
    sources = data.draw(st.lists(st.integers(-1, 1), min_size=1, max_size=4))
    out = np.empty((len(batch), len(sources)), np.int32)

    written = select_rows(
        as_rows(batch, 2), np.array(keep, np.uint8), sources_of(sources), np.array([constant], np.int64), out
    )

    kept = [binding for binding, wanted in zip(batch, keep, strict=True) if wanted]
    assert as_tuples(out[:written]) == [
        tuple(read(source, binding, (), [constant]) for source in sources) for binding in kept
    ]


@oracle_of(join_dense_pairs)
@given(
    rows=row_lists(3, of=st.integers(0, 4), max_size=40, unique=True),
    batch=row_lists(2, of=st.integers(0, 4) | st.sampled_from([-1, 2**31 - 1, -(2**31)]), max_size=20),
    columns=st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 2)),
    taken_first=st.booleans(),
    limit=st.sampled_from([1, 2, 7, 1000]),
    dtype=widths,
)
def test_dense_pairs_are_those_of_nested_loops(rows, batch, columns, taken_first, limit, dtype):
    """A column of each binding meets one of each entry of its group, whatever the output can hold."""
    key, kept, taken = columns
    relation = StoredRelation(3, dtype, counting=True)
    relation.insert(as_rows(rows, 3, dtype))
    index = relation.index((0,))
    state, out, joined = np.zeros(2, np.int64), np.empty((limit, 2), dtype), []

    while state[0] < len(batch):
        written = join_dense_pairs(
            as_rows(batch, 2, dtype), key, index.groups, index.arena, kept, taken, taken_first, state, out
        )
        joined.extend(as_tuples(out[:written]))

    pairs = [
        (binding[kept], (*row[1:], number)[taken])
        for binding in batch
        for number, row in enumerate(rows)
        if row[0] == binding[key]
    ]
    assert joined == [pair[::-1] if taken_first else pair for pair in pairs]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6, 100])
def test_join_goes_on_in_the_middle_of_a_posting(limit):
    """A full output interrupts a posting anywhere; nothing is lost or repeated."""
    relation = StoredRelation(2, np.int32, counting=True)
    relation.insert(as_rows([(key, number) for number in range(5) for key in range(2)], 2))
    index = relation.index((0,))
    batch, found = as_rows([(1,), (0,), (9,), (1,)], 1), np.array([1, 0, -1, 1], np.int64)
    state, out = np.zeros(2, np.int64), np.empty((limit, 2), np.int32)
    pieces = []

    while state[0] < len(batch):
        written = join_postings(
            batch, found, np.empty(0, np.int64), index.groups, index.arena, NO_BYTES, 2, 9, -1,
            filters_of([]), sources_of([0, 1]), state, out,
        )  # fmt: skip
        assert written <= limit
        pieces.extend(as_tuples(out[:written]))

    ones, zeros = [(1, number) for number in (1, 2, 3)], [(0, number) for number in (1, 2, 3, 4)]
    assert pieces == [*ones, *zeros, *ones]
