"""Values of a known shape as trees, and back."""

import dataclasses
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, assert_never, cast

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.suggest import did_you_mean
from tidelog.trees.annotations import read_class
from tidelog.trees.nodes import NodesBuilder
from tidelog.trees.pool import ABSENT, Pool, TreeValue
from tidelog.trees.schema import (
    ANY,
    ANY_LIST,
    FIRST,
    NodeLink,
    NodeType,
    Schema,
    ValueKind,
    ValueLink,
    identifier,
    link_relation,
    node_relation,
)
from tidelog.trees.shapes import (
    PLAIN,
    EntryOf,
    ListOf,
    MapOf,
    Member,
    Plain,
    RecordOf,
    Ref,
    Shape,
    TupleOf,
    member_name,
)
from tidelog.trees.tree import Tree, new_tree
from tidelog.trees.walk import decode_rows

# The node that stands for None in a list.
_NOTHING: Final = "Nothing"
_NOTHING_TYPE: Final = NodeType(_NOTHING, doc="None in a list.")


@dataclass(frozen=True)
class Fields:
    """The fields of a class or of a kind of dictionary, with the names of their links.

    Of `required` keys None stands for null, of others for a key that is not there.
    """

    shapes: Mapping[str, Shape]
    links: Mapping[str, str]
    required: frozenset[str] = frozenset()


class ShapedValues:
    """The trees of one shape: classes and dictionaries with known keys become types of nodes.

    Places for plain values become value links; all others become node links. Values in lists and
    unions become nodes with a link `value`.
    """

    def __init__(
        self,
        name: str,
        shape: Shape,
        records: Mapping[str, Fields] | None = None,
        shapes: Mapping[str, Shape] | None = None,
    ) -> None:
        self.name = name
        self._shape = shape
        self._records = dict(records or {})
        self._shapes = dict(shapes or {})
        self._classes: dict[type, Fields] = {}
        self._members: dict[str, Member] = {}
        self._types: dict[str, NodeType] = {}
        if self._shape.is_optional:
            self._types[_NOTHING] = _NOTHING_TYPE
        self._declare(self._shape.members)
        self.schema = Schema(tuple(self._types.values()))
        _check_names(self.schema)
        self.pool = Pool()

    # --- types -----------------------------------------------------------------------------------

    def _declare(self, members: Iterable[Member]) -> None:
        """Declare the node types of members, and of all that they can hold."""
        pending = list(members)
        seen: set[str] = set()
        while pending:
            each = pending.pop()
            if isinstance(each, Ref):
                if each.name not in seen:
                    seen.add(each.name)
                    pending += self._shapes[each.name].members
                continue
            name = member_name(each)
            if name in self._members:
                if self._members[name] != each:
                    raise TidelogError([_same_name(name)])
                continue
            self._members[name] = each
            if isinstance(each, type):
                pending += each.__subclasses__()
                if dataclasses.is_dataclass(each):
                    self._classes[each] = _fields_of_class(each)
                    above = tuple(identifier(base.__name__) for base in each.__mro__[1:-1])
                    pending += self._declare_fields(name, self._classes[each], above, _first_line(each))
            elif isinstance(each, RecordOf):
                pending += self._declare_fields(name, self._records[name])
            else:
                pending += self._declare_other(name, each)

    def _declare_fields(
        self, name: str, fields: Fields, above: tuple[str, ...] = (), doc: str = ""
    ) -> Iterator[Member]:
        links, values = [], []
        for key, shape in fields.shapes.items():
            link = fields.links[key]
            if shape.plain is not None:
                values.append(ValueLink(link, shape.plain.kind, shape.is_optional))
            else:
                links.append(self._link(link, shape))
                yield from shape.members
        self._types[name] = NodeType(name, above, tuple(links), tuple(values), doc)

    def _declare_other(
        self, name: str, member: Plain | ListOf | MapOf | EntryOf | TupleOf
    ) -> Iterator[Member]:
        match member:
            case Plain():
                self._types[name] = NodeType(name, values=(ValueLink("value", member.kind),))
            case ListOf():
                if member.element.is_optional:
                    self._types[_NOTHING] = _NOTHING_TYPE
                types = self._type_names(member.element)
                link = NodeLink(FIRST, types, optional=True, multiple=True)
                self._types[name] = NodeType(name, (ANY_LIST,), (link,))
                yield from member.element.members
            case MapOf():
                link = NodeLink(FIRST, (member.entry.name,), optional=True, multiple=True)
                self._types[name] = NodeType(name, (ANY_LIST,), (link,))
                yield member.entry
            case EntryOf():
                key = ValueLink("key", ValueKind.SYMBOL)
                self._types[name] = NodeType(name, (), (self._link("value", member.value),), (key,))
                yield from member.value.members
            case TupleOf():
                links = [self._link(f"item{place}", shape) for place, shape in enumerate(member.items)]
                self._types[name] = NodeType(name, (), tuple(links))
                for shape in member.items:
                    yield from shape.members
            case _:
                assert_never(member)

    def _resolved(self, shape: Shape) -> Iterator[Member]:
        """Yield the members of a shape and of those that it refers to."""
        for member in shape.members:
            if isinstance(member, Ref):
                yield from self._resolved(self._shapes[member.name])
            else:
                yield member

    def _link(self, name: str, shape: Shape) -> NodeLink:
        return NodeLink(name, tuple(map(member_name, self._resolved(shape))), shape.is_optional)

    def _type_names(self, shape: Shape) -> tuple[str, ...]:
        names = tuple(map(member_name, self._resolved(shape)))
        return (*names, _NOTHING) if shape.is_optional else names

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

    def _add(  # noqa: C901, PLR0912 - one case for each kind of member
        self, place: "_Place", builder: NodesBuilder
    ) -> Iterator["_Place"]:
        """Add the node of a value, and yield what hangs on it."""
        value: Any = place.value
        member = self._member(value, place.shape, place.where)
        row = builder.add(self.schema.codes[member_name(member)], place.link, place.parent)
        match member:
            case type():
                fields = self._classes[member]
                found = {key: getattr(value, key) for key in fields.shapes}
                yield from self._add_fields(found, fields, row, place.where, builder)
            case RecordOf():
                yield from self._add_fields(value, self._records[member.name], row, place.where, builder)
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
            case Ref():
                raise AssertionError("a reference is resolved before it is used")
            case _:
                assert_never(member)

    def _add_fields(
        self, values: Mapping[str, object], fields: Fields, row: int, where: str, builder: NodesBuilder
    ) -> Iterator["_Place"]:
        unknown = [key for key in values if key not in fields.shapes]
        if unknown:
            raise TidelogError([_unknown_key(unknown[0], where, fields)])
        link = 0
        for key, shape in fields.shapes.items():
            found = values.get(key)
            inside = f"{where}.{key}"
            # Where null is a value of its own, only a key that is not there is absent.
            is_null = any(isinstance(each, Plain) and each.accepts(None) for each in shape.members)
            is_absent = key not in values or (found is None and shape.is_optional and not is_null)
            if is_absent and not shape.is_optional:
                raise TidelogError([_wrong(found, shape, inside)])
            if shape.plain is None:
                if not is_absent:
                    yield _Place(found, Shape(shape.members), link, row, inside)
                link += 1
            elif is_absent:
                builder.values.append(ABSENT)
            elif shape.plain.accepts(found):
                builder.values.append(self.pool.number(shape.plain.keep(found)))
            else:
                raise TidelogError([_wrong(found, shape, inside)])

    def _member(  # noqa: C901, PLR0912 - one case for each kind of member
        self, value: object, shape: Shape, where: str
    ) -> Member:
        """Return the member of a shape that a value belongs to; a class stands for its subclasses too."""
        for member in self._resolved(shape):
            match member:
                case type():
                    if isinstance(value, member) and dataclasses.is_dataclass(value):
                        return type(value)
                case RecordOf():
                    if type(value) is dict and self._fits(value, self._records[member.name]):
                        return member
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
        for member in self._resolved(shape):
            if isinstance(member, RecordOf) and type(value) is dict:
                # It does not fit, and what is wrong with its keys is told when they are read.
                return member
        raise TidelogError([_wrong(value, shape, where)])

    def _fits(self, value: dict[str, object], fields: Fields) -> bool:
        """Say whether a dictionary has the keys of a record."""
        return value.keys() <= fields.shapes.keys() and fields.required <= value.keys()

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
                fields = self._classes[member]
                return member(**_make_fields(fields, kids, values, fields.shapes.keys()))
            case RecordOf():
                fields = self._records[member.name]
                return _make_fields(fields, kids, values, fields.required)
            case Ref():
                raise AssertionError("a reference has no nodes")
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

    def used_links(self, tree: Tree) -> None:
        """Return None: every declared link can occur."""


