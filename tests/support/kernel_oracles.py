"""Kernels, and the tests that compare each of them with a few lines of plain Python.

A test says by `@oracle_of(kernel, ...)` which kernels it calls and judges; `test_kernels.py` asks that every
kernel has one. The step `kernels` of `./check` runs these tests again without the compiler.
"""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

SOURCE = Path(__file__).parents[2] / "src"
TESTS = Path(__file__).parents[1]
# What makes a function a kernel: our own decorator, or Numba's.
DECORATORS = frozenset({"kernel", "njit", "vectorize"})

Test = TypeVar("Test", bound=Callable[..., object])


def oracle_of(*kernels: object) -> Callable[[Test], Test]:
    """Say which kernels a test judges."""
    assert kernels
    return lambda test: test


def kernels_of(text: str) -> Iterator[str]:
    """Yield the names of the kernels that a module defines."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and any(
            _name(each.func if isinstance(each, ast.Call) else each) in DECORATORS
            for each in node.decorator_list
        ):
            yield node.name


def judged_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield the module and the name of every kernel that tests in a file judge, and that the file uses."""
    tree = ast.parse(text)
    imported = {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    judged = [
        _name(each)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _name(node.func) == "oracle_of"
        for each in node.args
    ]
    named = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    for name in dict.fromkeys(judged):
        if named.count(name) > judged.count(name):
            yield imported[name]


def _name(node: ast.expr) -> str:
    return ast.unparse(node)
