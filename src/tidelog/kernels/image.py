"""Machine code ready to be mapped: object files with everything but addresses worked out.

On Linux and x86-64 the compiler writes object files in which every use of an address is a gap of eight bytes.
An image is the code and data of several of them in one piece, with a list of the gaps: some take an address
within the image, the others that of a symbol outside. Elsewhere LLVM links object files.
"""

import marshal
import struct
from collections.abc import Iterator, Mapping
from typing import Final

from tidelog.dataclass import dataclass

_PAGE: Final = 1 << 12
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_GAP: Final = struct.Struct("<QQq")
_X86_64: Final = 62
_ABSOLUTE_64: Final = 1
_CONTENTS, _SYMBOLS, _GAPS, _ZEROS = 1, 2, 4, 8
_WRITABLE, _LOADED = 1, 2
_UNDEFINED: Final = 0
# Variables that no object gives a value: the ordinary ones, and those of large programs.
_COMMON: Final = frozenset({0xFFF2, 0xFF02})

_Pairs = tuple[tuple[int, int], ...]


class UnfitError(Exception):
    """Raised if object files contain what an image cannot hold, or a symbol is not there."""


@dataclass(frozen=True, slots=True)
class Image:
    """Code and data in one piece: `code` is never written to, `variables` bytes follow it.

    `inner` are pairs of a gap and the place whose address belongs there, `outer` the gaps and offsets by
    symbol, `places` where functions and variables are. `dtypes` are those of arrays that the code returns, in
    the order in which it knows them.
    """

    code: bytes
    variables: int
    inner: _Pairs
    outer: Mapping[str, _Pairs]
    places: Mapping[str, int]
    dtypes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Objects:
    """Object files to be linked by LLVM, with what they call the functions and variables that matter."""

    files: tuple[bytes, ...]
    symbols: Mapping[str, str]
    dtypes: tuple[str, ...] = ()


def to_bytes(code: Image | Objects) -> bytes:
    """Return code as it is kept in a file."""
    fields = [getattr(code, name) for name in code.__slots__]
    return marshal.dumps((type(code) is Image, *fields))


def from_bytes(data: bytes) -> Image | Objects:
    """Return the code that `to_bytes` wrote; requires the data to be undamaged."""
    is_image, *fields = marshal.loads(data)  # noqa: S302 - a digest was checked
    return Image(*fields) if is_image else Objects(*fields)


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int

    @property
    def is_placed(self) -> bool:
        # Nothing unwinds through a kernel.
        return bool(self.flags & _LOADED) and self.kind in {_CONTENTS, _ZEROS} and self.name != ".eh_frame"


class _Object:
    """An object file as the compiler writes it: sections, symbols, gaps."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 18)[0] != _X86_64:
            raise UnfitError("not an object file for this processor")
        table, count, names = _header(data)
        raw = [_SECTION.unpack_from(data, table + number * _SECTION.size) for number in range(count)]
        self.sections = [
            _Section(self.text_at(raw[names][4] + name), kind, flags, offset, size, link, info, alignment)
            for name, kind, flags, _, offset, size, link, info, alignment, _ in raw
        ]

    def text_at(self, place: int) -> str:
        return self.data[place : self.data.index(b"\0", place)].decode()

    def symbols(self) -> list[tuple[str, int, int, int]]:
        """Return names, sections, values and sizes."""
        (table,) = (each for each in self.sections if each.kind == _SYMBOLS)
        names = self.sections[table.link].offset
        unpacked = _SYMBOL.iter_unpack(self.data[table.offset : table.offset + table.size])
        return [
            (self.text_at(names + name), section, value, size)
            for name, _, _, section, value, size in unpacked
        ]

    def gaps(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield section, place in it, symbol and offset of every gap in what is placed."""
        for each in self.sections:
            if each.kind == _GAPS and self.sections[each.info].is_placed:
                for place, described, offset in _GAP.iter_unpack(
                    self.data[each.offset : each.offset + each.size]
                ):
                    if described & 0xFFFFFFFF != _ABSOLUTE_64:
                        raise UnfitError(f"a gap of kind {described & 0xFFFFFFFF}")
                    yield each.info, place, described >> 32, offset


def _header(data: bytes) -> tuple[int, int, int]:
    """Return where the table of sections is, how many there are, and which one has their names."""
    (table,) = struct.unpack_from("<Q", data, 0x28)
    count, names = struct.unpack_from("<HH", data, 0x3C)
    return table, count, names


def make_image(files: tuple[bytes, ...], symbols: Mapping[str, str], dtypes: tuple[str, ...]) -> Image:
    """Return the image of object files that use each other's symbols; of their own, `symbols` are kept."""
    objects = [_Object(data) for data in files]
    code, places = _placed(objects)
    defined: dict[str, int] = {}
    variables = 0
    for number, each in enumerate(objects):
        for name, section, value, size in each.symbols():
            if not name or name in defined:
                continue
            if section in _COMMON:
                defined[name] = len(code) + variables
                variables += -(-size // 8) * 8
            elif (number, section) in places:
                defined[name] = places[number, section] + value
    inner, outer = _gaps(objects, places, defined)
    kept = {name: defined[symbol] for name, symbol in symbols.items()}
    return Image(code, variables, inner, outer, kept, dtypes)


def _placed(objects: list[_Object]) -> tuple[bytes, dict[tuple[int, int], int]]:
    """Return code and constants in one piece, and where each section of each object is in it."""
    code = bytearray()
    places: dict[tuple[int, int], int] = {}
    for number, each in enumerate(objects):
        for index, section in enumerate(each.sections):
            if not section.is_placed or not section.size:
                continue
            if section.flags & _WRITABLE:
                raise UnfitError(f"variables in {section.name}")
            code += bytes(-len(code) % max(section.alignment, 1))
            places[number, index] = len(code)
            code += each.data[section.offset : section.offset + section.size]
    return bytes(code) + bytes(-len(code) % _PAGE), places


def _gaps(
    objects: list[_Object], places: Mapping[tuple[int, int], int], defined: Mapping[str, int]
) -> tuple[_Pairs, dict[str, _Pairs]]:
    """Return the gaps for addresses within the image, and for those of symbols outside."""
    inner: list[tuple[int, int]] = []
    outer: dict[str, list[tuple[int, int]]] = {}
    for number, each in enumerate(objects):
        symbols = each.symbols()
        for section, place, symbol, offset in each.gaps():
            gap = places[number, section] + place
            name, home, value, _ = symbols[symbol]
            if (number, home) in places:
                inner.append((gap, places[number, home] + value + offset))
            elif name in defined:
                inner.append((gap, defined[name] + offset))
            elif home == _UNDEFINED and name:
                outer.setdefault(name, []).append((gap, offset))
            else:
                raise UnfitError(f"the symbol {name!r} of section {home}")
    return tuple(inner), {name: tuple(gaps) for name, gaps in outer.items()}
