"""The relations of a tree, each indexed as its invariant allows.

A node is in the relation of its type once. A link to a node is one to one: a node has it once, and
nothing else leads where it leads. A link to a value is many to one. What is absent is not stored at
all: it is answered from the indexes of what is there, whose changes it passes on.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.suggest import undeclared_relation
from tidelog.trees.edits import PARENT, ROOT, EditScript, Row
from tidelog.trees.pool import TreeValue
from tidelog.trees.schema import ANY, FIRST, NEXT, Schema, link_relation, node_relation

# Hears of every fact that is about to be inserted (True) or deleted (False).
Listener = Callable[[Row, bool], object]


class TreeIndex(Protocol):
    """Facts of one relation: all of them, one of them, and those with a given first value."""

    def __iter__(self) -> Iterator[Row]: ...

    def __contains__(self, fact: object) -> bool: ...

    def __len__(self) -> int: ...

    def listen(self, listener: Listener) -> None:
        """Tell a listener of every change from now on."""


class _Stored:
    def __init__(self, name: str) -> None:
        self.name = name
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        """Tell a listener of every change from now on."""
        self._listeners.append(listener)

    def _tell(self, fact: Row, *, is_insert: bool) -> None:
        for listener in self._listeners:
            listener(fact, is_insert)

    def _refuse(self, fact: Row, why: str) -> TidelogError:
        return TidelogError(
            [
                Diagnostic(
                    code="tree-facts",
                    message=f"{self.name}{fact} does not belong to a tree: {why}",
                    hint="apply whole edit scripts, each to the facts it was made for",
                )
            ]
        )


class NodeSet(_Stored):
    """The nodes of a type: a set of ids."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._ids: set[int] = set()

    def __iter__(self) -> Iterator[Row]:
        return ((node,) for node in self._ids)

    def __contains__(self, fact: object) -> bool:
        return isinstance(fact, tuple) and len(fact) == 1 and fact[0] in self._ids

    def __len__(self) -> int:
        return len(self._ids)

    def insert(self, fact: Row) -> None:
        """Insert a node that is not there."""
        if fact[0] in self._ids:
            raise self._refuse(fact, "the node is there already")
        self._tell(fact, is_insert=True)
        self._ids.add(int(fact[0]))

    def delete(self, fact: Row) -> None:
        """Delete a node that is there."""
        if fact[0] not in self._ids:
            raise self._refuse(fact, "there is no such node")
        self._tell(fact, is_insert=False)
        self._ids.remove(int(fact[0]))


class _Link(_Stored):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._forward: dict[int, TreeValue] = {}

    def __iter__(self) -> Iterator[Row]:
        return iter(self._forward.items())

    def __contains__(self, fact: object) -> bool:
        if not (isinstance(fact, tuple) and len(fact) == 2):
            return False
        found = self._forward.get(fact[0])
        return found == fact[1] and type(found) is type(fact[1])

    def __len__(self) -> int:
        return len(self._forward)

    def get(self, node: int) -> TreeValue | None:
        """Return where the link of a node leads, if it has one."""
        return self._forward.get(node)

    def insert(self, fact: Row) -> None:
        """Insert the link of a node that has none."""
        node, to = fact
        if node in self._forward:
            raise self._refuse(fact, f"the link of {node} is not free")
        self._check(fact)
        self._tell(fact, is_insert=True)
        self._forward[int(node)] = to
        self._turn(fact, is_insert=True)

    def delete(self, fact: Row) -> None:
        """Delete a link that is there."""
        if fact not in self:
            raise self._refuse(fact, "there is no such link")
        self._tell(fact, is_insert=False)
        del self._forward[int(fact[0])]
        self._turn(fact, is_insert=False)

    def _check(self, fact: Row) -> None:
        """Raise if the other end of a new link is not free."""

    def _turn(self, fact: Row, *, is_insert: bool) -> None:
        """Note a link, or its end, at its other end."""
        raise NotImplementedError


class OneToOne(_Link):
    """Links to nodes: from a node to one node, and to a node from one node."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._backward: dict[TreeValue, int] = {}

    def holder(self, to: int) -> int | None:
        """Return the node whose link leads to a node."""
        return self._backward.get(to)

    def _check(self, fact: Row) -> None:
        if fact[1] in self._backward:
            raise self._refuse(fact, f"{self._backward[fact[1]]} leads to {fact[1]} already")

    def _turn(self, fact: Row, *, is_insert: bool) -> None:
        if is_insert:
            self._backward[fact[1]] = int(fact[0])
        else:
            del self._backward[fact[1]]


class ManyToOne(_Link):
    """Links to values: from a node to one value, and to a value from any number of nodes."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._backward: dict[TreeValue, set[int]] = {}

    def holders(self, value: TreeValue) -> frozenset[int]:
        """Return the nodes that have a value."""
        return frozenset(self._backward.get(value, ()))

    def _turn(self, fact: Row, *, is_insert: bool) -> None:
        if is_insert:
            self._backward.setdefault(fact[1], set()).add(int(fact[0]))
            return
        nodes = self._backward[fact[1]]
        nodes.remove(int(fact[0]))
        if not nodes:
            del self._backward[fact[1]]


