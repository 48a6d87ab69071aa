"""A tree with ids, as a user holds it."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, Protocol

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.suggest import counted
from tidelog.source import Span
from tidelog.trees.declarations import declare
from tidelog.trees.edits import EditScript, NodeRef, Row
from tidelog.trees.facts import Version, rows_of, tree_facts
from tidelog.trees.match import MatchStrategy, match_nodes
from tidelog.trees.nodes import Int32s, Int64s, Nodes
from tidelog.trees.places import NodePlaces
from tidelog.trees.pool import ABSENT, Pool, TreeValue
from tidelog.trees.schema import Schema
from tidelog.trees.write_script import write_script

# Trees of this many nodes together are compared in every way there is, and the shortest script is taken.
_SMALL: Final = 128


class Form(Protocol):
    """What the nodes of a tree stand for: Python values, JSON, source text."""

    @property
    def name(self) -> str:
        """Return what to call it in messages."""

    def decode(self, tree: "Tree", row: int) -> object:
        """Return what the subtree at a row stands for."""

    def used_links(self, tree: "Tree") -> Container[tuple[str, str]] | None:
        """Return the links, by type and name, that can occur at all; None if all can."""


@dataclass(frozen=True, slots=True)
class TreeStep:
    """The step from a tree to the next: the edits, and the tree after them."""

    script: EditScript
    tree: "Tree"


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree, or several side by side, whose nodes have ids that live on when it changes.

        tree = Tree.from_source("x = 1")
        step = tree.update(Tree.from_source("x = 2"))
        print(step.script)      update Constant_int#3 value: 1 -> 2

    Trees compare equal if they look the same, whatever their ids.
    """

    schema: Schema
    pool: Pool
    nodes: Nodes
    ids: Int64s
    next_id: int
    form: Form
    places: NodePlaces | None = None

    # --- what it holds -------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.nodes.count

    def __iter__(self) -> Iterator[NodeRef]:
        """Yield all nodes from the root down."""
        return (self.ref(row) for row in range(len(self)))

    def __contains__(self, node: object) -> bool:
        return isinstance(node, int) and self._find(node) is not None

    @property
    def roots(self) -> tuple[NodeRef, ...]:
        """Return the nodes without a parent."""
        return tuple(self.ref(row) for row in self.nodes.roots().tolist())

    @property
    def root(self) -> NodeRef:
        """Return the only root."""
        (root,) = self.roots
        return root

    def ref(self, row: int) -> NodeRef:
        """Return the node in a row of `nodes`."""
        return NodeRef(self.schema.types[self.nodes.types[row]].name, int(self.ids[row]))

    def row(self, node: int) -> int:
        """Return the row of the node with this id."""
        row = self._find(node)
        if row is None:
            raise TidelogError([Diagnostic(code="no-such-node", message=f"the tree has no node #{node}")])
        return row

    def type_of(self, node: int) -> str:
        """Return the name of a node's type."""
        return self.ref(self.row(node)).type

    def parent_of(self, node: int) -> NodeRef | None:
        """Return the parent of a node; the parent of an element is its list."""
        parent = int(self.nodes.parents[self.row(node)])
        return None if parent < 0 else self.ref(parent)

    def children_of(self, node: int) -> tuple[tuple[str, NodeRef], ...]:
        """Return the links and nodes below a node."""
        row = self.row(node)
        links = self.schema.types[self.nodes.types[row]].links
        return tuple(
            (links[self.nodes.links[child]].name, self.ref(child)) for child in self.nodes.children(row)
        )

    def values_of(self, node: int) -> dict[str, TreeValue]:
        """Return the values of a node by link."""
        row = self.row(node)
        links = self.schema.types[self.nodes.types[row]].values
        numbers = zip(links, self.nodes.values_of(row), strict=True)
        return {link.name: self.pool.values[number] for link, number in numbers if number != ABSENT}

    def span(self, node: int) -> Span | None:
        """Return where a node is in the source text, if there is one.

        A node without a span of its own, such as a list, has that of the nodes below it, or else of its
        parent. Spans are not facts: text that moves does not disturb nodes that stay as they are.
        """
        row = self.row(node)
        if self.places is None:
            return None
        while row >= 0:
            found = self.places.hull(row, row + int(self.nodes.sizes[row]))
            if found is not None:
                return found
            row = int(self.nodes.parents[row])
        return None

    @cached_property
    def _by_id(self) -> tuple[Int64s, Int64s]:
        order = np.argsort(self.ids, kind="stable")
        return self.ids[order], order

    def _find(self, node: int) -> int | None:
        ids, rows = self._by_id
        place = int(np.searchsorted(ids, node))
        return int(rows[place]) if place < ids.size and ids[place] == node else None

    # --- as relations and back -----------------------------------------------------------------

    def declarations(self, program: str | None = None) -> str:
        """Return the declarations of the tree's relations, to be included by programs.

        Given the text of a program, only what the program names is declared, which is quicker to
        keep up to date.
        """
        return declare(self.schema, self.form.used_links(self), self.form.name, program)

    def facts(self, relations: Container[str] | None = None) -> Mapping[str, Mapping[str, object]]:
        """Return the tree's facts as columns by relation; only those of `relations` if given.

        db = tidelog.open(program, facts=tree.facts())
        """
        return tree_facts(self.schema, self.pool, self.nodes, self.ids, relations)

    def rows(self) -> Mapping[str, Iterable[Row]]:
        """Return the tree's facts one by one, by relation."""
        return {name: list(rows_of(columns)) for name, columns in self.facts().items()}

    @staticmethod
    def from_facts(facts: "Mapping[str, Iterable[Row]]", like: "Tree") -> "Tree":
        """Return the tree that facts encode, with the types of another tree; ids are those of the facts.

        `facts` may be a session whose program declares all relations of the tree.
        """
        from tidelog.trees.read_back import tree_from_facts  # noqa: PLC0415 - it makes trees

        return tree_from_facts(facts, like)

    def decode(self) -> object:
        """Return what the tree represents: a Python value, JSON, an `ast` node, a text."""
        (root,) = self.nodes.roots().tolist()
        return self.form.decode(self, root)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        here, there = self.nodes, adapt(other, self).nodes
        return (
            np.array_equal(here.types, there.types)
            and np.array_equal(here.links, there.links)
            and np.array_equal(here.parents, there.parents)
            and np.array_equal(here.values, there.values)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.form.name} tree of {counted(len(self), 'node')}>"

    # --- changes -------------------------------------------------------------------------------

    def diff(self, new: "Tree") -> EditScript:
        """Return the edits that lead from this tree to one that equals `new`."""
        return self.update(new).script

    def update(self, new: "Tree") -> TreeStep:
        """Return the edits that lead to `new`, and `new` with the ids of the nodes that live on.

        Time is linear in the size of both trees. Nodes that are new get ids that were never used.
        """
        new = adapt(new, self)
        is_small = self.nodes.count + new.nodes.count <= _SMALL
        steps = [
            self._step(new, match_nodes(self.nodes, new.nodes, strategy))
            for strategy in (MatchStrategy if is_small else [MatchStrategy.MOVES])
        ]
        step = min(steps, key=lambda each: len(each.script))
        if len(step.script) > _replacing(self) + _replacing(new):
            return self._step(new, np.full(new.nodes.count, -1, dtype=np.int32))
        return step

    def _step(self, new: "Tree", partners: Int32s) -> TreeStep:
        fresh = partners < 0
        ids = np.where(fresh, 0, self.ids[partners] if self.nodes.count else 0)
        count = int(fresh.sum())
        ids[fresh] = np.arange(self.next_id, self.next_id + count)
        result = replace(new, ids=ids, next_id=self.next_id + count)
        script = write_script(
            Version(new.schema, self.pool, self.nodes, self.ids),
            Version(new.schema, self.pool, new.nodes, ids),
            partners,
        )
        return TreeStep(script, result)

    def apply(self, script: EditScript) -> "Tree":
        """Return the tree after the edits, each of which is checked against types and links.

        Raises `TidelogError` if an edit is not allowed; the tree itself never changes.
        """
        from tidelog.trees.apply_script import apply_script  # noqa: PLC0415 - it makes trees

        return apply_script(self, script)

    # --- where trees come from -----------------------------------------------------------------

    @staticmethod
    def from_python(value: object, annotation: object = None) -> "Tree":
        """Return the tree of a typed Python value: dataclasses, unions, enums, lists, nested.

        `annotation` is the type of the whole, if it is not simply the value's class.
        """
        from tidelog.trees.python_values import from_python  # noqa: PLC0415 - it makes trees

        return from_python(value, annotation)

    @staticmethod
    def from_json(
        value: object,
        schema: Mapping[str, object] | None = None,
        *,
        like: "Tree | None" = None,
        examples: Sequence[object] = (),
    ) -> "Tree":
        """Return the tree of a JSON value, as `json.loads` returns it.

        Its types come from a JSON Schema, or from another tree that it is `like`, or else from what
        the value and further `examples` look like.
        """
        from tidelog.trees.json_values import from_json  # noqa: PLC0415 - it makes trees

        return from_json(value, schema, like, examples)

    @staticmethod
    def from_source(text: str, language: str = "python", name: str = "source") -> "Tree":
        """Return the syntax tree of a text.

        `python` is read by Python's own parser; `tree-sitter:go` by the installed tree-sitter grammar
        of that name, which `go` alone means too. Raises `TidelogError` where the text has mistakes.
        """
        from tidelog.trees.languages import find_language  # noqa: PLC0415 - it makes trees

        return find_language(language).read(text, name)


