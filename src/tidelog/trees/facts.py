"""The facts of a tree, whole columns at a time."""

from collections.abc import Container, Iterator, Mapping

import numpy as np

from tidelog.trees.edits import PARENT, ROOT, Row
from tidelog.trees.nodes import NONE, Int64s, Nodes
from tidelog.trees.pool import ABSENT, Pool
from tidelog.trees.schema import FIRST, NEXT, Schema, ValueKind, link_relation, node_relation

Columns = Mapping[str, object]


def tree_facts(
    schema: Schema, pool: Pool, nodes: Nodes, ids: Int64s, relations: Container[str] | None = None
) -> dict[str, Columns]:
    """Return columns by relation, of all relations that have facts or of `relations` alone."""
    return dict(_all_facts(schema, pool, nodes, ids, relations))


def rows_of(columns: Columns) -> Iterator[Row]:
    """Return facts given by columns, one by one."""
    parts = [column.tolist() if hasattr(column, "tolist") else column for column in columns.values()]
    return zip(*parts, strict=True)


def _all_facts(
    schema: Schema, pool: Pool, nodes: Nodes, ids: Int64s, relations: Container[str] | None
) -> Iterator[tuple[str, Columns]]:
    def is_wanted(name: str) -> bool:
        return relations is None or name in relations

    if is_wanted(ROOT) and nodes.count:
        yield ROOT, {"id": ids[nodes.roots()]}
    for name, belongs in schema.members.items():
        relation = node_relation(name)
        if is_wanted(relation):
            members = ids[belongs[nodes.types]]
            if members.size:
                yield relation, {"id": members}
    hung = np.flatnonzero(nodes.parents != NONE)
    if is_wanted(PARENT) and hung.size:
        yield PARENT, {"id": ids[hung], "parent": ids[nodes.parents[hung]]}
    yield from (pair for pair in _node_links(schema, nodes, ids, hung) if is_wanted(pair[0]))
    yield from _value_links(schema, pool, nodes, ids, relations)


def _node_links(schema: Schema, nodes: Nodes, ids: Int64s, hung: Int64s) -> Iterator[tuple[str, Columns]]:
    previous = nodes.previous()
    after = np.flatnonzero(previous != NONE)
    if after.size:
        yield NEXT, {"id": ids[previous[after]], "to": ids[after]}
    heads = hung[previous[hung] == NONE]
    parents = nodes.parents[heads]
    width = schema.single_links.shape[1]
    keys = nodes.types[parents].astype(np.int64) * width + nodes.links[heads]
    order = np.argsort(keys, kind="stable")
    bounds = np.flatnonzero(np.diff(keys[order])) + 1
    firsts: list[Int64s] = []
    for rows in np.split(order, bounds):
        if not rows.size:
            continue
        code, link = divmod(int(keys[rows[0]]), width)
        node_type = schema.types[code]
        relation = link_relation(node_type.name, node_type.links[link].name)
        if relation == FIRST:
            firsts.append(rows)
        else:
            yield relation, {"id": ids[parents[rows]], "to": ids[heads[rows]]}
    if firsts:
        rows = np.concatenate(firsts)
        yield FIRST, {"id": ids[parents[rows]], "to": ids[heads[rows]]}


def _value_links(
    schema: Schema, pool: Pool, nodes: Nodes, ids: Int64s, relations: Container[str] | None
) -> Iterator[tuple[str, Columns]]:
    order = np.argsort(nodes.types, kind="stable")
    bounds = np.flatnonzero(np.diff(nodes.types[order])) + 1
    for rows in np.split(order, bounds):
        if not rows.size:
            continue
        node_type = schema.types[nodes.types[rows[0]]]
        for place, link in enumerate(node_type.values):
            relation = link_relation(node_type.name, link.name)
            if relations is not None and relation not in relations:
                continue
            numbers = nodes.values[nodes.value_starts[rows] + place]
            present = numbers != ABSENT
            if not present.any():
                continue
            values = pool.pick(numbers[present])
            if link.kind is ValueKind.NUMBER:
                yield relation, {"id": ids[rows[present]], "value": np.array(values, dtype=np.int64)}
            elif link.kind is ValueKind.FLOAT:
                yield relation, {"id": ids[rows[present]], "value": np.array(values, dtype=np.float64)}
            else:
                yield relation, {"id": ids[rows[present]], "value": values}
