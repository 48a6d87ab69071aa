"""A sample of every node kind of a module of nodes, made from the annotations of its fields."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from itertools import count
from types import ModuleType
from typing import Any, get_args, get_origin, get_type_hints


class Samples:
    """Makes nodes in which every field that can hold nodes holds one, each a different object.

    A node kind is a dataclass of the module that can hold one of the `roots`, however deep, or is one; by
    default every dataclass of the module.
    """

    def __init__(self, module: ModuleType, roots: object = None) -> None:
        self.classes: dict[type, dict[str, Any]] = {
            found: {field.name: get_type_hints(found, vars(module))[field.name] for field in fields(found)}
            for found in vars(module).values()
            if isinstance(found, type) and is_dataclass(found) and found.__module__ == module.__name__
        }
        self.kinds = set(self.classes if roots is None else _classes_in(roots))
        before = -1
        while len(self.kinds) > before:
            before = len(self.kinds)
            self.kinds |= {
                kind for kind, hints in self.classes.items() if any(map(self.holds, hints.values()))
            }
        self.numbers = count()

    def holds(self, hint: object) -> bool:
        """Say whether a field of this annotation can hold nodes."""
        return not self.kinds.isdisjoint(_classes_in(hint))

    def make(self, kind: type) -> tuple[Any, list[Any]]:
        """Return a node of the kind, and the nodes directly below it."""
        below: list[Any] = []
        return self._node(kind, below, is_filled=True), below

    def _node(self, kind: type, below: list[Any], *, is_filled: bool) -> Any:
        """Return a node that is filled with nodes, or holds as few as it can."""
        return kind(
            **{
                name: self._value(hint, below, is_filled=is_filled)
                if self.holds(hint)
                else f"{name} {next(self.numbers)}"
                for name, hint in self.classes[kind].items()
            }
        )

    def _value(self, hint: Any, below: list[Any], *, is_filled: bool) -> object:
        """Return a value for a field that holds nodes, adding these to `below`."""
        if isinstance(hint, type) and hint in self.kinds:
            below.append(self._node(hint, [], is_filled=False))
            return below[-1]
        parts = get_args(hint)
        origin = get_origin(hint)
        if origin is tuple and Ellipsis not in parts:
            return tuple(self._value(x, below, is_filled=True) if self.holds(x) else "text" for x in parts)
        if origin is tuple:
            return (self._value(parts[0], below, is_filled=True),) if is_filled else ()
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"key": self._value(parts[1], below, is_filled=True)} if is_filled else {}
        if type(None) in parts and not is_filled:
            return None
        # A union: the first kind in it, which is the simplest.
        return self._value(parts[0], below, is_filled=is_filled)


def _classes_in(hint: object) -> list[type]:
    if isinstance(hint, type) and is_dataclass(hint):
        return [hint]
    return [found for part in get_args(hint) for found in _classes_in(part)]
