"""Arrow columns as arrays."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.values.arrow_numbers import numbers_of

_TYPES = [pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64(), pa.float64(), pa.bool_()]


@pytest.mark.parametrize("arrow_type", _TYPES, ids=str)
@given(chunks=st.lists(st.lists(st.integers(0, 1), max_size=20), max_size=3), start=st.integers(0, 9))
def test_numbers_are_those_that_arrow_gives(arrow_type, chunks, start):
    """Whatever the type, chunks and slices of a column, its numbers are those of `to_numpy`."""
    column = pa.chunked_array([pa.array(chunk).cast(arrow_type) for chunk in chunks], arrow_type)[start:]

    numbers = numbers_of(column)

    assert numbers.tolist() == column.to_pylist()
    assert numbers.dtype == np.dtype(arrow_type.to_pandas_dtype())


def test_a_large_file_does_not_load_pandas(tmp_path: Path) -> None:
    """Reading facts through Arrow does not import what Arrow's own conversions do."""
    (tmp_path / "edge.facts").write_text("".join(f"{node}\ttext {node}\t0.5\n" for node in range(4000)))
    code = (
        "import sys, tidelog\n"
        "rules = '.decl edge(x: number, y: symbol, z: float)\\n.input edge\\n'\n"
        "with tidelog.open(rules, facts='.') as db: print(len(db['edge']))\n"
        "print('pyarrow' in sys.modules, 'pandas' in sys.modules)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert done.stdout.split() == ["4000", "True", "False"]
