"""Why the two tools differ: classes that a look at the file's own tree decides."""

import ast
import re
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

from benchmarks.agreement.finding import Finding

UNEXPLAINED = "unexplained"


class Source:
    """A file with what the classes ask about it."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
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
            if getattr(node, "lineno", None) == finding.line and finding.name in _names(node):
                yield node

    def scope(self, node: ast.AST) -> ast.AST:
        """Return the function, class or module that a node stands in."""
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
                return node
        return node

    def is_below(self, node: ast.AST, kind: type[ast.AST] | tuple[type[ast.AST], ...]) -> bool:
        """Say whether a node stands in one of a kind."""
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, kind):
                return True
        return False

    def bindings(self, finding: Finding) -> int:
        """Return how often a name is bound in the scope of a finding."""
        scopes = {self.scope(node) for node in self.nodes_at(finding)}
        return sum(
            finding.name in _names(node) and self.scope(node) in scopes
            for node in ast.walk(self.tree)
            if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
        )


def _names(node: ast.AST) -> tuple[str, ...]:
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


class DifferenceClass(NamedTuple):
    """A reason why one of the tools says nothing."""

    name: str
    kind: str
    is_ours: bool
    applies: Callable[[Source, Finding], bool]


def _has_text(source: Source, finding: Finding) -> bool:
    return re.search(rf"\b{re.escape(finding.name)}\b", source.texts) is not None


def _is_submodule(source: Source, finding: Finding) -> bool:
    return any(isinstance(node, ast.alias) and "." in node.name for node in source.nodes_at(finding))


def _is_bound_again(source: Source, finding: Finding) -> bool:
    return source.bindings(finding) > 1


def _is_read(source: Source, finding: Finding) -> bool:
    scopes = {source.scope(node) for node in source.nodes_at(finding)}
    return any(
        isinstance(node, ast.Name)
        and node.id == finding.name
        and isinstance(node.ctx, ast.Load)
        and source.scope(node) in scopes
        for node in ast.walk(source.tree)
    )


def _is_bound(source: Source, finding: Finding) -> bool:
    return source.bindings(finding) > 0


def _is_capture(source: Source, finding: Finding) -> bool:
    return any(isinstance(node, ast.MatchAs | ast.MatchStar) for node in source.nodes_at(finding))


def _is_declared(source: Source, finding: Finding) -> bool:
    parents = [source.parents.get(node) for node in source.nodes_at(finding)]
    return any(isinstance(parent, ast.AnnAssign) and parent.value is None for parent in parents)


def _is_passed_on(source: Source, finding: Finding) -> bool:
    nodes = source.nodes_at(finding)
    return any(isinstance(node, ast.alias) and node.name == node.asname for node in nodes)


def _is_star(source: Source, finding: Finding) -> bool:  # noqa: ARG001 - as all classes are asked
    return finding.name == "*"


def _is_package(source: Source, finding: Finding) -> bool:  # noqa: ARG001 - likewise
    return source.path.endswith("__init__.py")


def _is_tuple(source: Source, finding: Finding) -> bool:
    return any(
        isinstance(source.parents.get(node), ast.Tuple | ast.List | ast.Starred)
        for node in source.nodes_at(finding)
    )


def _is_hidden(source: Source, finding: Finding) -> bool:  # noqa: ARG001 - likewise
    return finding.name.startswith("_")


def _is_caught(source: Source, finding: Finding) -> bool:
    kinds = {"NameError", "UnboundLocalError"}
    names = {
        name.id
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ExceptHandler) and node.type is not None
        for name in ast.walk(node.type)
        if isinstance(name, ast.Name)
    }
    return bool(names & kinds) and any(source.is_below(node, ast.Try) for node in source.nodes_at(finding))


def _has_star_import(source: Source, finding: Finding) -> bool:  # noqa: ARG001 - likewise
    nodes = (node for node in ast.walk(source.tree) if isinstance(node, ast.ImportFrom))
    return any(alias.name == "*" for node in nodes for alias in node.names)


def _is_deleted(source: Source, finding: Finding) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == finding.name and isinstance(node.ctx, ast.Del)
        for node in ast.walk(source.tree)
    ) or any(
        isinstance(node, ast.ExceptHandler) and node.name == finding.name for node in ast.walk(source.tree)
    )


def _is_quoted(source: Source, finding: Finding) -> bool:
    return not any(isinstance(node, ast.Name) for node in source.nodes_at(finding)) and _has_text(
        source, finding
    )


def _is_in_scope_with_locals(source: Source, finding: Finding) -> bool:
    return any(
        isinstance(name, ast.Name) and name.id == "locals"
        for node in source.nodes_at(finding)
        for name in ast.walk(source.scope(node))
    )


def _is_doctest(source: Source, finding: Finding) -> bool:
    return not any(True for _ in source.nodes_at(finding)) and ">>>" in source.texts


CLASSES = (
    DifferenceClass("a star import; names.dl does not judge it", "unused_import", False, _is_star),
    DifferenceClass("a package imports to pass on", "unused_import", False, _is_package),
    DifferenceClass("`import x as x` passes on", "unused_import", False, _is_passed_on),
    DifferenceClass("a submodule of a name that is read", "unused_import", False, _is_submodule),
    DifferenceClass("the name stands in a text", "unused_import", False, _has_text),
    DifferenceClass("bound again; pyflakes judges the last one", "unused_import", True, _is_bound_again),
    DifferenceClass("read in the function, but earlier in the text", "unused_variable", False, _is_read),
    DifferenceClass("captured by `match`; names.dl does not judge it", "unused_variable", False, _is_capture),
    DifferenceClass("only declared; pyflakes has another message", "unused_variable", True, _is_declared),
    DifferenceClass("a tuple unpacked from a tuple", "unused_variable", False, _is_tuple),
    DifferenceClass("a name such as `_x` is meant to be unused", "unused_variable", False, _is_hidden),
    DifferenceClass("the function calls locals()", "unused_variable", False, _is_in_scope_with_locals),
    DifferenceClass("bound again; pyflakes judges the last one", "unused_variable", True, _is_bound_again),
    DifferenceClass("NameError is caught", "undefined", True, _is_caught),
    DifferenceClass("a star import may bring it", "undefined", False, _has_star_import),
    DifferenceClass("deleted on the way; names.dl knows no order", "undefined", False, _is_deleted),
    DifferenceClass("bound later in the text; uses.dl judges order", "undefined", False, _is_bound),
    DifferenceClass("in the text of an annotation", "undefined", False, _is_quoted),
    DifferenceClass("in a doctest", "undefined", False, _is_doctest),
)


def explain(finding: Finding, source: Source, *, is_ours: bool) -> str:
    """Return the class of a difference."""
    for each in CLASSES:
        if (each.kind, each.is_ours) == (finding.kind, is_ours) and each.applies(source, finding):
            return each.name
    return UNEXPLAINED
