"""The comparisons with pyflakes and vulture: both tools over small files, and why they differ."""

import pytest

from benchmarks.agreement.comparison import Comparison
from benchmarks.agreement.comparisons import COMPARISONS
from benchmarks.agreement.difference import UNEXPLAINED, explain
from benchmarks.agreement.finding import Finding
from benchmarks.agreement.ours import our_findings
from benchmarks.agreement.source import Project, Source

PYFLAKES, VULTURE = COMPARISONS

AGREED = """\
import os.path as p, sys
from collections import (
    OrderedDict as Ordered,
    deque,
)

def f(a):
    b = missing
    try:
        a()
    except ValueError as error:
        pass
    return deque
"""


DEAD = """\
def f():
    return 1
    print(2)

class A:
    def m(self):
        if False:
            return 3

def g():
    return A()

if True:
    g()
else:
    g()
"""


def differences(comparison: Comparison, texts: dict[str, str]) -> list[str]:
    """Return the class of every difference between the two tools."""
    ours, _ = our_findings(texts, comparison.programs)
    theirs = comparison.find(texts)
    project = Project(texts, ours)
    return [
        explain(each, project.source(each.path), comparison.classes, is_ours=each in ours)
        for each in sorted(ours ^ theirs)
    ]


def test_pyflakes_finds_the_same() -> None:
    """Undefined names, unused imports, variables and exceptions are found on the same lines."""
    ours, paths = our_findings({"a.py": AGREED}, PYFLAKES.programs)

    assert paths == ["a.py"]
    assert ours == PYFLAKES.find({"a.py": AGREED})
    assert {(each.kind, each.line, each.name) for each in ours} == {
        ("unused_import", 1, "p"),
        ("unused_import", 1, "sys"),
        ("unused_import", 3, "Ordered"),
        ("undefined", 8, "missing"),
        ("unused_variable", 8, "b"),
        ("unused_variable", 11, "error"),
    }


def test_pyflakes_finds_a_use_before_its_value() -> None:
    """A local variable that is read before anything is assigned to it."""
    texts = {"a.py": "x = 1\n\ndef f():\n    print(x)\n    x = 2\n    return x\n\nf(x)\n"}

    ours, _ = our_findings(texts, PYFLAKES.programs)

    assert ours == PYFLAKES.find(texts) == {Finding("unset", "a.py", 4, "x")}


def test_vulture_finds_the_same() -> None:
    """Unused functions, methods and statements that are never reached are found on the same lines."""
    ours, _ = our_findings({"a.py": DEAD}, VULTURE.programs)

    assert ours == VULTURE.find({"a.py": DEAD})
    assert {(each.kind, each.line, each.name) for each in ours} == {
        ("unused_function", 1, "f"),
        ("unreachable", 3, ""),
        ("unused_method", 6, "m"),
        ("unreachable", 8, ""),
        ("unreachable", 16, ""),
    }


@pytest.mark.parametrize(
    ("text", "path", "reason"),
    [
        ("from os import *\n", "a.py", "a star import"),
        ("import os\n", "p/__init__.py", "a package"),
        ("import os\nx = 'os'\n", "a.py", "stands in a text"),
        ("def f():\n    x = 1\n    x = 2\n", "a.py", "bound again"),
        ("def f():\n    a, b = 1, 2\n    return b\n", "a.py", "a tuple"),
        ("def f(x: 'missing'): pass\n", "a.py", "in the text of an annotation"),
        ("try:\n    missing\nexcept NameError:\n    pass\n", "a.py", "NameError is caught"),
    ],
)
def test_a_difference_from_pyflakes_has_a_class(text: str, path: str, reason: str) -> None:
    """What only one tool finds is explained by the file itself."""
    found = differences(PYFLAKES, {path: text})

    assert found
    assert all(reason in each for each in found)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("@x\ndef f():\n    pass\n", "a decorator"),
        ("def f():\n    pass\n\nx = 'f'\n", "is a text"),
        ("def f():\n    def g():\n        pass\n", "inside dead code"),
        ("import x\n\nclass A(x.B):\n    def m(self):\n        pass\n\nA()\n", "override"),
        ("class A:\n    def test_m(self):\n        pass\n", "a test"),
        ("def __getattr__(name):\n    pass\n", "a special name"),
        ("def f():\n    return f\n", "only it itself"),
        ("def f():\n    pass\n\ndef g():\n    return f\n", "only dead code"),
        ("def f():\n    pass\n\ndef g(f):\n    return f\n\ng(1)\n", "something else of its name"),
    ],
)
def test_a_difference_from_vulture_has_a_class(text: str, reason: str) -> None:
    """What only one tool finds is explained by the files themselves."""
    found = differences(VULTURE, {"a.py": text})

    assert found
    assert all(reason in each for each in found)


def test_a_difference_without_a_reason_is_unexplained() -> None:
    """Nothing in the file explains a finding that is simply wrong."""
    finding = Finding("unused_variable", "a.py", 1, "x")

    assert explain(finding, Source("a.py", "y = 1\n"), PYFLAKES.classes, is_ours=True) == UNEXPLAINED
