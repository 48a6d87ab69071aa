"""Tables of structs that kernels read and write by name, each through its address alone.

A struct is declared as a class with a field for each of its 64-bit words. A word may be an array's address:

    @struct
    class Relation:
        count: Word
        levels: Int32Array

    relations_at = table_of(Relation)

Outside of kernels a table is a NumPy array of `words_of(Relation)`. A kernel takes the addresses of many
tables as one array and uses fields by name: `relations_at(arrays, 0)[relation].levels[row]`. To the compiler
a table is a pointer, so that a named tuple of many of them is cheap to pass on; an array would come with
its owner, shape and strides. The maker of the table keeps all arrays alive while the kernel runs.
"""

import ctypes
import math
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

import numpy as np
import numpy.typing as npt

from tidelog.storage.address import address_of
from tidelog.storage.kernel import CodeArray, Int64s, Integer, emitted

Row = TypeVar("Row")
StructClass = TypeVar("StructClass", bound=type)
Structs = npt.NDArray[np.void]
_WORD = 8
_COMPILED = "tidelog.storage.struct_types"


class Word:
    """A field of a struct: an integer."""

    dtype: type[np.generic] = np.int64
    # What the word is to kernels, or the elements of the array that it is the address of.
    compiled = "int64"
    is_array = False

    def __init__(self, place: int) -> None:
        self.place = place

    def __get__(self, row: Any, _owner: type) -> int:
        return cast("int", row.words[self.place])

    def __set__(self, row: Any, value: Integer) -> None:
        row.words[self.place] = value


class RealWord(Word):
    """A field of a struct: a float."""

    dtype = np.float64
    compiled = "float64"

    def __get__(self, row: Any, _owner: type) -> float:  # type: ignore[override]  # a float is not an integer
        return cast("float", row.words.view(self.dtype)[self.place])

    def __set__(self, row: Any, value: float) -> None:  # type: ignore[override]  # see above
        row.words.view(self.dtype)[self.place] = value


class Elements:
    """The array at an address, of integers of some kind."""

    def __init__(self, address: int, kind: Any) -> None:
        self.address = address
        self._kind = kind
        self._size = ctypes.sizeof(kind)

    def _at(self, place: Integer) -> Any:
        return self._kind.from_address(int(self.address) + int(place) * self._size)

    def __getitem__(self, place: Integer) -> np.int64:
        value = self._at(place).value
        return cast("np.int64", np.uint64(value)) if self._kind is ctypes.c_uint32 else np.int64(value)

    def __setitem__(self, place: Integer, value: Integer | np.uint64) -> None:
        self._at(place).value = int(value)


class ByteArray(Word):
    """A field of a struct: the address of an array of bytes. Kernels see any integer as 64 bits wide."""

    compiled = "uint8"
    is_array = True
    kind: Any = ctypes.c_uint8

    def __get__(self, row: Any, _owner: type) -> Elements:  # type: ignore[override]  # see above
        return Elements(row.words[self.place], self.kind)

    def __set__(self, row: Any, value: Elements) -> None:  # type: ignore[override]  # see above
        row.words[self.place] = value.address


class Int32Array(ByteArray):
    """A field of a struct: the address of an array of 32-bit integers."""

    compiled = "int32"
    kind = ctypes.c_int32


class Int64Array(ByteArray):
    """A field of a struct: the address of an array of 64-bit integers."""

    compiled = "int64"
    kind = ctypes.c_int64


class SlotArray(ByteArray):
    """A field of a struct: the address of the slots of an index or a membership, unsigned."""

    compiled = "uint32"
    kind = ctypes.c_uint32


def struct(declared: StructClass) -> StructClass:
    """Return a class whose annotated fields read and write the words of a table."""
    for place, (name, field) in enumerate(declared.__annotations__.items()):
        setattr(declared, name, field(place))
    return declared


def words_of(declared: type) -> np.dtype[np.void]:
    """Return the layout of a struct in NumPy arrays."""
    return np.dtype([(name, field.dtype) for name, field in declared.__annotations__.items()])


def columns(table: Structs, first: str, last: str) -> Int64s:
    """Return neighbouring fields of all structs as columns of numbers that can be written to."""
    names = table.dtype.names
    assert names is not None, "structs have fields"
    return _words(table)[:, names.index(first) : names.index(last) + 1]


def first_struct(declared: Callable[[], Row], table: Structs) -> Row:
    """Return the first struct of an array, to be read and written outside of kernels."""
    return Table(declared, _words(table))[0]


def _words(table: Structs) -> Int64s:
    return table.view(np.int64).reshape(len(table), table.itemsize // _WORD)


def addresses_of(*tables: npt.NDArray[Any]) -> Int64s:
    """Return the addresses and lengths of contiguous arrays, as kernels take them."""
    return np.array([(address_of(table), len(table)) for table in tables], np.int64).reshape(-1, 2)


class Table(Generic[Row]):
    """The structs, or numbers, at an address, one after the other."""

    def __init__(self, declared: Callable[[], Row], words: npt.NDArray[Any]) -> None:
        self._declared = declared
        self._words = words

    def __getitem__(self, number: Integer) -> Row:
        if self._words.ndim == 1:
            return cast("Row", self._words[number])
        row: Any = self._declared()
        row.words = self._words[number]
        return cast("Row", row)

    def __setitem__(self, number: Integer, value: Row | Integer) -> None:
        self._words[number] = value


def table_of(declared: Callable[[], Row]) -> Callable[[Int64s, Integer], Table[Row]]:
    """Return the function by which kernels open one of many tables, from `addresses_of` and its number.

    With `np.int64` in place of a struct it is a table of numbers.
    """
    is_numbers = declared is np.int64

    def table_at(arrays: Int64s, number: Integer) -> Table[Row]:
        address, count = arrays[number].tolist()
        shape = (count,) if is_numbers else (count, len(declared.__annotations__))
        words = (ctypes.c_int64 * math.prod(shape)).from_address(address)
        return Table(declared, np.ndarray(shape, np.int64, cast("Any", words)))

    return emitted(table_at, _COMPILED, "compiled_table_of", declared)


def _codes_like(array: CodeArray) -> CodeArray:
    """Return what tells `elements_at` how wide codes are, and nothing else."""
    return array


def _elements_at(address: Integer, like: npt.NDArray[Any]) -> Elements:
    """Return the array at an address, of elements as wide as those of another."""
    return Elements(int(address), np.ctypeslib.as_ctypes_type(like.dtype))


codes_like = emitted(_codes_like, _COMPILED, "compiled_codes_like")
elements_at = emitted(_elements_at, _COMPILED, "compiled_elements_at")
