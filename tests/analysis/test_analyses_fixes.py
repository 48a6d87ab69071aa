"""Fixes that the analyses give: the text after a fix, and that the finding is gone then."""

from pathlib import Path

import pytest

from tidelog.analysis.fixes import find_fixes
from tidelog.analysis.follow import Follow
from tidelog.trees import Forest

ANALYSES = Path(__file__).parents[2] / "examples" / "analyses"


def fixed(program: str, text: str) -> str:
    """Return the text after the only fix of the first finding."""
    forest = Forest.of("python").update({"a.py": text}).forest
    analysis = Follow(ANALYSES / program, forest, facts=ANALYSES, jobs=1)
    finding = analysis.findings()[0]
    (fix,) = find_fixes(analysis, finding)
    for edit in reversed(fix.edits):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    analysis.update({"a.py": text})
    assert finding.text not in [each.text for each in analysis.findings()]
    return text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import os\nx = 1\n", "x = 1\n"),
        ("import os, sys\nsys\n", "import sys\nsys\n"),
        ("import sys, os\nsys\n", "import sys\nsys\n"),
        ("import a, b.c as d, e\nprint(a, e)\n", "import a, e\nprint(a, e)\n"),
        ("from m import (\n    a as b,\n    c,\n)\nb\n", "from m import a as b\nb\n"),
        ("from .. import a, b\nb\n", "from .. import b\nb\n"),
        ("from .m import a, b\nb\n", "from .m import b\nb\n"),
        ("if True:\n    import os\n", "if True:\n    pass\n"),
    ],
)
def test_an_unused_import_is_removed(before: str, after: str) -> None:
    """Other names of the import stay, in their order; a block keeps a statement."""
    assert fixed("names.dl", before) == after


def test_what_is_never_reached_is_removed() -> None:
    """All statements after the one that stops go."""
    assert (
        fixed("control.dl", "def f():\n    return 1\n    g()\n    h()\nf()\n")
        == "def f():\n    return 1\nf()\n"
    )


def test_an_unused_function_is_removed() -> None:
    """The function goes, with its line ends."""
    assert fixed("unused_code.dl", "def f():\n    pass\nx = 1\n") == "x = 1\n"


def test_a_decorated_function_has_no_fix() -> None:
    """Its decorators would stay behind."""
    text = "class A:\n    @staticmethod\n    def f():\n        pass\n    x = 1\nA()\n"
    forest = Forest.of("python").update({"a.py": text}).forest
    analysis = Follow(ANALYSES / "unused_code.dl", forest, facts=ANALYSES, jobs=1)

    (finding,) = analysis.findings()

    assert finding.fact[1] == "f"
    assert find_fixes(analysis, finding) == []
