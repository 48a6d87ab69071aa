"""The decorators of kernels and their parts.

A call looks at the types of its arguments. Code for them that was compiled before is mapped from disk, which
takes a millisecond; otherwise another process compiles and keeps it. From then on calls go to that code. It
checks types by itself and hands calls with others on to code for the types that were met before.

With `NUMBA_DISABLE_JIT=1` kernels are plain Python: slow, but an index out of range raises.
"""

import os
import threading
from collections.abc import Callable
from functools import update_wrapper, wraps
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numpy as np

from tidelog.kernels.image import Image, Objects, UnfitError, from_bytes, to_bytes
from tidelog.kernels.link import link, make_environment
from tidelog.kernels.signature import has_large_integer, signature_of
from tidelog.kernels.stamp import stamp_of
from tidelog.kernels.store import KernelFile
from tidelog.kernels.symbols import ARRAY_TYPE, CHECKED, ENVIRONMENT, OF_ARGUMENT, OTHERWISE, UNCHECKED

Function = TypeVar("Function", bound=Callable[..., Any])

IS_COMPILED: Final = os.environ.get("NUMBA_DISABLE_JIT", "0") in {"", "0"}

# Compiling and linking are done by one thread at a time.
_LOCK: Final = threading.RLock()


class _Part:
    """A function as kernels call it."""

    _is_part = True

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(cast("Any", self), function)
        self.kernel_function = function
        self._dispatcher: Any = None

    @property
    def dispatcher(self) -> Any:
        """The function as the compiler knows it; asking for it loads the compiler."""
        from tidelog.kernels.compile import make_dispatcher  # noqa: PLC0415 - loads the compiler

        with _LOCK:
            if self._dispatcher is None:
                self._dispatcher = make_dispatcher(self.kernel_function, is_part=self._is_part)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        from tidelog.kernels.compile import type_of_dispatcher  # noqa: PLC0415 - loads the compiler

        return type_of_dispatcher(self.dispatcher)

    def __reduce__(self) -> str:
        return self.kernel_function.__qualname__


