"""What pyflakes finds."""

import ast
import warnings
from collections.abc import Iterator, Mapping

from benchmarks.agreement.finding import Finding
from benchmarks.agreement.source import Source


def find_with_pyflakes(texts: Mapping[str, str]) -> set[Finding]:
    """Return the findings in files, of the kinds that our analyses make."""
    return {finding for path, text in texts.items() for finding in _findings(path, text)}


def _findings(path: str, text: str) -> Iterator[Finding]:
    from pyflakes import checker, messages  # noqa: PLC0415 - only this command needs it

    kinds = {
        messages.UndefinedName: "undefined",
        messages.UndefinedLocal: "unset",
        messages.UnusedImport: "unused_import",
        messages.UnusedVariable: "unused_variable",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    imports = dict(_imports(tree))
    for message in checker.Checker(tree, filename=path).messages:
        kind = kinds.get(type(message))
        if kind is not None:
            line, name = message.lineno, message.message_args[0]
            if kind == "unused_import":
                line, name = imports[line, name]
            finding = Finding(kind, path, line, name)
            is_local = kind == "undefined" and Source(path, text).is_bound_in_function(finding)
            yield finding._replace(kind="unset") if is_local else finding


def _imports(tree: ast.Module) -> Iterator[tuple[tuple[int, str], tuple[int, str]]]:
    """Yield imports as pyflakes names them, each with its own line and the name it binds."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for alias in node.names:
            written, bound = alias.name, alias.asname or alias.name.split(".")[0]
            if isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                written = f"{module}{'' if module.endswith('.') else '.'}{alias.name}"
                bound = alias.asname or alias.name
            if alias.asname is not None and alias.asname != alias.name.split(".")[-1]:
                written = f"{written} as {alias.asname}"
            yield (node.lineno, written), (alias.lineno, bound)
