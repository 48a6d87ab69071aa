"""Whole tables to take away, written as they are read: CSV, JSON and Parquet."""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Final

import numpy as np

from tidelog.engine.protocol import Codes
from tidelog.values.arrow import pa, pq
from tidelog.views.fact_json import fact_json
from tidelog.web.pages import Listing
from tidelog.web.replies import mistake

MEDIA_TYPES: Final = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}
_ROWS_AT_ONCE: Final = 20_000
_MOST_AT_ONCE: Final = 2

Cut = Callable[[int, int], Sequence[Codes]]


class Downloads:
    """Writes listings; only a few at once, since each takes a thread as long as it lasts."""

    def __init__(self) -> None:
        self._running = 0
        self._lock = Lock()

    def write(
        self, listing: Listing, rows: Codes | None, codes: Sequence[Codes], form: str
    ) -> Iterator[bytes]:
        """Return the pieces of a file; `rows` are the numbers of the facts to write, None for all."""
        if form not in MEDIA_TYPES:
            known = ", ".join(MEDIA_TYPES)
            raise mistake(
                "bad-request", f"`{form[:40]}` is not a form of a download", f"choose one of {known}"
            )
        if self._running >= _MOST_AT_ONCE:
            raise mistake("explorer-busy", "other downloads are running", "try again when they have ended")
        size = listing.size if rows is None else len(rows)

        def cut(start: int, stop: int) -> Sequence[Codes]:
            chosen = slice(start, stop) if rows is None else rows[start:stop]
            return [column[chosen] for column in codes]

        write = {"csv": _write_csv, "json": _write_json, "parquet": _write_parquet}[form]
        return self._counted(write(listing, cut, size))

    def _counted(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        with self._lock:
            self._running += 1
        try:
            yield from pieces
        finally:
            with self._lock:
                self._running -= 1


def _tables(listing: Listing, cut: Cut, size: int) -> Iterator["pa.Table"]:
    """Yield the facts piece by piece; there is a piece even if there is no fact."""
    if not listing.columns:
        yield pa.table({"holds": pa.array([True] * size, pa.bool_())})
        return
    names = [column.name for column in listing.columns]
    for start in range(0, max(size, 1), _ROWS_AT_ONCE):
        codes = cut(start, min(start + _ROWS_AT_ONCE, size))
        pairs = zip(codes, listing.columns, strict=True)
        arrays = [listing.codec.column_to_arrow(np.ascontiguousarray(c), of.type) for c, of in pairs]
        yield pa.Table.from_arrays(arrays, names=names)


def _write_csv(listing: Listing, cut: Cut, size: int) -> Iterator[bytes]:
    import pyarrow.csv as pa_csv  # noqa: PLC0415 - only downloads need it

    for number, table in enumerate(_tables(listing, cut, size)):
        buffer = io.BytesIO()
        pa_csv.write_csv(table, buffer, pa_csv.WriteOptions(include_header=number == 0))
        yield buffer.getvalue()


def _write_json(listing: Listing, cut: Cut, size: int) -> Iterator[bytes]:
    codec, names = listing.codec, [column.name for column in listing.columns]
    separator = "[\n"
    for start in range(0, size, _ROWS_AT_ONCE):
        pairs = zip(cut(start, min(start + _ROWS_AT_ONCE, size)), listing.columns, strict=True)
        values = [codec.decode_column(np.ascontiguousarray(codes), column.type) for codes, column in pairs]
        facts = zip(*values, strict=True) if values else iter([()] * min(_ROWS_AT_ONCE, size - start))
        lines = (
            json.dumps(dict(zip(names, fact_json(fact), strict=True)), ensure_ascii=False) for fact in facts
        )
        yield (separator + ",\n".join(lines)).encode()
        separator = ",\n"
    yield b"\n]\n" if size else b"[]\n"


def _write_parquet(listing: Listing, cut: Cut, size: int) -> Iterator[bytes]:
    sink = _Sink()
    writer = None
    for table in _tables(listing, cut, size):
        if writer is None:
            writer = pq.ParquetWriter(sink, table.schema)
        writer.write_table(table)
        yield sink.take()
    assert writer is not None, "there is always a piece"
    writer.close()
    yield sink.take()


class _Sink(io.RawIOBase):
    """A file that gives away what was written so far."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, data: object) -> int:
        piece = bytes(memoryview(data))  # type: ignore[arg-type]  # whatever Arrow writes has a buffer
        self._pieces.append(piece)
        self._position += len(piece)
        return len(piece)

    def take(self) -> bytes:
        """Return what was written since the last call."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
