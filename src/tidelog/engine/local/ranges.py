"""The values of ranges over batches of bindings."""

from itertools import islice, repeat
from typing import Final

import numpy as np

from tidelog.engine.local.arithmetic import DTYPES
from tidelog.engine.protocol import Codes
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.nodes import Generator
from tidelog.values import Kind, Value, functors
from tidelog.values.codes import floats_to_codes

# More values than these at once are refused; floats are counted one by one.
_RANGE_LIMIT: Final = 1 << 28
_FLOAT_RANGE_LIMIT: Final = 1 << 26


def integer_ranges(generator: Generator, start: Codes, stop: Codes, *step: Codes) -> tuple[Codes, Codes]:
    """Return the place of the range and the code for each value of each range."""
    dtype = DTYPES[generator.kind]
    rises = start.view(dtype) < stop.view(dtype)
    by: Codes = step[0] if step else np.where(rises, 1, -1)
    goes_up = by.view(dtype) > 0 if step else rises
    # Distances and sizes of steps reach 2**64 - 1: the wrapped differences are right as unsigned.
    distance = np.where(goes_up, stop - start, start - stop).view(np.uint64)
    size = np.where(goes_up, by, np.where(by == 0, -1, -by)).view(np.uint64)
    counts = np.where(by == 0, 0, (distance - np.uint64(1)) // size) + np.uint64(1)
    counts[(start == stop) | (rises != goes_up) & (by != 0)] = 0
    _refuse_more_than(_RANGE_LIMIT, float(counts.astype(np.float64).sum()), generator)
    lengths = counts.astype(np.int64)
    try:
        places = np.repeat(np.arange(start.size, dtype=np.int64), lengths)
        before: Codes = np.cumsum(lengths, dtype=np.int64) - lengths
        return places, start[places] + (np.arange(places.size, dtype=np.int64) - before[places]) * by[places]
    except MemoryError:
        _refuse_more_than(int(lengths.sum()), float(lengths.sum()), generator)
        raise


def float_ranges(generator: Generator, start: Codes, stop: Codes, *step: Codes) -> tuple[Codes, Codes]:
    """Return the place of the range and the code for each value of each range."""
    columns = [codes.view(np.float64).tolist() for codes in (start, stop, *step)]
    if not step:
        columns.append([None] * start.size)
    values: list[Value] = []
    places: list[int] = []
    for place, bounds in enumerate(zip(*columns, strict=True)):
        _refuse_more_than(_FLOAT_RANGE_LIMIT, 0.99 * functors.float_range_length(*bounds), generator)
        values.extend(islice(functors.range_values(Kind.FLOAT, *bounds), _FLOAT_RANGE_LIMIT))
        _refuse_more_than(_FLOAT_RANGE_LIMIT, len(values), generator)
        places.extend(repeat(place, len(values) - len(places)))
    return np.array(places, dtype=np.int64), floats_to_codes(np.array(values, dtype=np.float64))


def _refuse_more_than(limit: int, values: float, generator: Generator) -> None:
    if values >= limit:
        message = f"the range gives {limit:,} values or more at once"
        hint = "bring start and stop closer together, or give a larger step"
        refused = Diagnostic(code="range-too-large", message=message, span=generator.span, hint=hint)
        raise TidelogError([refused])
