"""A device for tests: the kernels of the engine `cuda`, compiled as C++ for this machine's processor."""

import ctypes
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

COMPILER = shutil.which("g++") or shutil.which("clang++")
# Threads of a kernel; a multiple of the lanes that share a piece of a posting.
_KERNEL_THREADS = 64


class HostDevice:
    """See `tidelog.engine.cuda.device.Device`.

    With a small `least_capacity` everything has to be enlarged again and again. With several `workers` the
    threads of a kernel run side by side. Of arrays beyond `most_bytes` in all there is no memory.
    """

    def __init__(self, least_capacity: int = 64, workers: int = 1, most_bytes: int = 1 << 30) -> None:
        self.least_capacity = least_capacity
        self._most_bytes = most_bytes
        self._arrays: list[weakref.ref[npt.NDArray[Any]]] = []
        self._pool = ThreadPoolExecutor(workers)
        self._workers = workers

    def compile(self, source: str, kernels: Sequence[str]) -> "HostModule":
        """Return the kernels of a source."""
        assert COMPILER is not None, "tests that need a compiler are skipped without one"
        with tempfile.TemporaryDirectory() as folder:
            text, library = Path(folder) / "kernels.cpp", Path(folder) / "kernels.so"
            text.write_text(source, "utf-8")
            flags = [
                "-O1",
                "-shared",
                "-fPIC",
                "-std=c++17",
                "-Wall",
                "-Wno-unused-function",
                "-Wno-unused-variable",
            ]
            made = subprocess.run(
                [COMPILER, *flags, str(text), "-o", str(library)], capture_output=True, text=True, check=False
            )
            assert made.returncode == 0, f"{made.stderr[:4000]}\n{source}"
            return HostModule(ctypes.CDLL(str(library)), kernels, self._pool, self._workers)

    def zeros(self, count: int, dtype: npt.DTypeLike = np.uint64) -> npt.NDArray[Any]:
        """Return an array of zeros."""
        return self._kept(np.zeros(max(1, count), dtype))

    def empty(self, count: int, dtype: npt.DTypeLike = np.uint64) -> npt.NDArray[Any]:
        """Return an array whose content must not matter."""
        return self._kept(np.full(max(1, count), 0x5B5B5B5B, dtype))

    def _kept(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return an array if there is memory for it."""
        if array.nbytes > self.free_bytes():
            raise MemoryError
        self._arrays.append(weakref.ref(array))
        return array

    def put(self, array: npt.NDArray[Any], start: int, values: npt.NDArray[Any]) -> None:
        """Copy values to an array."""
        array[start : start + len(values)] = values

    def get(self, array: npt.NDArray[Any], start: int = 0, stop: int | None = None) -> npt.NDArray[Any]:
        """Return a copy of a part of an array."""
        return array[start:stop].copy()

    def address(self, array: npt.NDArray[Any]) -> int:
        """Return where an array is."""
        return array.ctypes.data

    def free_bytes(self) -> int:
        """Return how much memory there is left."""
        arrays = [array for reference in self._arrays if (array := reference()) is not None]
        return self._most_bytes - sum(array.nbytes for array in arrays)

    def describe(self) -> Mapping[str, str]:
        """Return what it is."""
        return {"name": "this machine's processor"}


class HostModule:
    """See `tidelog.engine.cuda.device.Module`."""

    def __init__(self, library: Any, kernels: Sequence[str], pool: ThreadPoolExecutor, workers: int) -> None:
        self._library = library
        self._pool = pool
        self._workers = workers
        # A kernel that is not in the source would fail on a GPU too.
        self._kernels = {name: library[name] for name in kernels}
        for kernel in self._kernels.values():
            kernel.argtypes = [ctypes.c_uint64] * 3
            kernel.restype = None

    def set_state(self, values: Sequence[int]) -> None:
        """Set the fields of the state."""
        state = (ctypes.c_uint64 * len(values)).in_dll(self._library, "state")
        state[:] = list(values)

    def launch(self, names: Sequence[str]) -> None:
        """Run kernels one after the other."""
        for name in names:
            kernel, share = self._kernels[name], _KERNEL_THREADS // self._workers
            if self._workers == 1:
                kernel(0, _KERNEL_THREADS, _KERNEL_THREADS)
                continue
            parts = [(n * share, (n + 1) * share, _KERNEL_THREADS) for n in range(self._workers)]
            list(self._pool.map(lambda part, kernel=kernel: kernel(*part), parts))
