"""Partners in threads that read files in shares get the rows they keep, in the order of the files."""

import tempfile
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.engine.spark.files import Annotated, Folder
from tidelog.engine.spark.ownership import copies_to_send, is_kept, owned_rows
from tidelog.engine.spark.routes import RelationRoute
from tidelog.engine.spark.shared_reading import read_shared
from tidelog.engine.spark.wire import between_threads

ROUTES = st.sampled_from(
    [
        RelationRoute(0, (0,)),
        RelationRoute(1, (0, 1)),
        RelationRoute(2, (0, 1, 2)),
        RelationRoute(-1, (-1,)),
        RelationRoute(0, (0,), is_everywhere=True),
        None,
    ]
)
FILES = st.lists(st.lists(st.tuples(*[st.integers(0, 6)] * 3), max_size=9), max_size=9)


def read_by_all(folder, files, route, partners):
    """Return what each partner reads."""
    found = [None] * partners

    def work(wire):
        found[wire.me] = list(read_shared(folder, files, 3, route, wire))

    threads = [threading.Thread(target=work, args=(wire,)) for wire in between_threads(partners)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return found


@settings(max_examples=40)
@given(
    files=FILES, route=ROUTES, partners=st.integers(1, 4), is_annotated=st.booleans(), in_groups=st.booleans()
)
def test_each_partner_gets_the_rows_it_keeps(files, route, partners, is_annotated, in_groups):
    """Whoever reads a row, it arrives once, with its annotations, where a copy of it is kept."""
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(path)
        names, everything = [], []
        for number, content in enumerate(files):
            rows = np.array(content, np.int32).reshape(len(content), 3)
            levels = np.arange(len(rows), dtype=np.int32) if is_annotated else None
            counts = levels + 1 if is_annotated else None
            name = folder.write_rows(f"r/0/{number}.parquet", Annotated(rows, levels, counts))
            if in_groups:
                whole = pq.read_table(f"{path}/{name}")
                pq.write_table(pa.table(whole), f"{path}/{name}", row_group_size=2)
            names.append(name)
            everything.append(rows)
        found = read_by_all(folder, names, route, partners)

    together = np.concatenate([np.empty((0, 3), np.int32), *everything])
    for wire, parts in zip(between_threads(partners), found, strict=True):
        expected = together if route is None else is_kept(together, route, wire)
        rows = [tuple(row) for part in parts for row in part.rows.tolist()]
        assert rows == [tuple(row) for row in expected.tolist()]
        for part in parts:
            assert (part.levels is None) == (not is_annotated)
            if part.levels is not None:
                assert (part.counts == part.levels + 1).all()


@settings(max_examples=40)
@given(rows=st.lists(st.tuples(*[st.integers(0, 9)] * 3), max_size=20), route=ROUTES.filter(bool))
def test_copies_go_where_they_are_kept(rows, route):
    """The copies that owners send, and their own rows, are what each partner keeps."""
    every = np.array(rows, np.int32).reshape(len(rows), 3)
    wires = between_threads(3)
    kept = [every[owned_rows(every, route, wire)].tolist() for wire in wires]
    for wire in wires:
        own = every[owned_rows(every, route, wire)]
        for partner, part in copies_to_send(own, route, wire):
            kept[partner] += part.tolist()

    for wire, found in zip(wires, kept, strict=True):
        assert sorted(found) == sorted(is_kept(every, route, wire).tolist())
