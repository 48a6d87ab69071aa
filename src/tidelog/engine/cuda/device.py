"""What runs kernels: a GPU, or anything else that can compile and run their source."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

# An array on the device: of CuPy, or of NumPy where kernels run on this machine's processor.
DeviceArray = Any


class Module(Protocol):
    """Compiled kernels and the state they share."""

    def set_state(self, values: Sequence[int]) -> None:
        """Set the fields of the state, addresses and sizes, for the kernels launched after this."""

    def launch(self, names: Sequence[str]) -> None:
        """Run kernels one after the other, after those launched before."""


class Device(Protocol):
    """Memory and kernels; arrays have the interface of NumPy's."""

    # Relations begin with room for at least so many facts; all else follows from that.
    least_capacity: int

    def compile(self, source: str, kernels: Sequence[str]) -> Module:
        """Return the kernels of a source."""

    def zeros(self, count: int, dtype: npt.DTypeLike = np.uint64) -> DeviceArray:
        """Return an array of zeros; raise `MemoryError` if there is no room for it."""

    def empty(self, count: int, dtype: npt.DTypeLike = np.uint64) -> DeviceArray:
        """Return an array of any content; raise `MemoryError` if there is no room for it."""

    def put(self, array: DeviceArray, start: int, values: npt.NDArray[Any]) -> None:
        """Copy values to an array on the device."""

    def get(self, array: DeviceArray, start: int = 0, stop: int | None = None) -> npt.NDArray[Any]:
        """Return a part of an array; all kernels launched before have finished then."""

    def address(self, array: DeviceArray) -> int:
        """Return where an array is, as kernels see it."""

    def free_bytes(self) -> int:
        """Return how much memory is free."""

    def describe(self) -> Mapping[str, str]:
        """Return what it is: its name, its memory, its driver."""
