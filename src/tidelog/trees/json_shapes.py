"""What JSON values may look like: read from a JSON Schema, or from examples."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.trees.schema import ValueKind, identifier
from tidelog.trees.shaped_values import Fields
from tidelog.trees.shapes import (
    NUMBER_RANGE,
    PLAIN,
    EntryOf,
    ListOf,
    MapOf,
    Member,
    Plain,
    RecordOf,
    Ref,
    Shape,
)

# The name of the type of a document that has no other.
ROOT_NAME: Final = "Root"
# The name of the shape that allows every JSON value.
ANYTHING: Final = "Json"
# Whole numbers up to here are floats without loss.
_EXACT: Final = range(-(2**53), 2**53 + 1)

TEXT: Final = PLAIN[str]
INTEGER: Final = PLAIN[int]
TRUTH: Final = PLAIN[bool]
NUMBER: Final = Plain(
    "number",
    ValueKind.FLOAT,
    lambda x: type(x) is float or (type(x) is int and x in _EXACT),
    float,
    float,
)
NULL: Final = Plain("null", ValueKind.SYMBOL, lambda x: x is None, lambda _: "null", lambda _: None)


@dataclass(frozen=True)
class JsonShapes:
    """The shape of a document, of each kind of object in it, and shapes referred to by name."""

    shape: Shape
    records: Mapping[str, Fields]
    shapes: Mapping[str, Shape]


def list_of(element: Shape) -> ListOf:
    """Return arrays of one kind of element."""
    return ListOf(f"List_{element.name}", element, list, list)


def map_of(value: Shape) -> MapOf:
    """Return objects with any keys and one kind of value."""
    return MapOf(f"Map_{value.name}", EntryOf(f"Entry_{value.name}", value))


def anything() -> Shape:
    """Return the shape that refers to itself in arrays and objects and allows every value."""
    this = Shape((Ref(ANYTHING),))
    return Shape((TEXT, INTEGER, NUMBER, TRUTH, NULL, list_of(this), map_of(this)))


# --- from a JSON Schema ----------------------------------------------------------------------------


def read_json_schema(schema: Mapping[str, object]) -> JsonShapes:
    """Return the shapes that a JSON Schema describes."""
    reader = _SchemaReader(schema)
    shape = reader.read(schema, _type_name(str(schema.get("title", ROOT_NAME))))
    reader.finish()
    return JsonShapes(shape, reader.records, reader.shapes)


_Schema = Mapping[str, object]


class _SchemaReader:
    def __init__(self, whole: _Schema) -> None:
        self._whole = whole
        self.records: dict[str, Fields] = {}
        self.shapes: dict[str, Shape] = {}
        self._pending: list[tuple[str, _Schema]] = []
        self._named: dict[str, str] = {}

    def read(self, schema: object, name: str) -> Shape:
        """Return the shape of a schema; `name` is for the type of its objects."""
        if schema is True or schema == {}:
            return self._anything()
        if not isinstance(schema, Mapping):
            raise TidelogError([_bad_schema(f"{name}: a schema is an object or true, not {schema!r}")])
        if "$ref" in schema:
            return Shape((Ref(self._refer(str(schema["$ref"]))),))
        for word in ("anyOf", "oneOf"):
            if isinstance(schema.get(word), list):
                parts = [self.read(each, f"{name}{place}") for place, each in enumerate(schema[word], 1)]
                return _union(parts)
        if isinstance(schema.get("allOf"), list):
            return self.read(self._merged(schema), name)
        if isinstance(schema.get("enum"), list) or "const" in schema:
            values = schema["enum"] if "enum" in schema else [schema["const"]]
            return _union([_of_value(value, name) for value in values])
        kinds = schema.get("type", "object" if "properties" in schema else None)
        if kinds is None:
            return self._anything()
        names = kinds if isinstance(kinds, list) else [kinds]
        return _union([self._of_kind(str(kind), schema, name) for kind in names])

    def _of_kind(self, kind: str, schema: _Schema, name: str) -> Shape:
        simple = {"string": TEXT, "integer": INTEGER, "number": NUMBER, "boolean": TRUTH}
        if kind in simple:
            return Shape((simple[kind],))
        if kind == "null":
            return Shape((), is_optional=True)
        if kind == "array":
            return Shape((list_of(self.read(schema.get("items", True), f"{name}Item")),))
        if kind != "object":
            raise TidelogError([_bad_schema(f"{name}: there is no type {kind!r}")])
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or not properties:
            return Shape((map_of(self.read(schema.get("additionalProperties", True), f"{name}Value")),))
        own = _type_name(str(schema.get("title", name)))
        unique, number = own, 2
        while unique in self.records:
            unique, number = f"{own}{number}", number + 1
        # Known before it is read, for a schema may lead back to itself.
        self.records[unique] = Fields({}, {})
        self._pending.append((unique, schema))
        return Shape((RecordOf(unique),))

    def finish(self) -> None:
        """Read the properties of the objects met."""
        while self._pending:
            name, schema = self._pending.pop()
            properties = schema["properties"]
            assert isinstance(properties, Mapping)
            required = schema.get("required", [])
            assert isinstance(required, list)
            shapes = {}
            for key, each in properties.items():
                shape = self.read(each, _type_name(str(key)))
                shapes[str(key)] = _field_shape(shape, is_required=key in required)
            self.records[name] = Fields(
                shapes, link_names(shapes), frozenset(str(key) for key in required if key in shapes)
            )

    def _refer(self, path: str) -> str:
        if path in self._named:
            return self._named[path]
        found = self._at(path)
        name = _type_name(path.rsplit("/", 1)[-1]) if path != "#" else ROOT_NAME
        reference, number = name, 2
        while reference in self.shapes:
            reference, number = f"{name}{number}", number + 1
        self._named[path] = reference
        self.shapes[reference] = Shape(())
        self.shapes[reference] = self.read(found, name)
        return reference

    def _merged(self, schema: _Schema) -> _Schema:
        """Return a schema with `allOf` as one object."""
        merged: dict[str, object] = {key: value for key, value in schema.items() if key != "allOf"}
        parts = schema["allOf"]
        assert isinstance(parts, list)
        for each in parts:
            part = each
            if isinstance(part, Mapping) and "$ref" in part:
                part = self._at(str(part["$ref"]))
            if not isinstance(part, Mapping):
                continue
            for key, value in part.items():
                before = merged.get(key)
                if isinstance(value, Mapping) and isinstance(before, Mapping):
                    merged[key] = {**before, **value}
                elif isinstance(value, list) and isinstance(before, list):
                    merged[key] = [*before, *value]
                else:
                    merged[key] = value
        return merged

    def _at(self, path: str) -> object:
        found: object = self._whole
        for part in path.removeprefix("#").strip("/").split("/") if path != "#" else ():
            if not isinstance(found, Mapping) or part not in found:
                raise TidelogError([_bad_schema(f"there is no {path!r}")])
            found = found[part]
        return found

    def _anything(self) -> Shape:
        self.shapes.setdefault(ANYTHING, anything())
        return Shape((Ref(ANYTHING),))


# --- from examples -----------------------------------------------------------------------------------


@dataclass
class _Seen:
    """What was met in one place, or in all places of one name."""

    plains: dict[str, Plain] = field(default_factory=dict)
    has_null: bool = False
    element: "_Seen | None" = None
    record: str | None = None


@dataclass
class _SeenRecord:
    """What was met in objects of one name: by key, and how often each key was there."""

    count: int = 0
    keys: dict[str, _Seen] = field(default_factory=dict)
    present: dict[str, int] = field(default_factory=dict)


def infer_shapes(examples: Iterable[object]) -> JsonShapes:
    """Return shapes that all the examples have.

    Objects below the same key are of one type, wherever they are.
    """
    whole = _Seen()
    records: dict[str, _SeenRecord] = {}
    pending: list[tuple[object, _Seen, str]] = [(each, whole, ROOT_NAME) for each in examples]
    while pending:
        value, seen, name = pending.pop()
        match value:
            case None:
                seen.has_null = True
            case dict():
                seen.record = name
                record = records.setdefault(name, _SeenRecord())
                record.count += 1
                for key, found in value.items():
                    record.present[key] = record.present.get(key, 0) + 1
                    pending.append((found, record.keys.setdefault(key, _Seen()), _type_name(key)))
            case list():
                seen.element = seen.element or _Seen()
                # An array in an array is told apart from the array it is in.
                pending.extend((found, seen.element, name) for found in value)
            case _:
                plain = next((each for each in (TRUTH, INTEGER, NUMBER, TEXT) if each.accepts(value)), None)
                if plain is None:
                    raise TidelogError([_no_json(value)])
                seen.plains[plain.name] = plain
    return JsonShapes(_seen_shape(whole), {name: _seen_fields(each) for name, each in records.items()}, {})


def _seen_fields(record: _SeenRecord) -> Fields:
    required = frozenset(key for key, times in record.present.items() if times == record.count)
    # In the order of the keys' names, so that the order of examples does not matter.
    shapes = {
        key: _field_shape(_seen_shape(record.keys[key]), is_required=key in required)
        for key in sorted(record.keys)
    }
    return Fields(shapes, link_names(shapes), required)


def _seen_shape(seen: _Seen) -> Shape:
    members: list[Member] = list(seen.plains.values())
    if INTEGER in members and NUMBER in members:
        members.remove(INTEGER)
    if seen.element is not None:
        members.append(list_of(_seen_shape(seen.element)))
    if seen.record is not None:
        members.append(RecordOf(seen.record))
    # Null alone says nothing about what else there may be; text is the most likely.
    return Shape(tuple(members) or (TEXT,), seen.has_null)


# --- both ------------------------------------------------------------------------------------------


def _field_shape(shape: Shape, *, is_required: bool) -> Shape:
    """Return the shape of a key's value: null is nothing if the key must be there, and else a node."""
    if is_required or not shape.is_optional:
        return Shape(shape.members, is_optional=shape.is_optional or not is_required)
    return Shape((*shape.members, NULL), is_optional=True)


