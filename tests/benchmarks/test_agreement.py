"""The comparison with pyflakes: both tools over small files, and why they differ."""

import pytest

from benchmarks.agreement.classes import UNEXPLAINED, Source, explain
from benchmarks.agreement.finding import Finding
from benchmarks.agreement.ours import our_findings
from benchmarks.agreement.theirs import their_findings

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


def test_both_tools_find_the_same() -> None:
    """Undefined names, unused imports, variables and exceptions are found on the same lines."""
    ours, paths = our_findings({"a.py": AGREED})

    assert paths == ["a.py"]
    assert ours == set(their_findings("a.py", AGREED))
    assert {(each.kind, each.line, each.name) for each in ours} == {
        ("unused_import", 1, "p"),
        ("unused_import", 1, "sys"),
        ("unused_import", 3, "Ordered"),
        ("undefined", 8, "missing"),
        ("unused_variable", 8, "b"),
        ("unused_variable", 11, "error"),
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
def test_a_difference_has_a_class(text: str, path: str, reason: str) -> None:
    """What only one tool finds is explained by the file itself."""
    ours, _ = our_findings({path: text})
    theirs = set(their_findings(path, text))

    differences = ours ^ theirs
    assert differences
    for finding in differences:
        assert reason in explain(finding, Source(path, text), is_ours=finding in ours)


def test_a_difference_without_a_reason_is_unexplained() -> None:
    """Nothing in the file explains a finding that is simply wrong."""
    finding = Finding("unused_variable", "a.py", 1, "x")

    assert explain(finding, Source("a.py", "y = 1\n"), is_ours=True) == UNEXPLAINED
