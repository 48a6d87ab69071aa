"""Array elements by address, for kernels that read any number of arrays.

A compiled kernel takes a fixed list of arrays. One that follows a whole stratum takes a table of
addresses instead and reads elements through these operations. Whoever makes the table keeps the
arrays alive while the kernel runs. With the JIT switched off the same is done through `ctypes`.
"""

import ctypes
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic

from tidelog.storage.kernel import IS_COMPILED, Integer

Operation = TypeVar("Operation", bound=Callable[..., Any])


def address_of(array: npt.NDArray[Any]) -> int:
    """Return where the first element of a contiguous array stands."""
    return int(array.__array_interface__["data"][0])


def _element(context: Any, builder: Any, arguments: Any, element: Any) -> Any:
    base = builder.inttoptr(arguments[0], context.get_value_type(element).as_pointer())
    return builder.gep(base, [arguments[1]])


def _load(element_of: Callable[[Any], Any]) -> Any:
    def typed(_typing_context: Any, _address: Any, _place: Any, like: Any) -> Any:
        element = element_of(like)

        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            value = builder.load(_element(context, builder, arguments, element))
            if element is types.int32:
                return builder.sext(value, context.get_value_type(types.int64))
            return value

        result = types.int64 if element is types.int32 else element
        return result(types.int64, types.int64, like), generate

    return typed


@intrinsic
def _load_code(typing_context: Any, address: Any, place: Any, like: Any) -> Any:
    return _load(lambda array: array.dtype)(typing_context, address, place, like)


@intrinsic
def _load_int32(typing_context: Any, address: Any, place: Any) -> Any:
    signature, generate = _load(lambda _: types.int32)(typing_context, address, place, place)
    return signature.return_type(types.int64, types.int64), generate


@intrinsic
def _load_byte(_typing_context: Any, _address: Any, _place: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        value = builder.load(_element(context, builder, arguments, types.uint8))
        return builder.zext(value, context.get_value_type(types.int64))

    return types.int64(types.int64, types.int64), generate


def _store(element: Any, context: Any, builder: Any, arguments: Any) -> Any:
    pointer = _element(context, builder, arguments, element)
    value = arguments[2]
    target = context.get_value_type(element)
    if value.type.width > target.width:
        value = builder.trunc(value, target)
    builder.store(value, pointer)
    return context.get_dummy_value()


@intrinsic
def _store_code(_typing_context: Any, _address: Any, _place: Any, _value: Any, like: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _store(like.dtype, context, builder, arguments)

    return types.none(types.int64, types.int64, types.int64, like), generate


@intrinsic
def _array_pointer(_typing_context: Any, _address: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


def _plain_array_pointer(address: Integer) -> ctypes.c_void_p:
    """Return an address as `numba.carray` takes it."""
    return ctypes.c_void_p(int(address))


def _at(address: Integer, place: Integer, element: Any) -> Any:
    return element.from_address(int(address) + int(place) * ctypes.sizeof(element))


def _code_type(like: npt.NDArray[Any]) -> Any:
    return ctypes.c_int32 if like.dtype == np.int32 else ctypes.c_int64


def _plain_load_code(address: Integer, place: Integer, like: npt.NDArray[Any]) -> np.int64:
    """Return an element of an array of codes as wide as those of `like`."""
    return np.int64(_at(address, place, _code_type(like)).value)


def _plain_load_int32(address: Integer, place: Integer) -> np.int64:
    """Return an element of an array of 32-bit integers."""
    return np.int64(_at(address, place, ctypes.c_int32).value)


def _plain_load_byte(address: Integer, place: Integer) -> np.int64:
    """Return an element of an array of bytes."""
    return np.int64(_at(address, place, ctypes.c_uint8).value)


def _plain_store_code(address: Integer, place: Integer, value: Integer, like: npt.NDArray[Any]) -> None:
    """Write an element of an array of codes as wide as those of `like`."""
    _at(address, place, _code_type(like)).value = int(value)


def _chosen(plain: Operation, emitted: object) -> Operation:
    """Return what kernels call: the emitted operation where they are compiled."""
    return cast("Operation", emitted) if IS_COMPILED else plain


load_code = _chosen(_plain_load_code, _load_code)
load_int32 = _chosen(_plain_load_int32, _load_int32)
load_byte = _chosen(_plain_load_byte, _load_byte)
store_code = _chosen(_plain_store_code, _store_code)
array_pointer = _chosen(_plain_array_pointer, _array_pointer)
