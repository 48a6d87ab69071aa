"""Typed Python values as trees."""

from tidelog.trees.annotations import read_annotation
from tidelog.trees.shaped_values import ShapedValues
from tidelog.trees.tree import Tree


def from_python(value: object, annotation: object = None) -> Tree:
    """Return the tree of a value; `annotation` is its type if the class does not say it all.

    Dataclasses and their subclasses become types of nodes. Fields of `str`, `int`, `float`, `bool`,
    `bytes` and enums become value links, and all others node links.
    """
    return python_values(type(value) if annotation is None else annotation).encode(value)


def python_values(annotation: object) -> ShapedValues:
    """Return the trees of an annotation."""
    return ShapedValues("python values", read_annotation(annotation, "the annotation"))
