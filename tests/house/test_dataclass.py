"""Our dataclasses behave as those of `dataclasses`, method by method."""

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field, replace
from inspect import signature

import pytest

from tidelog import dataclass as ours

OPTIONS = [
    {},
    {"slots": True},
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "eq": False},
]
MAKERS = [dataclasses.dataclass, ours.dataclass]


def _made(make, options):
    """Return a class with fields of all kinds, and one that extends it."""

    @make(**options)
    class Base:
        """A base."""

        first: int
        hidden: str = field(compare=False, repr=False, kw_only=True)
        items: list[int] = field(default_factory=list)
        flag: bool = True

    @make(**options)
    class Extended(Base):
        """With more fields, and something to do afterwards."""

        more: tuple[int, ...] = (1, 2)
        later: int = field(init=False, default=7)

        def __post_init__(self) -> None:
            object.__setattr__(self, "later", self.first + 1)

    return Base, Extended


def _told(call) -> object:
    """Return what a call gives, or the kind of its error."""
    try:
        return call()
    except (TypeError, AttributeError) as error:
        return type(error)


CALLS = {
    "repr": lambda base, extended: (repr(base(1, hidden="h")), repr(extended(1, [2], hidden="h"))),
    "too few": lambda base, _: base(hidden="h"),
    "too many": lambda base, _: base(1, [], True, 2, hidden="h"),
    "named": lambda base, _: repr(base(first=3, flag=False, hidden="h")),
    "unknown": lambda base, _: base(1, hidden="h", other=2),
    "own lists": lambda base, _: base(1, hidden="h").items is base(1, hidden="h").items,
    "equal": lambda base, _: base(1, hidden="h") == base(1, hidden="other"),
    "unequal": lambda base, _: base(1, hidden="h") == base(2, hidden="h"),
    "of another class": lambda base, extended: base(1, hidden="h") == extended(1, hidden="h"),
    "hash": lambda base, _: len({base(1, (), hidden="h"), base(1, (), hidden="other")}),
    "set": lambda base, _: setattr(base(1, hidden="h"), "first", 2),
    "delete": lambda base, _: delattr(base(1, hidden="h"), "first"),
    "replace": lambda _, extended: repr(replace(extended(1, hidden="h"), first=5)),
    "copy": lambda _, extended: repr(copy.copy(extended(1, hidden="h"))),
    "deep copy": lambda _, extended: repr(copy.deepcopy(extended(1, hidden="h"))),
    "match": lambda base, extended: (base.__match_args__, extended.__match_args__),
    "fields": lambda _, extended: [
        (each.name, each.init, each.kw_only) for each in dataclasses.fields(extended)
    ],
    "post": lambda _, extended: extended(4, hidden="h").later,
    "dictionary": lambda base, _: hasattr(base(1, hidden="h"), "__dict__"),
}


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(options) or "plain")
@pytest.mark.parametrize("name", CALLS)
def test_it_does_what_the_other_does(options: dict[str, bool], name: str):
    """For every option and way to use a dataclass both give the same, or the same kind of error."""
    expected, found = (_told(lambda make=make: CALLS[name](*_made(make, options))) for make in MAKERS)

    assert found == expected


@ours.dataclass(frozen=True, slots=True)
class Kept:
    """A class that pickle finds."""

    name: str
    inner: "Kept | None" = None


def test_pickle():
    """A frozen object with slots can be sent to another process."""
    sent = pickle.dumps(Kept("a", Kept("b")))

    assert pickle.loads(sent) == Kept("a", Kept("b"))  # noqa: S301 - it is ours


@pytest.mark.parametrize("make", MAKERS)
def test_methods_of_its_own(make):
    """A class keeps the methods that it has; with an equality of its own it still has a hash."""

    @make(frozen=True)
    class Own:  # noqa: PLW1641 - the decorator does
        name: str

        def __repr__(self) -> str:
            return f"own {self.name}"

        def __eq__(self, other: object) -> bool:
            return True

    assert (repr(Own("a")), Own("a") == Own("b"), hash(Own("a")) == hash(Own("a"))) == ("own a", True, True)


def test_frozen_errors():
    """The error names the field."""
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
        Kept("a").name = "b"  # type: ignore[misc]


def test_a_signature_lists_the_fields():
    """`help` and notebooks show how an object is made, before the first one is."""

    @ours.dataclass(frozen=True)
    class Point:
        x: int
        y: int = 2

    class Named(Point):
        def __init__(self, name: str) -> None:
            super().__init__(len(name))

    assert list(signature(Point).parameters) == ["x", "y"]
    assert signature(Point).parameters["y"].default == 2
    assert list(signature(Named).parameters) == ["name"]
    assert Point(1) == Point(1, 2)
