"""How machine code gets into memory and becomes a function that Python calls.

What kernels use from outside is in Python itself, in the C library, and in the three C modules of Numba's
runtime. Those load in a few milliseconds; the package `numba` around them, with the compiler, is not loaded.
"""

import ctypes
import importlib.machinery
import importlib.util
import mmap
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

from tidelog.kernels.image import Image, Objects, UnfitError

_ADDRESS: Final = struct.Struct("<Q")
_VARARGS, _KEYWORDS, _FAST = 0x1, 0x2, 0x80


class _Method(ctypes.Structure):
    """What Python knows a C function by."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


class Linked(ABC):
    """Machine code in memory; it stays there as long as the process lives."""

    def __init__(self) -> None:
        self._kept: list[object] = []
        # Threads may still run it when the interpreter shuts down.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))

    @abstractmethod
    def address_of(self, name: str) -> int:
        """Return where a function or a variable is."""

    def keep(self, *values: object) -> None:
        """Keep objects alive whose addresses the code has."""
        self._kept += values

    def set_variable(self, name: str, value: object) -> None:
        """Let a variable point to a Python object."""
        self.keep(value)
        ctypes.c_void_p.from_address(self.address_of(name)).value = id(value)

    def function(self, name: str, shown_name: str, *, is_fast: bool) -> Callable[..., Any]:
        """Return a function as Python calls it: with an array of arguments, or with a tuple."""
        flags = _FAST if is_fast else _VARARGS | _KEYWORDS
        method = _Method(shown_name.encode(), self.address_of(name), flags, None)
        self.keep(method)
        return cast("Callable[..., Any]", _new_function()(ctypes.addressof(method), None, None))


class _Mapped(Linked):
    """An image, mapped."""

    def __init__(self, image: Image, names: Mapping[str, int]) -> None:
        super().__init__()
        self._places = image.places
        size = len(image.code) + image.variables
        self._memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._memory[: len(image.code)] = image.code
        for gap, place in image.inner:
            _ADDRESS.pack_into(self._memory, gap, self._base + place)
        for name, gaps in image.outer.items():
            address = names.get(name) or _address_of(name)
            for gap, offset in gaps:
                _ADDRESS.pack_into(self._memory, gap, address + offset)
        _allow_running(self._base, len(image.code))

    def address_of(self, name: str) -> int:
        return self._base + self._places[name]


class _LinkedByLlvm(Linked):
    """Object files, linked by LLVM: slower, but for every processor that LLVM knows."""

    def __init__(self, objects: Objects, names: Mapping[str, int]) -> None:
        super().__init__()
        from llvmlite import binding as llvm  # noqa: PLC0415 - rarely needed

        for name, address in (*_runtime_symbols().items(), *names.items()):
            llvm.add_symbol(name, address)
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        self._symbols = objects.symbols
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        for file in objects.files:
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(file))
        self._engine.finalize_object()

    def address_of(self, name: str) -> int:
        symbol = self._symbols[name]
        engine = self._engine
        return int(engine.get_function_address(symbol) or engine.get_global_value_address(symbol))


def link(code: Image | Objects, names: Mapping[str, int]) -> Linked:
    """Return code in memory; `names` are addresses of symbols that only the caller knows."""
    return _Mapped(code, names) if isinstance(code, Image) else _LinkedByLlvm(code, names)


@cache
def _new_function() -> Callable[..., Any]:
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.restype = ctypes.py_object
    create.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    return create


def _allow_running(base: int, size: int) -> None:
    protect = _library().mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    if protect(base, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise UnfitError("memory that may not be run")


@cache
def _library() -> ctypes.CDLL:
    """Return what the process has loaded: Python and the C library."""
    return ctypes.CDLL(None, use_errno=True)


@cache
def _address_of(name: str) -> int:
    """Return the address of a symbol of Python, the C library or Numba's runtime."""
    known = _runtime_symbols()
    if name in known:
        return known[name]
    try:
        return ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value or 0
    except AttributeError as error:
        raise UnfitError(f"nothing is called {name}") from error


@cache
def _runtime_symbols() -> dict[str, int]:
    helpers = _c_module("_helperlib").c_helpers
    runtime = _c_module("core/runtime/_nrt_python").c_helpers
    return {f"numba_{name}": address for name, address in helpers.items()} | {
        name if name.startswith("_") else f"NRT_{name}": address for name, address in runtime.items()
    }


def make_environment(names: Mapping[str, object], constants: Iterable[object]) -> object:
    """Return the object in which a kernel finds constants that are Python objects."""
    made = _c_module("_dynfunc").Environment(names)
    made.consts.extend(constants)
    return made


def numba_folder() -> Path:
    """Return where Numba is installed, without loading it."""
    found = importlib.util.find_spec("numba")
    if found is None or not found.submodule_search_locations:
        raise UnfitError("Numba is not installed")
    return Path(found.submodule_search_locations[0])


@cache
def _c_module(name: str) -> ModuleType:
    """Return a C module of Numba, without the package it belongs to."""
    full = f"numba.{name.replace('/', '.')}"
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        file = numba_folder() / f"{name}{suffix}"
        if file.exists():
            loader = importlib.machinery.ExtensionFileLoader(full, str(file))
            spec = importlib.util.spec_from_file_location(full, file, loader=loader)
            assert spec is not None, "a loader was given"
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
            return module
    raise UnfitError(f"Numba has no module {full}")
