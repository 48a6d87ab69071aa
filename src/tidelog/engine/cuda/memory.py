"""The memory that the kernels of a stratum work on, and how it grows."""

from collections.abc import Callable

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.cuda.device import Device, DeviceArray
from tidelog.engine.cuda.layout import RowLayout
from tidelog.engine.cuda.resources import DeviceIndex, DeviceRelation, Resources

_GROUP_WORDS = 4
_MOVE_WORDS = 4
_ENTRY_BYTES = 24
# Facts that a relation has room for at first: so many for each fact that the rules read, within a share of
# the memory.
_ROOM_PER_FACT = 1 << 13
_SHARE_OF_MEMORY = 0.5
_MOST_CAPACITY = 1 << 30
# Beyond this growth the table of an index has to be made again seldom.
_GROUPS_GROWTH = 4


@dataclass
class HeldFacts:
    """The facts of a relation on a device: words of rows, and a table of them where one was needed."""

    layout: RowLayout
    rows: DeviceArray
    capacity: int
    count: int
    table: DeviceArray | None = None

    @property
    def size(self) -> int:
        """Return how many bytes they take."""
        return int(self.rows.nbytes) + (0 if self.table is None else int(self.table.nbytes))


class LimitError(Exception):
    """The kernels need more memory than they may have."""


