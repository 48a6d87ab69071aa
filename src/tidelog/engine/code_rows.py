"""Facts as rows of codes, and as one array of codes per column."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.engine.protocol import Codes
from tidelog.storage.kernel import CodeArray, Int64s


def as_rows(columns: Sequence[CodeArray], count: int) -> Int64s:
    """Return columns as rows of 64-bit codes; without columns there are `count` empty rows."""
    rows: Int64s = np.empty((count, len(columns)), np.int64)
    for place, column in enumerate(columns):
        rows[:, place] = column
    return rows


def fact_rows(columns: Sequence[CodeArray], arity: int) -> Int64s:
    """Return facts as rows; the length of the first array is their number, even without columns."""
    return as_rows(columns[:arity], len(columns[0]) if columns else 0)


def fact_columns(rows: CodeArray) -> list[Codes]:
    """Return rows as columns; a relation without columns has one array with a zero for each fact."""
    return as_columns(rows) or [np.zeros(len(rows), np.int64)]


def as_columns(rows: CodeArray) -> list[Codes]:
    """Return rows as one array of 64-bit codes per column."""
    return list(rows.T.astype(np.int64, order="C"))


def matching(rows: CodeArray, pattern: Sequence[int | None]) -> CodeArray:
    """Return the rows that agree with the pattern's codes; None agrees with all."""
    return rows[agreeing(rows, {place: code for place, code in enumerate(pattern) if code is not None})]


def agreeing(rows: CodeArray, codes: Mapping[int, int]) -> npt.NDArray[np.bool_]:
    """Say of each row whether it has these codes in these columns."""
    keep = np.ones(len(rows), np.bool_)
    for place, code in codes.items():
        keep &= rows[:, place] == code
    return keep
