"""Sorted facts that come in batches of any size, read so many rows at a time."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from support.programs import build
from tidelog.engine.spark.sorted_facts import rows_of
from tidelog.values import Codec

_PROGRAM = build(".decl edge(x: number, y: symbol)")


@given(
    batches=st.lists(
        st.lists(st.tuples(st.integers(-9, 9), st.sampled_from(["a", "b", "é", ""])), max_size=9)
    ),
    rows=st.integers(1, 10),
)
def test_rows_are_those_of_the_batches(batches, rows):
    """All rows in their order, `rows` at a time but at the end, and texts known while they are looked at."""
    schema = pa.schema([("c0", pa.int64()), ("c1", pa.string())])
    given_batches = [
        pa.record_batch([[x for x, _ in batch], [y for _, y in batch]], schema=schema) for batch in batches
    ]
    codec = Codec(_PROGRAM.types)

    found = [
        list(zip(x.tolist(), codec.symbols.decode(y), strict=True))
        for x, y in rows_of(iter(given_batches), _PROGRAM.relations["edge"], codec, rows)
    ]

    expected = [row for batch in batches for row in batch]
    assert found == [expected[first : first + rows] for first in range(0, len(expected), rows)]
