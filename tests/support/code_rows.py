"""Rows of codes in tests of storage: made from lists of tuples, and read back."""

from collections.abc import Iterable, Sequence

import numpy as np
from hypothesis import strategies as st

from tidelog.storage.kernel import CodeArray

Row = tuple[int, ...]

WIDTHS = (np.int32, np.int64)
# Few codes, so that rows and keys meet again; and some that hash or compare badly if cut short.
small_codes = st.integers(0, 6)
odd_codes = st.sampled_from([0, 1, -1, 63, 64, 2**31 - 1, -(2**31), 65536, 70000])
codes = small_codes | odd_codes
widths = st.sampled_from(WIDTHS)


def row_lists(arity: int, of=codes, **limits: int) -> st.SearchStrategy[list[Row]]:
    """Draw rows of the given arity, some of them more than once."""
    return st.lists(st.tuples(*[of] * arity), **limits)


def as_rows(rows: Iterable[Sequence[int]], arity: int, dtype: type = np.int32) -> CodeArray:
    """Return rows as the array that kernels take."""
    listed = list(rows)
    return np.array(listed, dtype).reshape(len(listed), arity)


def as_tuples(rows: CodeArray) -> list[Row]:
    """Return an array of rows as plain tuples, in order."""
    return [tuple(row) for row in rows.tolist()]


def random_rows(count: int, arity: int, highest: int, *, seed: int = 0, dtype: type = np.int32) -> CodeArray:
    """Return many rows, the same for the same seed."""
    return np.random.default_rng(seed).integers(0, highest, (count, arity)).astype(dtype)


def distinct(rows: Iterable[Row]) -> list[Row]:
    """Return the rows without repetitions, in the order of their first appearance."""
    return list(dict.fromkeys(rows))
