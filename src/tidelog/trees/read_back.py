"""From the facts of a tree back to the tree."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from tidelog.errors import Diagnostic, TidelogError
from tidelog.trees.edits import ROOT, Row
from tidelog.trees.index import ManyToOne, NodeSet, OneToOne, TreeRelations
from tidelog.trees.nodes import NONE, NodesBuilder
from tidelog.trees.pool import ABSENT
from tidelog.trees.schema import NEXT, NodeType, link_relation, node_relation
from tidelog.trees.tree import Tree


def tree_from_facts(facts: Mapping[str, Iterable[Row]], like: Tree) -> Tree:
    """Return the tree that facts encode, with the types of another tree.

    `facts` may be a session: relations that it does not have count as empty.
    """
    schema = like.schema
    names = TreeRelations(schema, {})
    relations = TreeRelations(schema, {name: facts[name] for name in names if name in facts})
    types = _types_by_id(relations)
    builder = NodesBuilder()
    ids: list[int] = []
    roots = relations[ROOT]
    assert isinstance(roots, NodeSet)
    stack = [(int(node), NONE, NONE) for (node,) in sorted(roots, reverse=True)]
    while stack:
        node, link, parent = stack.pop()
        if node not in types:
            raise TidelogError([_untyped(node)])
        node_type = schema.types[types[node]]
        row = builder.add(types[node], link, parent, list(_values(node, node_type, relations, like)))
        ids.append(node)
        stack += reversed(list(_children(node, node_type, relations, row)))
    return replace(
        like,
        nodes=builder.finish(schema.value_counts),
        ids=np.array(ids, dtype=np.int64),
        next_id=max([like.next_id, *(node + 1 for node in ids)]),
        places=None,
    )


def _types_by_id(relations: TreeRelations) -> dict[int, int]:
    """Return the type code of each node: that of the relation of a type that is not a supertype."""
    found: dict[int, int] = {}
    for code, node_type in enumerate(relations.schema.types):
        for (node,) in relations[node_relation(node_type.name)]:
            # Of a type and its supertypes the one with the most of these is the node's own.
            before = found.get(int(node))
            if before is None or len(relations.schema.names_of(before)) < len(
                relations.schema.names_of(code)
            ):
                found[int(node)] = code
    return found


def _values(node: int, node_type: NodeType, relations: TreeRelations, like: Tree) -> Iterator[int]:
    for link in node_type.values:
        index = relations[link_relation(node_type.name, link.name)]
        assert isinstance(index, ManyToOne)
        value = index.get(node)
        yield ABSENT if value is None else like.pool.number(value)


def _children(
    node: int, node_type: NodeType, relations: TreeRelations, row: int
) -> Iterator[tuple[int, int, int]]:
    following = relations[NEXT]
    assert isinstance(following, OneToOne)
    for code, link in enumerate(node_type.links):
        index = relations[link_relation(node_type.name, link.name)]
        assert isinstance(index, OneToOne)
        child = index.get(node)
        while child is not None:
            yield int(child), code, row
            child = following.get(int(child)) if link.multiple else None


def _untyped(node: int) -> Diagnostic:
    return Diagnostic(
        code="tree-facts",
        message=f"node {node} is linked to but is in no relation of nodes",
        hint="reading a tree back takes the facts of all its relations",
    )
