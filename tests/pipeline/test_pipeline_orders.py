"""The last orders of facts over epochs, as the driver keeps them for a few rows."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.order_rows import Change, Epochs, Folded
from tidelog.pipeline import order_files
from tidelog.pipeline.checking import DETAIL, OP, ORDER, REASON, ROW, fact_column
from tidelog.pipeline.few_rows import FewRows, settle_few
from tidelog.pipeline.folder import JobManifest, SourceState
from tidelog.pipeline.order_files import HASH
from tidelog.pipeline.order_types import wider_type
from tidelog.pipeline.orders import count_merged
from tidelog.pipeline.sources import FILE

FACTS = [(name, x) for name in "ab" for x in (0.0, 1.5)]
CHANGES = st.builds(Change, st.sampled_from(FACTS), st.sampled_from([1, -1]), st.integers(0, 6))


def settle(epochs: Epochs, changes: list[Change]) -> FewRows:
    """Make an epoch of changes, without Spark; the hashes of different facts collide."""
    texts = pa.array([None] * len(changes), pa.string())
    columns = dict.fromkeys((REASON, DETAIL, FILE), texts)
    columns[ROW] = pa.array(map(repr, changes), pa.string())
    columns[OP] = pa.array([change.sign for change in changes], pa.int32())
    columns[ORDER] = pa.array([change.order for change in changes], pa.int64())
    columns[HASH] = pa.array([int(change.fact[1] * 2) for change in changes], pa.int64())
    columns[fact_column(0)] = pa.array([change.fact[0] for change in changes], pa.string())
    columns[fact_column(1)] = pa.array([change.fact[1] for change in changes], pa.float64())
    orders = epochs.orders
    object.__setattr__(orders, "type", "bigint")
    rows = settle_few([pa.table(columns)], epochs.source, epochs.bound, orders=orders)
    epochs.keep(rows)
    epochs.apply(rows.facts().to_pylist(), rows.facts(is_insert=False).to_pylist())
    return rows


@given(st.lists(st.lists(CHANGES, max_size=6), max_size=12))
def test_epochs_fold_their_rows(batches):
    """Facts, late rows and kept orders after any epochs are those of a fold by fact, order and arrival."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(order_files, "GROUP_ROWS", 2)
        epochs, folded = Epochs(Path(folder)), Folded()
        for changes in batches:
            late = folded.take(changes)

            rows = settle(epochs, changes)

            assert rows.late == late
            assert epochs.facts == folded.facts
            assert kept(epochs) == folded.last


@given(st.permutations(range(8)), st.lists(st.sampled_from([1, -1]), min_size=8, max_size=8), st.data())
def test_the_division_into_epochs_does_not_matter(orders, signs, data):
    """If no two rows tie, what holds is what the greatest order says, wherever epochs begin."""
    changes = [Change(("a", 1.5), sign, order) for order, sign in zip(orders, signs, strict=True)]
    ends = sorted(data.draw(st.lists(st.integers(0, 8), max_size=5)))
    with tempfile.TemporaryDirectory() as folder:
        epochs = Epochs(Path(folder))

        for begin, end in zip([0, *ends], [*ends, 8], strict=True):
            settle(epochs, changes[begin:end])

        last = max(changes, key=lambda change: change.order)
        assert epochs.facts == ({last.fact} if last.sign == 1 else set())


def kept(epochs: Epochs) -> dict[tuple[object, ...], tuple[object, int]]:
    """Return all orders that are kept; the batches are as large as they should be."""
    sizes = [batch.rows for batch in epochs.state.orders]
    assert all(size > 2 * sum(sizes[place + 1 :]) for place, size in enumerate(sizes))
    found = epochs.orders.find(np.arange(4, dtype=np.int64))
    rows = [] if found is None else found.drop_columns(HASH).to_pylist()
    last = {tuple(row.values())[:2]: tuple(row.values())[2:] for row in rows}
    assert len(last) == len(rows)
    return last


