"""Arrays that are worth keeping between requests, within a bound of memory."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from threading import Lock

import numpy as np

Arrays = Sequence[np.ndarray]


class ArrayCache:
    """Arrays by key, the least recently used forgotten first when they take more than `most_bytes`.

    Two threads that ask for the same arrays at once make them once.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[Hashable, Arrays] = OrderedDict()
        self._bytes = 0
        self._made: dict[Hashable, Future[Arrays]] = {}
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Arrays]) -> Arrays:
        """Return the arrays of a key, made now if they are not kept."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
                return kept
            made = self._made.get(key)
            is_mine = made is None
            if made is None:
                made = self._made[key] = Future()
        if not is_mine:
            return made.result()
        try:
            arrays = make()
        except BaseException as error:
            made.set_exception(error)
            with self._lock:
                del self._made[key]
            raise
        made.set_result(arrays)
        with self._lock:
            del self._made[key]
            self._keep(key, arrays)
        return arrays

    def _keep(self, key: Hashable, arrays: Arrays) -> None:
        size = _bytes(arrays)
        if size > self._most_bytes:
            return
        self._kept[key] = arrays
        self._bytes += size
        while self._bytes > self._most_bytes:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= _bytes(oldest)

    def forget(self, is_old: Callable[[Hashable], bool]) -> None:
        """Forget the keys that are old."""
        with self._lock:
            for key in [key for key in self._kept if is_old(key)]:
                self._bytes -= _bytes(self._kept.pop(key))


def _bytes(arrays: Arrays) -> int:
    return sum(array.nbytes for array in arrays)
