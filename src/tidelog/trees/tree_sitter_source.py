"""Source text of any language as a tree, by a tree-sitter grammar that is installed."""

import importlib
from collections.abc import Container, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tidelog.errors import Diagnostic, TidelogError
from tidelog.source import Source, Span
from tidelog.trees.file_type import FILE_TYPE
from tidelog.trees.grammar import CHILDREN, TEXT, TOKEN, WORDS, grammar_links, grammar_schema
from tidelog.trees.nodes import NONE, NodesBuilder
from tidelog.trees.places import NodePlaces
from tidelog.trees.pool import ABSENT, Pool, TreeValue
from tidelog.trees.tree import Tree, new_tree
from tidelog.trees.walk import decode_rows

if TYPE_CHECKING:
    import tree_sitter

# Tokens that say nothing which the types of the nodes do not say.
_PUNCTUATION: Final = frozenset("()[]{},;:.") | {"\n", ""}
_SUFFIXES: Final = {
    "c": (".c", ".h"),
    "cpp": (".cc", ".cpp", ".cxx", ".hh", ".hpp"),
    "go": (".go",),
    "java": (".java",),
    "javascript": (".js", ".mjs", ".cjs", ".jsx"),
    "python": (".py",),
    "ruby": (".rb",),
    "rust": (".rs",),
    "typescript": (".ts",),
}


class TreeSitterSource:
    """A language by its grammar: texts to trees.

    Named nodes become nodes, and fields become links; children without a field hang by `children`.
    Every link may lead to several nodes. A node without named nodes below it has a value `text`. Other
    tokens that matter, such as `public static`, are in the value `words`, and a token in a field, such
    as an operator, is a node of type `token`. Comments are left out.
    """

    def __init__(self, grammar: str) -> None:
        self.grammar = grammar
        self.name = f"tree-sitter {grammar}"
        self.suffixes: tuple[str, ...] = _SUFFIXES.get(grammar, (f".{grammar}",))
        self.language = load_grammar(grammar)
        self.schema = grammar_schema(self.language, FILE_TYPE)
        self.pool = Pool()
        codes = self.schema.codes
        kinds = range(self.language.node_kind_count)
        self._codes = {
            kind: codes[str(self.language.node_kind_for_id(kind))]
            for kind in kinds
            if self.language.node_kind_is_named(kind) and self.language.node_kind_for_id(kind) in codes
        }
        self._token = codes[TOKEN]
        self._children = self.language.field_count

    def read(self, text: str, name: str = "source") -> Tree:
        """Return the tree of a text; a mistake in it is a `TidelogError`."""
        from tree_sitter import Parser  # noqa: PLC0415 - an optional package

        data = text.encode()
        found = Parser(self.language).parse(data)
        source = Source(name, text)
        if found.root_node.has_error:
            raise TidelogError([_syntax_error(found.root_node, source, data, self.grammar)])
        builder = NodesBuilder()
        starts: list[int] = []
        ends: list[int] = []
        self._add_all(found.root_node, builder, starts, ends)
        places = NodePlaces(source, np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64))
        nodes = builder.finish(self.schema.value_counts)
        return new_tree(self.schema, self.pool, nodes, self, places)

    def read_again(self, text: str, name: str, before: Tree, above: int = 0) -> Tree:  # noqa: ARG002 - see below
        """Return the tree of a text; the parser is quick enough to read all of it again."""
        return self.read(text, name)

    def _add_all(
        self, root: "tree_sitter.Node", builder: NodesBuilder, starts: list[int], ends: list[int]
    ) -> None:
        stack = [(root, NONE, NONE)]
        number = self.pool.number
        while stack:
            node, link, parent = stack.pop()
            starts.append(node.start_byte)
            ends.append(node.end_byte)
            if not node.is_named:
                builder.add(self._token, link, parent, [number(node.type)])
                continue
            kids, words = self._below(node)
            text = ABSENT if kids else number(node.text.decode(errors="replace") if node.text else "")
            tokens = number(" ".join(words)) if words and kids else ABSENT
            row = builder.add(self._codes[node.kind_id], link, parent, [text, tokens])
            stack += [(child, place, row) for place, _, child in sorted(kids, reverse=True, key=_by_link)]

    def _below(self, node: "tree_sitter.Node") -> tuple[list[tuple[int, int, "tree_sitter.Node"]], list[str]]:
        """Return the children with their links and places, and the tokens that matter."""
        kids: list[tuple[int, int, tree_sitter.Node]] = []
        words: dict[str, None] = {}
        cursor = node.walk()
        if not cursor.goto_first_child():
            return kids, []
        while True:
            child: Any = cursor.node
            if not child.is_extra:
                if cursor.field_id:
                    kids.append((cursor.field_id - 1, len(kids), child))
                elif child.is_named:
                    kids.append((self._children, len(kids), child))
                elif child.type not in _PUNCTUATION:
                    words[child.type] = None
            if not cursor.goto_next_sibling():
                return kids, list(words)

    def decode(self, tree: Tree, row: int) -> object:
        """Return the text of a subtree where it is kept, and otherwise nested dictionaries."""
        if tree.places is not None:
            span = tree.places.span(row)
            return None if span is None else span.text
        return decode_rows(tree, row, _as_dictionary)

    def used_links(self, tree: Tree) -> Container[tuple[str, str]]:  # noqa: ARG002 - the grammar says it
        """Return the links that the grammar allows."""
        return self._links

    @cached_property
    def _links(self) -> frozenset[tuple[str, str]]:
        return frozenset(_declared(grammar_links(self.language)))


