"""Why unused_code.dl and control.dl differ from vulture."""

import ast
from collections.abc import Iterator

from benchmarks.agreement.difference import DifferenceClass
from benchmarks.agreement.finding import Finding
from benchmarks.agreement.source import Source

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_PLAIN = frozenset(
    [
        "staticmethod",
        "classmethod",
        "property",
        "abstractmethod",
        "contextmanager",
        "cached_property",
        "lru_cache",
        "cache",
        "dataclass",
        "override",
    ]
)


def _definitions(source: Source, finding: Finding) -> Iterator[_Definition]:
    for node in source.nodes_at(finding):
        if isinstance(node, _Definition):
            yield node


# --- only vulture finds it ------------------------------------------------------------------------


def _is_in_text(source: Source, finding: Finding) -> bool:
    return finding.name in source.project.texts


def _is_decorated(source: Source, finding: Finding) -> bool:
    return any(
        not (isinstance(each, ast.Name) and each.id in _PLAIN)
        for node in _definitions(source, finding)
        for each in node.decorator_list
    )


def _is_special(source: Source, finding: Finding) -> bool:  # noqa: ARG001 - as all classes are asked
    return finding.name.startswith("__") and finding.name.endswith("__")


def _is_test(source: Source, finding: Finding) -> bool:
    return finding.name.startswith(("test_", "Test")) or any(
        isinstance(node, ast.ClassDef) and _has_tests(source, node, set())
        for node in _definitions(source, finding)
    )


def _has_tests(source: Source, node: ast.ClassDef, seen: set[ast.ClassDef]) -> bool:
    seen.add(node)
    methods = (each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    bases = (base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in node.bases)
    above = (each for name in bases for each in source.project.classes.get(name, ()))
    return any(each.name.startswith("test_") for each in methods) or any(
        each not in seen and _has_tests(source, each, seen) for each in above
    )


def _is_in_dead_code(source: Source, finding: Finding) -> bool:
    return any(
        _is_reported(source, each) for node in _definitions(source, finding) for each in source.around(node)
    )


def _is_reported(source: Source, node: ast.AST) -> bool:
    return isinstance(node, _Definition) and any(
        Finding(kind, source.path, node.lineno, node.name) in source.project.ours
        for kind in ("unused_function", "unused_method", "unused_class")
    )


def _has_base_outside(source: Source, finding: Finding) -> bool:
    classes = [source.scope(node) for node in _definitions(source, finding)]
    return any(
        isinstance(each, ast.ClassDef) and _derives_from_outside(source, each, set()) for each in classes
    )


def _derives_from_outside(source: Source, node: ast.ClassDef, seen: set[ast.ClassDef]) -> bool:
    seen.add(node)
    for base in node.bases:
        name = base.id if isinstance(base, ast.Name) else base.attr if isinstance(base, ast.Attribute) else ""
        known = source.project.classes.get(name, [])
        # A base that is written otherwise than by its name is not looked for.
        if name != "object" and (not known or not isinstance(base, ast.Name)):
            return True
        if any(each not in seen and _derives_from_outside(source, each, seen) for each in known):
            return True
        if name != "object" and not _is_at_hand(source, name):
            return True
    return False


def _is_at_hand(source: Source, name: str) -> bool:
    """Say whether a file itself defines a class or imports it from a file that is there."""
    return any(
        name in (getattr(node, "name", None), getattr(node, "asname", None))
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef | ast.alias)
    )


