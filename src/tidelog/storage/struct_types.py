"""How tables of structs are compiled: as pointers, with elements and fields read and written in place."""
# mypy: disable-error-code="no-untyped-call, untyped-decorator"
# Numba has no types for most of what extensions are made of.

import operator
from typing import Any

import numpy as np
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
    lower_getattr,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
)

_WORD = 8


class StructType(types.Type):
    """A struct in kernels: the address of its words."""

    def __init__(self, name: str, fields: dict[str, Any]) -> None:
        self.fields = fields
        super().__init__(name=name)


class TableType(types.Type):
    """A table in kernels: the address of its first struct or number."""

    def __init__(self, element: Any) -> None:
        self.dtype = element
        super().__init__(name=f"table({element})")


@register_model(StructType)
@register_model(TableType)
class _PointerModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(8).as_pointer())


def _seen_as(element: Any) -> Any:
    """Return the type of an element in kernels: integers narrower than 64 bits are widened."""
    if element == types.uint32:
        return types.uint64
    return types.int64 if element in {types.uint8, types.int32} else element


def _element(context: Any, builder: Any, kind: TableType, table: Any, number: Any) -> Any:
    """Return the pointer to an element of a table."""
    element = kind.dtype
    if isinstance(element, StructType):
        return builder.gep(table, [builder.mul(number, number.type(len(element.fields) * _WORD))])
    pointer = context.get_value_type(element).as_pointer()
    return builder.gep(builder.bitcast(table, pointer), [number])


@infer_global(operator.getitem)
class _ElementOfTable(AbstractTemplate):
    def generic(self, arguments: Any, _keywords: Any) -> Any:
        table, number = arguments
        if isinstance(table, TableType) and isinstance(number, types.Integer):
            return signature(_seen_as(table.dtype), table, types.int64)
        return None


@lower_builtin(operator.getitem, TableType, types.int64)
def _read_element(context: Any, builder: Any, sign: Any, arguments: Any) -> Any:
    element = sign.args[0].dtype
    place = _element(context, builder, sign.args[0], *arguments)
    if isinstance(element, StructType):
        return place
    return context.cast(builder, builder.load(place), element, sign.return_type)


@infer_global(operator.setitem)
class _NewElementOfTable(AbstractTemplate):
    def generic(self, arguments: Any, _keywords: Any) -> Any:
        table, number, _value = arguments
        if isinstance(table, TableType) and isinstance(number, types.Integer):
            return signature(types.none, table, types.int64, _seen_as(table.dtype))
        return None


@lower_builtin(operator.setitem, TableType, types.int64, types.Any)
def _write_element(context: Any, builder: Any, sign: Any, arguments: Any) -> Any:
    table, number, value = arguments
    element = sign.args[0].dtype
    stored = context.cast(builder, value, sign.args[2], element)
    builder.store(stored, _element(context, builder, sign.args[0], table, number))
    return context.get_dummy_value()


@infer_getattr
class _AddressOfTable(AttributeTemplate):
    key = TableType

    def generic_resolve(self, _kind: Any, name: str) -> Any:  # type: ignore[override]  # numba has no types
        return types.int64 if name == "address" else None


@lower_getattr(TableType, "address")
def _read_address(_context: Any, builder: Any, _kind: Any, table: Any) -> Any:
    return builder.ptrtoint(table, ir.IntType(64))


@infer_getattr
class _FieldOfStruct(AttributeTemplate):
    key = StructType

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]  # numba has no types
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


def _element_type(declared: Any) -> Any:
    """Return what the elements of a table are to kernels: structs as declared, or numbers."""
    if declared is np.int64:
        return types.int64
    fields = {name: _field_type(field) for name, field in declared.__annotations__.items()}
    return StructType(f"{declared.__module__}.{declared.__qualname__}", fields)


def _field_type(field: Any) -> Any:
    element = getattr(types, field.compiled)
    return TableType(element) if field.is_array else element


def compiled_table_of(declared: Any) -> Any:
    """Return the function that opens a table, from the addresses of tables and its number among them."""
    element = _element_type(declared)

    @intrinsic
    def table_at(_typing_context: Any, arrays: Any, _number: Any) -> Any:
        def generate(context: Any, builder: Any, sign: Any, arguments: Any) -> Any:
            addresses = context.make_array(arrays)(context, builder, arguments[0]).data
            place = builder.gep(addresses, [builder.mul(arguments[1], ir.IntType(64)(2))])
            return builder.inttoptr(builder.load(place), context.get_value_type(sign.return_type))

        return TableType(element)(arrays, types.int64), generate

    return table_at


@intrinsic
def compiled_elements_at(_typing_context: Any, _address: Any, like: Any) -> Any:
    """Return the table at an address, of elements as wide as those of another table or an array."""

    def generate(context: Any, builder: Any, sign: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(sign.return_type))

    return TableType(like.dtype)(types.int64, like), generate


@intrinsic
def compiled_codes_like(_typing_context: Any, array: Any) -> Any:
    """Return an empty table of codes as wide as those of an array."""

    def generate(context: Any, _builder: Any, sign: Any, _arguments: Any) -> Any:
        return context.get_constant_null(sign.return_type)

    return TableType(array.dtype)(array), generate
