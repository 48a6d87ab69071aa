"""From a tree back to `ast` nodes."""

import ast
from typing import Final

from tidelog.trees.pool import TreeValue
from tidelog.trees.python_source import NOTHING, AstField, fields_of, has_place
from tidelog.trees.tree import Tree
from tidelog.trees.walk import decode_rows

_CONSTANT: Final = "Constant_"
_SINGLETONS: Final = {"True": True, "False": False, None: None}


def decode_python(tree: Tree, row: int) -> ast.AST:
    """Return the `ast` node of a subtree, with the places in the text if the tree knows them."""

    def make(at: int, name: str, kids: dict[str, list[object]], values: dict[str, TreeValue]) -> object:
        node = _make(name, kids, values)
        if isinstance(node, ast.AST):
            _locate(node, tree, at)
        return node

    found = decode_rows(tree, row, make)
    assert isinstance(found, ast.AST)
    return found


def _make(name: str, kids: dict[str, list[object]], values: dict[str, TreeValue]) -> object:
    if name == NOTHING:
        return None
    if name.startswith("List_"):
        return kids.get("first", [])
    if name.startswith(_CONSTANT):
        return _constant(name.removeprefix(_CONSTANT), values)
    if name in ("identifier", "string"):
        return values["value"]
    if name in ("cmpop", "boolop", "operator", "unaryop", "expr_context"):
        return getattr(ast, str(values["value"]))()
    made: dict[str, object] = {}
    for field in fields_of(name):
        if field.is_value and field.mark != "*":
            made[field.name] = _value(field, values.get(field.name))
        elif field.mark == "*":
            made[field.name] = kids[field.name][0] if field.name in kids else []
        else:
            made[field.name] = kids[field.name][0] if field.name in kids else None
    node = getattr(ast, name)(**made)
    assert isinstance(node, ast.AST)
    return node


def _value(field: AstField, value: TreeValue | None) -> object:
    if field.type == "constant":
        return _SINGLETONS[value]  # type: ignore[index]
    return getattr(ast, str(value))() if field.is_word else value


def _constant(kind: str, values: dict[str, TreeValue]) -> ast.Constant:
    value: object
    match kind:
        case "bool":
            value = bool(values["value"])
        case "bigint":
            value = int(str(values["value"]), 16)
        case "complex":
            value = complex(str(values["value"]))
        case "escaped":
            value = str(values["value"]).encode("ascii").decode("unicode_escape")
        case "bytes":
            value = str(values["value"]).encode("latin-1")
        case "None":
            value = None
        case "Ellipsis":
            value = ...
        case _:
            value = values["value"]
    return ast.Constant(value=value, kind=str(values["kind"]) if "kind" in values else None)


def _locate(node: ast.AST, tree: Tree, row: int) -> None:
    span = None if tree.places is None else tree.places.span(row)
    if span is None or not has_place(type(node)):
        return
    source = span.source
    for offset, line_name, column_name in (
        (span.start, "lineno", "col_offset"),
        (span.end, "end_lineno", "end_col_offset"),
    ):
        line = source.line_of(offset)
        setattr(node, line_name, line)
        column = len(source.text[source.line_starts[line - 1] : offset].encode())
        setattr(node, column_name, column)
