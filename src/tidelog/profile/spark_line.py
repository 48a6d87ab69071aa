"""Numbers as a line of small bars."""

from collections.abc import Sequence
from typing import Final

_BARS: Final = "▁▂▃▄▅▆▇█"


def spark_line(weighted: Sequence[tuple[float, int]], width: int = 60) -> str:
    """Return a bar for each value, or for neighbouring ones together so that there are at most `width`.

    Each value comes with the number of iterations it stands for; every bar stands for about as many.

    >>> spark_line([(1.0, 1), (4.0, 1), (2.0, 1)])
    '▃█▄'
    """
    total = sum(count for _, count in weighted)
    bars = [0.0] * min(width, total)
    done = 0
    for value, count in weighted:
        first, last = done * len(bars) // total, (done + count - 1) * len(bars) // total
        for bar in range(first, last + 1):
            bars[bar] += value / (last - first + 1)
        done += count
    highest = max(bars, default=0.0)
    if highest <= 0.0:
        return _BARS[0] * len(bars)
    return "".join(_BARS[min(7, int(8 * bar / highest))] if bar else " " for bar in bars)
