"""Python source as a tree, by Python's own parser."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.source import Source, Span
from tidelog.trees.file_type import FILE_TYPE
from tidelog.trees.nodes import Nodes, NodesBuilder
from tidelog.trees.places import NodePlaces
from tidelog.trees.pool import ABSENT, Pool
from tidelog.trees.python_reread import RereadWindow, find_windows, indent_of, old_module, splice
from tidelog.trees.schema import ANY_LIST, NodeLink, NodeType, Schema, ValueKind, ValueLink, list_type
from tidelog.trees.tree import Tree, new_tree

# Classes that stand for one word each: `Load`, `Add`, `NotEq` become values and not nodes.
_WORDS: Final = ("boolop", "cmpop", "expr_context", "operator", "unaryop")
_NUMBERS: Final = {"int"}
_TEXTS: Final = {"identifier", "string"}
# The value of a pattern `None`, `True` or `False`; those of `Constant` have types of their own.
_SINGLETON: Final = "constant"
# A list may have a gap, as the keys of `{**a}` do.
NOTHING: Final = "Nothing"
_CONSTANT: Final = "Constant"
# Larger integers are rare, and one code of more than 32 bits makes all facts of a state twice as large.
_SMALLEST, _LARGEST = -(2**31), 2**31 - 1

# Statements that are deeper than others parse below this line as they would where they stand.
_AROUND: Final = "if 1:\n"
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_SIGNATURE: Final = re.compile(r"^(\w+)\((.*)\)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class AstField:
    """A field of an `ast` class as its documentation declares it."""

    name: str
    type: str
    mark: str

    @property
    def is_word(self) -> bool:
        """Say whether it holds classes that stand for words."""
        return self.type in _WORDS

    @property
    def is_value(self) -> bool:
        """Say whether it holds values, in a list perhaps."""
        return self.type in _TEXTS or self.type in _NUMBERS or self.is_word or self.type == _SINGLETON

    @property
    def is_optional(self) -> bool:
        """Say whether it may be absent."""
        return self.mark == "?" or self.type == _SINGLETON


# What a constant can be, and the link of its value; big numbers and others are kept as text.
_CONSTANTS: Final = (
    ("str", ValueKind.SYMBOL),
    ("escaped", ValueKind.SYMBOL),
    ("int", ValueKind.NUMBER),
    ("bigint", ValueKind.SYMBOL),
    ("float", ValueKind.FLOAT),
    ("complex", ValueKind.SYMBOL),
    ("bytes", ValueKind.SYMBOL),
    ("bool", ValueKind.NUMBER),
    ("None", None),
    ("Ellipsis", None),
)


@cache
def fields_of(name: str) -> tuple[AstField, ...]:
    """Return the fields of an `ast` class."""
    found = _SIGNATURE.match(getattr(ast, name).__doc__ or "")
    if found is None:
        return ()
    fields = []
    for part in found[2].split(","):
        kind, field = part.split()
        mark = kind[-1] if kind[-1] in "*?" else ""
        fields.append(AstField(field, kind.rstrip("*?"), mark))
    return tuple(fields)


@cache
def python_schema() -> Schema:
    """Return the types of Python's syntax trees, read off the `ast` module."""
    types: list[NodeType] = [FILE_TYPE, NodeType(NOTHING, doc="A gap in a list, as in the keys of `{**a}`.")]
    lists: dict[str, NodeType] = {}
    for name, base in _concrete_classes():
        if name == _CONSTANT:
            types += _constant_types(base)
            continue
        links, values = [], []
        for field in fields_of(name):
            if field.mark == "*":
                element = list_type(field.type, (field.type, NOTHING))
                lists[field.type] = element
                links.append(NodeLink(field.name, (element.name,), optional=True))
            elif field.is_value:
                kind = ValueKind.NUMBER if field.type in _NUMBERS else ValueKind.SYMBOL
                values.append(ValueLink(field.name, kind, optional=field.is_optional))
            else:
                links.append(NodeLink(field.name, (field.type,), optional=field.mark == "?"))
        types.append(NodeType(name, (base,) if base else (), tuple(links), tuple(values), _doc(name)))
    for word in lists:
        if word in _WORDS or word in _TEXTS:
            value = ValueLink("value", ValueKind.SYMBOL, doc="The word")
            types.append(NodeType(word, (), (), (value,), f"One `{word}` in a list."))
    docs = {name: _doc(name) for name, _ in _abstract_classes()}
    docs[ANY_LIST] = "All lists. A list that is empty is not there."
    return Schema((*types, *lists.values()), docs)


def _concrete_classes() -> Iterator[tuple[str, str]]:
    """Yield the names of classes that trees are made of, and of their base classes."""
    for name, found in sorted(vars(ast).items()):
        if not (isinstance(found, type) and issubclass(found, ast.AST)) or found is ast.AST:
            continue
        base = found.__mro__[1].__name__
        if found.__subclasses__() and not _SIGNATURE.match(found.__doc__ or ""):
            continue
        if base in _WORDS or name in _OUTDATED or base == _CONSTANT:
            continue
        yield name, "" if base == "AST" else base


