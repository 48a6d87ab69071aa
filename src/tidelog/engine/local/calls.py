"""Functions of values, called for rows of codes."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import Final, Protocol

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.local.evaluated import Evaluated, unless_all
from tidelog.engine.protocol import Codes, UserFunctions
from tidelog.engine.user_functors import call_functor, failed_call, find_functor
from tidelog.errors import TidelogError
from tidelog.program.nodes import UserApplication
from tidelog.values import Codec, NoValueError, Value
from tidelog.values.distinct_codes import distinct_codes

# Up to this many rows Python finds the distinct ones faster than numpy.
_SMALL_BATCH: Final = 64

Call = Callable[[tuple[Value, ...]], Value]
Encode = Callable[[list[Value]], Codes]


class RowCalls(Protocol):
    """Calls a function for rows of codes."""

    def for_rows(self, codes: Sequence[Codes], count: int) -> Evaluated:
        """Return the result for every row, in order; a column of one row applies to all."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls a function of Python values for rows of codes; a column of one row applies to all."""

    codec: Codec
    growing: AbstractContextManager[bool]
    call: Call
    types: Sequence[str]
    encode: Encode

    def for_rows(self, codes: Sequence[Codes], count: int) -> Evaluated:
        """Return the result for every row, in order."""
        with self.growing:
            columns = [
                self.codec.decode_column(np.broadcast_to(column, count), name)
                for column, name in zip(codes, self.types, strict=True)
            ]
            values: list[Value] = []
            has_value = np.ones(count, dtype=np.bool_)
            for row, operands in enumerate(zip(*columns, strict=True) if columns else repeat((), count)):
                try:
                    values.append(self.call(operands))
                except NoValueError:
                    has_value[row] = False
            result = np.zeros(count, dtype=np.int64)
            result[has_value] = self.encode(values)
        return result, unless_all(has_value)

    def for_combinations(self, codes: Sequence[Codes], count: int) -> Evaluated:
        """Return the result for every row, with one call for each distinct row."""
        rows, places = _distinct_rows([column for column in codes if column.size != 1], count)
        shown = [column if column.size == 1 else column[rows] for column in codes]
        result, mask = self.for_rows(shown, rows.size)
        return result[places], None if mask is None else mask[places]


class Remembered:
    """Caches results by the code of the one operand that varies; codes must be dense."""

    def __init__(self, calls: RowCalls, growing: AbstractContextManager[bool], varying: int) -> None:
        self._calls = calls
        self._growing = growing
        self._varying = varying
        self._answers: Codes = np.empty(0, dtype=np.int64)
        self._states = np.empty(0, dtype=np.int8)  # 0: not asked yet, 1: no value, 2: a value

    def for_codes(self, codes: Sequence[Codes], _count: int) -> Evaluated:
        """Return the result for every row; each code is called for once, ever."""
        column = codes[self._varying]
        with self._growing:
            if column.max() >= self._answers.size:
                missing = (0, 2 * int(column.max()) + 16 - self._answers.size)
                self._answers = np.pad(self._answers, missing)
                self._states = np.pad(self._states, missing)
            fresh = distinct_codes(column[self._states[column] == 0])
            if fresh.size:
                shown = [fresh if place == self._varying else each for place, each in enumerate(codes)]
                self._answers[fresh], mask = self._calls.for_rows(shown, fresh.size)
                self._states[fresh] = 2 if mask is None else 1 + mask
            return self._answers[column], unless_all(self._states[column] == 2)


as_codes: Final = partial(np.array, dtype=np.int64)


def user_call(term: UserApplication, functions: UserFunctions, codec: Codec, result: str) -> Call:
    """Return a call of a user's functor that returns the code of its value."""
    function = find_functor(term.name, functions, codec, term.span)

    def call(operands: tuple[Value, ...]) -> int:
        value = call_functor(term.name, function, operands, term.span)
        try:
            return codec.encode(value, result)
        except TidelogError as error:
            # The result is not a value of its type: only the place is added to the diagnostic.
            start = failed_call(term.name, operands)
            found = [replace(d, message=start + d.message, span=term.span) for d in error.diagnostics]
            raise TidelogError(found) from error

    return call


def _distinct_rows(columns: Sequence[Codes], count: int) -> tuple[Codes, Codes]:
    """Return one row for each distinct combination, and each row's place among them."""
    if count <= _SMALL_BATCH or not columns:
        numbers: dict[tuple[int, ...], int] = {}
        keys = zip(*(column.tolist() for column in columns), strict=True) if columns else repeat((), count)
        small = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
        # Numbers rise by one where a combination is the first of its kind.
        return np.flatnonzero(np.diff(np.maximum.accumulate(small), prepend=-1)), small
    rows, axis = (columns[0], None) if len(columns) == 1 else (np.column_stack(columns), 0)
    _, first, places = np.unique(rows, axis=axis, return_index=True, return_inverse=True)
    return first, places.reshape(-1)