def test_changes_that_contradict_each_other(tmp_path):
    """With equal orders neither counts; nor does a later one with the order of what is known."""
    epochs, fact = Epochs(tmp_path), ("a", 1.5)

    steps = [
        [Change(fact, 1, 5)],
        [Change(fact, -1, 5)],
        [Change(fact, 1, 5)],
        [Change(fact, 1, 7), Change(fact, -1, 7)],
        [Change(fact, -1, 6)],
        [Change(fact, -1, 7)],
        [Change(fact, -1, 8)],
    ]
    seen = [
        (dict(rows.bad), rows.late, len(epochs.facts)) for rows in (settle(epochs, each) for each in steps)
    ]

    assert seen == [
        ({}, 0, 1),
        ({"conflict": 1}, 0, 1),
        ({}, 1, 1),
        ({"conflict": 2}, 0, 1),
        ({}, 1, 1),
        ({"conflict": 1}, 0, 1),
        ({}, 0, 0),
    ]


def test_few_files_for_many_epochs(tmp_path):
    """Epochs that change the same facts do not make what is kept grow, and there are few batches."""
    epochs = Epochs(tmp_path)
    for number in range(40):
        settle(epochs, [Change((f"{number % 4}", 0.0), 1, number)])
    same = [batch.rows for batch in epochs.state.orders]

    for number in range(40, 100):
        settle(epochs, [Change((f"{number}", 0.0), 1, number)])

    assert sum(same) <= 4 * 2
    assert len(epochs.state.orders) <= 6
    assert sum(batch.rows for batch in epochs.state.orders) <= 64 * 2


@given(st.lists(st.integers(1, 1000), max_size=60))
def test_batches_are_merged_by_size(added):
    """Each batch is more than twice as large as all newer ones, so there are few of them."""
    sizes: list[int] = []
    for size in added:
        count = count_merged(sizes, size)
        sizes[len(sizes) - count :] = [size + sum(sizes[len(sizes) - count :])]

        assert all(each > 2 * sum(sizes[place + 1 :]) for place, each in enumerate(sizes))


def test_a_few_facts_are_found_in_part_of_a_file(tmp_path, monkeypatch):
    """Only groups of rows are read that may hold one of the facts."""
    table = pa.table({HASH: pa.array(np.arange(0, 2000, 2)[::-1])})
    monkeypatch.setattr(order_files, "GROUP_ROWS", 10)
    order_files.write_orders(table, tmp_path / "orders")
    read = []
    read_groups = order_files.pq.ParquetFile.read_row_groups

    def note(self, groups, **options):
        read.extend(groups)
        return read_groups(self, groups, **options)

    monkeypatch.setattr(order_files.pq.ParquetFile, "read_row_groups", note)

    found = order_files.OrderFiles().find(
        tmp_path / "orders", np.array([-1, 0, 19, 500, 501, 1998, 4000]), table.schema
    )

    assert found[HASH].to_pylist() == [0, 500, 1998]
    assert read == [0, 25, 99]


def test_types_of_orders_widen():
    """Numbers compare with numbers as long as that is exact; nothing else compares with another type."""
    assert wider_type("bigint", "decimal(38,9)") == "decimal(38,9)"
    assert wider_type("decimal(10,2)", "bigint") == "decimal(21,2)"
    assert wider_type("decimal(38,0)", "decimal(38,9)") is None
    assert wider_type("bigint", "double") is None
    assert wider_type("timestamp", "bigint") is None
    assert wider_type("date", "date") == "date"


def test_states_of_earlier_versions_know_no_orders(tmp_path):
    """A manifest without orders is read, and those with orders come back as they were written."""
    epochs = Epochs(tmp_path)
    settle(epochs, [Change(("a", 0.0), 1, 1)])
    manifest = JobManifest(0, "job", "local", "", "", {"in": epochs.state})
    content = json.loads(manifest.to_json())
    for key in ("order", "order_type", "orders"):
        del content["sources"]["in"][key]

    older = JobManifest.from_json(json.dumps(content), tmp_path)

    assert JobManifest.from_json(manifest.to_json(), tmp_path) == manifest
    assert older.sources == {"in": SourceState()}
