"""Values that occur in a large share of facts: their rows are spread over all partners.

    path(x, z) :- path(x, y), edge(y, z).

If `y` is the same in half of all facts, one partner would find half of all derivations. So the rows of one
atom, the first one, go to a partner by all their columns if `y` is such a heavy value; the matching rows of
the other atoms are at every partner. Each derivation is still found, where the row of the first atom is.

Partners agree on the heavy values before they load facts, from a sample: a group of rows each.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.message import Message, Rows
from tidelog.engine.spark.routes import RelationRoute, Routes
from tidelog.engine.spark.shared_reading import units_of
from tidelog.engine.spark.wire import Wire

# Relations with fewer rows in the sample are not worth it.
_LEAST_ROWS = 1 << 16
_MOST_VALUES = 64


def split_heavy(
    routes: Routes, folder: Folder, files: Mapping[str, Sequence[str]], arities: Mapping[str, int], wire: Wire
) -> Routes:
    """Return routes by which heavy values of these relations are spread; all partners call it together."""
    if routes.is_decomposed or wire.partners == 1:
        return routes
    heavy = tuple(sorted(_heavy_values(routes, folder, files, arities, wire)))
    return with_heavy(routes, heavy) if heavy else routes


def with_heavy(routes: Routes, heavy: tuple[int, ...]) -> Routes:
    """Return routes by which rows with these values are spread, and shared where rules join them."""

    def changed(relations: Mapping[str, RelationRoute]) -> dict[str, RelationRoute]:
        return {
            name: replace(route, heavy=heavy, shared=routes.shared.get(name, ()))
            for name, route in relations.items()
        }

    return replace(routes, relations=changed(routes.relations), outside=changed(routes.outside), heavy=heavy)


def _heavy_values(
    routes: Routes, folder: Folder, files: Mapping[str, Sequence[str]], arities: Mapping[str, int], wire: Wire
) -> set[int]:
    """Return the values that make up more than half of a partner's even share of a column."""
    kept = {**routes.outside, **routes.relations}
    tables, sizes = [], []
    names = sorted(name for name in files if name in kept and arities[name])
    for name in names:
        units = units_of(folder, files[name], wire.partners)
        rows = np.empty((0, arities[name]), np.int64)
        if wire.me < len(units):
            file, group = units[wire.me]
            rows = folder.read_rows(file, arities[name], group=group).rows
        sizes.append(len(rows))
        # What is derived from a relation may be kept by any of its columns.
        for column in range(arities[name]) if len(rows) else ():
            values, counts = np.unique(rows[:, column], return_counts=True)
            often = counts * 4 * wire.partners > len(rows)
            pairs = np.column_stack([values[often], counts[often]]).astype(np.int64)
            tables.append(Rows(f"{column} {name}", pairs))
    message = Message(tuple(sizes), tuple(tables))
    received = wire.exchange([message] * wire.partners)
    total = {name: sum(each.numbers[place] for each in received) for place, name in enumerate(names)}
    counted: Counter[tuple[str, int]] = Counter()
    for table in (table for each in received for table in each.tables):
        for value, count in table.rows.tolist():
            counted[table.name, value] += count
    found: Counter[int] = Counter()
    for (place, value), count in counted.items():
        size = total[place.partition(" ")[2]]
        if size >= _LEAST_ROWS and count * 2 * wire.partners > size:
            found[value] = max(found[value], count)
    return {value for value, _ in found.most_common(_MOST_VALUES)}
