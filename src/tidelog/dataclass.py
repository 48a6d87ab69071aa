"""Dataclasses that cost little before they are used.

`dataclasses.dataclass` writes and compiles six methods for every class: that was a third of the start of a
small program, and most classes are never used in a process. Here methods are shared where that costs nothing,
and the others are written when they are first called. Everything else is as it is there, `fields` and
`replace` included, and to the type checker it is the same. What extends a frozen one must be one of these
too.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - it is offered to others
    from inspect import Signature

# In place of an argument that a factory makes.
_FACTORY: Final = object()


def _dataclass(
    found: type | None = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,  # noqa: A002 - as it is called there
) -> Any:
    """Return a class as a dataclass, or without a class what makes a dataclass of one."""

    def make(found: type) -> type:
        own = set(found.__dict__)
        if "__eq__" in own and found.__hash__ is None:
            # Python says so of every class with an equality of its own.
            own.discard("__hash__")
        # Otherwise the signature is worked out, to put it there.
        found.__doc__ = found.__doc__ or found.__name__
        made: type = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(found)
        methods: dict[str, Any] = {"__init__": _first_init(made), "__signature__": _Signature()}
        if repr:
            methods["__repr__"] = _shown
        if eq:
            methods["__eq__"] = _first_equality(made)
            methods["__hash__"] = _first_hash(made) if frozen else None
        if frozen:
            methods |= {"__setattr__": _refuse_setting, "__delattr__": _refuse_deleting}
        if frozen and slots:
            methods |= {"__getstate__": _state, "__setstate__": _restore}
        if "__init__" in own:
            del methods["__signature__"]
        for name in methods.keys() - own:
            setattr(made, name, methods[name])
        return made

    return make if found is None else make(found)


if not TYPE_CHECKING:
    dataclass = _dataclass


def _written(
    owner: type, name: str, write: Callable[[type], tuple[str, dict[str, Any]]]
) -> Callable[..., Any]:
    """Write a method, put it in its place and return it."""
    text, names = write(owner)
    exec(text, names)  # noqa: S102 - it is made of names of fields
    method: Callable[..., Any] = names[name]
    method.__qualname__ = f"{owner.__qualname__}.{name}"
    setattr(owner, name, method)
    return method


class _Signature:
    """What `inspect.signature` and `help` ask a class for."""

    def __get__(self, _: object, owner: type) -> "Signature":
        """Return the signature of `__init__`, which is written for that."""
        from inspect import signature  # noqa: PLC0415 - a program asks for none

        for each in owner.__mro__:
            if isinstance(vars(each).get("__signature__"), _Signature):
                _written(each, "__init__", _write_init)
                break
        found = signature(owner.__init__)  # type: ignore[misc]
        return found.replace(parameters=list(found.parameters.values())[1:])


def _first_init(owner: type) -> Callable[..., None]:
    def __init__(self: object, *arguments: object, **named: object) -> None:  # noqa: N807 - it is one
        _written(owner, "__init__", _write_init)(self, *arguments, **named)

    return __init__


def _first_equality(owner: type) -> Callable[[object, object], bool]:
    def __eq__(self: object, other: object) -> bool:  # noqa: N807 - it is one
        found: bool = _written(owner, "__eq__", _write_equality)(self, other)
        return found

    return __eq__


def _first_hash(owner: type) -> Callable[[object], int]:
    def __hash__(self: object) -> int:  # noqa: N807 - it is one
        found: int = _written(owner, "__hash__", _write_hash)(self)
        return found

    return __hash__


def _write_equality(owner: type) -> tuple[str, dict[str, Any]]:
    names = [each.name for each in fields(owner) if each.compare]
    own, others = _values_of("self", names), _values_of("other", names)
    is_same = "other.__class__ is self.__class__"
    return f"def __eq__(self, other): return {own} == {others} if {is_same} else NotImplemented", {}


def _write_hash(owner: type) -> tuple[str, dict[str, Any]]:
    names = [each.name for each in fields(owner) if (each.compare if each.hash is None else each.hash)]
    return f"def __hash__(self): return hash({_values_of('self', names)})", {}


def _values_of(found: str, names: list[str]) -> str:
    """Return the text of a tuple of fields."""
    return f"({''.join(f'{found}.{name}, ' for name in names)})"


def _write_init(owner: type) -> tuple[str, dict[str, Any]]:
    names: dict[str, Any] = {"_FACTORY": _FACTORY, "_set": object.__setattr__}
    lines: list[str] = []
    positional, named = ["self"], ["*"]
    is_frozen = vars(owner).get("__setattr__") is _refuse_setting
    for each in fields(owner):
        value = _taken(each, names)
        if each.init:
            (named if each.kw_only else positional).append(_parameter(each))
        if value and is_frozen:
            lines.append(_setting(owner, each.name, value, names))
        elif value:
            lines.append(f"self.{each.name} = {value}")
    if hasattr(owner, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join(positional + (named if len(named) > 1 else []))
    return f"def __init__({parameters}):\n " + "\n ".join(lines or ["pass"]), names


def _parameter(field: "Field[Any]") -> str:
    if field.default_factory is not MISSING:
        return f"{field.name}=_FACTORY"
    return field.name if field.default is MISSING else f"{field.name}=_default_{field.name}"


def _taken(field: "Field[Any]", names: dict[str, Any]) -> str:
    """Return the text of the value that a field gets, nothing for one that somebody else sets."""
    name = field.name
    if field.default_factory is not MISSING:
        names[f"_factory_{name}"] = field.default_factory
        made = f"_factory_{name}()"
        return f"{made} if {name} is _FACTORY else {name}" if field.init else made
    if field.default is not MISSING:
        names[f"_default_{name}"] = field.default
        return name if field.init else f"_default_{name}"
    return name if field.init else ""


def _setting(owner: type, name: str, value: str, names: dict[str, Any]) -> str:
    """Return the statement that sets a field of a frozen object."""
    slot = getattr(owner, name, None)
    if isinstance(slot, MemberDescriptorType):
        names[f"_set_{name}"] = slot.__set__
        return f"_set_{name}(self, {value})"
    return f"_set(self, {name!r}, {value})"


@recursive_repr()
def _shown(self: Any) -> str:
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse_setting(_: object, name: str, __: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deleting(_: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[object]:
    return [getattr(self, each.name) for each in fields(self)]


def _restore(self: Any, state: list[object]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
