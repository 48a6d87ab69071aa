"""Names for the types of arguments: calls with the same name run the same machine code."""

from collections.abc import Iterable

import numpy as np

_LARGEST_SIGNED = 1 << 63


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
        return "int64" if -_LARGEST_SIGNED <= value < _LARGEST_SIGNED else "uint64"
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
