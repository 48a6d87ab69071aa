"""Languages by name: Python's own parser, and the tree-sitter grammars that are installed."""

from functools import cache
from typing import Protocol

from tidelog.trees.pool import Pool
from tidelog.trees.python_source import PythonSource
from tidelog.trees.schema import Schema
from tidelog.trees.tree import Form, Tree


class Language(Form, Protocol):
    """Turns texts into trees that share types and values."""

    schema: Schema
    pool: Pool
    suffixes: tuple[str, ...]

    def read(self, text: str, name: str = "source") -> Tree:
        """Return the tree of a text; a mistake in it is a `TidelogError`."""

    def read_again(self, text: str, name: str, before: Tree, above: int = 0) -> Tree:
        """Return what `read` returns, given the tree before an edit, with `above` nodes above its root."""


@cache
def find_language(name: str) -> Language:
    """Return the language of a name: `python`, or a tree-sitter grammar such as `go`."""
    if name == "python":
        return PythonSource()
    from tidelog.trees.tree_sitter_source import TreeSitterSource  # noqa: PLC0415 - an optional package

    return TreeSitterSource(name.removeprefix("tree-sitter:"))
