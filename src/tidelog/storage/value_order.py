"""Numeric values as integers, the least of which is the best value."""

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.storage.kernel import Int64s
from tidelog.values import Kind
from tidelog.values.codes import float_order, unsigned_order


@dataclass(frozen=True, slots=True)
class ValueOrder:
    """Turns codes of a numeric kind into keys and back; a smaller key is a better value.

    ValueOrder(Kind.NUMBER, is_greatest=True).to_keys([3, -1])  ->  [-4, 0]
    """

    kind: Kind
    is_greatest: bool = False

    def to_keys(self, codes: Int64s) -> Int64s:
        """Return the keys of codes."""
        keys = self._turn(codes)
        return ~keys if self.is_greatest else keys

    def to_codes(self, keys: Int64s) -> Int64s:
        """Return the codes of keys."""
        return self._turn(~keys if self.is_greatest else keys)

    def _turn(self, numbers: Int64s) -> Int64s:
        # Each of the two conversions is its own inverse.
        match self.kind:
            case Kind.UNSIGNED:
                return unsigned_order(numbers)
            case Kind.FLOAT:
                return float_order(numbers)
            case _:
                return np.asarray(numbers)
