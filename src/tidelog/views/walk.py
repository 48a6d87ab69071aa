"""All nodes below a node."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from tidelog.source import Span
from tidelog.syntax import tree


def walk(node: object, *, into_aggregates: bool = True) -> Iterator[object]:
    """Yield the node and every node below it, in the order they are written.

    Works on the nodes of a tree and of a program alike. Without `into_aggregates`, what stands
    inside an aggregate is left out.
    """
    if isinstance(node, tuple):
        for part in node:
            yield from walk(part, into_aggregates=into_aggregates)
    elif is_dataclass(node) and not isinstance(node, Span | type):
        yield node
        if isinstance(node, tree.Aggregate) and not into_aggregates:
            return
        for field in fields(node):
            yield from walk(getattr(node, field.name), into_aggregates=into_aggregates)
