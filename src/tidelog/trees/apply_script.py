"""Edits applied one by one, each checked before it is done."""

from collections.abc import Iterator
from dataclasses import field, replace
from typing import assert_never

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.trees.edits import (
    ROOT,
    ROOT_HOLDER,
    Attach,
    Detach,
    Edit,
    EditScript,
    Load,
    NodeRef,
    Unload,
    Update,
)
from tidelog.trees.nodes import NONE, NodesBuilder
from tidelog.trees.pool import ABSENT, TreeValue
from tidelog.trees.schema import NEXT, NodeLink, NodeType, Schema, ValueKind
from tidelog.trees.tree import Tree

_PYTHON_TYPES = {ValueKind.SYMBOL: str, ValueKind.NUMBER: int, ValueKind.FLOAT: float}


def apply_script(tree: Tree, script: EditScript) -> Tree:
    """Return the tree after the edits.

    Every tree on the way is well typed but for its open links: a node hangs on at most one link, a
    link leads to at most one node of an allowed type, and only whole free nodes are unloaded. At the
    end nothing may be open that has to be filled, and nothing free.
    """
    state = _State(script.schema, tree)
    for number, edit in enumerate(script, start=1):
        problem = state.carry_out(edit)
        if problem is not None:
            raise TidelogError([_not_allowed(number, edit, problem)])
    problems = list(state.problems_at_end())
    if problems:
        raise TidelogError(
            [Diagnostic(code="bad-edit", message=f"after the last edit {problem}") for problem in problems]
        )
    return state.finish()


@dataclass(slots=True)
class _Node:
    """A node that edits can change: children by link, the sibling after it, what it hangs on."""

    type: NodeType
    values: dict[str, TreeValue]
    kids: dict[str, int] = field(default_factory=dict)
    next: int | None = None
    # The link it hangs by and the node at its other end; None if it is free.
    held: tuple[str, int] | None = None
    # The node whose child it is, which edits by `next` name.
    parent: int | None = None


