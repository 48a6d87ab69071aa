"""Points-to analysis of Java source: virtual calls and fields, and that it follows edits."""

from pathlib import Path

from tidelog.analysis.follow import Follow
from tidelog.trees import Forest

PROGRAM = Path(__file__).parents[2] / "examples" / "analyses" / "java_points_to.dl"
SHAPES = """\
interface Shape { Object name(); }
class Circle implements Shape {
  public Object name() { return new Round(); }
}
class Square implements Shape {
  Object label = new Label();
  public Object name() { return label; }
}
class Small extends Square { }
class Round { }
class Label { }
class Box {
  Shape held;
  Box(Shape first) { this.held = first; }
  void put(Shape s) { held = s; }
  Shape get() { return held; }
}
class Main {
  static Shape pick(Shape a, Shape b) { return a; }
  void run() {
    Box one = new Box(new Circle());
    Box two = new Box(new Small());
    Object x = one.get().name();
    Object y = two.get().name();
    Object z = pick(new Square(), new Circle()).name();
  }
  void start() { Main m = new Main(); m.run(); }
}
"""


def follow(text: str) -> Follow:
    """Return the analysis of one file."""
    return Follow(PROGRAM, Forest.of("java").update({"A.java": text}).forest, jobs=1)


def targets(analysis: Follow) -> set[tuple[str, int]]:
    """Return the text of every call, with the line of each method that it may reach."""
    place = analysis.forest.place_of
    found = set()
    for call, method in analysis.db["call_target"]:
        assert isinstance(call, int)
        assert isinstance(method, int)
        at, to = place(call), place(method)
        assert at is not None
        assert to is not None
        found.add((at.text, to.line))
    return found


def test_virtual_calls_go_where_the_objects_come_from() -> None:
    """A call reaches the methods of the objects that its receiver may be, inherited ones too."""
    found = targets(follow(SHAPES))

    # Without contexts, both boxes share the variables of their methods, but not the fields of their objects.
    assert {line for text, line in found if text == "two.get()"} == {16}
    assert ("m.run()", 20) in found
    assert {line for text, line in found if text == "one.get().name()"} == {3, 7}
    assert ("pick(new Square(), new Circle()).name()", 7) in found
    assert ("pick(new Square(), new Circle()).name()", 3) not in found


def test_code_that_nothing_reaches_points_nowhere() -> None:
    """`run` is reached through the object that `start` makes; without the call its `this` is nobody."""
    found = targets(follow(SHAPES.replace("m.run();", "")))

    assert not any(text == "m.run()" for text, _ in found)


def test_edits_are_followed() -> None:
    """After every edit the findings are those of a new analysis."""
    edits = [
        ("return a;", "return b;"),
        ("new Small()", "new Circle()"),
        ("held = s;", ""),
        ("extends Square", ""),
    ]
    analysis, text = follow(SHAPES), SHAPES
    for old, new in edits:
        text = text.replace(old, new)
        analysis.update({"A.java": text})
        fresh = follow(text)
        assert targets(analysis) == targets(fresh)
        assert [str(each) for each in analysis.findings()] == [str(each) for each in fresh.findings()]
