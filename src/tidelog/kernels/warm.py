"""Kernels compiled before they are called, on all processors.

A kernel is named with the types of its arguments, as `plain_calls` lists those that some work calls.
"""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from multiprocessing import get_context
from typing import Any

from tidelog.kernels.samples import samples_of
from tidelog.kernels.stamp import parts_of


def missing_kernels(wanted: Iterable[str]) -> list[str]:
    """Return the kernels that are not on disk, those with the most parts first."""
    missing = [each for each in wanted if not _kernel(each).is_kept(_signature(each))]
    return sorted(missing, key=lambda each: -len(parts_of(_kernel(each).kernel_function)))


def compile_kernels(wanted: Iterable[str], jobs: int | None = None) -> Iterator[str]:
    """Compile kernels in several processes and yield each when it is on disk."""
    with ProcessPoolExecutor(jobs or os.cpu_count(), get_context("spawn")) as pool:
        running = {pool.submit(_compile, each): each for each in wanted}
        for done in as_completed(running):
            done.result()
            yield running[done]


def _compile(wanted: str) -> None:
    signature = _signature(wanted)
    _kernel(wanted).compile_for(signature, samples_of(signature))


def _signature(wanted: str) -> str:
    return wanted.partition(" ")[2]


def _kernel(wanted: str) -> Any:
    module, _, name = wanted.partition(" ")[0].partition(":")
    return getattr(import_module(module), name)
