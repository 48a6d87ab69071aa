"""The changes of an epoch that may be to blame, and facts as they are told apart here."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import RelationChange, reverse
from tidelog.storage.kernel import Int64s

# A fact: its relation and the codes of its columns.
Key = tuple[str, tuple[int, ...]]
# What a reason rests on: a suspect's number, and whether it is taken back.
Literal = tuple[int, bool]
Reason = frozenset[Literal]
Mask = npt.NDArray[np.bool_]
# Facts by relation, one row of 64-bit codes each.
Rows = Mapping[str, Int64s]


@dataclass(frozen=True, slots=True)
class Suspect:
    """One change of an input fact between two epochs."""

    key: Key
    is_insert: bool
    cost: float = 1.0
    is_untouchable: bool = False


def taken_back(suspects: Sequence[Suspect], taken: Iterable[int]) -> dict[str, RelationChange]:
    """Return the changes that take some suspects back, by relation."""
    sides: dict[str, tuple[list[tuple[int, ...]], list[tuple[int, ...]]]] = {}
    for number in sorted(taken):
        name, codes = suspects[number].key
        inserted, deleted = sides.setdefault(name, ([], []))
        (deleted if suspects[number].is_insert else inserted).append(codes)
    return {
        name: RelationChange(_columns(inserted, deleted), _columns(deleted, inserted))
        for name, (inserted, deleted) in sides.items()
    }


def applied(suspects: Sequence[Suspect], chosen: Iterable[int]) -> dict[str, RelationChange]:
    """Return the changes that some suspects are, by relation."""
    return reverse(taken_back(suspects, chosen))


def _columns(facts: Sequence[tuple[int, ...]], others: Sequence[tuple[int, ...]]) -> list[Int64s]:
    """Return one array per column; `others` tell how many there are if there are no facts."""
    width = len((facts or others)[0])
    if not width:
        # A relation without columns has one array, which tells whether its fact is there.
        return [np.zeros(len(facts), np.int64)]
    table = np.array(facts, np.int64).reshape(len(facts), width)
    return [np.ascontiguousarray(table[:, place]) for place in range(width)]
