"""Kernels compiled before they are called, on all processors.

A kernel is named with the types of its arguments, as `plain_calls` lists those that some work calls.
"""

import os
import threading
from collections.abc import Iterable, Iterator
from queue import SimpleQueue

from tidelog.kernels.compilers import Compiler
from tidelog.kernels.stamp import parts_of
from tidelog.kernels.worker import find_kernel, signature_in


def missing_kernels(wanted: Iterable[str]) -> list[str]:
    """Return the kernels that are not on disk, those with the most parts first.

    A name that is not that of a kernel, perhaps since somebody edited the source, is left out.
    """
    known = [each for each in wanted if _is_kernel(each)]
    missing = [each for each in known if find_kernel(each).kept(signature_in(each)) is None]
    return sorted(missing, key=lambda each: -len(parts_of(find_kernel(each).kernel_function)))


def compile_kernels(
    wanted: Iterable[str], jobs: int | None = None, *, is_urgent: bool = True
) -> Iterator[str]:
    """Compile kernels in several processes and yield each when it is on disk; what fails is left out."""
    waiting = list(wanted)[::-1]
    done: SimpleQueue[tuple[str, bool]] = SimpleQueue()
    count = min(jobs or os.cpu_count() or 1, len(waiting))
    expected = len(waiting)
    threads = [
        threading.Thread(
            target=_compile_all, args=(waiting, done, Compiler(is_urgent=is_urgent)), daemon=True
        )
        for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    for _ in range(expected):
        name, is_compiled = done.get()
        if is_compiled:
            yield name
    for thread in threads:
        thread.join()


def _compile_all(waiting: list[str], done: SimpleQueue[tuple[str, bool]], compiler: Compiler) -> None:
    """Compile until nothing waits; taking from a list is safe among threads."""
    try:
        while waiting:
            try:
                name = waiting.pop()
            except IndexError:
                break
            stamp, _ = compiler.compile(name)
            done.put((name, bool(stamp)))
    finally:
        compiler.close()


def _is_kernel(wanted: str) -> bool:
    try:
        return hasattr(find_kernel(wanted), "kept")
    except (ImportError, AttributeError):
        return False