class Undefined:
    """Nodes that are in one relation and have no fact in another; nothing of it is stored.

    A script is passed on as a whole: a listener hears of the nodes that are different after it.
    """

    def __init__(self, name: str, among: NodeSet, missing: NodeSet | _Link) -> None:
        self.name = name
        self._among = among
        self._missing = missing
        self._listeners: list[Listener] = []
        self._touched: dict[int, bool] = {}
        among.listen(self._hear)
        missing.listen(self._hear)

    def __iter__(self) -> Iterator[Row]:
        return (fact for fact in self._among if fact in self)

    def __contains__(self, fact: object) -> bool:
        if fact not in self._among:
            return False
        assert isinstance(fact, tuple)
        if isinstance(self._missing, NodeSet):
            return fact not in self._missing
        return self._missing.get(fact[0]) is None

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def listen(self, listener: Listener) -> None:
        """Tell a listener of every change from now on."""
        self._listeners.append(listener)

    def _hear(self, fact: Row, _: bool) -> None:  # noqa: FBT001 - a listener
        node = int(fact[0])
        if node not in self._touched:
            self._touched[node] = (node,) in self

    def flush(self) -> None:
        """Tell the listeners what is different since the last time."""
        touched, self._touched = self._touched, {}
        for node, was in touched.items():
            now = (node,) in self
            if now != was:
                for listener in self._listeners:
                    listener((node,), now)


class TreeRelations:
    """The facts of a tree in indexes, brought up to date by edit scripts.

    relations = TreeRelations(tree.schema, tree.rows())
    relations["Link_Add_left"].holder(7)
    relations.apply(script)
    """

    def __init__(self, schema: Schema, facts: Mapping[str, Iterable[Row]]) -> None:
        self.schema = schema
        self._stored: dict[str, NodeSet | _Link] = {ROOT: NodeSet(ROOT), PARENT: ManyToOne(PARENT)}
        for name in schema.members:
            self._stored[node_relation(name)] = NodeSet(node_relation(name))
        for name in (FIRST, NEXT):
            self._stored[name] = OneToOne(name)
        self._among: dict[str, str] = {}
        for node_type in schema.types:
            for link in node_type.links:
                self._add_link(node_type.name, OneToOne(link_relation(node_type.name, link.name)))
            for value in node_type.values:
                self._add_link(node_type.name, ManyToOne(link_relation(node_type.name, value.name)))
        self._virtual: dict[str, Undefined] = {}
        for name, rows in facts.items():
            for row in rows:
                self._stored[name].insert(tuple(row))

    def _add_link(self, type_name: str, index: "OneToOne | ManyToOne") -> None:
        # All lists share one relation for their first elements.
        if index.name not in self._stored:
            self._stored[index.name] = index
            self._among[index.name] = node_relation(type_name)

    def __getitem__(self, name: str) -> NodeSet | OneToOne | ManyToOne | Undefined:
        if name in self._stored:
            return self._stored[name]  # type: ignore[return-value]
        missing = name.removeprefix("undef_")
        if missing == name or missing not in self._stored:
            raise TidelogError([undeclared_relation(name, self._stored, is_asked=True)])
        if name not in self._virtual:
            among = self._stored[self._among.get(missing, node_relation(ANY))]
            assert isinstance(among, NodeSet)
            self._virtual[name] = Undefined(name, among, self._stored[missing])
        return self._virtual[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def apply(self, script: EditScript) -> None:
        """Apply what a script inserts and deletes, deletions first."""
        changes = script.changes()
        for name, change in changes.items():
            for fact in change.delete:
                self._stored[name].delete(fact)
        for name, change in changes.items():
            for fact in change.insert:
                self._stored[name].insert(fact)
        for virtual in self._virtual.values():
            virtual.flush()

    def facts(self) -> dict[str, set[Row]]:
        """Return all facts that are stored, by relation; relations without facts are left out."""
        return {name: set(index) for name, index in self._stored.items() if len(index)}