class StratumMemory:
    """Arrays on the device, and the fields of the state that point to them.

    `limit` is how many bytes all of it may take, None for as many as there are. `spill` is called where there
    is no memory left; it says whether it could give something back.
    """

    def __init__(
        self,
        device: Device,
        resources: Resources,
        held: dict[str, HeldFacts],
        limit: int | None,
        spill: Callable[[], bool],
    ) -> None:
        self._device = device
        self._resources = resources
        self._held = held
        self._limit = limit
        self._spill = spill
        self._arrays: dict[str, DeviceArray] = {}
        self.state: dict[str, int] = {}

    def allocate(self) -> None:
        """Make what the kernels begin with."""
        self._point("counters", self._zeros(self._resources.counters))
        for relation in self._resources.relations.values():
            held = self._held[relation.name]
            if relation.grows and held.capacity < (capacity := self._first_capacity(held)):
                self._move_rows(held, capacity)
            self.point_to(relation)
        for index in self._resources.indexes.values():
            self._allocate_index(index)
        for number, width in enumerate(self._resources.queues):
            self._allocate_queue(number, width, self._device.least_capacity)
        self._point("moves.pieces", self._zeros(self._device.least_capacity * _MOVE_WORDS))
        self.state["moves.room"] = self._device.least_capacity

    @property
    def counters(self) -> DeviceArray:
        """Return the counters."""
        return self._arrays["counters"]

    # --- relations -------------------------------------------------------------------------

    def point_to(self, relation: DeviceRelation) -> None:
        """Point the fields of a relation to its facts."""
        held, number = self._held[relation.name], relation.number
        address = self._device.address
        self.state[f"rows_{number}"] = address(held.rows)
        self.state[f"capacity_{number}"] = held.capacity
        self.state[f"table_{number}"] = 0 if held.table is None else address(held.table)
        self.state[f"mask_{number}"] = 0 if held.table is None else len(held.table) - 1

    def make_table(self, relation: DeviceRelation) -> None:
        """Give a relation a table without facts, with twice as many slots as it has room for facts."""
        held = self._held[relation.name]
        room = held.capacity if relation.grows else max(held.count, 1)
        held.table = None
        held.table = self._zeros(1 << (2 * room - 1).bit_length())
        self.point_to(relation)

    def enlarge_relation(self, relation: DeviceRelation, count: int) -> None:
        """Give a relation of so many facts room for twice as many as before, and no table."""
        held = self._held[relation.name]
        held.count = count
        held.table = None
        self._move_rows(held, 2 * held.capacity)
        self.point_to(relation)
        for index in self._resources.indexes.values():
            if index.relation is relation:
                self._allocate_notes(index)

    def _first_capacity(self, held: HeldFacts) -> int:
        """Return how many facts a relation has room for at first."""
        growing = sum(relation.grows for relation in self._resources.relations.values())
        row_bytes = 8 * held.layout.words + 16 + _ENTRY_BYTES * len(self._resources.indexes)
        free = self._device.free_bytes() if self._limit is None else self._limit - self._used()
        least = max(self._device.least_capacity, 2 * held.count)
        known = sum(self._held[name].count for name in self._resources.relations)
        share = int(_SHARE_OF_MEMORY * free / growing / row_bytes)
        return max(least, min(_MOST_CAPACITY, share, least + _ROOM_PER_FACT * known))

    def _move_rows(self, held: HeldFacts, capacity: int) -> None:
        rows = self._empty(capacity * held.layout.words)
        for word in range(held.layout.words):
            start, old = word * capacity, word * held.capacity
            rows[start : start + held.count] = held.rows[old : old + held.count]
        held.rows, held.capacity, held.table = rows, capacity, None

    # --- indexes ---------------------------------------------------------------------------

    def _allocate_index(self, index: DeviceIndex) -> None:
        count, least = self._held[index.relation.name].count, self._device.least_capacity
        slots = 1 << index.bits if index.is_dense else max(least, 1 << (4 * count).bit_length())
        self._allocate_groups(index, slots)
        room = 4 * max(count, least) if index.relation.grows else count
        self._point(f"index_{index.number}.entries", self._empty(room))
        self.state[f"index_{index.number}.room"] = room
        self._allocate_notes(index)

    def _allocate_groups(self, index: DeviceIndex, slots: int) -> None:
        name = f"index_{index.number}"
        self._point(f"{name}.groups", self._zeros(slots * _GROUP_WORDS))
        self._point(f"{name}.keys", self._zeros(0 if index.is_dense else slots))
        self.state[f"{name}.slots"] = slots

    def _allocate_notes(self, index: DeviceIndex) -> None:
        """Make room for what each new row notes while it is added to an index."""
        capacity = self._held[index.relation.name].capacity
        for field in ("slot_of_row", "turn_of_row"):
            self._point(f"index_{index.number}.{field}", self._empty(capacity, np.uint32))

    def enlarge_entries(self, index: DeviceIndex, top: int) -> None:
        """Make room for more entries than the kernels have asked for."""
        name = f"index_{index.number}"
        before = self.state[f"{name}.room"]
        self.state[f"{name}.room"] = after = 2 * max(before, top)
        self._enlarge(f"{name}.entries", before, after)

    def enlarge_groups(self, index: DeviceIndex) -> tuple[DeviceArray, ...]:
        """Give an index a larger table; return the old one, which must be kept until its groups are moved."""
        name = f"index_{index.number}"
        old = tuple(self._arrays[f"{name}.{field}"] for field in ("groups", "keys"))
        for field in ("groups", "keys", "slots"):
            self.state[f"old_index.{field}"] = self.state[f"{name}.{field}"]
        self._allocate_groups(index, _GROUPS_GROWTH * self.state[f"{name}.slots"])
        return old

    def enlarge_moves(self) -> int:
        """Make room for twice as many moves of postings; return how many there was room for."""
        before = self.state["moves.room"]
        self.state["moves.room"] = 2 * before
        self._enlarge("moves.pieces", before * _MOVE_WORDS, 2 * before * _MOVE_WORDS)
        return before

    # --- queues ----------------------------------------------------------------------------

    def enlarge_queue(self, number: int) -> None:
        """Make room for twice as many items; those in the queue are lost."""
        room = 2 * self.state[f"queue_room_{number}"]
        self._allocate_queue(number, self._resources.queues[number], room)

    def _allocate_queue(self, number: int, width: int, room: int) -> None:
        self._arrays.pop(f"queue_{number}", None)
        self._point(f"queue_{number}", self._empty(room * width))
        self.state[f"queue_room_{number}"] = room

    # --- arrays ----------------------------------------------------------------------------

    def _point(self, field: str, array: DeviceArray) -> None:
        """Point a field of the state to an array, and keep the array."""
        self._arrays[field] = array
        self.state[field] = self._device.address(array)

    def _enlarge(self, field: str, before: int, after: int) -> None:
        """Point a field to a larger array that begins as the old one did, and goes on with zeros."""
        array = self._zeros(after)
        array[:before] = self._arrays[field][:before]
        self._point(field, array)

    def _zeros(self, count: int) -> DeviceArray:
        return self._made(lambda: self._device.zeros(count), 8 * count)

    def _empty(self, count: int, dtype: type = np.uint64) -> DeviceArray:
        return self._made(lambda: self._device.empty(count, dtype), np.dtype(dtype).itemsize * count)

    def _made(self, make: Callable[[], DeviceArray], size: int) -> DeviceArray:
        """Return an array, for which relations of earlier strata may have to leave the device."""
        while True:
            is_allowed = self._limit is None or self._used() + size <= self._limit
            try:
                if is_allowed:
                    return make()
            except MemoryError:
                pass
            if not self._spill():
                raise LimitError

    def _used(self) -> int:
        arrays = sum(int(array.nbytes) for array in self._arrays.values())
        return arrays + sum(held.size for held in self._held.values())
