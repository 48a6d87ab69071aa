"""Why names.dl and uses.dl differ from pyflakes."""

import ast
import re

from benchmarks.agreement.difference import DifferenceClass
from benchmarks.agreement.finding import Finding
from benchmarks.agreement.source import Source, names_of


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


def _is_not_read(source: Source, finding: Finding) -> bool:
    return not any(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) for node in source.nodes_at(finding)
    )


def _is_bound_in_loop(source: Source, finding: Finding) -> bool:
    loops = {
        each
        for node in source.nodes_at(finding)
        for each in source.around(node)
        if isinstance(each, ast.For | ast.AsyncFor | ast.While)
    }
    return any(
        isinstance(node, ast.Name) and node.id == finding.name and isinstance(node.ctx, ast.Store)
        for loop in loops
        for node in ast.walk(loop)
    )


def _is_only_declared(source: Source, finding: Finding) -> bool:
    return any(
        isinstance(each, ast.AnnAssign) and each.value is None and finding.name in names_of(each.target)
        for node in source.nodes_at(finding)
        for each in ast.walk(source.scope(node))
    )


CLASSES = (
    DifferenceClass("an earlier turn of the loop may have bound it", "unset", False, _is_bound_in_loop),
    DifferenceClass("only declared, by an annotation", "unset", True, _is_only_declared),
    DifferenceClass("of a global name that is deleted", "unset", False, _is_deleted),
    DifferenceClass("the line reads an import that was renamed", "unset", False, _is_not_read),
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
