"""How a kernel runs: as plain Python while there is little to do, compiled from then on.

Loading the compiler takes longer than a small program. So kernels begin as the Python functions
they are written as; the first call with larger arrays, or many small ones, loads the compiler,
and from then on every kernel of the process is compiled on first use and cached on disk.

With `NUMBA_DISABLE_JIT=1` kernels stay plain Python: slow, but an index out of range raises.
"""

import os
import time
from collections.abc import Callable
from functools import update_wrapper
from threading import RLock
from typing import Any, Final, TypeVar, cast

import numpy as np

from tidelog.values.kernel_cache import guard_cache

Function = TypeVar("Function", bound=Callable[..., Any])

IS_COMPILED: Final = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

# Plain Python does an element in about a microsecond, the compiler takes half a second to load.
_FEW_ELEMENTS: Final = 4096
_PLAIN_SECONDS: Final = 0.1
# An array of this name has room to spare: its size says nothing about the work.
_OUTPUT: Final = "out"


class _Compiler:
    """The compiler of this process, and what it has to know when it is loaded.

    One for all kernels: those that share an array between threads must all be compiled or all be
    plain, for only then are their atomic operations atomic to each other.
    """

    def __init__(self) -> None:
        self.is_loaded = False
        self.lock = RLock()
        self._registrations: list[Callable[[], object]] = []
        self._plain_seconds = 0.0

    def on_load(self, register: Callable[[], object]) -> None:
        """Call `register` when the compiler is loaded, or now if it is."""
        with self.lock:
            if self.is_loaded:
                register()
            else:
                self._registrations.append(register)

    def load(self) -> None:
        with self.lock:
            if not self.is_loaded and IS_COMPILED:
                for register in self._registrations:
                    register()
                self._registrations.clear()
                self.is_loaded = True

    def run_plainly(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> object:
        """Return what the Python function returns, with Python's own numbers."""
        begun = time.perf_counter()
        # Compiled integers wrap without a word; hashing relies on it.
        with np.errstate(all="ignore"):
            result = function(*arguments)
        self._plain_seconds += time.perf_counter() - begun
        if self._plain_seconds > _PLAIN_SECONDS:
            self.load()
        if isinstance(result, tuple):
            return tuple(map(_plain_number, result))
        return _plain_number(result)


_COMPILER: Final = _Compiler()


class _Kernel:
    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self._function = function
        self._compiled: Callable[..., Any] | None = None
        code = function.__code__
        self._counted = [
            place for place, name in enumerate(code.co_varnames[: code.co_argcount]) if name != _OUTPUT
        ]
        # Kernels may call each other.
        _COMPILER.on_load(lambda: _register(self, function))

    def __call__(self, *arguments: Any) -> Any:
        if self._compiled is not None:
            return self._compiled(*arguments)
        with _COMPILER.lock:
            if not _COMPILER.is_loaded:
                if not IS_COMPILED or self._is_small(arguments):
                    return _COMPILER.run_plainly(self._function, arguments)
                _COMPILER.load()
            if self._compiled is None:
                from numba import njit  # noqa: PLC0415 - loaded only when there is much to do

                compiled = njit(cache=True, nogil=True, error_model="numpy")(self._function)
                guard_cache(compiled, self._function)
                self._compiled = compiled
        return self._compiled(*arguments)

    def _is_small(self, arguments: tuple[Any, ...]) -> bool:
        elements = 0
        for place in self._counted:
            elements += getattr(arguments[place], "size", 0)
        return elements <= _FEW_ELEMENTS


def kernel(function: Function) -> Function:
    """Return `function` as a kernel: plain at first, compiled for the array types it meets later."""
    return cast("Function", _Kernel(function))


def inlined(function: Function) -> Function:
    """Return `function` as a part of kernels, to be called from kernels only."""
    _COMPILER.on_load(lambda: _register(function, function))
    return function


def on_compiler_load(register: Callable[[], object]) -> None:
    """Call `register` when the compiler is loaded, or now if it is."""
    _COMPILER.on_load(register)


def load_compiler() -> None:
    """Compile every kernel from now on, also those that have little to do."""
    _COMPILER.load()


def _register(name: Callable[..., Any], function: Callable[..., Any]) -> None:
    """Let kernels that are compiled call `function` by what stands for it in Python."""
    from numba.extending import overload  # noqa: PLC0415 - loaded only when there is much to do

    overload(name, jit_options={"nogil": True, "error_model": "numpy"}, strict=False)(lambda *_: function)


def _plain_number(result: object) -> object:
    return result.item() if isinstance(result, np.generic) else result
