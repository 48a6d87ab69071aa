"""Analyses of Python source: what they find in small files, and after edits."""

from pathlib import Path

import pytest

from tidelog.analysis.follow import Follow
from tidelog.engine.function_files import load_functions
from tidelog.trees import Forest

ANALYSES = Path(__file__).parents[2] / "examples" / "analyses"


def follow(program: str, texts: dict[str, str | None]) -> Follow:
    """Return an analysis over some files."""
    forest = Forest.of("python").update(texts).forest
    functions = load_functions([ANALYSES / "constants.py"]) if program == "constants.dl" else None
    return Follow(ANALYSES / program, forest, facts=ANALYSES, functions=functions, jobs=1)


def told(analysis: Follow) -> list[str]:
    """Return what is found, each with its line and without its column."""
    return [
        f"{each.span.source.name}:{each.span.line} {each.text}" if each.span else each.text
        for each in analysis.findings()
    ]


def lines(analysis: Follow, relation: str) -> list[int]:
    """Return the lines on which a relation finds something."""
    return [
        each.span.line for each in analysis.findings() if each.relation == relation and each.span is not None
    ]


def check_edits(program: str, versions: list[dict[str, str | None]]) -> None:
    """Compare the analysis that follows versions with one from scratch after each of them."""
    analysis = follow(program, versions[0])
    texts = dict(versions[0])
    for version in versions[1:]:
        analysis.update(version)
        texts.update(version)
        fresh = follow(program, {path: text for path, text in texts.items() if text is not None})
        assert told(analysis) == told(fresh)


def pairs(analysis: Follow, relation: str) -> set[tuple[int, int]]:
    """Return the lines of the two nodes of each fact of a relation; 0 for the end of a function."""
    forest = analysis.forest
    ends = {node for (node,) in analysis.db["whole"]}

    def line(node: int) -> int:
        span = forest.place_of(node)
        return 0 if node in ends or span is None else span.line

    return {(line(left), line(right)) for left, right in analysis.db[relation]}


BRANCHES = """\
def f(x):
    while x:
        if x > 1:
            break
        elif x:
            continue
        x = 2
    else:
        x = 3
    return x
"""


def test_control_flow_of_loops_and_branches() -> None:
    """Loops come back to their head, `break` passes over `else`, and the end of a body is an end."""
    found = pairs(follow("control.dl", {"a.py": BRANCHES}), "successor")

    assert found == {
        (1, 0), (2, 3), (2, 9), (3, 4), (3, 5), (4, 10), (5, 6), (5, 7), (6, 2), (7, 2), (9, 10), (10, 0),
    }  # fmt: skip


TRIES = """\
def f(x):
    for y in x:
        try:
            g(y)
            break
        except ValueError:
            h(y)
        else:
            i(y)
        finally:
            j(y)
    with x:
        raise x
"""


def test_control_flow_of_try() -> None:
    """What fails goes to the handlers, jumps run the `finally` and go on from there."""
    found = pairs(follow("control.dl", {"a.py": TRIES}), "successor")

    assert {
        (3, 4),
        (4, 5),
        (4, 6),
        (5, 11),
        (5, 6),
        (6, 7),
        (7, 11),
        (9, 11),
        (11, 2),
        (11, 12),
        (11, 0),
    } <= found
    assert (5, 12) not in found
    assert (4, 9) not in found
    assert (13, 0) in found


UNREACHABLE = """\
def f(x):
    if x:
        return 1
    else:
        raise x
    print(x)
def g(x):
    while True:
        if x:
            return
    print(x)
def h(x):
    while True:
        if x:
            break
    print(x)
def i(x):
    try:
        return x
    except ValueError:
        pass
    return 2
def j(x):
    match x:
        case 1:
            return 1
        case _:
            return 2
    return 3
def k(x):
    if False:
        x()
    while 0:
        x()
    if 1:
        return x
    else:
        x()
    return 4
def l(x):
    try:
        return x
    except ValueError:
        return 5
    else:
        x()
def m(x):
    if x:
        while True:
            x()
        else:
            x()
    return 6
"""


def test_statements_that_are_never_reached() -> None:
    """Found is what stands after a statement that never ends, or in a block that a constant test closes."""
    found = lines(follow("control.dl", {"a.py": UNREACHABLE}), "unreachable")

    assert found == [6, 11, 29, 32, 34, 38, 39, 46, 52]


def test_control_flow_follows_edits() -> None:
    """Successors and unreachable statements after edits are those of the new text."""
    check_edits(
        "control.dl",
        [
            {"a.py": UNREACHABLE, "b.py": TRIES},
            {"a.py": UNREACHABLE.replace("raise x", "pass").replace("break", "continue")},
            {"a.py": None, "b.py": TRIES.replace("            break\n", "            return y\n")},
        ],
    )


USES = """\
def f(a):
    b = 1
    if a:
        b = 2
    c = b
    b = 3
    for b in a:
        c = c + 1
    print(c)
    del a
    print(a)
"""


