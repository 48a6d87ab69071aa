"""A script that shows a failure on its own: the function that tried the case, with all it needs."""

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

_OURS: Final = __package__


def write_reproduction(attempt: Callable[..., object], arguments: tuple[object, ...], title: str) -> str:
    """Return a script that calls the function with the arguments and imports nothing of this package.

    The definitions that the function uses, here and in other modules of this package, are copied;
    what they import from elsewhere is imported.
    """
    parts = _Parts()
    parts.add(sys.modules[attempt.__module__].__name__, attempt.__name__)
    given = ",\n    ".join(repr(argument) for argument in arguments)
    call = f"{attempt.__name__}(\n    {given},\n)\n" if arguments else f"{attempt.__name__}()\n"
    described = '"""' + title.replace("\\", "\\\\").replace('"""', "'''").rstrip('"') + '"""'
    return "\n\n".join([described, "\n".join(sorted(parts.imports)), *parts.definitions, call])


@dataclass
class _Parts:
    """Imports and definitions, each once, what is used before what uses it."""

    imports: set[str] = field(default_factory=set)
    definitions: list[str] = field(default_factory=list)
    _seen: set[tuple[str, str]] = field(default_factory=set)

    def add(self, module: str, name: str) -> None:
        """Add the definition of a name of a module, if the module has one."""
        if (module, name) in self._seen:
            return
        self._seen.add((module, name))
        text = inspect.getsource(sys.modules[module])
        for statement in ast.parse(text).body:
            match statement:
                case ast.Import(names) | ast.ImportFrom(names=names):
                    for alias in names:
                        if (alias.asname or alias.name.partition(".")[0]) == name:
                            self._import(statement, alias)
                case _ if name in _defined(statement):
                    for used in _used(statement):
                        self.add(module, used)
                    self.definitions.append(_text_of(statement, text))

    def _import(self, statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> None:
        if isinstance(statement, ast.ImportFrom) and str(statement.module).partition(".")[0] == _OURS:
            self.add(str(statement.module), alias.name)
            return
        alone = (
            ast.Import([alias])
            if isinstance(statement, ast.Import)
            else ast.ImportFrom(statement.module, [alias], statement.level)
        )
        self.imports.add(ast.unparse(alone))


def _defined(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def _used(statement: ast.stmt) -> list[str]:
    return [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]


def _text_of(statement: ast.stmt, text: str) -> str:
    decorators = statement.decorator_list if isinstance(statement, ast.FunctionDef | ast.ClassDef) else []
    first = min([statement.lineno, *(each.lineno for each in decorators)])
    return "\n".join(text.splitlines()[first - 1 : statement.end_lineno])