class _Kernel(_Part):
    """A kernel; `_entry` is what calls go to: code for the types met last, and from there to earlier ones."""

    _is_part = False

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._entry: Callable[..., Any] = self._find
        self._unchecked: dict[str | None, Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        return self._entry(*arguments)

    def _find(self, *arguments: Any) -> Any:
        """Run the kernel for types of arguments that none of its entries knows at a glance."""
        signature = signature_of(arguments)
        if signature in self._unchecked:
            return self._unchecked[signature](*arguments)
        with _LOCK:
            if signature not in self._unchecked:
                self._unchecked[signature] = self._prepare(signature, arguments)
        return self._entry(*arguments)

    def _prepare(self, signature: str | None, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """Return what runs the kernel for types of arguments."""
        if signature is None:
            return cast("Callable[..., Any]", self.dispatcher)
        try:
            return self._link(self._code(signature, arguments), arguments)
        except UnfitError:
            return cast("Callable[..., Any]", self.dispatcher)

    def kept(self, signature: str) -> bytes | None:
        """Return the code for types of arguments from disk, None if it is not there."""
        file = self._file(signature)[1]
        return None if file is None else file.read()

    def make(self, signature: str, arguments: tuple[Any, ...]) -> tuple[str, bytes]:
        """Return stamp and code for types of arguments from the compiler, and keep the code."""
        stamp, file = self._file(signature)
        if stamp is None or file is None:
            return "", b""
        with file.locked():
            code = file.read()
            if code is None:
                code = to_bytes(self._compile(arguments))
                file.write(code)
        return stamp, code

    def ship(self, signature: str, folder: Path) -> None:
        """Write the code for types of arguments, which must be on disk, to another folder."""
        _, file = self._file(signature)
        code = None if file is None else file.read()
        assert file is not None, "a kernel that is shipped has a stamp"
        assert code is not None, "it was compiled before"
        file.write_to(folder, code)

    def _code(self, signature: str, arguments: tuple[Any, ...]) -> Image | Objects:
        """Return the machine code from disk, or from another process, or from the compiler in this one."""
        stamp, file = self._file(signature)
        code = None if file is None else file.read()
        if code is not None:
            return from_bytes(code)
        if stamp is not None:
            from tidelog.kernels.compilers import compile_elsewhere  # noqa: PLC0415 - rarely needed

            function = self.kernel_function
            found, code = compile_elsewhere(f"{function.__module__}:{function.__name__} {signature}")
            # Its source may have been edited since it was loaded here.
            if found == stamp:
                return from_bytes(code)
        return self._compile(arguments)

    def _file(self, signature: str) -> tuple[str | None, KernelFile | None]:
        """Return the stamp and where the code is kept, nothing if nobody knows whether it is still right."""
        stamp = stamp_of(self.kernel_function)
        return stamp, None if stamp is None else KernelFile(self.kernel_function, signature, stamp)

    def _compile(self, arguments: tuple[Any, ...]) -> Image | Objects:
        from tidelog.kernels.compile import compile_code  # noqa: PLC0415 - loads the compiler

        return compile_code(self.dispatcher, arguments)

    def _link(self, code: Image | Objects, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """Map the code, let calls go to it first, and return its entry without checks."""
        function = self.kernel_function
        objects = {ARRAY_TYPE: np.ndarray, OTHERWISE: self._entry} | dict(
            _checked_objects(arguments, OF_ARGUMENT)
        )
        linked = link(code, {name: id(value) for name, value in objects.items()})
        linked.keep(*objects.values())
        linked.set_variable(ENVIRONMENT, make_environment(function.__globals__, map(np.dtype, code.dtypes)))
        name = function.__qualname__
        if not has_large_integer(arguments):
            self._entry = linked.function(CHECKED, name, is_fast=True)
        return linked.function(UNCHECKED, name, is_fast=False)


def _checked_objects(values: tuple[Any, ...], path: str) -> list[tuple[str, object]]:
    """Return the types and dtypes of arguments by the names that entries have for them."""
    found: list[tuple[str, object]] = []
    for place, value in enumerate(values):
        name = f"{path}_{place}"
        if isinstance(value, np.ndarray):
            found += [(f"{name}_type", np.ndarray), (f"{name}_dtype", value.dtype)]
            continue
        found.append((f"{name}_type", type(value)))
        if isinstance(value, tuple):
            found += _checked_objects(value, name)
    return found


class _Emitted:
    """An operation that kernels use and that is not written in Python."""

    def __init__(self, plain: Callable[..., Any], module: str, name: str, arguments: tuple[Any, ...]) -> None:
        update_wrapper(cast("Any", self), plain)
        self.emitted_from = (module, name, arguments)
        self._operation: Any = None

    @property
    def _numba_type_(self) -> Any:
        from tidelog.kernels.compile import type_of_operation  # noqa: PLC0415 - loads the compiler

        module, name, arguments = self.emitted_from
        with _LOCK:
            if self._operation is None:
                found = getattr(import_module(module), name)
                self._operation = found(*arguments) if arguments else found
        return type_of_operation(self._operation)


def kernel(function: Function) -> Function:
    """Return `function` compiled on first use for the array types it meets."""
    return cast("Function", _Kernel(function) if IS_COMPILED else _alone(function))


def inlined(function: Function) -> Function:
    """Return `function` as a part of kernels, to be called from kernels only."""
    return cast("Function", _Part(function)) if IS_COMPILED else function


def emitted(plain: Function, module: str, name: str, *arguments: object) -> Function:
    """Return what kernels call: an operation for the compiler where they are compiled, `plain` elsewhere.

    The operation is what the module has by that name, or with arguments what that returns for them. The
    module is imported when a kernel is compiled.
    """
    return cast("Function", _Emitted(plain, module, name, arguments)) if IS_COMPILED else plain


class _PlainCalls:
    """Calls of kernels that are plain Python: one at a time, so that atomic operations can be plain."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.depth = 0
        self.met: dict[str, None] = {}


_PLAIN: Final = _PlainCalls()


def _alone(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` as it runs uncompiled; integers wrap silently, as compiled ones do: hashes do."""

    @wraps(function)
    def run(*arguments: Any) -> object:
        with _PLAIN.lock, np.errstate(all="ignore"):
            if not _PLAIN.depth:
                _PLAIN.met[f"{function.__module__}:{function.__name__} {signature_of(arguments)}"] = None
            _PLAIN.depth += 1
            try:
                return function(*arguments)
            finally:
                _PLAIN.depth -= 1

    return run


def plain_calls() -> list[str]:
    """Return which kernels were called as plain Python, each with the types of its arguments, in order."""
    return list(_PLAIN.met)
