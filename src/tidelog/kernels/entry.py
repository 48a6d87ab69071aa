"""The function by which Python calls a kernel: it checks types, takes arrays apart, and calls.

Numba's own way from Python to a kernel is a dispatcher, which needs the compiler's types, and a wrapper,
which makes an owner for every array. This entry does both in one: it compares the types of the arguments with
those that the kernel was compiled for and hands all others on; and it passes arrays without owners unless the
kernel returns arrays, which may be parts of those it was called with.
"""
# mypy: disable-error-code="no-untyped-call"
# Numba has no types for most of what extensions are made of.

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.callwrapper import PyCallWrapper
from numba.core.pythonapi import PythonAPI
from numba.np.arrayobj import get_itemsize, populate_array
from numba.np.numpy_support import as_dtype

from tidelog.kernels.symbols import ARRAY_TYPE, CHECKED, OF_ARGUMENT, OTHERWISE

_WORD: Final = 8
_BYTE: Final = ir.IntType(8)
_INT: Final = ir.IntType(32)
_LONG: Final = ir.IntType(64)
_POINTER: Final = _BYTE.as_pointer()
# Where the parts of Python's objects and NumPy's arrays are, in bytes.
_TYPE: Final = object.__basicsize__ - _WORD
_DATA: Final = object.__basicsize__
_DIMENSIONS: Final = _DATA + 8
_SHAPE: Final = _DATA + 16
_STRIDES: Final = _DATA + 24
_DTYPE: Final = _DATA + 40
_FLAGS: Final = _DATA + 48
_BYTE_ORDER: Final = object.__basicsize__ + 10
_TYPE_NUMBER: Final = object.__basicsize__ + 12
_TUPLE_SIZE: Final = object.__basicsize__
_ITEMS: Final = tuple.__basicsize__
_IN_C_ORDER, _IN_FORTRAN_ORDER, _WRITABLE = 0x1, 0x2, 0x400
_FOREIGN_ORDER: Final = ord(">")
# What Python's own numbers are called in C, beside NumPy's.
_PYTHON_TYPES: Final = {
    types.int64: "PyLong_Type",
    types.float64: "PyFloat_Type",
    types.boolean: "PyBool_Type",
}


def compile_entry(result: Any) -> bytes:
    """Return the object file with the entry of a kernel that was compiled."""
    context, described = result.target_context, result.fndesc
    module = context.create_module("entry")
    calls = context.call_conv.get_function_type(described.restype, described.argtypes)
    kernel = ir.Function(module, calls, described.llvm_func_name)
    _Entry(context, module, kernel, described, result.environment, None, True).build()
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    target = llvm.Target.from_default_triple()
    # As Numba does it for the kernel itself.
    relocation = "static" if target.name.startswith("x86") else "default"
    machine = target.create_target_machine(opt=2, reloc=relocation, codemodel="jitdefault", jit=True)
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    passes.getModulePassManager().run(parsed, passes)
    return bytes(machine.emit_object(parsed))


def _symbol(module: Any, name: str) -> Any:
    """Return the address of something outside."""
    return module.globals.get(name) or ir.GlobalVariable(module, _BYTE, name)


class _Api(PythonAPI):
    """Numba's calls of Python, without the one that loads Numba to find the type of arrays."""

    def nrt_adapt_ndarray_to_python(self, kind: Any, array: Any, dtype: Any) -> Any:
        """Return an array as Python has it."""
        calls = ir.FunctionType(_POINTER, [_POINTER, _POINTER, _INT, _INT, _POINTER])
        function = cgutils.get_or_insert_function(self.module, calls, "NRT_adapt_ndarray_to_python_acqref")
        pointer = self.builder.bitcast(cgutils.alloca_once_value(self.builder, array), _POINTER)
        sizes = [_INT(kind.ndim), _INT(int(kind.mutable))]
        return self.builder.call(function, [pointer, _symbol(self.module, ARRAY_TYPE), *sizes, dtype])


