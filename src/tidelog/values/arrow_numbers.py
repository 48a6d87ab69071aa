"""Numbers of Arrow columns as arrays.

Arrow's own `to_numpy` imports pandas wherever it is installed, which takes longer than reading a million
facts.
"""

import numpy as np
import numpy.typing as npt

from tidelog.values.arrow import pa


def numbers_of(column: "pa.Array | pa.ChunkedArray") -> npt.NDArray[np.generic]:
    """Return the integers, floats or booleans of a column, which has no nulls; do not write to them.

    They are copied only if there are several chunks, or if they are booleans, which Arrow keeps as bits.
    """
    assert column.null_count == 0, "null is not a number"
    if pa.types.is_boolean(column.type):
        return numbers_of(column.cast(pa.uint8())).view(np.bool_)
    dtype = np.dtype(column.type.to_pandas_dtype())
    if isinstance(column, pa.ChunkedArray):
        parts = [numbers_of(chunk) for chunk in column.chunks]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else np.empty(0, dtype)
    _, data = column.buffers()
    if not len(column) or data is None:
        return np.empty(0, dtype)
    return np.frombuffer(data, dtype, count=len(column), offset=column.offset * dtype.itemsize)