def _abstract_classes() -> Iterator[tuple[str, str]]:
    for name, base in _concrete_classes():
        if base:
            yield base, name


# Kept by Python for old programs; its parser makes none of them.
_OUTDATED: Final = frozenset(
    ("AugLoad", "AugStore", "Param", "Suite", "Index", "ExtSlice", "slice", "Num", "Str", "Bytes", "Ellipsis",
     "NameConstant", "FunctionType", "Interactive", "Expression")
)  # fmt: skip


def _constant_types(base: str) -> Iterator[NodeType]:
    for name, kind in _CONSTANTS:
        values = [ValueLink("value", kind, doc="The value")] if kind else []
        if name == "str":
            values.append(ValueLink("kind", ValueKind.SYMBOL, optional=True, doc="The letter before it"))
        yield NodeType(f"{_CONSTANT}_{name}", (_CONSTANT, base), (), tuple(values), f"A constant `{name}`.")


def _doc(name: str) -> str:
    text = " ".join((getattr(ast, name).__doc__ or "").split())
    return f"`{text}`." if text else ""


# --- reading -------------------------------------------------------------------------------------


class PythonSource:
    """The language `python`: texts to trees and back."""

    name = "python"
    suffixes: tuple[str, ...] = (".py",)

    def __init__(self) -> None:
        self.schema = python_schema()
        self.pool = Pool()
        codes = self.schema.codes
        self._plans = {
            getattr(ast, name): _Plan.of(name, codes) for name, _ in _concrete_classes() if name != _CONSTANT
        }
        self._constants = {name: codes[f"{_CONSTANT}_{name}"] for name, _ in _CONSTANTS}
        self._nothing = codes[NOTHING]

    def read(self, text: str, name: str = "source") -> Tree:
        """Return the tree of a text; a mistake in it is a `TidelogError`."""
        source = Source(name, text)
        try:
            module = ast.parse(text, name)
        except SyntaxError as error:
            raise TidelogError([_syntax_error(error, source)]) from None
        except (ValueError, RecursionError, MemoryError) as error:
            message = f"the text cannot be read: {error}"
            raise TidelogError(
                [Diagnostic(code="source-syntax", message=message, span=Span(source, 0, 0))]
            ) from None
        return self.encode(module, source)

    def read_again(self, text: str, name: str, before: Tree, above: int = 0) -> Tree:
        """Return the tree of a text, given the tree of the text before an edit.

        It is the tree that `read` returns, but only the statements around the edit are parsed.
        `above` is the number of nodes above the module in the tree before.
        """
        old = old_module(before.nodes, before.places, self.schema, above)
        if old is None or "\r" in text or before.pool is not self.pool:
            return self.read(text, name)
        data = text.encode(errors="surrogatepass")
        source = Source(name, text)
        for window in find_windows(old, data):
            part = self._read_part(window, window.part(data))
            spliced = None if part is None else splice(old, window, part, source)
            if spliced is not None:
                return new_tree(self.schema, self.pool, spliced[0], self, spliced[1])
        return self.read(text, name)

    def _read_part(self, window: RereadWindow, part: bytes) -> tuple[Nodes, NodePlaces] | None:
        """Return the module of a part of a text, with its places in the whole, or None if it is not one.

        It may not parse by itself, or have a mistake, which is to be reported with its place in the whole.
        """
        if window.rest and part and not part.endswith(b"\n"):
            return None
        indent = indent_of(part)
        is_inside = bool(window.block.indent) and indent is not None
        if is_inside and indent != window.block.indent:
            return None
        text = (_AROUND if is_inside else "") + part.decode(errors="surrogatepass")
        try:
            module = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        if is_inside:
            around = module.body[0]
            if len(module.body) > 1 or not isinstance(around, ast.If) or around.orelse:
                return None
            module.body = around.body
        tree = self.encode(module, Source("part", text))
        assert tree.places is not None, "it was read from a text"
        return tree.nodes, tree.places.moved(window.start - (len(_AROUND) if is_inside else 0))

    def encode(self, module: ast.AST, source: Source | None = None) -> Tree:
        """Return the tree of an `ast` node."""
        builder = NodesBuilder()
        lines: list[int] = []
        self._add_all(module, builder, lines)
        nodes = builder.finish(self.schema.value_counts)
        places = None if source is None else _places(source, lines)
        return new_tree(self.schema, self.pool, nodes, self, places)

    def _add_all(self, module: ast.AST, builder: NodesBuilder, lines: list[int]) -> None:
        """Add the nodes in preorder; `lines` gets line, column, end line and end column of each."""
        number, plans = self.pool.number, self._plans
        types, links, parents, values = builder.types, builder.links, builder.parents, builder.values
        stack: list[tuple[object, int, int]] = [(module, -1, -1)]
        while stack:
            node, link, parent = stack.pop()
            row = len(types)
            links.append(link)
            parents.append(parent)
            kind = type(node)
            plan = plans.get(kind)
            if plan is None:
                self._add_other(node, row, builder, stack, lines)
                continue
            types.append(plan.code)
            if plan.has_place:
                lines += (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
            else:
                lines += (0, 0, 0, 0)
            for name, is_word in plan.values:
                found = getattr(node, name, None)
                if found is None:
                    values.append(ABSENT)
                else:
                    values.append(number(type(found).__name__ if is_word else plain_value(found)))
            for name, place, list_code in plan.links:
                child = getattr(node, name, None)
                if list_code < 0:
                    if child is not None:
                        stack.append((child, place, row))
                elif child:
                    stack.append(((list_code, child), place, row))

    def _add_other(
        self,
        node: object,
        row: int,
        builder: NodesBuilder,
        stack: list[tuple[object, int, int]],
        lines: list[int],
    ) -> None:
        """Add a constant, a list, or an element of a list that is not a node of `ast`."""
        number = self.pool.number
        if isinstance(node, ast.Constant):
            lines += (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
            kind, value = constant_parts(node.value)
            builder.types.append(self._constants[kind])
            if value is not None:
                builder.values.append(number(value))
            if kind == "str":
                builder.values.append(ABSENT if node.kind is None else number(node.kind))
            return
        lines += (0, 0, 0, 0)
        if type(node) is tuple:
            code, elements = node
            builder.types.append(code)
            stack += [(element, 0, row) for element in reversed(elements)]
        elif node is None:
            builder.types.append(self._nothing)
        elif isinstance(node, str):
            builder.types.append(self.schema.codes["identifier"])
            builder.values.append(number(node))
        else:
            base = type(node).__mro__[1].__name__
            builder.types.append(self.schema.codes[base])
            builder.values.append(number(type(node).__name__))

    def decode(self, tree: Tree, row: int) -> ast.AST:
        """Return the `ast` node of a subtree, with its places in the text if they are known."""
        from tidelog.trees.python_decode import decode_python  # noqa: PLC0415 - it needs this module's fields

        return decode_python(tree, row)

    def used_links(self, tree: Tree) -> None:
        """Return None: every declared link can occur."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to take from an `ast` node: names of values; names, places and list types of links."""

    code: int
    has_place: bool
    values: tuple[tuple[str, bool], ...]
    links: tuple[tuple[str, int, int], ...]

    @classmethod
    def of(cls, name: str, codes: Mapping[str, int]) -> "_Plan":
        """Return the plan of the class of this name."""
        values, links = [], []
        place = 0
        for field in fields_of(name):
            if field.is_value and field.mark != "*":
                values.append((field.name, field.is_word))
                continue
            list_code = codes[f"List_{field.type}"] if field.mark == "*" else -1
            links.append((field.name, place, list_code))
            place += 1
        # A stack gives back last what was pushed first.
        return cls(codes[name], has_place(getattr(ast, name)), tuple(values), tuple(reversed(links)))


def has_place(found: type[ast.AST]) -> bool:
    """Say whether nodes of an `ast` class know where they stand."""
    return "lineno" in found._attributes  # noqa: SLF001 - documented, and only named so


def constant_parts(value: object) -> tuple[str, str | int | float | None]:
    """Return which constant type a value has, and what to keep of it."""
    match value:
        case bool():
            return "bool", int(value)
        case str() if value.isascii() or _is_text(value):
            return "str", value
        case str():
            return "escaped", value.encode("unicode_escape").decode("ascii")
        case int() if _SMALLEST <= value <= _LARGEST:
            return "int", value
        case int():
            return "bigint", hex(value)
        case float():
            return "float", value
        case complex():
            return "complex", repr(value)
        case bytes():
            return "bytes", value.decode("latin-1")
        case None:
            return "None", None
    return "Ellipsis", None


def _is_text(value: str) -> bool:
    r"""Say whether a string is text: halves of surrogate pairs, as in `"\ud800"`, are not."""
    return value.encode("utf-8", "ignore").decode() == value


def plain_value(value: str | int | bool) -> str | int:  # noqa: FBT001 - a value like the others
    """Return a field's value as it is kept: a singleton as text."""
    return repr(value) if isinstance(value, bool) else value


def _places(source: Source, lines: list[int]) -> NodePlaces:
    # Lines end as Python's own parser has it, which counts columns in bytes.
    lengths = [len(line.encode()) for line in _LINE.findall(source.text)]
    firsts = np.cumsum([0, 0, *lengths, 0])
    place = np.array(lines, dtype=np.int64).reshape(-1, 4)
    is_placed = place[:, 0] > 0
    starts = np.where(is_placed, firsts[place[:, 0]] + place[:, 1], -1)
    ends = np.where(is_placed, firsts[place[:, 2]] + place[:, 3], -1)
    return NodePlaces(source, starts, ends)


def _syntax_error(error: SyntaxError, source: Source) -> Diagnostic:
    line = min(max(error.lineno or 1, 1), len(source.line_starts))
    start = source.line_starts[line - 1] + max((error.offset or 1) - 1, 0)
    start = min(start, len(source.text))
    return Diagnostic(
        code="source-syntax",
        message=f"the text is not Python: {error.msg}",
        span=Span(source, start, min(start + 1, len(source.text))),
    )
