"""Edits of a tree, and scripts of them."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, assert_never, overload

from tidelog.dataclass import dataclass
from tidelog.program.suggest import counted
from tidelog.trees.pool import TreeValue
from tidelog.trees.schema import NEXT, Schema, link_relation, node_relation

# The link by which a root is held, and the id that holds it.
ROOT: Final = "root"
ROOT_HOLDER: Final = 0
# Facts of the relations that every tree has.
PARENT: Final = "parent"


@dataclass(frozen=True, slots=True)
class NodeRef:
    """A node: its type and its id, written `Add#1`."""

    type: str
    id: int

    def __str__(self) -> str:
        return f"{self.type}#{self.id}"


@dataclass(frozen=True, slots=True)
class Load:
    """A new node, with the free nodes that become its children and with its values.

    Children under `multiple` links, such as elements of a list, are attached afterwards.
    """

    node: NodeRef
    kids: tuple[tuple[str, NodeRef], ...] = ()
    values: tuple[tuple[str, TreeValue], ...] = ()

    def __str__(self) -> str:
        return f"load {_shown(self.node, self.kids, self.values)}"


@dataclass(frozen=True, slots=True)
class Unload:
    """The end of a free node; its children become free."""

    node: NodeRef
    kids: tuple[tuple[str, NodeRef], ...] = ()
    values: tuple[tuple[str, TreeValue], ...] = ()

    def __str__(self) -> str:
        return f"unload {_shown(self.node, self.kids, self.values)}"


@dataclass(frozen=True, slots=True)
class Attach:
    """A free node becomes a child of `to` by a link that is free.

    By the link `next` it comes after its sibling `to`; `parent` is then the parent of both, and
    otherwise `to` itself. A root hangs by the link `root` on nothing, whose id is 0.
    """

    node: NodeRef
    link: str
    to: NodeRef
    parent: NodeRef

    def __str__(self) -> str:
        return f"attach {_hanging(self)}"


@dataclass(frozen=True, slots=True)
class Detach:
    """A node becomes free, and so does the link it hung by; the fields are those of `Attach`."""

    node: NodeRef
    link: str
    to: NodeRef
    parent: NodeRef

    def __str__(self) -> str:
        return f"detach {_hanging(self)}"


@dataclass(frozen=True, slots=True)
class Update:
    """Values of a node change; None stands for an optional value that is absent."""

    node: NodeRef
    old: tuple[tuple[str, TreeValue | None], ...]
    new: tuple[tuple[str, TreeValue | None], ...]

    def __str__(self) -> str:
        changes = (
            f"{name}: {_value(before)} -> {_value(after)}"
            for (name, before), (_, after) in zip(self.old, self.new, strict=True)
        )
        return f"update {self.node} {', '.join(changes)}"


Edit = Load | Unload | Attach | Detach | Update
"""One change of a tree."""
Row = tuple[TreeValue, ...]


@dataclass(frozen=True, slots=True)
class FactChanges:
    """Facts of one relation to insert and to delete."""

    insert: tuple[Row, ...] = ()
    delete: tuple[Row, ...] = ()


Columns = Mapping[str, object]
"""Facts of one relation, column by column."""


@dataclass(frozen=True, slots=True)
class ColumnChanges:
    """Facts of one relation to insert and to delete, column by column; None where there are none."""

    insert: Columns | None = None
    delete: Columns | None = None


WriteColumns = Callable[[Container[str] | None], Mapping[str, ColumnChanges]]


class EditScript(Sequence[Edit]):
    """Edits that lead from one tree to another, in an order in which every one is allowed.

        script = old.diff(new)
        print(script)
        db.apply(script)
        db.apply(script.inverse())

    Edits may come from a function, which is called when they are first needed, and so may the facts that they
    change, whole columns at a time.
    """

    def __init__(
        self,
        schema: Schema,
        edits: Iterable[Edit] | Callable[[], Iterable[Edit]],
        count: int | None = None,
        columns: WriteColumns | None = None,
    ) -> None:
        self.schema = schema
        self._source = edits
        self._count = count
        self._columns = columns

    @cached_property
    def edits(self) -> tuple[Edit, ...]:
        """Return all edits."""
        return tuple(self._source() if callable(self._source) else self._source)

    def __len__(self) -> int:
        return len(self.edits) if self._count is None else self._count

    @overload
    def __getitem__(self, place: int) -> Edit: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Edit, ...]: ...

    def __getitem__(self, place: int | slice) -> Edit | tuple[Edit, ...]:
        return self.edits[place]

    def __iter__(self) -> Iterator[Edit]:
        return iter(self.edits)

    def __eq__(self, other: object) -> bool:
        return self.edits == other.edits if isinstance(other, EditScript) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return "\n".join(map(str, self.edits))

    def __repr__(self) -> str:
        return f"<edit script of {counted(len(self), 'edit')}>"

    def inverse(self) -> "EditScript":
        """Return the script that leads back."""
        columns = self._columns

        def write(relations: Container[str] | None) -> Mapping[str, ColumnChanges]:
            assert columns is not None
            changes = columns(relations).items()
            return {name: ColumnChanges(change.delete, change.insert) for name, change in changes}

        written = None if columns is None else write
        return EditScript(self.schema, lambda: map(_inverted, reversed(self.edits)), self._count, written)

    def changes(self, relations: Container[str] | None = None) -> Mapping[str, FactChanges]:
        """Return the facts that are inserted and deleted, by relation; what cancels out is left out.

            script.changes()["Link_Add_left"].insert

        With `relations`, only facts of these relations are returned.
        """
        net: dict[str, dict[Row, int]] = {}
        writer = _FactWriter(self.schema, relations, net)
        for edit in self.edits:
            writer.add(edit)
        return {
            relation: FactChanges(
                tuple(row for row, diff in rows.items() if diff > 0),
                tuple(row for row, diff in rows.items() if diff < 0),
            )
            for relation, rows in net.items()
            if any(rows.values())
        }

    def columns(self, relations: Container[str] | None = None) -> Mapping[str, ColumnChanges]:
        """Return what `changes` returns, whole columns at a time and in any order."""
        if self._columns is not None:
            return self._columns(relations)
        changes = self.changes(relations).items()
        return {
            name: ColumnChanges(_as_columns(change.insert), _as_columns(change.delete))
            for name, change in changes
        }

    @property
    def fact_count(self) -> int:
        """Return how many facts are inserted and deleted."""
        return sum(len(each.insert) + len(each.delete) for each in self.changes().values())


class _FactWriter:
    """Adds up the facts that edits insert and delete, of the relations that are wanted."""

    def __init__(
        self, schema: Schema, relations: Container[str] | None, net: dict[str, dict[Row, int]]
    ) -> None:
        self._schema = schema
        self._relations = relations
        self._net = net
        self._nodes: dict[str, tuple[dict[Row, int], ...]] = {}
        self._links: dict[tuple[str, str], dict[Row, int] | None] = {}
        self._roots = self._rows(ROOT)
        self._parents = self._rows(PARENT)

    def add(self, edit: Edit) -> None:
        match edit:
            case Load():
                self._content(edit, 1)
            case Unload():
                self._content(edit, -1)
            case Attach():
                self._place(edit, 1)
            case Detach():
                self._place(edit, -1)
            case Update(node, old, new):
                for values, diff in ((old, -1), (new, 1)):
                    for link, value in values:
                        if value is not None:
                            _count(self._link(node.type, link), (node.id, value), diff)
            case _:
                assert_never(edit)

    def _content(self, edit: Load | Unload, diff: int) -> None:
        node = edit.node
        for rows in self._node(node.type):
            _count(rows, (node.id,), diff)
        for link, kid in edit.kids:
            _count(self._link(node.type, link), (node.id, kid.id), diff)
            _count(self._parents, (kid.id, node.id), diff)
        for link, value in edit.values:
            _count(self._link(node.type, link), (node.id, value), diff)

    def _place(self, edit: Attach | Detach, diff: int) -> None:
        if edit.link == ROOT:
            _count(self._roots, (edit.node.id,), diff)
        else:
            _count(self._link(edit.to.type, edit.link), (edit.to.id, edit.node.id), diff)
            _count(self._parents, (edit.node.id, edit.parent.id), diff)

    def _rows(self, relation: str) -> dict[Row, int] | None:
        if self._relations is not None and relation not in self._relations:
            return None
        return self._net.setdefault(relation, {})

    def _node(self, type_name: str) -> tuple[dict[Row, int], ...]:
        found = self._nodes.get(type_name)
        if found is None:
            names = sorted(self._schema.names_of(self._schema.codes[type_name]))
            all_rows = [self._rows(node_relation(name)) for name in names]
            found = self._nodes[type_name] = tuple(rows for rows in all_rows if rows is not None)
        return found

    def _link(self, type_name: str, link: str) -> dict[Row, int] | None:
        key = (type_name, link)
        if key not in self._links:
            self._links[key] = self._rows(link_relation(type_name, link))
        return self._links[key]


def _count(rows: dict[Row, int] | None, row: Row, diff: int) -> None:
    if rows is not None:
        rows[row] = rows.get(row, 0) + diff


def _as_columns(rows: tuple[Row, ...]) -> Columns | None:
    return {str(place): column for place, column in enumerate(zip(*rows, strict=True))} or None


def _inverted(edit: Edit) -> Edit:
    match edit:
        case Load(node, kids, values):
            return Unload(node, kids, values)
        case Unload(node, kids, values):
            return Load(node, kids, values)
        case Attach(node, link, to, parent):
            return Detach(node, link, to, parent)
        case Detach(node, link, to, parent):
            return Attach(node, link, to, parent)
        case Update(node, old, new):
            return Update(node, new, old)


def _shown(
    node: NodeRef, kids: tuple[tuple[str, NodeRef], ...], values: tuple[tuple[str, TreeValue], ...]
) -> str:
    parts = [f"{link}: {kid}" for link, kid in kids] + [f"{link}: {_value(value)}" for link, value in values]
    return f"{node} ({', '.join(parts)})" if parts else str(node)


def _hanging(edit: Attach | Detach) -> str:
    if edit.link == ROOT:
        return f"{edit.node} as root"
    if edit.link == NEXT:
        return f"{edit.node} as next of {edit.to} in {edit.parent}"
    return f"{edit.node} as {edit.link} of {edit.to}"


def _value(value: TreeValue | None) -> str:
    return "nothing" if value is None else repr(value)