class _Place(NamedTuple):
    """A value, what it may be, and where its node hangs."""

    value: object
    shape: Shape
    link: int
    parent: int
    where: str


def _check_names(schema: Schema) -> None:
    """Raise if two things would be called the same as relations."""
    seen: set[str] = set()
    for node_type in schema.types:
        links = [link.name for link in node_type.links if link.name != FIRST]
        links += [value.name for value in node_type.values]
        for name in (node_relation(node_type.name), *(link_relation(node_type.name, each) for each in links)):
            if name in seen or node_type.name in (ANY, ANY_LIST):
                raise TidelogError([_same_name(name)])
            seen.add(name)


def _make_fields(
    fields: Fields, kids: dict[str, list[object]], values: dict[str, TreeValue], always: Container[str]
) -> dict[str, object]:
    """Return the fields by key; those of `always` are None if absent, others are left out."""
    made: dict[str, object] = {}
    for key, shape in fields.shapes.items():
        link = fields.links[key]
        if shape.plain is not None and link in values:
            made[key] = shape.plain.restore(values[link])
        elif link in kids:
            made[key] = kids[link][0]
        elif key in always:
            made[key] = None
    return made


def _fields_of_class(found: type) -> Fields:
    shapes = read_class(found)
    return Fields(shapes, {key: identifier(key) for key in shapes})


def _first_line(found: type) -> str:
    doc = (found.__doc__ or "").strip()
    # A dataclass without a text of its own gets its signature for one.
    return "" if doc.startswith(f"{found.__name__}(") else doc.splitlines()[0] if doc else ""


def _wrong(value: object, shape: Shape, where: str) -> Diagnostic:
    text = repr(value)
    text = text if len(text) <= 60 else text[:57] + "..."
    return Diagnostic(
        code="tree-value",
        message=f"{where} is {text}, which is not of type {shape.name.replace('_or_', ' or ')}",
        hint="values must have the types in the annotations",
    )


def _unknown_key(key: str, where: str, fields: Fields) -> Diagnostic:
    return Diagnostic(
        code="tree-value",
        message=f"{where} has a key {key!r} that its type does not have",
        hint=did_you_mean(key, fields.shapes, f"it has {', '.join(fields.shapes) or 'none'}"),
    )


def _same_name(name: str) -> Diagnostic:
    return Diagnostic(
        code="tree-types-differ",
        message=f"two different types are called `{name}`",
        hint="types of one tree need different names, whatever their modules",
    )
