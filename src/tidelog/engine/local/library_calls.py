"""Functors of C libraries, called for rows of codes."""

import os
import platform
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tidelog.engine.libraries import LibraryFunctor
from tidelog.engine.libraries.bound import BoundFunctor
from tidelog.engine.libraries.functor import SUSPECT_MAX, SUSPECT_MIN
from tidelog.engine.local.calls import Calls
from tidelog.engine.local.evaluated import Evaluated, unless_all
from tidelog.engine.local.library_kernels import (
    FLOAT_REGISTERS,
    INTEGER_REGISTERS,
    Bytes,
    Floats,
    call_for_numbers,
    call_for_texts,
)
from tidelog.engine.protocol import Codes
from tidelog.engine.user_functors import FunctorError, failed_functor
from tidelog.program.nodes import UserApplication
from tidelog.values import Kind
from tidelog.values.arrow import pa
from tidelog.values.codes import codes_to_floats, floats_to_codes

# Up to this many rows with texts, calls from Python cost less than columns of pointers.
_FEW_TEXTS: Final = 64
_BYTES_PER_TEXT: Final = 32
_RANGES: Final = {Kind.NUMBER: (-(2**31), 2**31 - 1), Kind.UNSIGNED: (0, 2**32 - 1)}


class LibraryCalls:
    """Calls a function of a library for rows; where something does not fit, one by one to say what.

    Threads call at the same time, except functions that return texts or take tables.
    """

    def __init__(self, functor: LibraryFunctor, term: UserApplication, calls: Calls) -> None:
        self._functor = functor
        self._interface = functor.interface
        self._term = term
        self._calls = calls
        self._has_texts = Kind.SYMBOL in (*self._interface.kinds, self._interface.result)
        self._can_batch = _fills_registers(self._interface.kinds)
        self._bound = functor.with_tables(calls.codec) if functor.is_stateful else None

    def for_rows(self, codes: Sequence[Codes], count: int) -> Evaluated:
        """Return the result for every row, in order."""
        if self._bound is not None:
            return self._with_tables(self._bound, codes, count)
        if not self._can_batch or (self._has_texts and count <= _FEW_TEXTS):
            return self._calls.for_rows(codes, count)
        found = self._batch([np.broadcast_to(column, count) for column in codes], count)
        return self._calls.for_rows(codes, count) if found is None else found

    def _with_tables(self, bound: BoundFunctor, codes: Sequence[Codes], count: int) -> Evaluated:
        columns = [np.broadcast_to(column, count).tolist() for column in codes]
        result = np.empty(count, dtype=np.int64)
        with self._calls.growing:
            for row in range(count):
                operands = [column[row] for column in columns]
                try:
                    result[row] = bound.call_codes(operands)
                except FunctorError as error:
                    shown = tuple(map(self._calls.codec.decode, operands, self._calls.types))
                    raise failed_functor(self._term.name, shown, error, self._term.span) from None
        return result, None

    def _batch(self, codes: Sequence[Codes], count: int) -> Evaluated | None:
        """Return the results of all rows, None if a value does not fit the function's types."""
        interface = self._interface
        integers: list[Codes] = []
        floats: list[Floats] = []
        texts: list[object] = []
        for column, kind in zip(codes, interface.kinds, strict=True):
            if kind is Kind.FLOAT:
                floats.append(codes_to_floats(column))
                continue
            if kind is Kind.SYMBOL:
                pointers = _pointers(column, self._calls, texts)
                if pointers is None:
                    return None
                integers.append(pointers)
                continue
            if interface.width == 32 and not _fits(column, kind):
                return None
            integers.append(column)
        real: type[np.floating[Any]] = np.float32 if interface.width == 32 else np.float64
        whole = np.array(integers, dtype=np.int64).reshape(len(integers), count)
        parts: Floats = np.array(floats, dtype=real).reshape(len(floats), count)
        if interface.result is Kind.SYMBOL:
            return self._texts(whole, parts, count)
        if interface.result is Kind.FLOAT:
            reals = np.empty(count, dtype=real)
            call_for_numbers(self._functor.address, whole, parts, reals)
            return floats_to_codes(reals.astype(np.float64)), None
        results = np.empty(count, dtype=np.int64)
        call_for_numbers(self._functor.address, whole, parts, results)
        return self._whole_numbers(results)

    def _whole_numbers(self, results: Codes) -> Evaluated | None:
        """Return results as codes, None if they may have another width."""
        if self._interface.width == 32:
            # Only the lower half of the register counts.
            narrow = np.int32 if self._interface.result is Kind.NUMBER else np.uint32
            return results.astype(narrow).astype(np.int64), None
        if self._interface.bits is None and self._interface.result is Kind.NUMBER:
            is_suspect = (results >= SUSPECT_MIN) & (results <= SUSPECT_MAX)
            return None if is_suspect.any() else (results, None)
        return results, None

    def _texts(self, whole: Codes, parts: Floats, count: int) -> Evaluated | None:
        """Return the codes of the texts that the function returns, None if some are not UTF-8."""
        ends = np.zeros(count + 1, dtype=np.int64)
        has_value = np.zeros(count, dtype=np.uint8)
        data: Bytes = np.empty(_BYTES_PER_TEXT * count, dtype=np.uint8)
        row = 0
        while True:
            with self._functor.lock:
                row = call_for_texts(self._functor.address, (whole, parts), (data, ends[1:], has_value), row)
            if row == count:
                break
            data = np.concatenate([data, np.empty_like(data)])
        found = pa.LargeStringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(data))
        try:
            found.validate(full=True)
        except pa.ArrowInvalid:
            return None
        mask = has_value.astype(np.bool_)
        result = np.zeros(count, dtype=np.int64)
        with self._calls.growing:
            result[mask] = self._calls.codec.symbols.encode_arrow(found.filter(pa.array(mask)))
        return result, unless_all(mask)


def _fills_registers(kinds: Sequence[Kind]) -> bool:
    """Say whether a function's parameters are all passed in registers, each kind in its own."""
    floats = kinds.count(Kind.FLOAT)
    is_known = os.name == "posix" and platform.machine() in {"x86_64", "aarch64", "arm64"}
    return is_known and floats <= FLOAT_REGISTERS and len(kinds) - floats <= INTEGER_REGISTERS


def _fits(column: Codes, kind: Kind) -> bool:
    low, high = _RANGES[kind]
    return bool(((column >= low) & (column <= high)).all())


def _pointers(codes: Codes, calls: Calls, kept: list[object]) -> Codes | None:
    """Return where the texts of codes lie with a NUL behind each; None if one has a NUL in it.

    What they lie in is kept by `kept`.
    """
    import pyarrow.compute  # noqa: PLC0415 - few programs need it

    distinct, places = np.unique(codes, return_inverse=True)
    with calls.growing:
        texts = calls.codec.symbols.to_arrow(distinct).cast(pa.large_string())
    end, nothing = (pa.scalar(text, pa.large_string()) for text in ("\0", ""))
    ended = pyarrow.compute.binary_join_element_wise(texts, end, nothing)
    _, offsets, data = ended.buffers()
    kept.append(data)
    starts = np.frombuffer(offsets, dtype=np.int64)[ended.offset : ended.offset + len(ended)]
    size = int(np.frombuffer(offsets, dtype=np.int64)[ended.offset + len(ended)])
    if np.count_nonzero(np.frombuffer(data, dtype=np.uint8)[:size]) != size - len(ended):
        return None
    pointers: Codes = (data.address + starts)[places.reshape(-1)]
    return pointers
