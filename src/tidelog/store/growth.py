"""Texts and records that got their codes since some moment."""

from typing import Final

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.values import NIL, Codec, Codes
from tidelog.values.arrow import pa

# Most epochs bring few new texts or none; so many are taken one by one more quickly.
_FEW: Final = 100


@dataclass(frozen=True, slots=True)
class KnownCodes:
    """How many texts and records (nil among them) have codes."""

    symbols: int = 0
    records: int = NIL + 1

    @classmethod
    def by(cls, codec: Codec) -> "KnownCodes":
        """Return what a codec knows now."""
        return cls(len(codec.symbols), len(codec.records))


@dataclass(frozen=True)
class Growth:
    """The texts and records that follow what was known, in the order of their codes.

    A code means the same in every process that takes up the growths of a store in their order.
    """

    known: KnownCodes
    symbols: "pa.LargeStringArray"
    widths: Codes
    fields: Codes

    @classmethod
    def since(cls, known: KnownCodes, codec: Codec) -> "Growth":
        """Return what the codec learned since."""
        codes = np.arange(known.symbols, len(codec.symbols))
        if codes.size <= _FEW:
            symbols = pa.array(codec.symbols.decode(codes), pa.large_string())
        else:
            symbols = codec.symbols.to_arrow(codes).cast(pa.large_string())
        # Records after symbols: fields that name symbols name those that were taken above only if
        # no other thread encodes meanwhile, which the session sees to.
        widths, fields = codec.records.rows_from(known.records)
        return cls(known, symbols, widths, fields)

    @property
    def after(self) -> KnownCodes:
        """Return what is known with this growth."""
        return KnownCodes(self.known.symbols + len(self.symbols), self.known.records + self.widths.size)

    def add_to(self, codec: Codec) -> None:
        """Give the texts and records their codes; the codec must know just what was known."""
        assert KnownCodes.by(codec) == self.known, "a growth of another store, or out of order"
        codec.symbols.encode_arrow(self.symbols)
        codec.records.append(self.widths, self.fields)
        assert KnownCodes.by(codec) == self.after, "a text or record twice"

    def blobs(self) -> list[bytes]:
        """Return the growth as bytes, little-endian."""
        _, offsets, data = self.symbols.buffers()
        starts = np.frombuffer(offsets, np.int64)[self.symbols.offset :][: len(self.symbols) + 1]
        texts = b"" if data is None else memoryview(data)[starts[0] : starts[-1]].tobytes()
        return [_bytes(np.diff(starts)), texts, _bytes(self.widths), _bytes(self.fields)]

    @classmethod
    def from_blobs(cls, known: KnownCodes, blobs: list[memoryview]) -> "Growth":
        """Return the growth that `blobs` wrote."""
        lengths, texts, widths, fields = blobs
        sizes = codes_from(lengths)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        symbols = pa.LargeStringArray.from_buffers(
            sizes.size, pa.py_buffer(starts.tobytes()), pa.py_buffer(bytes(texts))
        )
        return cls(known, symbols, codes_from(widths), codes_from(fields))


def codes_from(blob: memoryview) -> Codes:
    """Return the codes that were written as little-endian bytes."""
    return np.frombuffer(blob, "<i8").astype(np.int64)


def _bytes(codes: Codes) -> bytes:
    return codes.astype("<i8").tobytes()
