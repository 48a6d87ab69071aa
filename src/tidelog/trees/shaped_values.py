"""Typed Python values as trees, and back."""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, assert_never, cast

from tidelog.errors import Diagnostic, TidelogError
from tidelog.trees.annotations import (
    PLAIN,
    ClassFields,
    EntryOf,
    ListOf,
    MapOf,
    Member,
    Plain,
    Shape,
    TupleOf,
    member_name,
    read_annotation,
    read_class,
)
from tidelog.trees.nodes import NodesBuilder
from tidelog.trees.pool import ABSENT, Pool, TreeValue
from tidelog.trees.schema import (
    ANY_LIST,
    FIRST,
    NodeLink,
    NodeType,
    Schema,
    ValueKind,
    ValueLink,
    identifier,
)
from tidelog.trees.tree import Tree, new_tree
from tidelog.trees.walk import decode_rows

# The node that stands for None in a list.
_NOTHING: Final = "Nothing"
_NOTHING_TYPE: Final = NodeType(_NOTHING, doc="None in a list.")


def from_python(value: object, annotation: object = None) -> Tree:
    """Return the tree of a value; `annotation` is its type if the class does not say it all."""
    return PythonValues(type(value) if annotation is None else annotation).encode(value)


class PythonValues:
    """The trees of one annotation: dataclasses and their subclasses become types of nodes.

    Fields of `str`, `int`, `float`, `bool`, `bytes` and enums become value links; all others become
    node links. Values in lists and unions become nodes with a link `value`.
    """

    name = "python values"

    def __init__(self, annotation: object) -> None:
        self._shape = read_annotation(annotation, "the annotation")
        self._classes: dict[type, ClassFields] = {}
        self._members: dict[str, Member] = {}
        self._types: dict[str, NodeType] = {}
        if self._shape.is_optional:
            self._types[_NOTHING] = _NOTHING_TYPE
        self._declare(self._shape.members)
        self.schema = Schema(tuple(self._types.values()))
        self.pool = Pool()

    # --- types -----------------------------------------------------------------------------------

    def _declare(self, members: Iterable[Member]) -> None:
        """Declare the node types of members, and of all that they can hold."""
        pending = list(members)
        while pending:
            each = pending.pop()
            name = member_name(each)
            if name in self._members:
                if self._members[name] != each:
                    raise TidelogError([_same_name(name)])
                continue
            self._members[name] = each
            if isinstance(each, type):
                pending += each.__subclasses__()
                if dataclasses.is_dataclass(each):
                    pending += self._declare_class(name, each)
            else:
                pending += self._declare_other(name, each)

    def _declare_class(self, name: str, found: type) -> Iterator[Member]:
        fields = self._classes[found] = read_class(found)
        links, values = [], []
        for field, shape in fields.shapes.items():
            if shape.plain is not None:
                values.append(ValueLink(identifier(field), shape.plain.kind, shape.is_optional))
            else:
                links.append(_link(identifier(field), shape))
                yield from shape.members
        above = tuple(identifier(base.__name__) for base in found.__mro__[1:-1])
        self._types[name] = NodeType(name, above, tuple(links), tuple(values), _first_line(found))

    def _declare_other(self, name: str, member: Plain | ListOf | MapOf | EntryOf | TupleOf) -> Iterator[Member]:
        match member:
            case Plain():
                self._types[name] = NodeType(name, values=(ValueLink("value", member.kind),))
            case ListOf():
                if member.element.is_optional:
                    self._types[_NOTHING] = _NOTHING_TYPE
                types = _type_names(member.element)
                link = NodeLink(FIRST, types, optional=True, multiple=True)
                self._types[name] = NodeType(name, (ANY_LIST,), (link,))
                yield from member.element.members
            case MapOf():
                link = NodeLink(FIRST, (member.entry.name,), optional=True, multiple=True)
                self._types[name] = NodeType(name, (ANY_LIST,), (link,))
                yield member.entry
            case EntryOf():
                key = ValueLink("key", ValueKind.SYMBOL)
                self._types[name] = NodeType(name, (), (_link("value", member.value),), (key,))
                yield from member.value.members
            case TupleOf():
                links = [_link(f"item{place}", shape) for place, shape in enumerate(member.items)]
                self._types[name] = NodeType(name, (), tuple(links))
                for shape in member.items:
                    yield from shape.members
            case _:
                assert_never(member)

    # --- values to nodes -------------------------------------------------------------------------

    def encode(self, value: object) -> Tree:
        """Return the tree of a value."""
        builder = NodesBuilder()
        stack = [_Place(value, self._shape, -1, -1, "the value")]
        while stack:
            place = stack.pop()
            if place.value is None and place.shape.is_optional:
                builder.add(self.schema.codes[_NOTHING], place.link, place.parent)
                continue
            stack += reversed(list(self._add(place, builder)))
        return new_tree(self.schema, self.pool, builder.finish(self.schema.value_counts), self)

    def _add(self, place: "_Place", builder: NodesBuilder) -> Iterator["_Place"]:
        """Add the node of a value, and yield what hangs on it."""
        value: Any = place.value
        member = _member(value, place.shape, place.where)
        row = builder.add(self.schema.codes[member_name(member)], place.link, place.parent)
        match member:
            case type():
                yield from self._add_fields(value, self._classes[member], row, place.where, builder)
            case Plain():
                builder.values.append(self.pool.number(member.keep(value)))
            case ListOf():
                for number, element in enumerate(value):
                    yield _Place(element, member.element, 0, row, f"{place.where}[{number}]")
            case MapOf():
                for key, element in value.items():
                    yield _Place((key, element), Shape((member.entry,)), 0, row, f"{place.where}[{key!r}]")
            case EntryOf():
                key, element = value
                if type(key) is not str:
                    raise TidelogError([_wrong(key, Shape((PLAIN[str],)), f"a key of {place.where}")])
                builder.values.append(self.pool.number(key))
                if element is not None or not member.value.is_optional:
                    yield _Place(element, member.value, 0, row, place.where)
            case TupleOf():
                for number, (element, shape) in enumerate(zip(value, member.items, strict=True)):
                    if element is not None or not shape.is_optional:
                        yield _Place(element, shape, number, row, f"{place.where}[{number}]")
            case _:
                assert_never(member)

    def _add_fields(
        self, value: object, fields: ClassFields, row: int, where: str, builder: NodesBuilder
    ) -> Iterator["_Place"]:
        link = 0
        for field, shape in fields.shapes.items():
            found = getattr(value, field)
            inside = f"{where}.{field}"
            if shape.plain is not None:
                if found is None and shape.is_optional:
                    builder.values.append(ABSENT)
                elif shape.plain.accepts(found):
                    builder.values.append(self.pool.number(shape.plain.keep(found)))
                else:
                    raise TidelogError([_wrong(found, shape, inside)])
                continue
            if found is not None or not shape.is_optional:
                yield _Place(found, shape, link, row, inside)
            link += 1

    # --- nodes to values -------------------------------------------------------------------------

    def decode(self, tree: Tree, row: int) -> object:
        """Return the value of a subtree."""
        return decode_rows(tree, row, self._make)

    def _make(self, _: int, name: str, kids: dict[str, list[object]], values: dict[str, TreeValue]) -> object:
        if name == _NOTHING:
            return None
        member = self._members[name]
        match member:
            case type():
                return _make_object(self._classes[member], kids, values)
            case Plain():
                return member.restore(values["value"])
            case ListOf():
                return member.make(kids.get(FIRST, []))
            case MapOf():
                return dict(cast("list[tuple[str, object]]", kids.get(FIRST, [])))
            case EntryOf():
                return values["key"], kids.get("value", [None])[0]
            case TupleOf():
                places = range(len(member.items))
                return tuple(kids.get(f"item{place}", [None])[0] for place in places)
        assert_never(member)

    def used_links(self, tree: Tree) -> None:  # noqa: ARG002 - all links can occur
        """Return None: every declared link can occur."""


