"""Tables of structs that kernels read and write by name, each through its address alone.

A struct is declared as a class with a field for each of its 64-bit words:

    @struct
    class Rule:
        head: Integer
        arity: Integer

    rules_at = table_of(Rule)

Outside of kernels a table is a NumPy array of `words_of(Rule)`. A kernel takes the addresses of many tables
as one array and uses fields by name: `rules_at(arrays, 0)[rule].arity`. To the compiler a table is a
pointer, so that a named tuple of many of them is cheap to pass on; an array would bring its owner, shape and
strides along. Whoever makes the table keeps the array alive while the kernel runs.
"""

import ctypes
import math
import operator
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_getattr,
    infer_global,
    signature,
)
from numba.extending import (
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
)

from tidelog.storage.address import address_of
from tidelog.storage.kernel import IS_COMPILED, CodeArray, Int64s, Integer

Row = TypeVar("Row")
StructClass = TypeVar("StructClass", bound=type)
Structs = npt.NDArray[np.void]
_WORD = 8


def struct(declared: StructClass) -> StructClass:
    """Return a class whose annotated fields read and write the words of a table."""
    for place, (name, kind) in enumerate(declared.__annotations__.items()):
        setattr(declared, name, _float_field(place) if kind is float else _field(place))
    return declared


def _field(place: int) -> property:
    def read(self: Any) -> Any:
        return self.words[place]

    def write(self: Any, value: Any) -> None:
        self.words[place] = value

    return property(read, write)


def _float_field(place: int) -> property:
    def read(self: Any) -> Any:
        return self.words.view(np.float64)[place]

    def write(self: Any, value: Any) -> None:
        self.words.view(np.float64)[place] = value

    return property(read, write)


def words_of(declared: type) -> np.dtype[np.void]:
    """Return the layout of a struct in NumPy arrays."""
    kinds = declared.__annotations__.items()
    return np.dtype([(name, np.float64 if kind is float else np.int64) for name, kind in kinds])


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
    """Return where contiguous arrays are and how long they are, as kernels take them."""
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


class StructType(types.Type):  # type: ignore[misc]  # numba has no types
    """A struct as kernels know it: where its words begin."""

    def __init__(self, declared: type) -> None:
        self.fields = {
            name: types.float64 if kind is float else types.int64
            for name, kind in declared.__annotations__.items()
        }
        super().__init__(name=f"{declared.__module__}.{declared.__qualname__}")


class TableType(types.Type):  # type: ignore[misc]  # numba has no types
    """A table as kernels know it: where its first struct, or number, begins."""

    def __init__(self, element: Any) -> None:
        self.dtype = element
        super().__init__(name=f"table({element})")


@register_model(StructType)
@register_model(TableType)
class _PointerModel(models.PrimitiveModel):  # type: ignore[misc]  # numba has no types
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(8).as_pointer())


def _element(context: Any, builder: Any, table: Any, number: Any, element: Any) -> Any:
    """Return the pointer to an element of a table."""
    if isinstance(element, StructType):
        return builder.gep(table, [builder.mul(number, number.type(len(element.fields) * _WORD))])
    return builder.gep(builder.bitcast(table, context.get_value_type(element).as_pointer()), [number])


@infer_global(operator.getitem)
class _ElementOfTable(AbstractTemplate):  # type: ignore[misc]  # numba has no types
    def generic(self, arguments: Any, _keywords: Any) -> Any:
        table, number = arguments
        if isinstance(table, TableType) and isinstance(number, types.Integer):
            return signature(table.dtype, table, types.int64)
        return None


@lower_builtin(operator.getitem, TableType, types.int64)
def _read_element(context: Any, builder: Any, sign: Any, arguments: Any) -> Any:
    place = _element(context, builder, *arguments, sign.return_type)
    return place if isinstance(sign.return_type, StructType) else builder.load(place)


@infer_global(operator.setitem)
class _NewElementOfTable(AbstractTemplate):  # type: ignore[misc]  # numba has no types
    def generic(self, arguments: Any, _keywords: Any) -> Any:
        table, number, _value = arguments
        if isinstance(table, TableType) and isinstance(number, types.Integer):
            return signature(types.none, table, types.int64, table.dtype)
        return None


@lower_builtin(operator.setitem, TableType, types.int64, types.Any)
def _write_element(context: Any, builder: Any, sign: Any, arguments: Any) -> Any:
    table, number, value = arguments
    builder.store(value, _element(context, builder, table, number, sign.args[0].dtype))
    return context.get_dummy_value()


@infer_getattr
class _FieldOfStruct(AttributeTemplate):  # type: ignore[misc]  # numba has no types
    key = StructType

    def generic_resolve(self, kind: Any, name: str) -> Any:
        return kind.fields.get(name)


def _field_pointer(context: Any, builder: Any, kind: Any, place: Any, name: str) -> Any:
    words = builder.bitcast(place, context.get_value_type(kind.fields[name]).as_pointer())
    return builder.gep(words, [ir.IntType(64)(list(kind.fields).index(name))])


@lower_getattr_generic(StructType)
def _read_field(context: Any, builder: Any, kind: Any, place: Any, name: str) -> Any:
    return builder.load(_field_pointer(context, builder, kind, place, name))


@lower_setattr_generic(StructType)
def _write_field(context: Any, builder: Any, sign: Any, arguments: Any, name: str) -> None:
    place, value = arguments
    builder.store(value, _field_pointer(context, builder, sign.args[0], place, name))


def _compiled_table_of(element: Any) -> Any:
    @intrinsic
    def table_at(_typing_context: Any, arrays: Any, _number: Any) -> Any:
        def generate(context: Any, builder: Any, sign: Any, arguments: Any) -> Any:
            addresses = context.make_array(arrays)(context, builder, arguments[0]).data
            place = builder.gep(addresses, [builder.mul(arguments[1], ir.IntType(64)(2))])
            return builder.inttoptr(builder.load(place), context.get_value_type(sign.return_type))

        return TableType(element)(arrays, types.int64), generate

    return table_at


def table_of(declared: Callable[[], Row]) -> Callable[[Int64s, Integer], Table[Row]]:
    """Return what gives kernels one of many tables, from `addresses_of` them and its number among them.

    With `np.int64` in place of a struct it is a table of numbers.
    """
    is_numbers = declared is np.int64
    if IS_COMPILED:
        element = types.int64 if is_numbers else StructType(cast("type", declared))
        return cast("Callable[[Int64s, Integer], Table[Row]]", _compiled_table_of(element))

    def table_at(arrays: Int64s, number: Integer) -> Table[Row]:
        address, count = arrays[number].tolist()
        shape = (count,) if is_numbers else (count, len(declared.__annotations__))
        words = (ctypes.c_int64 * math.prod(shape)).from_address(address)
        return Table(declared, np.ndarray(shape, np.int64, buffer=words))

    return table_at


@intrinsic
def _codes_like(_typing_context: Any, array: Any) -> Any:
    def generate(context: Any, _builder: Any, sign: Any, _arguments: Any) -> Any:
        return context.get_constant_null(sign.return_type)

    return TableType(array.dtype)(array), generate


def _plain_codes_like(array: CodeArray) -> CodeArray:
    """Return what tells `load_code` and `store_code` how wide codes are, and nothing else."""
    return array


codes_like: Callable[[CodeArray], CodeArray] = cast("Any", _codes_like) if IS_COMPILED else _plain_codes_like