def _is_passed_on(source: Source, finding: Finding) -> bool:
    """Say whether a package imports the name."""
    return any(
        alias.name == finding.name
        for path in source.project.paths
        if path.endswith("__init__.py")
        for node in ast.walk(source.project.source(path).tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    )


# --- only ours finds it ---------------------------------------------------------------------------


def _uses(source: Source, finding: Finding) -> list[tuple[Source, ast.expr]]:
    return source.project.uses.get(finding.name, [])


def _is_used_by_itself(source: Source, finding: Finding) -> bool:
    own = set(_definitions(source, finding))
    return all(own.intersection(where.around(use)) for where, use in _uses(source, finding))


def _is_used_by_dead_code(source: Source, finding: Finding) -> bool:
    return all(
        any(_is_reported(where, each) for each in where.around(use)) for where, use in _uses(source, finding)
    )


def _is_another_used(source: Source, finding: Finding) -> bool:
    """Say whether all uses outside dead code are names that stand for something else."""
    return all(
        isinstance(use, ast.Name) and _stands_for_another(source, finding, where, use)
        for where, use in _uses(source, finding)
        if not any(_is_reported(where, each) for each in where.around(use))
    )


def _stands_for_another(source: Source, finding: Finding, where: Source, use: ast.Name) -> bool:
    if where is not source:
        module = source.path.removesuffix("/__init__.py").removesuffix(".py").rsplit("/", 1)[-1]
        return not any(
            (node.module or "").rsplit(".", 1)[-1] == module and alias.name == finding.name
            for node in ast.walk(where.tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        )
    # A method is not found by its bare name; a name may be bound again on the way out.
    own = {where.scope(node) for node in _definitions(source, finding)}
    if all(isinstance(each, ast.ClassDef) and where.scope(use) is not each for each in own):
        return True
    for scope in (each for each in where.around(use) if isinstance(each, ast.FunctionDef | ast.Lambda)):
        if scope in own:
            return False
        if finding.name in {name.arg for name in ast.walk(scope.args) if isinstance(name, ast.arg)}:
            return True
        bound = (node for node in ast.walk(scope) if where.scope(node) is scope)
        if any(_binds(node, finding.name) for node in bound):
            return True
    return not own.intersection(where.around(use))


def _binds(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Name(id=found, ctx=ast.Store()):
            return found == name
        case ast.FunctionDef(name=found) | ast.AsyncFunctionDef(name=found) | ast.ClassDef(name=found):
            return found == name
        case ast.alias():
            return name == (node.asname or node.name)
        case _:
            return False


def _is_under_another_name(source: Source, finding: Finding) -> bool:
    return any(
        alias.name == finding.name and alias.asname is not None
        for path in source.project.paths
        for node in ast.walk(source.project.source(path).tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    )


def _is_silenced(source: Source, finding: Finding) -> bool:
    return "noqa" in source.text.split("\n")[finding.line - 1]


def _is_test_for_vulture(source: Source, finding: Finding) -> bool:
    """Say whether vulture leaves it out because of its name and that of its file."""
    is_test_file = any("test" in part for part in source.path.split("/"))
    return is_test_file and "test" in finding.name.lower()


def _before(source: Source, finding: Finding) -> Iterator[ast.AST]:
    """Yield what stands around a statement, and beside it, with all that is inside."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.stmt) and node.lineno == finding.line:
            yield source.parents[node]
            for each in ast.iter_child_nodes(source.parents[node]):
                yield from ast.walk(each)


def _is_by_star(source: Source, finding: Finding) -> bool:
    return any(isinstance(node, ast.TryStar) for node in _before(source, finding))


def _is_by_finally(source: Source, finding: Finding) -> bool:
    return any(
        isinstance(node, ast.Try) and any(isinstance(each, ast.Raise | ast.Return) for each in node.finalbody)
        for node in _before(source, finding)
    )


def _is_by_match(source: Source, finding: Finding) -> bool:
    return any(isinstance(node, ast.Match) for node in _before(source, finding))


_UNUSED = ("unused_function", "unused_method", "unused_class")
_ONLY_THEIRS = (
    ("a special name", _is_special),
    ("a test, or a class of tests", _is_test),
    ("a decorator may have registered it", _is_decorated),
    ("its name is a text somewhere", _is_in_text),
    ("inside dead code, which is reported instead", _is_in_dead_code),
    ("it may override a method of a base outside the source", _has_base_outside),
    ("a package passes it on", _is_passed_on),
)
_ONLY_OURS = (
    ("vulture leaves tests out by their names", _is_test_for_vulture),
    ("`# noqa`", _is_silenced),
    ("only it itself uses it", _is_used_by_itself),
    ("only dead code uses it", _is_used_by_dead_code),
    ("what is used is something else of its name", _is_another_used),
    ("imported under another name that nobody reads", _is_under_another_name),
)
CLASSES = (
    *(DifferenceClass(name, kind, False, applies) for kind in _UNUSED for name, applies in _ONLY_THEIRS),
    *(DifferenceClass(name, kind, True, applies) for kind in _UNUSED for name, applies in _ONLY_OURS),
    DifferenceClass("vulture does not know `except*`", "unreachable", True, _is_by_star),
    DifferenceClass("a `finally` jumps away", "unreachable", True, _is_by_finally),
    DifferenceClass("all cases of a `match` jump away", "unreachable", True, _is_by_match),
)