def _replacing(tree: Tree) -> int:
    """Return how many edits it takes to load a whole tree, or to unload it."""
    nodes = tree.nodes
    parent_types = np.where(nodes.parents < 0, len(tree.schema.types), nodes.types[nodes.parents])
    return nodes.count + int((~tree.schema.single_links[parent_types, nodes.links]).sum())


def new_tree(schema: Schema, pool: Pool, nodes: Nodes, form: Form, places: NodePlaces | None = None) -> Tree:
    """Return a tree with ids of its own, from 1."""
    ids = np.arange(1, nodes.count + 1, dtype=np.int64)
    return Tree(schema, pool, nodes, ids, nodes.count + 1, form, places)


def adapt(tree: Tree, to: Tree) -> Tree:
    """Return the tree with the types and value numbers of another one.

    Its schema may be longer than the other's, or the other's longer than its own, but types of one
    name must have the same links.
    """
    if tree.schema is to.schema and tree.pool is to.pool:
        return tree
    schema, recode = _common(to.schema, tree.schema)
    nodes = tree.nodes
    types = nodes.types if recode is None else recode(nodes.types)
    values = to.pool.translate(nodes.values, tree.pool)
    return replace(tree, schema=schema, pool=to.pool, nodes=replace(nodes, types=types, values=values))


def _common(base: Schema, other: Schema) -> tuple[Schema, Callable[[Int32s], Int32s] | None]:
    """Return a schema that begins with `base`, and how to turn type codes of `other` into its codes."""
    if base is other or base.types == other.types:
        return base, None
    if other.types[: len(base.types)] == base.types:
        return other, None
    added = [each for each in other.types if each.name not in base.codes]
    clashes = [each for each in other.types if each.name in base.codes and base.type(each.name) != each]
    if clashes:
        raise TidelogError([_clash(each.name) for each in clashes])
    schema = Schema((*base.types, *added), {**other.docs, **base.docs}) if added else base
    table = np.array([schema.codes[each.name] for each in other.types], dtype=np.int32)
    return schema, lambda types: table[types]


def _clash(name: str) -> Diagnostic:
    return Diagnostic(
        code="tree-types-differ",
        message=f"the two trees have different types called `{name}`",
        hint="read both with the same types: the same classes, the same JSON Schema, or `like=`",
    )
