"""A GPU, through CuPy: kernels are compiled by NVRTC and kept on disk."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.engine.cuda.device import DeviceArray, Module
from tidelog.errors import Diagnostic, TidelogError

_THREADS_PER_BLOCK = 256
_BLOCKS_PER_PROCESSOR = 8
# Fewer kernels are launched one by one.
_KERNELS_FOR_GRAPH = 24


def open_device() -> "CupyDevice":
    """Return the GPU that CuPy would use; what is missing is a diagnostic."""
    try:
        cupy = import_module("cupy")
    except ImportError:
        raise TidelogError([_missing("CuPy is not installed", "pip install 'tidelog[cuda]'")]) from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        hint = "install NVIDIA's driver, or leave out the engine `cuda`"
        raise TidelogError([_missing(f"CUDA reports: {error}", hint)]) from error
    if not count:
        raise TidelogError([_missing("CUDA finds no GPU", "leave out the engine `cuda`")])
    return CupyDevice(cupy)


def _missing(reason: str, hint: str) -> Diagnostic:
    return Diagnostic(code="no-gpu", message=f"the engine `cuda` cannot run here: {reason}", hint=hint)


class CupyDevice:
    """See `device.Device`."""

    # More threads than this run at once on no GPU, so a table with twice the slots is never full by surprise.
    least_capacity = 1 << 20

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        processors = cupy.cuda.Device().attributes["MultiProcessorCount"]
        self._grid = (processors * _BLOCKS_PER_PROCESSOR,)

    def compile(self, source: str, kernels: Sequence[str]) -> Module:
        """Return the kernels of a source."""
        module = self._cupy.RawModule(code=source, backend="nvrtc", options=("--std=c++17",))
        return _CupyModule(self._cupy, module, kernels, self._grid)

    def zeros(self, count: int, dtype: npt.DTypeLike = np.uint64) -> DeviceArray:
        """Return an array of zeros."""
        array = self.empty(count, dtype)
        array.data.memset_async(0, array.nbytes)
        return array

    def empty(self, count: int, dtype: npt.DTypeLike = np.uint64) -> DeviceArray:
        """Return an array of any content."""
        try:
            return self._cupy.empty(max(1, count), dtype)
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            raise MemoryError(str(error)) from None

    def put(self, array: DeviceArray, start: int, values: npt.NDArray[Any]) -> None:
        """Copy values to an array on the device."""
        if len(values):
            array[start : start + len(values)].set(np.ascontiguousarray(values))

    def copied(self, values: npt.NDArray[Any]) -> DeviceArray:
        """Return a copy of an array on the device."""
        return self._cupy.asarray(values)

    def get(self, array: DeviceArray, start: int = 0, stop: int | None = None) -> npt.NDArray[Any]:
        """Return a part of an array."""
        found: npt.NDArray[Any] = array[start:stop].get()
        return found

    def address(self, array: DeviceArray) -> int:
        """Return where an array is."""
        return int(array.data.ptr)

    def free_bytes(self) -> int:
        """Return how much memory is free, what the pool holds unused included."""
        free, _ = self._cupy.cuda.runtime.memGetInfo()
        return int(free + self._cupy.get_default_memory_pool().free_bytes())

    def describe(self) -> Mapping[str, str]:
        """Return what it is."""
        runtime = self._cupy.cuda.runtime
        properties = runtime.getDeviceProperties(self._cupy.cuda.Device().id)
        return {
            "name": properties["name"].decode(),
            "memory": f"{properties['totalGlobalMem'] / 2**30:.0f} GiB",
            "driver": str(runtime.driverGetVersion()),
        }


class _CupyModule:
    """Kernels on a GPU; see `device.Module`."""

    def __init__(self, cupy: Any, module: Any, kernels: Sequence[str], grid: tuple[int, ...]) -> None:
        self._cupy = cupy
        self._state = module.get_global("state")
        self._kernels = {name: module.get_function(name) for name in kernels}
        self._grid = grid
        # It waits for what other streams of CuPy do, and they for it.
        self._stream = cupy.cuda.Stream(non_blocking=False)
        self._graphs: dict[tuple[str, ...], Any] = {}

    def set_state(self, values: Sequence[int]) -> None:
        """Set the fields of the state."""
        fields = np.array(values, np.uint64)
        self._state.copy_from_host(fields.ctypes.data, fields.nbytes)

    def launch(self, names: Sequence[str]) -> None:
        """Run kernels one after the other; a long sequence is recorded, so that it costs one launch."""
        sequence = tuple(names)
        if len(sequence) < _KERNELS_FOR_GRAPH:
            self._launch_each(sequence)
            return
        if sequence not in self._graphs:
            with self._stream:
                self._stream.begin_capture()
                self._launch_each(sequence)
                self._graphs[sequence] = self._stream.end_capture()
        self._graphs[sequence].launch(self._stream)

    def _launch_each(self, names: Sequence[str]) -> None:
        with self._stream:
            for name in names:
                self._kernels[name](self._grid, (_THREADS_PER_BLOCK,), ())
