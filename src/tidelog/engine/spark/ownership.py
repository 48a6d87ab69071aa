"""Which partner owns a row, and which partners keep copies of it, by the routes of its relation."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tidelog.engine.spark.kernels import WHOLE_ROW, owners, sort_by_owner
from tidelog.engine.spark.routes import RelationRoute
from tidelog.engine.spark.wire import Wire
from tidelog.storage.kernel import CodeArray, Int32s, Int64s

Mask = npt.NDArray[np.bool_]


def owner_of(rows: CodeArray, column: int, partners: int, heavy: tuple[int, ...] = ()) -> Int32s:
    """Return the partner of each row; those with a heavy value are spread over all."""
    found = np.empty(rows.shape[0], np.int32)
    owners(np.ascontiguousarray(rows), column, partners, found)
    if heavy and column >= 0:
        is_heavy = np.isin(rows[:, column], heavy)
        found[is_heavy] = owner_of(rows[is_heavy], WHOLE_ROW, partners)
    return found


def parts_by_owner(
    rows: CodeArray, column: int, partners: int, heavy: tuple[int, ...] = ()
) -> Iterator[tuple[int, Int64s]]:
    """Yield the partners that own rows, each with the positions of its rows."""
    if heavy:
        owned = owner_of(rows, column, partners, heavy)
        parts = ((partner, np.flatnonzero(owned == partner)) for partner in range(partners))
        yield from (part for part in parts if part[1].size)
        return
    order = np.empty(rows.shape[0], np.int64)
    ends = np.empty(partners, np.int64)
    sort_by_owner(rows, column, partners, order, ends)
    for partner, (first, last) in enumerate(pairwise((0, *ends))):
        if first < last:
            yield partner, order[first:last]


def parts_by_keeper(rows: CodeArray, route: RelationRoute, partners: int) -> Iterator[tuple[int, Int64s]]:
    """Yield the partners that keep copies of rows, each with the positions of its rows in their order."""
    columns = sorted({route.owner, *route.columns})
    if route.heavy:
        kept = ((partner, _kept_by(rows, route, partners, partner)) for partner in range(partners))
        yield from ((partner, np.flatnonzero(mask)) for partner, mask in kept if mask.any())
        return
    if len(columns) == 1:
        yield from parts_by_owner(np.ascontiguousarray(rows), columns[0], partners)
        return
    found: dict[int, list[Int64s]] = {}
    earlier: list[Int32s] = []
    for column in columns:
        owners_here = owner_of(rows, column, partners)
        # A partner that keeps a row for another column already gets it once.
        is_new = np.ones(rows.shape[0], np.bool_)
        for others in earlier:
            is_new &= owners_here != others
        earlier.append(owners_here)
        positions = np.flatnonzero(is_new)
        order = positions[np.argsort(owners_here[positions], kind="stable")]
        ends = np.searchsorted(owners_here[order], np.arange(partners + 1))
        for partner, (first, last) in enumerate(pairwise(ends.tolist())):
            if first < last:
                found.setdefault(partner, []).append(order[first:last])
    for partner, parts in found.items():
        yield partner, np.sort(np.concatenate(parts))


def is_kept(rows: CodeArray, route: RelationRoute, wire: Wire) -> CodeArray:
    """Return the rows of which this partner keeps a copy, in their order."""
    if route.is_everywhere or wire.partners == 1:
        return rows
    return np.ascontiguousarray(rows[where_kept(rows, route, wire)])


def where_kept(rows: CodeArray, route: RelationRoute, wire: Wire) -> Mask:
    """Say of which rows this partner keeps a copy."""
    if route.is_everywhere or wire.partners == 1:
        return np.ones(rows.shape[0], np.bool_)
    return _kept_by(rows, route, wire.partners, wire.me)


def _kept_by(rows: CodeArray, route: RelationRoute, partners: int, partner: int) -> Mask:
    kept = np.zeros(rows.shape[0], np.bool_)
    for column in {route.owner, *route.columns}:
        kept |= owner_of(rows, column, partners, route.heavy) == partner
        if route.heavy and column in route.shared:
            kept |= np.isin(rows[:, column], route.heavy)
    return kept


def owned_rows(rows: CodeArray, route: RelationRoute, wire: Wire) -> Int64s:
    """Return the positions of the rows that this partner owns."""
    if wire.partners == 1:
        return np.arange(rows.shape[0])
    return np.flatnonzero(owner_of(rows, route.owner, wire.partners, route.heavy) == wire.me)


def copies_to_send(rows: CodeArray, route: RelationRoute, wire: Wire) -> list[tuple[int, CodeArray]]:
    """Return, for each other partner, the rows owned here of which it keeps a copy."""
    if not rows.shape[0] or route.has_no_copies:
        return []
    if route.is_everywhere:
        return [(partner, rows) for partner in range(wire.partners) if partner != wire.me]
    parts = parts_by_keeper(rows, route, wire.partners)
    return [(partner, rows[positions]) for partner, positions in parts if partner != wire.me]