class _Entry(PyCallWrapper):
    """Numba's wrapper with checks, called with an array of arguments instead of a tuple."""

    def build(self) -> None:
        """Emit the entry."""
        intake = ir.FunctionType(_POINTER, [_POINTER, _POINTER.as_pointer(), _LONG])
        function = ir.Function(self.module, intake, CHECKED)
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.otherwise = function.append_basic_block("otherwise")
        self.api = _Api(self.context, self.builder)
        self.build_entry(function.args[1], function.args[2])
        with self.builder.goto_block(self.otherwise):
            self.builder.ret(self.call_otherwise(function.args[1], function.args[2]))

    def build_entry(self, arguments: Any, count: Any) -> None:
        """Emit checks, the call, and what becomes of its result."""
        kinds = self.fndesc.argtypes
        self.require(self.builder.icmp_signed("==", count, _LONG(len(kinds))))
        values = [
            self.builder.load(self.builder.gep(arguments, [_LONG(place)])) for place in range(len(kinds))
        ]
        for place, kind in enumerate(kinds):
            self.check(kind, values[place], str(place))
        environment = self.get_env(self.api, self.builder)
        self.owns_arrays = any(isinstance(each, types.Array) for each in _flat(self.fndesc.restype))
        taken: list[Any] = [None] * len(kinds)
        # Numbers come first: one that does not fit must not leave owners of arrays behind.
        for place in sorted(range(len(kinds)), key=lambda place: not isinstance(kinds[place], types.Number)):
            taken[place] = self.take(kinds[place], values[place])
        state = self.api.save_thread()
        status, returned = self.context.call_conv.call_function(
            self.builder, self.func, self.fndesc.restype, kinds, taken, attrs=("noinline",)
        )
        self.api.restore_thread(state)
        if self.owns_arrays:
            for kind, value in zip(kinds, taken, strict=True):
                self.context.nrt.decref(self.builder, kind, value)
        with self.builder.if_then(status.is_ok, likely=True):
            with self.builder.if_then(status.is_none):
                self.api.return_none()
            kind = self._simplified_return_type()
            self.builder.ret(self.api.from_native_return(kind, returned, environment))
        self.context.call_conv.raise_error(self.builder, self.api, status)
        self.builder.ret(self.api.get_null_object())

    def call_otherwise(self, arguments: Any, count: Any) -> Any:
        """Emit the call for arguments of other types."""
        calls = ir.FunctionType(_POINTER, [_POINTER, _POINTER.as_pointer(), _LONG, _POINTER])
        function = cgutils.get_or_insert_function(self.module, calls, "PyObject_Vectorcall")
        return self.builder.call(function, [self.symbol(OTHERWISE), arguments, count, _POINTER(None)])

    def symbol(self, name: str) -> Any:
        """Return the address of something outside."""
        return _symbol(self.module, name)

    def require(self, condition: Any) -> None:
        """Go on only if a condition holds."""
        following = self.builder.append_basic_block("fits")
        self.builder.cbranch(condition, following, self.otherwise)
        self.builder.position_at_end(following)

    def field(self, value: Any, place: int, kind: Any = _POINTER) -> Any:
        """Return what an object has at a place."""
        pointer = self.builder.gep(value, [_LONG(place)])
        return self.builder.load(self.builder.bitcast(pointer, kind.as_pointer()))

    def item(self, value: Any, place: int) -> Any:
        """Return an item of a tuple."""
        return self.field(value, _ITEMS + _WORD * place)

    def check(self, kind: Any, value: Any, path: str) -> None:
        """Go on only if an argument, or a part of one, has the type that the kernel was compiled for."""
        is_kind = self.is_type(value, self.symbol(f"{OF_ARGUMENT}_{path}_type"))
        if kind in _PYTHON_TYPES:
            is_python = self.is_type(value, self.symbol(_PYTHON_TYPES[kind]))
            is_kind = self.builder.or_(is_python, is_kind)
        self.require(is_kind)
        if isinstance(kind, types.Array):
            self.check_array(kind, value, path)
        elif isinstance(kind, types.BaseTuple):
            self.require(
                self.builder.icmp_signed("==", self.field(value, _TUPLE_SIZE, _LONG), _LONG(len(kind)))
            )
            for place, each in enumerate(_types(kind)):
                self.check(each, self.item(value, place), f"{path}_{place}")

    def is_type(self, value: Any, kind: Any) -> Any:
        return self.builder.icmp_unsigned("==", self.field(value, _TYPE), kind)

    def check_array(self, kind: Any, value: Any, path: str) -> None:
        self.require(self.is_equal(self.field(value, _DIMENSIONS, _INT), kind.ndim))
        dtype = self.field(value, _DTYPE)
        if isinstance(kind.dtype, types.Record):
            same = self.symbol(f"{OF_ARGUMENT}_{path}_dtype")
            self.require(self.builder.icmp_unsigned("==", dtype, same))
        else:
            number = np.dtype(as_dtype(kind.dtype)).num
            self.require(self.is_equal(self.field(dtype, _TYPE_NUMBER, _INT), number))
            order = self.field(dtype, _BYTE_ORDER, _BYTE)
            self.require(self.builder.icmp_unsigned("!=", order, _BYTE(_FOREIGN_ORDER)))
        bits = _IN_C_ORDER | _WRITABLE | (0 if kind.layout == "C" else _IN_FORTRAN_ORDER)
        wanted = {"C": _IN_C_ORDER, "F": _IN_FORTRAN_ORDER, "A": 0}[kind.layout]
        flags = self.builder.and_(self.field(value, _FLAGS, _INT), _INT(bits))
        self.require(self.is_equal(flags, wanted | (_WRITABLE if kind.mutable else 0)))

    def is_equal(self, found: Any, wanted: int) -> Any:
        return self.builder.icmp_signed("==", found, found.type(wanted))

    def take(self, kind: Any, value: Any) -> Any:
        """Return an argument as the kernel takes it."""
        if isinstance(kind, types.Array) and not self.owns_arrays:
            return self.take_array(kind, value)
        if isinstance(kind, types.BaseTuple):
            items = [self.take(each, self.item(value, place)) for place, each in enumerate(_types(kind))]
            return self.context.make_tuple(self.builder, kind, items)
        taken = self.api.to_native_value(kind, value)
        if not isinstance(kind, types.Array):
            # An integer that does not fit has another type.
            with cgutils.if_unlikely(self.builder, taken.is_error):
                self.api.err_clear()
                self.builder.branch(self.otherwise)
        return taken.value

    def take_array(self, kind: Any, value: Any) -> Any:
        array = self.context.make_array(kind)(self.context, self.builder)
        sizes = [
            [self.field(self.field(value, place), _WORD * axis, _LONG) for axis in range(kind.ndim)]
            for place in (_SHAPE, _STRIDES)
        ]
        data = self.builder.bitcast(self.field(value, _DATA), array.data.type)
        itemsize = self.context.get_constant(types.intp, get_itemsize(self.context, kind))
        populate_array(array, data=data, shape=sizes[0], strides=sizes[1], itemsize=itemsize, meminfo=None)
        return array._getvalue()  # noqa: SLF001 - Numba's way


def _flat(kind: Any) -> Iterator[Any]:
    """Yield the types of which a tuple consists."""
    if isinstance(kind, types.BaseTuple):
        for each in _types(kind):
            yield from _flat(each)
    else:
        yield kind


def _types(kind: Any) -> tuple[Any, ...]:
    """Return the types of the items of a tuple."""
    return tuple(kind)