def test_definitions_reach_their_uses() -> None:
    """A use sees the definitions on the paths to it and none that was replaced before."""
    analysis = follow("uses.dl", {"a.py": USES})

    assert pairs(analysis, "sees") == {
        (3, 1), (5, 2), (5, 4), (7, 1), (8, 5), (8, 8), (9, 5), (9, 8), (10, 1), (11, 10),
    } - {(10, 1)}  # fmt: skip
    assert lines(analysis, "dead_store") == [6, 7]


def test_uses_before_any_value() -> None:
    """A variable that no value can have reached is unset; closures and handlers count as ways."""
    text = """\
def f(x):
    print(y)
    y = 1
    return y
def g(x):
    try:
        z = 1
        h(z)
    except ValueError:
        print(z)
    w = 1
    def i():
        nonlocal w
        w = 2
    i()
    return w
"""
    assert lines(follow("uses.dl", {"a.py": text}), "unset") == [2]


def test_a_use_that_control_does_not_reach_is_not_unset() -> None:
    """Nothing is said about dead code; what a `with` may swallow is reached."""
    text = """\
def f(x):
    try:
        raise x
    except TypeError:
        return
    print(x)
def g(x):
    with x:
        for y in x:
            raise y
    print(x)
    print(z)
    z = 1
"""
    assert lines(follow("uses.dl", {"a.py": text}), "unset") == [12]


def test_definitions_and_uses_follow_edits() -> None:
    """Uses after edits see what they see in the new text."""
    check_edits(
        "uses.dl",
        [
            {"a.py": USES},
            {"a.py": USES.replace("    b = 3\n", "")},
            {"a.py": USES.replace("    if a:\n", "    while a:\n"), "b.py": BRANCHES},
        ],
    )


NAMES = """\
import os, sys
import a.b
from x import y as z, w
from typing import Any
__all__ = ["w"]

def f(p: "Any"):
    q = 1
    r = [s for s in p if t]
    def g():
        global h
        h = r
        return k
    k = 2
    (m, n) = p
    return g, [os for _ in p]

class C:
    u = 1
    def v(self):
        return u, h, self.u, __name__, len(self)
"""


def test_names_that_nothing_binds_or_reads() -> None:
    """Scopes are those of Python: classes are passed over, `global` names are the module's."""
    assert told(follow("names.dl", {"a.py": NAMES})) == [
        'a.py:1 unused_import(`sys`, "sys")',
        'a.py:2 unused_import(`a.b`, "a")',
        'a.py:3 unused_import(`y as z`, "z")',
        'a.py:8 unused_variable(`q`, "q")',
        'a.py:9 undefined(`t`, "t")',
        'a.py:21 undefined(`u`, "u")',
    ]


def test_names_of_comprehensions_lambdas_and_patterns() -> None:
    """The first iterable of a comprehension, defaults and `:=` belong outside; patterns bind."""
    text = """\
def f(x, y=x):
    z = [i for i in i]
    if any((last := k) for k in x):
        print(last)
    match x:
        case {"a": b, **rest}:
            return b, rest
        case [c, *d] as e:
            return c, d, e
    g = lambda m, *n: (m, n, o)
    try:
        return g, z, y
    except OSError as error:
        return error
"""
    assert told(follow("names.dl", {"a.py": text})) == [
        'a.py:1 undefined(`x`, "x")',
        'a.py:2 undefined(`i`, "i")',
        'a.py:10 undefined(`o`, "o")',
    ]


def test_names_follow_edits() -> None:
    """What is found after edits is what is found in the new text, also when bindings move between scopes."""
    check_edits(
        "names.dl",
        [
            {"a.py": NAMES},
            {"a.py": NAMES.replace("import os, sys\n", "import sys\n").replace("        global h\n", "")},
            {"pkg/__init__.py": "from .a import b\n", "a.py": NAMES.replace("class C:", "u = 2\nclass C:")},
            {"a.py": "from q import *\nprint(anything)\n"},
        ],
    )


CLASSES = """\
class A:
    def __init__(self):
        self.m()
    def m(self):
        pass
    def n(self):
        pass
class B(A):
    def m(self):
        super().n()
"""
CALLERS = """\
import shapes
from shapes import B as Base

class D(Base):
    def n(self):
        helper()

def helper():
    Base().m()
    shapes.A()

def other(x):
    x.n()
"""


def calls(analysis: Follow) -> set[tuple[str, str]]:
    """Return the call graph as pairs of places."""
    forest = analysis.forest
    found = set()
    for caller, callee in analysis.db["call_graph"]:
        places = [forest.place_of(node) for node in (caller, callee)]
        found.add(tuple(f"{each.source.name}:{each.line}" for each in places if each))
    return found


def test_the_call_graph_finds_methods_through_bases() -> None:
    """Calls of `self` reach overriding methods, classes their constructors, and imports other files."""
    analysis = follow("calls.dl", {"shapes.py": CLASSES, "use.py": CALLERS})

    assert calls(analysis) == {
        ("shapes.py:2", "shapes.py:4"),  # self.m()
        ("shapes.py:2", "shapes.py:9"),  # ... as B has it
        ("shapes.py:9", "shapes.py:6"),  # super().n()
        ("use.py:5", "use.py:8"),
        ("use.py:8", "shapes.py:2"),  # Base() and shapes.A()
        ("use.py:8", "shapes.py:4"),  # an unknown object's m
        ("use.py:8", "shapes.py:9"),
        ("use.py:12", "shapes.py:6"),
        ("use.py:12", "use.py:5"),
    }


