"""Names for the types of arguments: calls with the same name run the same machine code."""

from collections.abc import Iterable
from typing import Final

import numpy as np

_BEYOND_SIGNED: Final = 1 << 63
_BEYOND_UNSIGNED: Final = 1 << 64


def signature_of(arguments: Iterable[object]) -> str | None:
    """Return the name for the types of arguments, None if there is a type that is never kept on disk.

    >>> signature_of((np.zeros((2, 3), np.int32), 7, True))
    '<i4:2C int64 bool'
    """
    names = [_name_of(each) for each in arguments]
    return None if None in names else " ".join(map(str, names))


def _name_of(value: object) -> str | None:
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        kind = value.dtype.str if value.dtype.names is None else repr(value.dtype)
        return f"{kind}:{value.ndim}{layout}{'' if flags.writeable else 'r'}"
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int):
        return _integer_name(value)
    if isinstance(value, float):
        return "float64"
    if isinstance(value, np.number):
        return value.dtype.name
    if isinstance(value, tuple):
        inner = signature_of(value)
        if inner is None:
            return None
        kind = type(value)
        return f"({inner})" if kind is tuple else f"{kind.__module__}.{kind.__qualname__}({inner})"
    return None


def _integer_name(value: int) -> str:
    if -_BEYOND_SIGNED <= value < _BEYOND_SIGNED:
        return "int64"
    if 0 <= value < _BEYOND_UNSIGNED:
        return "uint64"
    raise OverflowError("a kernel takes no integers of more than 64 bits")


def has_large_integer(arguments: Iterable[object]) -> bool:
    """Say whether there is an integer whose type depends on its value, not on what Python calls its type."""
    return any(
        has_large_integer(each)
        if isinstance(each, tuple)
        else isinstance(each, int) and each >= _BEYOND_SIGNED
        for each in arguments
    )
