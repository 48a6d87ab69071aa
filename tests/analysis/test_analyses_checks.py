"""Analyses for everyday mistakes: what they find in small files, what they leave alone, and after edits."""

from pathlib import Path

import pytest

from tidelog.analysis.follow import Follow
from tidelog.trees import Forest

ANALYSES = Path(__file__).parents[2] / "examples" / "analyses"
Texts = dict[str, str | None]


def follow(program: str, texts: Texts) -> Follow:
    """Return an analysis over some files."""
    forest = Forest.of("python").update(texts).forest
    return Follow(ANALYSES / program, forest, facts=ANALYSES, jobs=1)


def found(analysis: Follow) -> list[str]:
    """Return the findings as lines of text."""
    return [str(finding) for finding in analysis.findings()]


def judged(program: str, cases: list[tuple[str, bool]]) -> list[bool]:
    """Return for each body of a function whether something is found in it."""
    functions = [f"def f{n}(a, b):\n    {body}\n" for n, (body, _) in enumerate(cases)]
    analysis = follow(program, {"a.py": "".join(functions)})
    lines = {each.span.line for each in analysis.findings() if each.span is not None}
    result, first = [], 1
    for function in functions:
        own = range(first, first + function.count("\n"))
        result.append(not lines.isdisjoint(own))
        first = own.stop
    return result


RESOURCES = [
    ("f = open(a)\n    f.read()", True),
    ("f = open(a)\n    f.read()\n    f.close()", False),
    ("f = open(a)\n    if b:\n        f.close()", True),
    ("f = open(a)\n    if b:\n        return 1\n    f.close()", True),
    ("f = open(a)\n    try:\n        f.read()\n    finally:\n        f.close()", False),
    ("with open(a) as f:\n        f.read()", False),
    ("f = open(a)\n    with f:\n        f.read()", False),
    ("f = open(a)\n    return f", False),
    ("f = open(a)\n    b.append(f)", False),
    ("f = open(a)\n    b.file = f", False),
    ("f = open(a)\n    for line in f:\n        b(line)", True),
    ("for n in a:\n        f = open(n)\n        f.read()\n    f.close()", True),
    ("f = open(a)\n    def g():\n        f.close()\n    g()", False),
    ("open = b\n    f = open(a)", False),
]
NOTHING = [
    ("x = None\n    x.y", True),
    ("x = None\n    x = a\n    x.y", False),
    ("x = None\n    if a:\n        x = b\n    x.y", True),
    ("x = None\n    if a:\n        x = b\n    if x:\n        x.y", False),
    ("x = None\n    if a:\n        x = b\n    if x is not None:\n        x.y", False),
    ("x = None\n    for x in a:\n        x.y", False),
    ("x = None\n    for i in a:\n        x = i\n    return x.y", True),
    ("x = None\n    while x is None:\n        x = a()\n    return x.y", False),
    ("x: str = None\n    return x.upper()", True),
    ("x = None\n    print(x)", False),
]

TAINT = [
    ("b.x = input()\n    eval(b.x)", True),
    ("b.x = input()\n    eval(b.y)", False),
    ("b.x = input()\n    eval(a.x)", False),
    ('b["x"] = input()\n    eval(b["x"])', True),
    ('b["x"] = input()\n    eval(b["y"])', False),
    ('b["x"] = input()\n    eval(b[a])', True),
    ('b[a] = input()\n    eval(b["x"])', True),
    ('b = {"x": input(), "y": 1}\n    eval(b["x"])', True),
    ('b = {"x": input(), "y": 1}\n    eval(b["y"])', False),
    ('b = {"x": input(), "y": 1}\n    eval(b.get(a))', True),
    ("b = [1, input()]\n    for c in b:\n        eval(c)", True),
    ("b = [1, 2]\n    for c in b:\n        eval(c)", False),
    ("b = []\n    b.append(input())\n    eval(b[0])", True),
    ("b = []\n    b.append(input())\n    eval(str(b))", True),
    ("b = []\n    b.append(input())\n    eval(len(b))", False),
    ("eval([input()])", True),
]
EDITED = [("resources.dl", RESOURCES), ("nothing.dl", NOTHING), ("taint.dl", TAINT)]


@pytest.mark.parametrize(("program", "cases"), EDITED)
def test_which_functions_are_judged(program: str, cases: list[tuple[str, bool]]) -> None:
    """Each body is found or left alone as the table says."""
    expected = [is_wrong for _, is_wrong in cases]

    assert dict(zip([body for body, _ in cases], judged(program, cases), strict=True)) == dict(
        zip([body for body, _ in cases], expected, strict=True)
    )


CIRCLE: Texts = {
    "p/a.py": "import p.b as b\n",
    "p/b.py": "from p.c import x\n",
    "p/c.py": "from p import a\nx = 1\n",
    "p/d.py": "from p import a\n",
}


def test_a_circle_of_imports() -> None:
    """All imports of the circle are found, and none that only leads into it."""
    assert found(follow("imports.dl", CIRCLE)) == [
        'p/a.py:1:8: import_cycle(`p.b as b`, "p/b.py")',
        'p/b.py:1:17: import_cycle(`x`, "p/c.py")',
        'p/c.py:1:15: import_cycle(`a`, "p/a.py")',
    ]


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    from p import a\nx = 1\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p import a\nx = 1\n",
        "x = 1\n",
    ],
)
def test_imports_that_come_later_close_no_circle(text: str) -> None:
    """An import in a function, or for types alone, does not run when the module is imported."""
    analysis = follow("imports.dl", CIRCLE)

    analysis.update({"p/c.py": text})

    assert not found(analysis)
    analysis.update({"p/c.py": CIRCLE["p/c.py"]})
    assert len(found(analysis)) == 3


@pytest.mark.parametrize(("program", "cases"), EDITED)
def test_edits_are_followed(program: str, cases: list[tuple[str, bool]]) -> None:
    """After every edit the findings are those of a new analysis."""
    bodies = [body for body, _ in cases]
    texts = [
        f"def f(a, b):\n    {one}\n\ndef g(a, b):\n    {two}\n"
        for one, two in zip(bodies, bodies[3:], strict=False)
    ]
    analysis = follow(program, {"a.py": texts[0]})
    for text in texts[1:]:
        analysis.update({"a.py": text})
        assert found(analysis) == found(follow(program, {"a.py": text}))


SHOP = """\
class Shop:
    def ask(self):
        self.wish = input()
        self.price = 1

    def sell(self):
        eval(self.wish)
        eval(self.price)

class Small(Shop):
    def look(self):
        eval(self.wish)

class Other:
    def look(self):
        eval(self.wish)
"""


def test_taint_in_attributes_of_self() -> None:
    """What a method stores is read by the other methods of the class and of those below it."""
    analysis = follow("taint.dl", {"a.py": SHOP})

    assert [each.span.line for each in analysis.findings() if each.span is not None] == [7, 12]