def _declared(links: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    yield ("File", "tree")
    yield ("File", "path")
    yield (TOKEN, TEXT)
    for kind, names in links.items():
        yield (kind, TEXT)
        yield (kind, WORDS)
        for name in names:
            yield (kind, name)
        if names:
            yield (kind, CHILDREN)


def _by_link(kid: tuple[int, int, object]) -> tuple[int, int]:
    return kid[0], kid[1]


def load_grammar(name: str) -> "tree_sitter.Language":
    """Return the grammar in the package `tree_sitter_NAME`."""
    package = f"tree_sitter_{name.replace('-', '_')}"
    try:
        from tree_sitter import Language  # noqa: PLC0415 - an optional package

        module = importlib.import_module(package)
    except ImportError as cause:
        hint = f"pip install tree-sitter {package.replace('_', '-')}, or use the language `python`"
        message = f"there is no language `{name}`: the package {package} is not installed"
        raise TidelogError([Diagnostic(code="missing-package", message=message, hint=hint)]) from cause
    entry = getattr(module, "language", None) or getattr(module, f"language_{name.replace('-', '_')}", None)
    if entry is None:
        message = f"the package {package} has no grammar for `{name}`"
        raise TidelogError([Diagnostic(code="missing-package", message=message)])
    return Language(entry())


def _as_dictionary(
    _: int, name: str, kids: dict[str, list[object]], values: dict[str, TreeValue]
) -> dict[str, object]:
    return {"type": name, **values, **kids}


def _syntax_error(root: "tree_sitter.Node", source: Source, data: bytes, grammar: str) -> Diagnostic:
    """Return a message about the first place that the grammar does not allow."""
    node = root
    while not (node.is_error or node.is_missing):
        node = next(child for child in node.children if child.has_error or child.is_missing)
    start = len(data[: node.start_byte].decode(errors="replace"))
    end = len(data[: node.end_byte].decode(errors="replace"))
    what = f"`{node.type}` is missing" if node.is_missing else "this is not allowed here"
    return Diagnostic(
        code="source-syntax",
        message=f"the text is not {grammar}: {what}",
        span=Span(source, start, max(end, start)),
    )
