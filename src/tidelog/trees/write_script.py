"""From two trees and the nodes they share to the edits between them."""

from collections.abc import Container, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tidelog.trees.edits import (
    ROOT,
    ROOT_HOLDER,
    Attach,
    ColumnChanges,
    Detach,
    Edit,
    EditScript,
    Load,
    NodeRef,
    Unload,
    Update,
)
from tidelog.trees.facts import FactRows, Version, facts_of_rows, value_places
from tidelog.trees.nodes import NONE, Nodes
from tidelog.trees.pool import ABSENT, TreeValue
from tidelog.trees.schema import NEXT, Schema

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def write_script(old: Version, new: Version, partners: Int32s) -> EditScript:
    """Return the edits that make the new tree of the old one.

    `partners` tells for each new node the old one that lives on in it. First everything that hangs
    elsewhere in the new tree is detached, from the end, so that the inverse attaches from the front;
    then old nodes are unloaded from the top, values are updated, new nodes are loaded from the bottom,
    and what is left free is attached.
    """
    kept_old = np.zeros(old.nodes.count, dtype=np.bool_)
    kept_new = partners >= 0
    matched = np.flatnonzero(kept_new)
    kept_old[partners[matched]] = True
    before, after = _Writer(old, kept_old), _Writer(new, kept_new)
    lived = partners[matched].astype(np.int64)
    is_linked, is_held, is_below = (
        was[lived] == becomes[matched] for was, becomes in zip(before.hanging, after.hanging, strict=True)
    )
    linked = ~(is_linked & is_held)
    moved = linked | ~is_below
    detached = before.hung(_with(lived[moved], ~kept_old))[::-1]
    attached = after.hung(_with(matched[moved], ~kept_new))
    unloaded, loaded = np.flatnonzero(~kept_old), np.flatnonzero(~kept_new)[::-1]
    values = _changed_values(old.nodes, new.nodes, lived, matched)
    updated = values[1].rows[np.flatnonzero(np.diff(values[1].rows, prepend=-1))]

    def write() -> Iterator[Edit]:
        yield from (Detach(*before.place(row)) for row in detached.tolist())
        yield from (Unload(*before.content(row)) for row in unloaded.tolist())
        yield from (_update(before, after, int(partners[row]), row) for row in updated.tolist())
        yield from (Load(*after.content(row)) for row in loaded.tolist())
        yield from (Attach(*after.place(row)) for row in attached.tolist())

    def columns(relations: Container[str] | None) -> Mapping[str, ColumnChanges]:
        inserted = _fact_rows(new.nodes, loaded[::-1], matched[linked], matched[~is_below], values[1])
        deleted = _fact_rows(old.nodes, unloaded, lived[linked], lived[~is_below], values[0])
        insert, delete = facts_of_rows(new, inserted, relations), facts_of_rows(old, deleted, relations)
        names = dict.fromkeys((*insert, *delete))
        return {name: ColumnChanges(insert.get(name), delete.get(name)) for name in names}

    count = sum(part.size for part in (detached, unloaded, updated, loaded, attached))
    return EditScript(new.schema, write, count, columns)


class _Values(NamedTuple):
    """Values of a tree: the rows that have them, and their places in `Nodes.values`."""

    rows: Int64s
    places: Int64s

    def among(self, mask: Bools) -> "_Values":
        """Return some of these values."""
        return _Values(self.rows[mask], self.places[mask])


def _with(rows: Int64s, others: Bools) -> Bools:
    """Return a mask of rows, with these among them."""
    mask = others.copy()
    mask[rows] = True
    return mask


def _fact_rows(nodes: Nodes, own: Int64s, linked: Int64s, hung: Int64s, values: _Values) -> FactRows:
    """Return the rows of the facts that one of the trees has and the other has not.

    `own` are nodes that the other has not at all; of nodes that both have, some hang by another link or have
    another parent or other values.
    """
    rows, places = value_places(nodes, own)
    return FactRows(
        own,
        np.concatenate([own, linked]),
        np.concatenate([own, hung]),
        np.concatenate([rows, values.rows]),
        np.concatenate([places, values.places]),
    )


