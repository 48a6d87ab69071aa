"""Python annotations as what a link may lead to."""

import dataclasses
import enum
import types
import typing
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, Literal, Union, get_args, get_origin

from tidelog.errors import Diagnostic, TidelogError
from tidelog.trees.schema import ValueKind, identifier
from tidelog.trees.shapes import PLAIN, EntryOf, ListOf, MapOf, Member, Plain, Shape, TupleOf

_LISTS: Final = (list, tuple, Sequence)


def read_annotation(annotation: object, where: str) -> Shape:
    """Return what an annotation allows; `where` is for messages."""
    members: list[Member] = []
    is_optional = False
    for part in _alternatives(annotation):
        if part is None or part is type(None):
            is_optional = True
        else:
            members += _members(part, where)
    return Shape(tuple(dict.fromkeys(members)), is_optional)


def _alternatives(annotation: object) -> Sequence[object]:
    while isinstance(annotation, typing.NewType):
        annotation = annotation.__supertype__
    origin = get_origin(annotation)
    if origin is typing.Annotated:
        return _alternatives(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [part for each in get_args(annotation) for part in _alternatives(each)]
    return [annotation]


def _members(part: object, where: str) -> list[Member]:
    origin, arguments = get_origin(part), get_args(part)
    if origin is Literal:
        return list(dict.fromkeys(_literal(value, where) for value in arguments))
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is ...):
        items = tuple(read_annotation(each, where) for each in arguments)
        return [TupleOf("_".join(["Tuple", *(each.name for each in items)]), items)]
    if origin in _LISTS:
        element = read_annotation(arguments[0], where)
        make = tuple if origin is tuple else list
        python = tuple if origin is tuple else list
        prefix = "Tuples" if origin is tuple else "List"
        return [ListOf(f"{prefix}_{element.name}", element, make, python)]
    if origin in (dict, Mapping) and arguments and arguments[0] is str:
        value = read_annotation(arguments[1], where)
        return [MapOf(f"Map_{value.name}", EntryOf(f"Entry_{value.name}", value))]
    if isinstance(part, type):
        return [_of_class(part, where)]
    raise TidelogError([_unusable(part, where)])


def _of_class(found: type, where: str) -> Member:
    if found in PLAIN:
        return PLAIN[found]
    if issubclass(found, enum.Enum):
        return _of_enum(found)
    # A base class stands for its subclasses, but `object` would stand for whatever happens to be loaded.
    if dataclasses.is_dataclass(found) or (found is not object and found.__subclasses__()):
        return found
    raise TidelogError([_unusable(found, where)])


# Kept, so that one enum is one member wherever it is met.
@cache
def _of_enum(found: type[enum.Enum]) -> Plain:
    return Plain(
        identifier(found.__name__),
        ValueKind.SYMBOL,
        lambda x: type(x) is found,
        lambda x: x.name,
        lambda name: found[name],
    )


def _literal(value: object, where: str) -> Plain:
    if type(value) not in PLAIN:
        raise TidelogError([_unusable(value, where)])
    return PLAIN[type(value)]


def _unusable(part: object, where: str) -> Diagnostic:
    return Diagnostic(
        code="tree-annotation",
        message=f"{where}: `{part}` cannot be part of a tree",
        hint="use dataclasses, enums, str, int, float, bool, bytes, list, tuple, dict[str, ...] and unions",
    )


def read_class(found: type) -> Mapping[str, Shape]:
    """Return the fields of a dataclass; names in its annotations are looked up where it was defined."""
    where = f"class {found.__name__}"
    try:
        hints = typing.get_type_hints(found, include_extras=True)
    except (NameError, TypeError) as error:
        message = f"{where}: its annotations cannot be read: {error}"
        raise TidelogError([Diagnostic(code="tree-annotation", message=message)]) from error
    fields = [each for each in dataclasses.fields(found) if each.init]
    return {each.name: read_annotation(hints[each.name], f"{where}, field {each.name}") for each in fields}
