"""Small trees of expressions, drawn at random, and the shortest script between two of them."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from tidelog.trees.nodes import NodesBuilder
from tidelog.trees.pool import Pool
from tidelog.trees.schema import NodeLink, NodeType, Schema, ValueKind, ValueLink, list_type
from tidelog.trees.tree import Tree, new_tree

_EXP = ("Exp",)
SCHEMA = Schema(
    (
        NodeType("Num", _EXP, (), (ValueLink("value", ValueKind.NUMBER),)),
        NodeType("Add", _EXP, (NodeLink("left", _EXP), NodeLink("right", _EXP))),
        NodeType("Neg", _EXP, (NodeLink("of", _EXP),)),
        NodeType(
            "Call",
            _EXP,
            (NodeLink("args", ("List_Exp",), optional=True), NodeLink("block", _EXP, optional=True)),
            (ValueLink("name", ValueKind.SYMBOL), ValueLink("note", ValueKind.SYMBOL, optional=True)),
        ),
        list_type("Exp"),
    )
)


class _Form:
    name = "expression"

    def decode(self, tree: Tree, row: int) -> object:
        """Return the expression as nested tuples."""
        return nested(tree, row)

    def used_links(self, tree: Tree) -> None:
        """Return None: all links can occur."""


@dataclass(frozen=True)
class Exp:
    """An expression: its type, the values of its links to values, and its children by link."""

    type: str
    values: tuple[object, ...] = ()
    children: tuple[tuple[int, "Exp"], ...] = ()


def encode(exp: Exp, pool: Pool | None = None) -> Tree:
    """Return the tree of an expression."""
    pool = pool or Pool()
    builder = NodesBuilder()
    stack = [(exp, -1, -1)]
    while stack:
        each, link, parent = stack.pop()
        numbers = [-1 if value is None else pool.number(value) for value in each.values]
        row = builder.add(SCHEMA.codes[each.type], link, parent, numbers)
        stack += [(child, place, row) for place, child in reversed(each.children)]
    return new_tree(SCHEMA, pool, builder.finish(SCHEMA.value_counts), _Form())


def nested(tree: Tree, row: int = 0) -> Exp:
    """Return the expression of a subtree."""
    nodes = tree.nodes
    values = tuple(None if number < 0 else tree.pool.values[number] for number in nodes.values_of(row))
    children = tuple((int(nodes.links[child]), nested(tree, child)) for child in nodes.children(row))
    return Exp(SCHEMA.types[nodes.types[row]].name, values, children)


def _call(name: str, note: str | None, args: list[Exp] | None, block: Exp | None) -> Exp:
    children = []
    if args is not None:
        children.append((0, Exp("List_Exp", (), tuple((0, arg) for arg in args))))
    if block is not None:
        children.append((1, block))
    return Exp("Call", (name, note), tuple(children))


nums = st.builds(lambda value: Exp("Num", (value,)), st.integers(0, 2))
expressions = st.recursive(
    nums,
    lambda below: st.one_of(
        st.builds(lambda of: Exp("Neg", (), ((0, of),)), below),
        st.builds(lambda left, right: Exp("Add", (), ((0, left), (1, right))), below, below),
        st.builds(
            _call,
            st.sampled_from("fg"),
            st.sampled_from([None, "x"]),
            st.none() | st.lists(below, max_size=4),
            st.none() | below,
        ),
    ),
    max_leaves=12,
)
trees = expressions.map(encode)


# --- the shortest script, by trying everything -----------------------------------------------------


class _Side:
    """How each node hangs: by which link, on whom, under which parent."""

    def __init__(self, tree: Tree) -> None:
        nodes = tree.nodes
        previous = nodes.previous().tolist()
        self.types = nodes.types.tolist()
        self.parents = nodes.parents.tolist()
        self.values = [nested(tree, row).values for row in range(nodes.count)]
        self.hanging = [
            (
                previous[row] >= 0,
                previous[row] if previous[row] >= 0 else self.parents[row],
                int(nodes.links[row]),
            )
            for row in range(nodes.count)
        ]
        self.is_single = [
            parent >= 0 and not SCHEMA.types[self.types[parent]].links[int(nodes.links[row])].multiple
            for row, parent in enumerate(self.parents)
        ]


def fewest_edits(old: Tree, new: Tree) -> int:
    """Return the length of the shortest script, over all ways in which old nodes can live on."""
    left, right = _Side(old), _Side(new)
    best = len(left.types) * 2 + len(right.types) * 2 + 2
    partners: list[int] = []
    used = np.zeros(len(left.types), dtype=bool)

    def search(row: int) -> None:
        nonlocal best
        if row == len(right.types):
            best = min(best, _edits(left, right, partners))
            return
        for candidate, code in enumerate(left.types):
            if code == right.types[row] and not used[candidate]:
                used[candidate] = True
                partners.append(candidate)
                search(row + 1)
                partners.pop()
                used[candidate] = False
        partners.append(-1)
        search(row + 1)
        partners.pop()

    search(0)
    return best


def _edits(left: _Side, right: _Side, partners: list[int]) -> int:
    """Return how many edits there are if nodes live on as `partners` says."""
    kept = {old: new for new, old in enumerate(partners) if old >= 0}
    count = len(left.types) - len(kept) + partners.count(-1)
    stays = set()
    for old, new in kept.items():
        count += left.values[old] != right.values[new]
        by_next, on, link = right.hanging[new]
        parent = right.parents[new]
        here = (by_next, partners[on] if on >= 0 else -1, link, partners[parent] if parent >= 0 else -1)
        is_same = here == (*left.hanging[old], left.parents[old]) and (on < 0 or partners[on] >= 0)
        if is_same and (parent < 0 or partners[parent] >= 0):
            stays.add(old)
    for old in range(len(left.types)):
        with_parent = left.is_single[old] and left.parents[old] not in kept
        count += old not in stays and not with_parent
    for new, old in enumerate(partners):
        with_parent = right.is_single[new] and partners[right.parents[new]] < 0
        count += (old < 0 or old not in stays) and not with_parent
    return count
