"""The tables that stateful functors see: texts and records, as structs of functions in C.

`include/tidelog.h` declares them. What `decode` and `unpack` return is valid until the functor returns.
"""

import ctypes
from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

from tidelog.engine.user_functors import FunctorError

if TYPE_CHECKING:
    from tidelog.values.dictionary import Dictionary
    from tidelog.values.records import Records

_Code: Final = ctypes.c_int64
_Size: Final = ctypes.c_size_t
_Fields: Final = ctypes.POINTER(_Code)
_ENCODE: Final = ctypes.CFUNCTYPE(_Code, ctypes.c_void_p, _Size)
_DECODE: Final = ctypes.CFUNCTYPE(ctypes.c_void_p, _Code, ctypes.POINTER(_Size))
_PACK: Final = ctypes.CFUNCTYPE(_Code, _Fields, _Size)
_UNPACK: Final = ctypes.CFUNCTYPE(ctypes.c_void_p, _Code, _Size)
_HINT: Final = "codes come from the functor's parameters, `encode` and `pack`, and belong to one type each"


class _Symbols(ctypes.Structure):
    _fields_ = [("encode", _ENCODE), ("decode", _DECODE)]


class _RecordTable(ctypes.Structure):
    _fields_ = [("pack", _PACK), ("unpack", _UNPACK)]


class LibraryTables:
    """A dictionary and records, with the calls of one functor at a time.

    An exception cannot pass through C: the first one is kept, C gets zeros, and it is raised once the
    functor has returned.
    """

    def __init__(self, symbols: "Dictionary", records: "Records") -> None:
        self._texts = symbols
        self._rows = records
        self._kept: list[object] = []
        self._failure: FunctorError | None = None
        self._lock = RLock()
        self._symbols = _Symbols(_ENCODE(self._encode), _DECODE(self._decode))
        self._records = _RecordTable(_PACK(self._pack), _UNPACK(self._unpack))

    def call(self, function: Callable[..., int], codes: list[int]) -> int:
        """Return what the function returns for codes."""
        with self._lock:
            try:
                found = function(ctypes.byref(self._symbols), ctypes.byref(self._records), *codes)
                if self._failure is not None:
                    raise self._failure
                return found
            finally:
                self._kept.clear()
                self._failure = None

    def _encode(self, text: int | None, size: int) -> int:
        data = ctypes.string_at(text, size) if text else b""
        try:
            return self._texts.code_of(data.decode())
        except UnicodeDecodeError:
            return self._fail(f"`encode` was called with {data!r}, which is not UTF-8")

    def _decode(self, code: int, size: Any) -> int:
        data = b""
        if 0 <= code < len(self._texts):
            data = self._texts.text_of(code).encode()
        else:
            self._fail(f"`decode` was called with {code}, which is not the code of a text")
        if size:
            size[0] = len(data)
        return self._keep(ctypes.create_string_buffer(data, len(data) + 1))

    def _pack(self, fields: Any, width: int) -> int:
        return self._rows.code_of(fields[:width])

    def _unpack(self, code: int, width: int) -> int:
        row = self._rows.row(code) if 0 < code < len(self._rows) else None
        if row is None or len(row) != width:
            what = "nil" if code == 0 else "not a record" if row is None else f"a record of {len(row)} fields"
            self._fail(f"`unpack` was called for {width} fields of {code}, which is {what}")
            row = [0] * width
        return self._keep((_Code * max(width, 1))(*row))

    def _keep(self, buffer: Any) -> int:
        self._kept.append(buffer)
        return ctypes.addressof(buffer)

    def _fail(self, message: str) -> int:
        self._failure = self._failure or FunctorError(message, _HINT)
        return 0
