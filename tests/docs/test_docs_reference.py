"""The reference has every public name, and every public name has a docstring."""

import inspect
import re
from importlib import import_module

import pytest

from support.doc_pages import ROOT

MODULES = ("tidelog", *(f"tidelog.{name}" for name in ("analysis", "pipeline", "spark", "trees", "web")))
PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))


def public_names() -> list[str]:
    """Return all names that are exported, with their modules."""
    return [
        f"{module}.{name}"
        for module in MODULES
        for name in import_module(module).__all__
        if name != "__version__"
    ]


def find(name: str) -> object:
    """Return what a qualified name stands for."""
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def members(cls: type) -> list[tuple[str, object]]:
    """Return the methods and properties that a class or a class of ours above it defines."""
    ours = [each for each in cls.__mro__ if each.__module__.startswith("tidelog")]
    found = {name: member for each in reversed(ours) for name, member in vars(each).items()}
    return [(name, member) for name, member in found.items() if not name.startswith("_")]


def is_explained(member: object) -> bool:
    """Say whether a function or a property has a docstring; a plain value needs none."""
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    function = getattr(function, "__func__", function)
    return not inspect.isfunction(function) or bool(function.__doc__)


def test_the_reference_has_every_public_name_once() -> None:
    """What can be imported is on one page of the reference, and nothing else is."""
    shown = [
        name
        for page in PAGES
        for name in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    ]

    assert sorted(shown) == sorted(public_names())


@pytest.mark.parametrize("name", public_names())
def test_every_public_name_has_a_docstring(name: str) -> None:
    """A function, a class and each method that a user can call says what it does."""
    value = find(name)
    is_class = inspect.isclass(value)

    assert not callable(value) or inspect.getdoc(value)
    # A dataclass without a docstring gets its signature for one.
    assert not is_class or not (value.__doc__ or "").startswith(f"{value.__name__}(")
    without = [each for each, member in members(value) if not is_explained(member)] if is_class else []
    assert without == []
