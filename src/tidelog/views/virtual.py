"""Virtual relations as users see them: their facts and deltas, from those of other relations."""

from collections.abc import Callable, Sequence

import numpy as np

from tidelog.engine.protocol import Codes, FactReader
from tidelog.program.nodes import Column, Program, Relation
from tidelog.program.virtual_relations import Virtual, find_virtual
from tidelog.views.relation import RelationView
from tidelog.views.snapshot import Snapshot

Sides = tuple[Sequence[Codes], Sequence[Codes]]


def virtual_relation(name: str, program: Program) -> tuple[Virtual, Relation] | None:
    """Return the virtual relation of a name that the program does not declare."""
    virtual = find_virtual(name, program.relations)
    if virtual is None:
        return None
    column = program.relations[virtual.among].columns[0]
    return virtual, Relation(name, (Column("id", column.type),), ("inline",))


def virtual_facts(virtual: Virtual, engine: FactReader) -> Codes:
    """Return the members of a virtual relation."""
    return np.setdiff1d(engine.facts(virtual.among)[0], engine.facts(virtual.missing)[0])


def virtual_sides(among: Sides, missing: Sides) -> Sides:
    """Return the delta of a virtual relation from the deltas of the two others.

    Requires what holds of trees: a node has at most one fact in `missing`, and none if it is not in
    `among`. Then the deltas alone tell who was and who is without a fact.
    """
    new_keys, old_keys = _keys(among[0]), _keys(among[1])
    linked, unlinked = _keys(missing[0]), _keys(missing[1])
    inserted = np.union1d(
        np.setdiff1d(new_keys, linked), np.setdiff1d(unlinked, np.union1d(linked, old_keys))
    )
    deleted = np.union1d(
        np.setdiff1d(old_keys, unlinked), np.setdiff1d(linked, np.union1d(unlinked, new_keys))
    )
    return [inserted], [deleted]


def _keys(columns: Sequence[Codes]) -> Codes:
    return columns[0] if columns else np.empty(0, dtype=np.int64)


class VirtualView(RelationView):
    """The facts of a virtual relation as they are now."""

    def __init__(self, virtual: Virtual, relation: Relation, read: Callable[[], Snapshot]) -> None:
        super().__init__(relation, read)
        self._virtual = virtual

    def __len__(self) -> int:
        return len(self.codes()[0])

    def _codes(self) -> list[Codes]:
        snapshot = self._read()
        with snapshot.lock:
            return [virtual_facts(self._virtual, snapshot.engine)]

    def _holds(self, fact: Sequence[int]) -> bool:
        snapshot = self._read()
        with snapshot.lock:
            engine = snapshot.engine
            width = snapshot.program.relations[self._virtual.missing].arity
            pattern = [*fact, *[None] * (width - 1)]
            is_among = len(engine.match(self._virtual.among, fact)[0]) > 0
            return is_among and not len(engine.match(self._virtual.missing, pattern)[0])
