"""Unused functions, methods and classes across modules: what is found, what is kept, and after edits."""

from pathlib import Path

import pytest

from tidelog.analysis.follow import Follow
from tidelog.trees import Forest

ANALYSES = Path(__file__).parents[2] / "examples" / "analyses"
Texts = dict[str, str | None]


def follow(texts: Texts) -> Follow:
    """Return the analysis of some files."""
    forest = Forest.of("python").update(texts).forest
    return Follow(ANALYSES / "unused_code.dl", forest, facts=ANALYSES, jobs=1)


def unused(analysis: Follow) -> list[str]:
    """Return the names of what is unused, in the order of files and lines."""
    return [str(finding.fact[1]) for finding in analysis.findings()]


SHOP: Texts = {
    "shop/__init__.py": "from shop.prices import total\n",
    "shop/prices.py": """\
from shop.taxes import rate as tax

def total(items):
    return add(items) * tax()

def add(items):
    return sum(items)

def discount(items):
    return half(items)

def half(items):
    return items[:1]

def again(n):
    return again(n - 1)
""",
    "shop/taxes.py": """\
def rate():
    return 2

class Table:
    def look_up(self, key):
        return self.find(key)

    def find(self, key):
        return key

class Old(Table):
    def find(self, key):
        return self.guess(key)

    def guess(self, key):
        return key

def forgotten():
    return Old

print(Table().look_up(1))
""",
}


def test_what_nothing_uses_across_modules() -> None:
    """What only dead code uses is dead too; methods of a dead class are not reported beside it."""
    assert unused(follow(SHOP)) == ["discount", "half", "again", "Old", "forgotten"]


def test_a_use_in_another_module_counts_through_its_import() -> None:
    """A name stands for what its own module binds or imports, not for anything that is called the same."""
    texts: Texts = {
        "a.py": "def f():\n    pass\n\ndef g():\n    pass\n",
        "b.py": "from a import f\n\ndef g():\n    pass\n\nf()\ng()\n",
    }

    analysis = follow(texts)

    assert [str(each).split(": ")[0] for each in analysis.findings()] == ["a.py:4:1"]


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    def __len__(self):\n        return 1\n\nA()\n",
        "@register\ndef f():\n    pass\n",
        "def f():\n    pass\n\n__all__ = ['f']\n",
        "import x\n\nclass A(x.Base):\n    def visit(self):\n        pass\n\nA()\n",
        "class A:\n    def test_it(self):\n        pass\n\nclass B(A):\n    pass\n",
        "def f():\n    pass\n\ndef g(x):\n    return x.f\n\ng(1)\n",
        "class A:\n    def _get(self):\n        pass\n\n    size = property(_get)\n\nA()\n",
    ],
)
def test_what_something_outside_may_use_is_kept(text: str) -> None:
    """Special methods, what is registered or named in a text, overriding methods and tests are not judged."""
    assert unused(follow({"a.py": text})) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("class A:\n    @property\n    def size(self):\n        return 1\n\nA()\n", ["size"]),
        ("class A:\n    def m(self):\n        return self.m()\n\nA()\n", ["m"]),
        ("def f():\n    def g():\n        pass\n\nf()\n", ["g"]),
        ("async def f():\n    pass\n", ["f"]),
        ("def f(g):\n    return g\n\ndef g():\n    pass\n\nf(1)\n", ["g"]),
    ],
)
def test_what_is_found_in_one_module(text: str, names: list[str]) -> None:
    """Properties, methods that call only themselves, inner functions, and names that a parameter hides."""
    assert unused(follow({"a.py": text})) == names


def test_edits_are_followed() -> None:
    """After every edit the findings are those of a new analysis."""
    edits: list[tuple[str, str, str]] = [
        ("shop/prices.py", "return half(items)", "return items"),
        ("shop/prices.py", "return add(items)", "return discount(items)"),
        ("shop/__init__.py", "from shop.prices import total\n", ""),
        ("shop/taxes.py", "return Old", "return 1"),
        ("shop/taxes.py", "Table().look_up(1)", "forgotten()"),
        ("shop/prices.py", "import rate as tax", "import rate"),
    ]
    analysis, texts = follow(SHOP), dict(SHOP)
    for path, old, new in edits:
        text = texts[path]
        assert text is not None
        texts[path] = text.replace(old, new)
        analysis.update({path: texts[path]})
        assert unused(analysis) == unused(follow(texts))
