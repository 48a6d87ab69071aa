"""The call graph with the classes of objects: who is called, what is only guessed, and after edits."""

from pathlib import Path

from tidelog.analysis.follow import Follow
from tidelog.trees import Forest

ANALYSES = Path(__file__).parents[2] / "examples" / "analyses"
Texts = dict[str, str | None]

SHAPES = """\
class Shape:
    def area(self):
        return self.scale()
    def scale(self):
        return 1
class Circle(Shape):
    def scale(self):
        return super().scale()
class Other:
    def area(self):
        return 3
    def scale(self):
        return 4
class Box:
    empty: Other
    def __init__(self, held):
        self.held = held
        self.own = None
        self.own = Circle()
    def one(self):
        self.held.area()
    def two(self):
        self.own.scale()
    def three(self):
        self.empty.area()
def make():
    c = Circle()
    c.scale()
def fill():
    Box(Other()).one()
def typed(s: Shape):
    s.scale()
def unknown(x):
    x.scale()
def partly(x):
    if x:
        c = Circle()
    else:
        c = x[0]
    c.scale()
def build():
    return Other()
def chain():
    build().area()
"""


def follow(texts: Texts) -> Follow:
    """Return the analysis of some files."""
    forest = Forest.of("python").update(texts).forest
    return Follow(ANALYSES / "object_calls.dl", forest, facts=ANALYSES, jobs=1)


def calls(analysis: Follow, how: str) -> dict[str, set[int]]:
    """Return the lines of the functions that each function calls, by its name."""
    names = dict(analysis.db["function_name"])
    found: dict[str, set[int]] = {}
    for caller, callee, sort in analysis.db["call_graph"]:
        span = analysis.forest.place_of(callee)
        assert span is not None
        if sort == how:
            found.setdefault(str(names[caller]), set()).add(span.line)
    return found


def test_methods_are_found_in_the_classes_of_objects() -> None:
    """Constructors, `self`, `super()`, annotations, attributes, arguments and results tell the class."""
    assert calls(follow({"a.py": SHAPES}), "known") == {
        "area": {4, 7},
        "scale": {4},
        "make": {7},
        "one": {10},
        "two": {7},
        "three": {10},
        "fill": {16, 20},
        "typed": {4, 7},
        "partly": {7},
        "chain": {10, 41},
    }


def test_what_is_not_known_is_guessed_by_its_name() -> None:
    """An object that may come from anywhere may have any method of the name; `None` has none."""
    assert calls(follow({"a.py": SHAPES}), "guessed") == {
        "one": {2},
        "unknown": {4, 7, 12},
        "partly": {4, 12},
    }


def test_classes_of_other_modules() -> None:
    """A class is found through an import, and so are its methods."""
    texts: Texts = {"a.py": SHAPES, "b.py": "from a import Circle\n\ndef f():\n    Circle().area()\n"}

    assert calls(follow(texts), "known")["f"] == {2}


def test_edits_are_followed() -> None:
    """After every edit the calls are those of a new analysis."""
    edits = [
        ("self.own = Circle()", "self.own = Other()"),
        ("Box(Other())", "Box(Circle())"),
        ("class Circle(Shape)", "class Circle(Other)"),
        ("def typed(s: Shape)", "def typed(s)"),
        ("return Other()", "return Box(1)"),
        ("    empty: Other\n", ""),
    ]
    analysis, text = follow({"a.py": SHAPES}), SHAPES
    for old, new in edits:
        text = text.replace(old, new)
        analysis.update({"a.py": text})
        fresh = follow({"a.py": text})
        for how in ("known", "guessed"):
            assert calls(analysis, how) == calls(fresh, how)
