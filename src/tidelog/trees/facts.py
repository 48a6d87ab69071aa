"""The facts of a tree, whole columns at a time."""

from collections.abc import Container, Iterator, Mapping
from itertools import pairwise

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.trees.edits import PARENT, ROOT, Row
from tidelog.trees.nodes import NONE, Int64s, Nodes
from tidelog.trees.pool import ABSENT, Pool
from tidelog.trees.schema import FIRST, NEXT, Schema, ValueKind, link_relation, node_relation

Columns = Mapping[str, object]


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """The nodes of a tree with their ids."""

    schema: Schema
    pool: Pool
    nodes: Nodes
    ids: Int64s


@dataclass(frozen=True, slots=True, eq=False)
class FactRows:
    """Rows of a tree whose facts are wanted: about the nodes, the links to them, their parents, their values.

    A value is a row and the place of the value in `Nodes.values`.
    """

    nodes: Int64s
    linked: Int64s
    hung: Int64s
    valued: Int64s
    values: Int64s

    @classmethod
    def all_of(cls, nodes: Nodes) -> "FactRows":
        """Return the rows of all facts of a tree."""
        rows = np.arange(nodes.count)
        return cls(rows, rows, rows, *value_places(nodes, rows))


def value_places(nodes: Nodes, rows: Int64s) -> tuple[Int64s, Int64s]:
    """Return the values of some rows: to each the row that has it, and its place in `Nodes.values`."""
    starts = nodes.value_starts[rows]
    counts = nodes.value_starts[rows + 1] - starts
    before = np.cumsum(counts) - counts
    return np.repeat(rows, counts), np.arange(int(counts.sum())) + np.repeat(starts - before, counts)


def tree_facts(
    schema: Schema, pool: Pool, nodes: Nodes, ids: Int64s, relations: Container[str] | None = None
) -> dict[str, Columns]:
    """Return columns by relation, of all relations that have facts or of `relations` alone."""
    return facts_of_rows(Version(schema, pool, nodes, ids), FactRows.all_of(nodes), relations)


def facts_of_rows(
    version: Version, rows: FactRows, relations: Container[str] | None = None
) -> dict[str, Columns]:
    """Return columns by relation of some facts of a tree, of all relations or of `relations` alone."""
    pairs = (
        pair
        for facts in (_nodes, _places, _node_links, _value_links)
        for pair in facts(version, rows, relations)
    )
    return {name: columns for name, columns in pairs if relations is None or name in relations}


def rows_of(columns: Columns) -> Iterator[Row]:
    """Return facts given by columns, one by one."""
    parts = [column.tolist() if hasattr(column, "tolist") else column for column in columns.values()]
    return zip(*parts, strict=True)


def _nodes(
    version: Version, rows: FactRows, relations: Container[str] | None
) -> Iterator[tuple[str, Columns]]:
    schema = version.schema
    types, ids = version.nodes.types[rows.nodes], version.ids[rows.nodes]
    present = np.flatnonzero(np.bincount(types, minlength=len(schema.types)))
    for name in dict.fromkeys(name for code in present.tolist() for name in sorted(schema.names_of(code))):
        relation = node_relation(name)
        if relations is None or relation in relations:
            yield relation, {"id": ids[schema.members[name][types]]}


def _places(version: Version, rows: FactRows, _: Container[str] | None) -> Iterator[tuple[str, Columns]]:
    parents, ids = version.nodes.parents, version.ids
    roots = rows.linked[parents[rows.linked] == NONE]
    if roots.size:
        yield ROOT, {"id": ids[roots]}
    hung = rows.hung[parents[rows.hung] != NONE]
    if hung.size:
        yield PARENT, {"id": ids[hung], "parent": ids[parents[hung]]}


def _node_links(
    version: Version, rows: FactRows, relations: Container[str] | None
) -> Iterator[tuple[str, Columns]]:
    schema, nodes, ids = version.schema, version.nodes, version.ids
    previous = nodes.previous()[rows.linked]
    by_next = previous != NONE
    if by_next.any():
        yield NEXT, {"id": ids[previous[by_next]], "to": ids[rows.linked[by_next]]}
    heads = rows.linked[~by_next & (nodes.parents[rows.linked] != NONE)]
    parents = nodes.parents[heads]
    width = schema.single_links.shape[1]
    keys = nodes.types[parents].astype(np.int64) * width + nodes.links[heads]
    firsts: list[Int64s] = []
    for group in _groups(keys):
        code, link = divmod(int(keys[group[0]]), width)
        node_type = schema.types[code]
        relation = link_relation(node_type.name, node_type.links[link].name)
        if relation == FIRST:
            firsts.append(group)
        elif relations is None or relation in relations:
            yield relation, {"id": ids[parents[group]], "to": ids[heads[group]]}
    if firsts:
        group = np.concatenate(firsts)
        yield FIRST, {"id": ids[parents[group]], "to": ids[heads[group]]}


def _value_links(
    version: Version, rows: FactRows, relations: Container[str] | None
) -> Iterator[tuple[str, Columns]]:
    schema, nodes = version.schema, version.nodes
    numbers = nodes.values[rows.values]
    present = numbers != ABSENT
    numbers, owners, places = numbers[present], rows.valued[present], rows.values[present]
    width = int(schema.value_counts.max(initial=0)) or 1
    keys = nodes.types[owners].astype(np.int64) * width + (places - nodes.value_starts[owners])
    for group in _groups(keys):
        code, place = divmod(int(keys[group[0]]), width)
        link = schema.types[code].values[place]
        relation = link_relation(schema.types[code].name, link.name)
        if relations is not None and relation not in relations:
            continue
        ids, values = version.ids[owners[group]], version.pool.pick(numbers[group])
        if link.kind is ValueKind.NUMBER:
            yield relation, {"id": ids, "value": np.array(values, dtype=np.int64)}
        elif link.kind is ValueKind.FLOAT:
            yield relation, {"id": ids, "value": np.array(values, dtype=np.float64)}
        else:
            yield relation, {"id": ids, "value": values}


def _groups(keys: Int64s) -> Iterator[Int64s]:
    """Yield the places of each key, in order."""
    order = np.argsort(keys, kind="stable")
    bounds = np.flatnonzero(np.diff(keys[order])) + 1
    firsts = [0, *bounds.tolist(), order.size]
    return (order[first:last] for first, last in pairwise(firsts) if first < last)