class _Writer:
    """Writes down nodes of one of the trees; `kept` are those that both trees have."""

    def __init__(self, version: Version, kept: Bools) -> None:
        self._schema = version.schema
        self._pool = version.pool
        self.nodes = version.nodes
        self._ids = version.ids
        self._kept = kept
        self._previous = version.nodes.previous()
        self._types = [each.name for each in version.schema.types]
        # Whether a node hangs by a link that `Load` and `Unload` take care of.
        self._is_single = _single_links(version.schema, version.nodes)
        self.hanging = self._hanging()

    def _hanging(self) -> tuple[Int64s, Int64s, Int64s]:
        """Return how each node hangs: by which link, on which node or sibling, under which parent."""
        nodes, ids = self.nodes, self._ids
        by_next = self._previous != NONE
        holders = np.where(by_next, self._previous, nodes.parents)
        return (
            np.where(by_next, NONE - 1, nodes.links),
            np.where(holders == NONE, ROOT_HOLDER, ids[holders]),
            np.where(nodes.parents == NONE, ROOT_HOLDER, ids[nodes.parents]),
        )

    def hung(self, moves: Bools) -> Int64s:
        """Return the moving nodes whose link no `Load` or `Unload` of the parent takes care of."""
        parents = self.nodes.parents
        with_parent = self._is_single & (parents != NONE) & ~self._kept[parents]
        return np.flatnonzero(moves & ~with_parent)

    def ref(self, row: int) -> NodeRef:
        return NodeRef(self._types[self.nodes.types[row]], int(self._ids[row]))

    def place(self, row: int) -> tuple[NodeRef, str, NodeRef, NodeRef]:
        parent, previous = int(self.nodes.parents[row]), int(self._previous[row])
        if parent == NONE:
            nothing = NodeRef("Any", ROOT_HOLDER)
            return self.ref(row), ROOT, nothing, nothing
        if previous != NONE:
            return self.ref(row), NEXT, self.ref(previous), self.ref(parent)
        link = self._schema.types[self.nodes.types[parent]].links[self.nodes.links[row]].name
        return self.ref(row), link, self.ref(parent), self.ref(parent)

    def content(
        self, row: int
    ) -> tuple[NodeRef, tuple[tuple[str, NodeRef], ...], tuple[tuple[str, TreeValue], ...]]:
        node_type = self._schema.types[self.nodes.types[row]]
        kids: tuple[tuple[str, NodeRef], ...] = ()
        if node_type.links:
            kids = tuple(
                (node_type.links[self.nodes.links[child]].name, self.ref(child))
                for child in self.nodes.children(row)
                if self._is_single[child]
            )
        values = tuple(
            (link.name, self._pool.values[number])
            for link, number in zip(node_type.values, self.nodes.values_of(row), strict=True)
            if number != ABSENT
        )
        return self.ref(row), kids, values

    def value_names(self, row: int) -> list[str]:
        return [link.name for link in self._schema.types[self.nodes.types[row]].values]

    def value(self, number: int) -> TreeValue | None:
        return None if number == ABSENT else self._pool.values[number]


def _changed_values(old: Nodes, new: Nodes, lived: Int64s, matched: Int64s) -> tuple[_Values, _Values]:
    """Return the values in which nodes differ from their partners, those of the old tree and of the new."""
    was, becomes = _Values(*value_places(old, lived)), _Values(*value_places(new, matched))
    differs = old.values[was.places] != new.values[becomes.places]
    return was.among(differs), becomes.among(differs)


def _update(before: _Writer, after: _Writer, old_row: int, row: int) -> Update:
    olds, news = [], []
    pairs = zip(
        after.value_names(row), before.nodes.values_of(old_row), after.nodes.values_of(row), strict=True
    )
    for name, was, becomes in pairs:
        if was != becomes:
            olds.append((name, before.value(was)))
            news.append((name, after.value(becomes)))
    return Update(after.ref(row), tuple(olds), tuple(news))


def _single_links(schema: Schema, nodes: Nodes) -> Bools:
    """Say of each node whether it hangs by a link that leads to one node."""
    parent_types = np.where(nodes.parents == NONE, len(schema.types), nodes.types[nodes.parents])
    return schema.single_links[parent_types, nodes.links]
