"""What a kernel is made of, as a short text: its code is used only while this is as it was.

A stamp covers the kernel, the parts and constants it uses, however far away, the versions of Python, NumPy,
Numba and LLVM, and the processor it is made for. It does not depend on times of files or on text beside the
code.
"""

import os
import platform
import re
import sys
from collections.abc import Callable
from enum import EnumType
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from tidelog.kernels.link import numba_folder
from tidelog.kernels.target import processor, target

_FOLDER: Final = Path(__file__).parent
# The files that say how code is made and what it may rely on.
_MAKERS: Final = ("compile.py", "entry.py", "image.py", "symbols.py")
_PLAIN: Final = (bool, int, float, str, bytes, type(None), np.generic, np.dtype)
_VERSION: Final = re.compile(r"""version\w*["']?\s*[:=]\s*["'](\d+\.\d+)""")


def digest(*parts: str | bytes, size: int = 16) -> str:
    """Return a short text that differs for different parts."""
    made = blake2b(digest_size=size)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        made.update(b"%d:" % len(data))
        made.update(data)
    return made.hexdigest()


@cache
def machine_stamp() -> str:
    """Return the stamp of all that is the same for every kernel: versions, processor, how code is made.

    Code runs with every release of the same Python, and of the same minor version of Numba, whose runtime it
    calls; of NumPy it knows how arrays are laid out.
    """
    python = f"{sys.implementation.cache_tag}{sys.abiflags} {sys.platform}"
    versions = [np.__version__.partition(".")[0], *map(_minor_version, ("numba", "llvmlite"))]
    settings = [f"{name}={value}" for name, value in sorted(os.environ.items()) if _matters(name)]
    wanted = target()
    made_for = [platform.machine(), *wanted] if wanted.name else list(processor())
    sources = [_file_digest(_FOLDER / name) for name in _MAKERS]
    return digest(python, *versions, *made_for, *settings, *sources)


def _matters(setting: str) -> bool:
    return setting.startswith("NUMBA_") and setting not in {"NUMBA_DISABLE_JIT", "NUMBA_NUM_THREADS"}


def _minor_version(package: str) -> str:
    """Return a version as `0.61`, read from the file in which Numba and llvmlite keep theirs."""
    text = (numba_folder().parent / package / "_version.py").read_text("utf-8")
    found = _VERSION.search(text)
    return text if found is None else found[1]


@cache
def _file_digest(path: Path) -> str:
    return digest(path.name, path.read_bytes())


@cache
def _module_digest(module: str) -> str:
    found = find_spec(module)
    assert found is not None, "the module of an operation for the compiler is ours"
    assert found.origin is not None, "it is a file"
    return _file_digest(Path(found.origin))


def stamp_of(function: Callable[..., Any]) -> str | None:
    """Return the stamp of a kernel, None if it uses something of which nobody knows whether it changed."""
    parts = parts_of(function)
    return None if None in parts else digest(machine_stamp(), *map(str, parts))


def parts_of(function: Callable[..., Any]) -> list[str | None]:
    """Return what is to be known of all that a kernel is made of, None for what nobody knows."""
    met: dict[int, object] = {}
    found: list[str | None] = []
    waiting: list[object] = [function]
    while waiting:
        value = waiting.pop()
        if id(value) in met:
            continue
        met[id(value)] = value
        described = _describe(value)
        found.append(None if described is None else described[0])
        waiting += [] if described is None else described[1]
    return found


def _describe(value: Any) -> tuple[str, list[object]] | None:
    """Return what is to be known of a value that a kernel uses, and what it uses in turn."""
    part = getattr(value, "kernel_function", value)
    if isinstance(part, FunctionType):
        return _describe_function(part)
    if hasattr(value, "emitted_from"):
        module, name, arguments = value.emitted_from
        # Beside the operation itself, what it says of fields and widths counts.
        return f"{name} {_module_digest(module)} {_module_digest(value.__module__)}", list(arguments)
    if isinstance(value, _PLAIN):
        return repr(value), []
    if isinstance(value, tuple):
        return f"tuple {len(value)}", list(value)
    if isinstance(value, np.ndarray):
        return digest(str(value.dtype), str(value.shape), value.tobytes()), []
    if isinstance(value, EnumType):
        return repr(list(value)), []
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__} {getattr(value, '__annotations__', '')}", []
    if isinstance(value, ModuleType | BuiltinFunctionType | np.ufunc):
        return value.__name__, []
    home = getattr(value, "__module__", None) or ""
    return (f"{home}.{value.__qualname__}", []) if _is_foreign(home) else None


def _is_foreign(module: str) -> bool:
    """Say whether a module is one of NumPy's or Python's, whose versions are known."""
    package = module.partition(".")[0]
    return package == "numpy" or package in sys.stdlib_module_names


def _describe_function(function: FunctionType) -> tuple[str, list[object]]:
    names, texts = _names_and_texts(function.__code__)
    known = function.__globals__
    used = [(name, known[name]) for name in names if name in known]
    for each in [
        value for _, value in used if isinstance(value, ModuleType) and not _is_foreign(value.__name__)
    ]:
        used += [(name, getattr(each, name)) for name in names if hasattr(each, name)]
    used += [("", each.cell_contents) for each in function.__closure__ or ()]
    used += [("", value) for value in function.__defaults__ or ()]
    # Which name stands for which value counts too: two constants may have changed places.
    bound = [f"{name}={_short(value)}" for name, value in used]
    return digest(function.__qualname__, *texts, *bound), [value for _, value in used]


def _short(value: Any) -> str:
    """Return a value that has no parts, or the name of what is described elsewhere."""
    if isinstance(value, _PLAIN):
        return repr(value)
    part = getattr(value, "kernel_function", value)
    return str(getattr(part, "__qualname__", type(part).__name__))


@cache
def _names_and_texts(code: CodeType) -> tuple[tuple[str, ...], tuple[str | bytes, ...]]:
    """Return the names that code uses, and the rest of what it consists of."""
    names = list(code.co_names)
    texts: list[str | bytes] = [code.co_code, repr((code.co_names, code.co_varnames, code.co_flags))]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = _names_and_texts(constant)
            names += inner[0]
            texts += inner[1]
        else:
            texts.append(repr(constant))
    return tuple(names), tuple(texts)
