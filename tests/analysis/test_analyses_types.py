"""Sets of types: what the analysis finds in small files, and that it follows edits."""

import ast
import random
from pathlib import Path

import pytest

from tidelog.analysis.follow import Follow
from tidelog.engine.epoch import Action
from tidelog.engine.function_files import load_functions
from tidelog.trees import Forest

ANALYSES = Path(__file__).parents[2] / "examples" / "analyses"
FUNCTIONS = load_functions([ANALYSES / "types.py"])


def follow(text: str) -> Follow:
    """Return the analysis of one file."""
    forest = Forest.of("python").update({"a.py": text}).forest
    return Follow(ANALYSES / "types.dl", forest, facts=ANALYSES, functions=FUNCTIONS, jobs=1)


def found(analysis: Follow) -> list[str]:
    """Return the findings as lines of text."""
    return [str(finding) for finding in analysis.findings()]


def types(analysis: Follow) -> list[tuple[str, str]]:
    """Return the source and the types of every expression that was followed."""
    return sorted((analysis.forest.place_of(node).text, value) for node, value in analysis.db["type"])  # type: ignore[union-attr, arg-type, misc] # nodes have places


def test_an_operation_that_always_fails_is_found() -> None:
    """Types come together where paths meet; an operation is reported if no pair of them fits."""
    analysis = follow(
        """\
def f(p):
    x = 1 if p else "a"
    y = [x, 2]
    total = ""
    for _ in p:
        total += "b"
    return (total + 1, x + y, x * 2, None + p)
"""
    )

    assert found(analysis) == [
        'a.py:7:13: type_mismatch(`total + 1`, "str", "int")',
        'a.py:7:24: type_mismatch(`x + y`, "int|str", "list")',
    ]
    assert ("x", "int|str") in types(analysis)


def test_more_than_three_types_are_any() -> None:
    """Beyond three types nothing is known, and nothing reported."""
    branches = "".join(f"    elif p == {n}:\n        x = {x}\n" for n, x in enumerate(["''", "[]", "{}"]))
    text = f"def f(p):\n    if p:\n        x = 1\n{branches}    return x + None, x\n"

    three, four = follow(text), follow(text.replace("return", "else:\n        x = b''\n    return"))

    assert not found(four)
    assert ("x", "?") in types(four)
    assert ("x", "?") in types(three)
    assert found(follow(text.replace("x = {}", "x = 2"))) == [
        'a.py:10:12: type_mismatch(`x + None`, "int|list|str", "None")'
    ]


def test_a_variable_changes_its_type_around_a_loop() -> None:
    """What an operation makes of a variable comes back to it."""
    analysis = follow("def f(p):\n    x = 1\n    while p:\n        x = x / 2\n    return x + ''\n")

    assert found(analysis) == ['a.py:5:12: type_mismatch(`x + \'\'`, "float|int", "str")']


VALUES = {
    "bool": [True],
    "int": [2, -1],
    "float": [0.5],
    "complex": [1j],
    "str": ["a"],
    "bytes": [b"a"],
    "list": [[1]],
    "tuple": [(1,)],
    "set": [{1}],
    "dict": [{1: 2}],
    "None": [None],
}
OPERATORS = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**",
    "LShift": "<<", "RShift": ">>", "BitOr": "|", "BitAnd": "&", "BitXor": "^", "MatMult": "@",
}  # fmt: skip


def _made(operator: str, left: object, right: object) -> str | None:
    """Return the type of what Python makes of two values, None if it refuses them."""
    code = compile(ast.parse(f"x {OPERATORS[operator]} y", mode="eval"), "", "eval")
    try:
        return type(eval(code, {"x": left, "y": right})).__name__  # noqa: S307 - our own text
    except ValueError:
        # A whole number is shifted by a whole number, but not by this one.
        return "int"
    except TypeError as error:
        # A text without a place for a value is refused for that, not for the type.
        return type(left).__name__ if "not all arguments" in str(error) else None


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_are_those_of_python(operator: str) -> None:
    """What two values make has one of the types that are said; pairs fail that Python refuses."""
    for left, lefts in VALUES.items():
        for right, rights in VALUES.items():
            results = {_made(operator, x, y) for x in lefts for y in rights} - {None}

            assert FUNCTIONS["fails"](operator, left, right) == (not results), (left, right)
            if results:
                assert results <= set(str(FUNCTIONS["operate"](operator, left, right)).split("|"))


STATEMENTS = (
    *("x = 1", "x = 'a'", "x = [y]", "y = x + y", "y = x * 2", "x += y", "y = x if n else y"),
    *("y = {x}", "x = n", "print(x + y)", "x = y / 2", "y = None"),
)


def _random_text(chance: random.Random) -> str:
    lines = ["def f(n):", "    x = y = 0"]
    indent = 4
    for _ in range(chance.randrange(3, 12)):
        if not chance.randrange(3):
            lines.append(" " * indent + chance.choice(("while n:", "if x:", "for y in n:")))
            indent += 4
        lines.append(" " * indent + chance.choice(STATEMENTS))
        indent = max(4, indent - 4 * chance.randrange(3))
    return "\n".join(lines) + "\n"


def test_edits_are_followed() -> None:
    """After every edit all types are those of a new analysis, and the strata of lattices are updated."""
    chance = random.Random(7)  # noqa: S311 - not for secrets
    analysis = follow(_random_text(chance))
    actions = set()
    for _ in range(12):
        text = _random_text(chance)
        step = analysis.update({"a.py": text})
        actions.update(each.action for each in step.delta.strata if "type" in each.relations)
        fresh = follow(text)
        assert found(analysis) == found(fresh)
        assert types(analysis) == types(fresh)
    assert Action.UPDATED in actions
    assert actions <= {Action.UPDATED, Action.SKIPPED}
