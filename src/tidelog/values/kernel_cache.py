"""When a kernel that was compiled before may still be used.

Numba looks at the file of the kernel alone. But a kernel also contains what it calls and the constants it
reads, which stand in other files: with those edited, it would go on computing what they said before.
"""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parents[1]
# Where kernels keep what those of other folders are made of.
_SHARED = (_PACKAGE / "values", _PACKAGE / "storage")


def stamp_cache(compiled: Any, function: Callable[..., Any]) -> None:
    """Let what was compiled of a kernel count only while all files it may be made of are as they were.

    These are the files of its own folder and of the folders where shared parts of kernels stand.
    """
    files = compiled._cache._cache_file  # noqa: SLF001 - Numba offers no other way
    folder = Path(function.__code__.co_filename).parent
    files._source_stamp = (files._source_stamp, *map(_stamp, dict.fromkeys((folder, *_SHARED))))  # noqa: SLF001 - see above


@cache
def _stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Return names, times and sizes of the Python files in a folder."""
    with os.scandir(folder) as found:
        files = [(each.name, each.stat()) for each in found if each.name.endswith(".py")]
    return tuple(sorted((name, status.st_mtime_ns, status.st_size) for name, status in files))
