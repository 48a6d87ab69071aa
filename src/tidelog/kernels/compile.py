"""The way to the compiler: what was not compiled before is compiled here, and nothing else loads Numba."""
# mypy: disable-error-code="no-untyped-call"
# Numba has no types for it.

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, typeof, types
from numba.core.registry import cpu_target

from tidelog.kernels.entry import compile_entry
from tidelog.kernels.image import Image, Objects, UnfitError, make_image
from tidelog.kernels.symbols import CHECKED, ENVIRONMENT, UNCHECKED


def make_dispatcher(function: Callable[..., Any], *, is_part: bool) -> Any:
    """Return a function as Numba compiles it when it is called or met in a kernel.

    Parts are never called from Python or C; making that possible would take a sixth of the compile time.
    """
    wrappers: dict[str, Any] = {"no_cpython_wrapper": is_part, "no_cfunc_wrapper": True}
    return njit(nogil=True, inline="never", error_model="numpy", **wrappers)(function)


def type_of_dispatcher(dispatcher: Any) -> Any:
    """Return what a compiled function is to kernels that call it."""
    return types.Dispatcher(dispatcher)


def type_of_operation(operation: Any) -> Any:
    """Return what an operation of the compiler is to kernels that use it."""
    context = cpu_target.typing_context
    context.refresh()
    return context.resolve_value_type(operation)


def compile_code(dispatcher: Any, arguments: tuple[object, ...]) -> Image | Objects:
    """Return the machine code of a kernel for the types of arguments."""
    kinds = tuple(map(typeof, arguments))
    dispatcher.compile(kinds)
    result = dispatcher.overloads[kinds]
    described = result.fndesc
    code = result.library._get_compiled_object()  # noqa: SLF001 - Numba offers no other way
    files = (code, compile_entry(result))
    dtypes = tuple(map(_dtype_text, result.environment.consts))
    symbols = {
        CHECKED: CHECKED,
        UNCHECKED: described.llvm_cpython_wrapper_name,
        ENVIRONMENT: described.env_name,
    }
    try:
        return make_image(files, symbols, dtypes)
    except UnfitError:
        return Objects(files, symbols, dtypes)


def _dtype_text(constant: object) -> str:
    if not isinstance(constant, np.dtype) or constant.names is not None:
        raise UnfitError(f"the constant {constant!r}")
    return constant.str
