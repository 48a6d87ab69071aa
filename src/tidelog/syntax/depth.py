"""Refusing trees that are too deep for the passes that recurse over them."""

from collections.abc import Iterator, Sequence
from typing import Final

from tidelog.errors import Diagnostic
from tidelog.source import Span
from tidelog.syntax.tree import Component
from tidelog.syntax.walk_tree import Node, children

# A chain `1 + 1 + ...` is read in a loop but is as deep a tree as nested brackets are.
MAX_DEPTH: Final = 150


def check_depth(items: Sequence[Node]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for every item whose tree is deeper than `MAX_DEPTH`.

    A component is passed over: its items are checked when they are read.
    """
    for item in items:
        deepest = None if isinstance(item, Component) else _node_below(item)
        if deepest is not None:
            yield Diagnostic(
                code="nested-too-deeply",
                message=f"the text is nested more than {MAX_DEPTH} levels deep here",
                span=deepest,
                hint="split it with auxiliary relations or variables",
            )


def _node_below(item: Node) -> Span | None:
    """Return the span of a node deeper than the limit, or None."""
    waiting: list[tuple[Node, int]] = [(item, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > MAX_DEPTH:
            return node.span
        waiting.extend((below, depth + 1) for below in children(node))
    return None