def _union(parts: list[Shape]) -> Shape:
    members = dict.fromkeys(member for part in parts for member in part.members)
    if INTEGER in members and NUMBER in members:
        del members[INTEGER]
    return Shape(tuple(members), any(part.is_optional for part in parts))


def _of_value(value: object, name: str) -> Shape:
    if value is None:
        return Shape((), is_optional=True)
    for plain in (TRUTH, INTEGER, NUMBER, TEXT):
        if plain.accepts(value):
            return Shape((plain,))
    raise TidelogError([_bad_schema(f"{name}: {value!r} cannot be one of a list of values")])


def link_names(keys: Iterable[str]) -> dict[str, str]:
    """Return a name for the link of each key, no two the same."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for key in keys:
        name = base = identifier(key)
        number = 2
        while name in taken:
            name, number = f"{base}{number}", number + 1
        names[key] = name
        taken.add(name)
    return names


def _type_name(key: str) -> str:
    """Return a key as the name of a type: `user-info` becomes `UserInfo`."""
    words = re.findall(r"[A-Za-z0-9]+", key)
    return "".join(word[0].upper() + word[1:] for word in words) or "Object"


def _bad_schema(message: str) -> Diagnostic:
    return Diagnostic(code="json-schema", message=f"the JSON Schema cannot be used: {message}")


def _no_json(value: object) -> Diagnostic:
    range_hint = f"whole numbers are from {NUMBER_RANGE.start} to {NUMBER_RANGE.stop - 1}"
    return Diagnostic(code="tree-value", message=f"{value!r} is not a JSON value", hint=range_hint)
