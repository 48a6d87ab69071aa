"""Decoding a subtree from its leaves up, whatever it stands for."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidelog.trees.pool import ABSENT, TreeValue

if TYPE_CHECKING:
    from tidelog.trees.tree import Tree

# Makes a value of a node: its row, its type, what its children by link became, its values by link.
Maker = Callable[[int, str, dict[str, list[object]], dict[str, TreeValue]], object]


def decode_rows(tree: "Tree", row: int, make: Maker) -> object:
    """Return what `make` makes of a subtree; it is called for children before their parent.

    There is no recursion, so a tree may be as deep as it likes.
    """
    nodes, types, pool = tree.nodes, tree.schema.types, tree.pool.values
    end = row + int(nodes.sizes[row])
    kids: dict[int, dict[str, list[object]]] = {}
    made: object = None
    codes, links, parents = (part[row:end].tolist() for part in (nodes.types, nodes.links, nodes.parents))
    starts = nodes.value_starts[row : end + 1].tolist()
    for at in range(end - 1, row - 1, -1):
        node_type = types[codes[at - row]]
        numbers = nodes.values[starts[at - row] : starts[at - row + 1]].tolist() if node_type.values else ()
        values = {
            link.name: pool[number]
            for link, number in zip(node_type.values, numbers, strict=True)
            if number != ABSENT
        }
        own = kids.pop(at, {})
        for found in own.values():
            found.reverse()
        made = make(at, node_type.name, own, values)
        if at > row:
            parent = parents[at - row]
            link_name = types[codes[parent - row]].links[links[at - row]].name
            kids.setdefault(parent, {}).setdefault(link_name, []).append(made)
    return made