class _Place(NamedTuple):
    """A value, what it may be, and where its node hangs."""

    value: object
    shape: Shape
    link: int
    parent: int
    where: str


def _make_object(fields: ClassFields, kids: dict[str, list[object]], values: dict[str, TreeValue]) -> object:
    made: dict[str, object] = {}
    for field, shape in fields.shapes.items():
        name = identifier(field)
        if shape.plain is not None:
            made[field] = shape.plain.restore(values[name]) if name in values else None
        else:
            made[field] = kids[name][0] if name in kids else None
    return fields.python(**made)


def _member(value: object, shape: Shape, where: str) -> Member:
    """Return the member of a shape that a value belongs to; a class stands for its subclasses too."""
    for member in shape.members:
        match member:
            case type():
                if isinstance(value, member) and dataclasses.is_dataclass(value):
                    return type(value)
            case Plain():
                if member.accepts(value):
                    return member
            case ListOf():
                if type(value) is member.python:
                    return member
            case MapOf():
                if type(value) is dict:
                    return member
            case EntryOf():
                return member
            case TupleOf():
                if type(value) is tuple and len(value) == len(member.items):
                    return member
    raise TidelogError([_wrong(value, shape, where)])


def _link(name: str, shape: Shape) -> NodeLink:
    return NodeLink(name, tuple(member_name(member) for member in shape.members), shape.is_optional)


def _type_names(shape: Shape) -> tuple[str, ...]:
    names = tuple(member_name(member) for member in shape.members)
    return (*names, _NOTHING) if shape.is_optional else names


def _first_line(found: type) -> str:
    doc = (found.__doc__ or "").strip()
    # A dataclass without a text of its own gets its signature for one.
    return "" if doc.startswith(f"{found.__name__}(") else doc.splitlines()[0] if doc else ""


def _wrong(value: object, shape: Shape, where: str) -> Diagnostic:
    text = repr(value)
    text = text if len(text) <= 60 else text[:57] + "..."
    return Diagnostic(
        code="tree-value",
        message=f"{where} is {text}, which is no {shape.name.replace('_or_', ' or ')}",
        hint="values must be of the types that the annotations say",
    )


def _same_name(name: str) -> Diagnostic:
    return Diagnostic(
        code="tree-types-differ",
        message=f"two different types are called `{name}`",
        hint="types of one tree need different names, whatever their modules",
    )
