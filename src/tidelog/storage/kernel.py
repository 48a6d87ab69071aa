"""The decorators of kernels, and the types of what they take."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tidelog.kernels import IS_COMPILED, emitted, inlined, kernel

__all__ = [
    "IS_COMPILED",
    "Bools",
    "Code",
    "CodeArray",
    "Int32s",
    "Int64s",
    "Integer",
    "Slots",
    "Words",
    "emitted",
    "inlined",
    "kernel",
]

# Rows and batches hold codes in 32 bits until a value needs 64; kernels are compiled for both.
Code = np.signedinteger[Any]
CodeArray = npt.NDArray[Code]
# A slot is 32 bits wide (`storage.slots`); hashes and packed facts are words of 64.
Slots = npt.NDArray[np.uint32]
Words = npt.NDArray[np.uint64]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.uint8]
# What kernels count with: a Python integer outside, an array element inside.
Integer = int | np.signedinteger[Any]