class _State:
    def __init__(self, schema: Schema, tree: Tree) -> None:
        self._schema = schema
        self._tree = tree
        self._nodes: dict[int, _Node] = {}
        self._roots: dict[int, None] = {}
        self._next_id = tree.next_id
        self._read(tree)

    def _read(self, tree: Tree) -> None:
        nodes, previous = tree.nodes, tree.nodes.previous()
        for row, node in enumerate(tree.ids.tolist()):
            node_type = self._schema.types[nodes.types[row]]
            numbers = zip(node_type.values, nodes.values_of(row), strict=True)
            values = {link.name: tree.pool.values[number] for link, number in numbers if number != ABSENT}
            made = self._nodes[node] = _Node(node_type, values)
            parent = int(nodes.parents[row])
            if parent == NONE:
                self._roots[node] = None
                made.held = (ROOT, ROOT_HOLDER)
                continue
            holder = int(tree.ids[parent])
            made.parent = holder
            if previous[row] != NONE:
                before = int(tree.ids[previous[row]])
                self._nodes[before].next = node
                made.held = (NEXT, before)
            else:
                link = self._nodes[holder].type.links[nodes.links[row]].name
                self._nodes[holder].kids[link] = node
                made.held = (link, holder)

    # --- one edit ------------------------------------------------------------------------------

    def carry_out(self, edit: Edit) -> str | None:
        """Do the edit, or return what is wrong with it."""
        match edit:
            case Load():
                return self._load(edit)
            case Unload():
                return self._unload(edit)
            case Attach():
                return self._attach(edit)
            case Detach():
                return self._detach(edit)
            case Update():
                return self._update(edit)
        assert_never(edit)

    def _load(self, edit: Load) -> str | None:
        if edit.node.id in self._nodes or edit.node.id == ROOT_HOLDER:
            return f"there is a node #{edit.node.id} already"
        if edit.node.type not in self._schema.codes:
            return f"there is no type `{edit.node.type}`"
        node_type = self._schema.type(edit.node.type)
        links = {link.name: link for link in node_type.links}
        for name, kid in edit.kids:
            link = links.get(name)
            if link is None or link.multiple:
                return f"`{node_type.name}` has no link `{name}` to one node"
            problem = self._missing(kid) or self._not_free(kid) or self._wrong_type(link, kid)
            if problem:
                return problem
        if len({name for name, _ in edit.kids}) < len(edit.kids) or len({kid for _, kid in edit.kids}) < len(
            edit.kids
        ):
            return "a link or a child is named twice"
        problem = _wrong_values(node_type, dict(edit.values))
        if problem:
            return problem
        self._nodes[edit.node.id] = _Node(
            node_type, dict(edit.values), {name: kid.id for name, kid in edit.kids}
        )
        for name, kid in edit.kids:
            self._nodes[kid.id].held = (name, edit.node.id)
            self._nodes[kid.id].parent = edit.node.id
        self._next_id = max(self._next_id, edit.node.id + 1)
        return None

    def _unload(self, edit: Unload) -> str | None:
        problem = self._missing(edit.node) or self._not_free(edit.node)
        if problem:
            return problem
        node = self._nodes[edit.node.id]
        if node.kids != {name: kid.id for name, kid in edit.kids}:
            return f"{edit.node} has other children"
        if any(link.multiple and link.name in node.kids for link in node.type.links):
            return f"{edit.node} has children that are not detached"
        if node.next is not None:
            return f"{edit.node} has a sibling after it"
        if node.values != dict(edit.values):
            return f"{edit.node} has other values"
        for kid in node.kids.values():
            self._nodes[kid].held = self._nodes[kid].parent = None
        del self._nodes[edit.node.id]
        return None

    def _attach(self, edit: Attach) -> str | None:
        problem = self._missing(edit.node) or self._not_free(edit.node)
        if problem:
            return problem
        node = self._nodes[edit.node.id]
        if edit.link == ROOT:
            self._roots[edit.node.id] = None
            node.held = (ROOT, ROOT_HOLDER)
            return None
        problem = self._missing(edit.to) or self._missing(edit.parent) or self._wrong_place(edit)
        if problem:
            return problem
        to = self._nodes[edit.to.id]
        if edit.link == NEXT:
            to.next = edit.node.id
        else:
            to.kids[edit.link] = edit.node.id
        node.held, node.parent = (edit.link, edit.to.id), edit.parent.id
        return None

    def _wrong_place(self, edit: Attach) -> str | None:
        """Return what speaks against the place where a node is to be attached."""
        to = self._nodes[edit.to.id]
        if edit.link == NEXT:
            if to.next is not None:
                return f"{edit.to} has a sibling after it already"
            if to.parent != edit.parent.id:
                return f"{edit.to} is not a child of {edit.parent}"
            link = self._link_of(edit.to.id)
            if link is None or not link.multiple:
                return f"{edit.to} cannot have siblings"
        else:
            links = {link.name: link for link in to.type.links}
            if edit.link not in links:
                return f"`{to.type.name}` has no link `{edit.link}`"
            link = links[edit.link]
            if edit.link in to.kids:
                return f"the link `{edit.link}` of {edit.to} is not free"
            if edit.parent != edit.to:
                return f"the parent is {edit.to}"
        return self._wrong_type(link, edit.node)

    def _link_of(self, node: int) -> NodeLink | None:
        """Return the link under which a node, or the sibling that leads to it, hangs on the parent."""
        held = self._nodes[node].held
        while held is not None and held[0] == NEXT:
            held = self._nodes[held[1]].held
        if held is None or held[0] == ROOT:
            return None
        node_type = self._nodes[held[1]].type
        return node_type.links[node_type.link_code(held[0])]

    def _detach(self, edit: Detach) -> str | None:
        problem = self._missing(edit.node)
        if problem:
            return problem
        node = self._nodes[edit.node.id]
        if node.held != (edit.link, edit.to.id):
            return f"{edit.node} does not hang there"
        if edit.link == ROOT:
            del self._roots[edit.node.id]
        else:
            if node.parent != edit.parent.id:
                return f"the parent of {edit.node} is #{node.parent}"
            to = self._nodes[edit.to.id]
            if edit.link == NEXT:
                to.next = None
            else:
                del to.kids[edit.link]
        node.held = node.parent = None
        return None

    def _update(self, edit: Update) -> str | None:
        problem = self._missing(edit.node)
        if problem:
            return problem
        node = self._nodes[edit.node.id]
        if [name for name, _ in edit.old] != [name for name, _ in edit.new]:
            return "old and new values are of different links"
        values = dict(node.values)
        for (name, old), (_, new) in zip(edit.old, edit.new, strict=True):
            if values.get(name) != old or type(values.get(name)) is not type(old):
                return f"the value `{name}` of {edit.node} is {values.get(name)!r}"
            values.pop(name, None)
            if new is not None:
                values[name] = new
        problem = _wrong_values(node.type, values)
        if not problem:
            node.values = values
        return problem

    # --- questions -----------------------------------------------------------------------------

    def _missing(self, ref: NodeRef) -> str | None:
        node = self._nodes.get(ref.id)
        if node is None:
            return f"there is no node #{ref.id}"
        return None if node.type.name == ref.type else f"node #{ref.id} is of type `{node.type.name}`"

    def _not_free(self, ref: NodeRef) -> str | None:
        held = self._nodes[ref.id].held
        return None if held is None else f"{ref} hangs on #{held[1]} by `{held[0]}`"

    def _wrong_type(self, link: NodeLink, ref: NodeRef) -> str | None:
        if self._schema.accepts(link, self._schema.codes[ref.type]):
            return None
        return f"the link `{link.name}` leads to {' or '.join(link.types)}, not to {ref.type}"

    def problems_at_end(self) -> Iterator[str]:
        """Yield what is open or free and must not be."""
        for node, found in self._nodes.items():
            if found.held is None:
                yield f"{found.type.name}#{node} hangs on nothing"
            for link in found.type.links:
                if not link.optional and not link.multiple and link.name not in found.kids:
                    yield f"{found.type.name}#{node} has no `{link.name}`"

    # --- back to arrays ------------------------------------------------------------------------

    def finish(self) -> Tree:
        """Return the nodes as a tree; roots stand in the order they were attached."""
        builder = NodesBuilder()
        ids: list[int] = []
        number, codes = self._tree.pool.number, self._schema.codes
        stack = [(root, NONE, NONE) for root in reversed(self._roots)]
        while stack:
            node, link, parent = stack.pop()
            found = self._nodes[node]
            values = [
                number(found.values[each.name]) if each.name in found.values else ABSENT
                for each in found.type.values
            ]
            row = builder.add(codes[found.type.name], link, parent, values)
            ids.append(node)
            below: list[tuple[int, int, int]] = []
            for code, each in enumerate(found.type.links):
                child = found.kids.get(each.name)
                while child is not None:
                    below.append((child, code, row))
                    child = self._nodes[child].next
            stack += reversed(below)
        return replace(
            self._tree,
            schema=self._schema,
            nodes=builder.finish(self._schema.value_counts),
            ids=np.array(ids, dtype=np.int64),
            next_id=self._next_id,
            places=None,
        )


def _wrong_values(node_type: NodeType, values: dict[str, TreeValue]) -> str | None:
    links = {link.name: link for link in node_type.values}
    for name, value in values.items():
        if name not in links:
            return f"`{node_type.name}` has no value `{name}`"
        if type(value) is not _PYTHON_TYPES[links[name].kind]:
            return f"the value `{name}` is a {links[name].kind.value}, not {value!r}"
    for name, link in links.items():
        if not link.optional and name not in values:
            return f"the value `{name}` is missing"
    return None


def _not_allowed(number: int, edit: Edit, problem: str) -> Diagnostic:
    return Diagnostic(
        code="bad-edit",
        message=f"edit {number}, `{edit}`, is not allowed: {problem}",
        hint="apply a script only to the tree it was made for",
    )
