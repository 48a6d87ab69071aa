"""Intervals of integers: what the analysis finds in small files, and that it follows edits."""

import random
from pathlib import Path

from tidelog.analysis.follow import Follow
from tidelog.engine.epoch import Action
from tidelog.engine.function_files import load_functions
from tidelog.trees import Forest

ANALYSES = Path(__file__).parents[2] / "examples" / "analyses"
FUNCTIONS = load_functions([ANALYSES / "intervals.py"])


def follow(text: str) -> Follow:
    """Return the analysis of one file."""
    forest = Forest.of("python").update({"a.py": text}).forest
    return Follow(ANALYSES / "intervals.dl", forest, facts=ANALYSES, functions=FUNCTIONS, jobs=1)


def found(analysis: Follow) -> list[str]:
    """Return the findings as lines of text."""
    return [str(finding) for finding in analysis.findings()]


def intervals(analysis: Follow) -> list[tuple[str, str]]:
    """Return the source and the interval of every expression that was followed."""
    return sorted((analysis.forest.place_of(node).text, value) for node, value in analysis.db["value"])  # type: ignore[union-attr, arg-type, misc] # nodes have places


LOOP = """\
def f():
    xs = (1, 2, 3)
    i = 0
    while i < {bound}:
        print(xs[i])
        i = i + 1
"""


def test_a_loop_ends_at_its_test() -> None:
    """A counter is widened, then narrowed to what the test of the loop lets through."""
    analysis = follow(LOOP.format(bound=3))

    assert ("i", "0..2") in intervals(analysis)
    assert not found(analysis)


def test_a_loop_that_runs_too_far() -> None:
    """One step beyond the end is found."""
    assert found(follow(LOOP.format(bound=4))) == ['a.py:5:15: out_of_range(`xs[i]`, "0..3", 3)']


SUBSCRIPTS = [
    ("for i in range(3):\n        xs[i]", False),
    ("for i in range(4):\n        xs[i]", True),
    ("for i in range(-3, 3):\n        xs[i]", False),
    ("for i in range(-4, 3):\n        xs[i]", True),
    ("xs[n % 3]", False),
    ("xs[n % 4]", True),
    ("xs[n]", False),
    ("if n > 2:\n        xs[n]", True),
    ("if 2 < n:\n        xs[n]", True),
    ("if n > 2:\n        n = 1\n        xs[n]", False),
    ("if n <= 2:\n        pass\n    else:\n        xs[n]", True),
    ("i = 1\n    i += 2\n    xs[i]", True),
    ("i = 1 if n else 2\n    xs[i]", False),
    ("xs[2 * 2 - 1]", True),
    ("xs[-(2 + 2)]", True),
    ("xs[0:9]", False),
    ("ys = [1]\n    ys.append(2)\n    ys[1]", False),
    ("ys = [1]\n    ys[1]", True),
    ("ys = [1]\n    if n:\n        ys = [1, 2]\n    ys[1]", False),
    ("'abc'[3]", True),
    ("range = g\n    for i in range(9):\n        xs[i]", False),
]


def test_which_subscripts_are_out_of_range() -> None:
    """Bounds, ranges, arithmetic and tests are understood; what may change is not judged."""
    functions = [
        f"def f{n}(n, g):\n    xs = (1, 2, 3)\n    {body}\n" for n, (body, _) in enumerate(SUBSCRIPTS)
    ]
    analysis = follow("".join(functions))

    lines = {finding.span.line for finding in analysis.findings() if finding.span is not None}
    first = 1
    for function, (body, is_out) in zip(functions, SUBSCRIPTS, strict=True):
        own = range(first, first + function.count("\n"))
        assert bool(lines.intersection(own)) == is_out, body
        first = own.stop


STATEMENTS = ("i = i + 1", "i = 0", "i += 2", "xs[i]", "i = j - 1", "j = i", "j = len(xs)", "i = i * j")
TESTS = ("while i < 5:", "if j > i:", "while j != 3:", "if n >= 2:")


def _random_text(chance: random.Random) -> str:
    lines = ["def f(n):", "    xs = [1, 2, 3]", "    i = j = 0"]
    indent = 4
    for _ in range(chance.randrange(3, 12)):
        kind = chance.randrange(6)
        if kind == 0:
            lines.append(
                " " * indent + chance.choice(("while i < 5:", "if j > i:", "while j != 3:", "if n >= 2:"))
            )
            indent += 4
        elif kind == 1:
            lines.append(" " * indent + f"for {chance.choice('ij')} in range({chance.randrange(6)}):")
            indent += 4
        lines.append(" " * indent + chance.choice(STATEMENTS))
        indent = max(4, indent - 4 * chance.randrange(3)) if kind > 1 else indent
    return "\n".join(lines) + "\n"


def test_edits_are_followed() -> None:
    """After every edit all intervals are those of a new analysis, and no stratum is recomputed."""
    chance = random.Random(5)  # noqa: S311 - not for secrets
    analysis = follow(_random_text(chance))
    actions = set()
    for _ in range(15):
        text = _random_text(chance)
        step = analysis.update({"a.py": text})
        actions.update(report.action for report in step.delta.strata)
        fresh = follow(text)
        assert found(analysis) == found(fresh)
        assert intervals(analysis) == intervals(fresh)
    assert Action.UPDATED in actions
