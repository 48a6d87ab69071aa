"""The files of a comparison, with what the classes of differences ask about them."""

import ast
import warnings
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property

from benchmarks.agreement.finding import Finding


class Project:
    """All files of a comparison, and what our analyses find in them."""

    def __init__(self, texts: Mapping[str, str], ours: AbstractSet[Finding]) -> None:
        self.ours = ours
        self._texts = texts
        self._sources: dict[str, Source] = {}

    @property
    def paths(self) -> Iterable[str]:
        """Return the paths of the files."""
        return self._texts

    def source(self, path: str) -> "Source":
        """Return a file."""
        known = self._sources.get(path)
        if known is None:
            known = self._sources[path] = Source(path, self._texts[path], self)
        return known

    @cached_property
    def uses(self) -> dict[str, list[tuple["Source", ast.expr]]]:
        """Return the names and attributes that are read, by name."""
        found: dict[str, list[tuple[Source, ast.expr]]] = {}
        for path in self._texts:
            source = self.source(path)
            for node in ast.walk(source.tree):
                if not isinstance(getattr(node, "ctx", None), ast.Load):
                    continue
                if isinstance(node, ast.Name):
                    found.setdefault(node.id, []).append((source, node))
                elif isinstance(node, ast.Attribute):
                    found.setdefault(node.attr, []).append((source, node))
        return found

    @cached_property
    def texts(self) -> set[str]:
        """Return all texts that are expressions."""
        nodes = (node for path in self._texts for node in ast.walk(self.source(path).tree))
        return {
            node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }

    @cached_property
    def classes(self) -> dict[str, list[ast.ClassDef]]:
        """Return the classes by their names."""
        found: dict[str, list[ast.ClassDef]] = {}
        for path in self._texts:
            for node in ast.walk(self.source(path).tree):
                if isinstance(node, ast.ClassDef):
                    found.setdefault(node.name, []).append(node)
        return found


class Source:
    """A file with what the classes ask about it."""

    def __init__(self, path: str, text: str, project: Project | None = None) -> None:
        self.path = path
        self.text = text
        self.project = project or Project({path: text}, set())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.tree = ast.parse(text)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Return the parent of every node."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def texts(self) -> str:
        """Return all texts that are expressions, one after the other."""
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.Constant))
        return "\n".join(node.value for node in nodes if isinstance(node.value, str))

    def nodes_at(self, finding: Finding) -> Iterator[ast.AST]:
        """Yield the nodes of a finding: those on its line that have its name."""
        for node in ast.walk(self.tree):
            if getattr(node, "lineno", None) == finding.line and finding.name in names_of(node):
                yield node

    def scope(self, node: ast.AST) -> ast.AST:
        """Return the function, class or module that a node stands in."""
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
        return next((each for each in self.around(node) if isinstance(each, kinds)), self.tree)

    def is_below(self, node: ast.AST, kind: type[ast.AST] | tuple[type[ast.AST], ...]) -> bool:
        """Say whether a node stands in one of a kind."""
        return any(isinstance(each, kind) for each in self.around(node))

    def bindings(self, finding: Finding) -> int:
        """Return how often a name is bound in the scope of a finding."""
        scopes = {self.scope(node) for node in self.nodes_at(finding)}
        return sum(
            finding.name in names_of(node) and self.scope(node) in scopes
            for node in ast.walk(self.tree)
            if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
        )

    def is_bound_in_function(self, finding: Finding) -> bool:
        """Say whether the function whose body a finding stands in binds its name."""
        for node in self.nodes_at(finding):
            scope, around = self.scope(node), set(self.around(node))
            body = getattr(scope, "body", [])
            if isinstance(scope, ast.Module) or not (isinstance(body, list) and around.intersection(body)):
                return False
        return self.bindings(finding) > 0

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes that a node stands in, from the inside outwards."""
        while node in self.parents:
            node = self.parents[node]
            yield node


def names_of(node: ast.AST) -> tuple[str, ...]:
    """Return the names that a node binds or reads itself."""
    match node:
        case ast.Name():
            return (node.id,)
        case ast.alias():
            return (node.asname or node.name, node.asname or node.name.split(".")[0])
        case ast.ExceptHandler() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return (node.name,) if node.name else ()
        case ast.arg():
            return (node.arg,)
        case ast.Global() | ast.Nonlocal():
            return tuple(node.names)
        case ast.MatchAs() | ast.MatchStar():
            return (node.name,) if node.name else ()
        case _:
            return ()