def test_the_call_graph_follows_edits() -> None:
    """Methods that come, go and change their class change the calls of other files."""
    check_edits(
        "calls.dl",
        [
            {"shapes.py": CLASSES, "use.py": CALLERS},
            {"shapes.py": CLASSES.replace("class B(A)", "class B")},
            {"shapes.py": None, "forms/shapes.py": CLASSES + "    def n(self): pass\n"},
            {"use.py": CALLERS.replace("as Base", "as Other")},
        ],
    )


CONSTANTS = """\
def f(p):
    x = 1
    y = x + 2
    if y == 3:
        z = 4
    else:
        z = 5
    while p:
        x = x + 0
        y = y - 1
    if x == 1:
        return 7 // (x - 1)
    if z > 3:
        return y
    if p == 1:
        return z % y
"""


def test_constants_are_found_on_the_lattice() -> None:
    """What is the same on all paths is a constant, also around a loop; what differs is above all."""
    analysis = follow("constants.dl", {"a.py": CONSTANTS})

    assert told(analysis) == [
        'a.py:4 constant_test(`y == 3`, "bool 1")',
        'a.py:11 constant_test(`x == 1`, "bool 1")',
        "a.py:12 division_by_zero(`7 // (x - 1)`)",
    ]


def test_constants_follow_edits() -> None:
    """Constants after edits are those of the new text."""
    check_edits(
        "constants.dl",
        [
            {"a.py": CONSTANTS},
            {"a.py": CONSTANTS.replace("z = 5", "z = 4").replace("x = x + 0", "x = x + 1")},
            {"a.py": CONSTANTS, "b.py": CONSTANTS.replace("x = 1", "x = p")},
        ],
    )


TAINT = """\
import os, shlex
import subprocess as sp
from os import system

def ask():
    name = input("who? ")
    return name.strip()

def run(command, safe):
    sp.run("echo " + command)
    system(safe)

class Job:
    def go(self, what):
        eval(what)

def main(job):
    text = ask()
    run(f"{text}!", shlex.quote(text))
    Job().go(text)
    os.system("ls")
    n = int(text)
    exec(n)
"""


def test_taint_goes_through_variables_calls_and_returns() -> None:
    """What a source gives is followed to the sinks, not through what cleans it."""
    analysis = follow("taint.dl", {"a.py": TAINT})

    assert told(analysis) == [
        'a.py:10 leak(`sp.run("echo " + command)`, `input("who? ")`, "subprocess.run")',
        'a.py:15 leak(`eval(what)`, `input("who? ")`, "eval")',
    ]


def test_taint_follows_edits_and_the_configuration() -> None:
    """Leaks come and go with the text, and with what the configuration calls a sink."""
    check_edits(
        "taint.dl",
        [
            {"a.py": TAINT},
            {"a.py": TAINT.replace("shlex.quote(text)", "text")},
            {"a.py": TAINT, "b.py": "from a import ask\nexec(ask())\n"},
        ],
    )
    analysis = follow("taint.dl", {"a.py": TAINT})
    delta = analysis.db.apply("-sink('eval', 0). -sanitizer('shlex.quote').")

    assert len(delta["leak"].deleted) == 1
    assert {fact[2] for fact in delta["leak"].inserted} == {"os.system"}


@pytest.mark.parametrize("program", ["control.dl", "uses.dl", "names.dl", "calls.dl", "taint.dl"])
def test_ordinary_edits_recompute_nothing(program: str) -> None:
    """All strata follow an edit of one statement; none is evaluated anew."""
    texts: dict[str, str | None] = {"a.py": NAMES, "b.py": CLASSES, "c.py": TAINT, "d.py": USES * 3}
    analysis = follow(program, texts)
    step = analysis.update({"d.py": USES + USES.replace("c = b", "c = a\n    g = c") + USES})

    assert step.delta.impact > 0
    assert "recomputed" not in {each.action.value for each in step.delta.strata}


def test_why_shows_source_lines() -> None:
    """The proof of a finding names pieces of source for nodes, and the lines it is about."""
    analysis = follow("taint.dl", {"a.py": TAINT})
    leak = analysis.findings()[0]
    told_why = analysis.why(leak, depth=12).splitlines()

    assert told_why[0].startswith(
        'leak(`sp.run("echo " + command)`, `input("who? ")`, "subprocess.run")  [taint.dl:'
    )
    assert told_why[1] == '  a.py:10 | sp.run("echo " + command)'
    stripped = [line.strip() for line in told_why]
    for line in (
        "a.py:9 | def run(command, safe):",
        'a.py:6 | name = input("who? ")',
        "a.py:18 | text = ask()",
    ):
        assert line in stripped
    assert not any("Link_" in line for line in told_why)
