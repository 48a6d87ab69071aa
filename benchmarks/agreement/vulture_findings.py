"""What vulture finds."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.agreement.finding import Finding
from benchmarks.agreement.source import Source

_KINDS = {
    "function": "unused_function",
    "method": "unused_method",
    "property": "unused_method",
    "class": "unused_class",
}
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def find_with_vulture(texts: Mapping[str, str]) -> set[Finding]:
    """Return the findings in files, of the kinds that our analyses make."""
    from vulture import Vulture  # noqa: PLC0415 - only this command needs it

    tool = Vulture()
    for path, text in texts.items():
        # An absolute path, so that the folder that this runs in does not look like one of tests.
        tool.scan(text, filename=Path("/", path))
    items: dict[str, list[Any]] = {}
    for item in tool.get_unused_code():
        items.setdefault(str(item.filename)[1:], []).append(item)
    return {
        finding for path, found in items.items() for finding in _findings(Source(path, texts[path]), found)
    }


def _findings(source: Source, items: list[Any]) -> Iterator[Finding]:
    definitions = {
        (_first_line(node), node.name): node
        for node in ast.walk(source.tree)
        if isinstance(node, _Definition)
    }
    for item in items:
        if item.typ in _KINDS:
            node = definitions[item.first_lineno, item.name]
            # Vulture tells a method by its first parameter, we by the class around it.
            kind = "unused_class" if item.typ == "class" else _kind_of(source, node)
            yield Finding(kind, source.path, node.lineno, item.name)
        elif item.typ == "unreachable_code":
            line = _unreachable_line(source, item)
            if line is not None:
                yield Finding("unreachable", source.path, line, "")


def _kind_of(source: Source, node: _Definition) -> str:
    return "unused_method" if isinstance(source.scope(node), ast.ClassDef) else "unused_function"


def _first_line(node: _Definition) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def _unreachable_line(source: Source, item: Any) -> int | None:
    """Return the line of the first statement that is not reached; None for what is not a statement."""
    if "ternary" in item.name or "redundant" in item.message:
        return None
    statements = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.stmt) and _starts_at(node, item.first_lineno)
    ]
    if not statements:
        return None
    outer = statements[0]
    if "unsatisfiable" in item.message:
        tests = [node for node in statements if isinstance(node, ast.If | ast.While)]
        return tests[0].body[0].lineno if tests else None
    return outer.lineno


def _starts_at(node: ast.stmt, line: int) -> bool:
    return (_first_line(node) if isinstance(node, _Definition) else node.lineno) == line
