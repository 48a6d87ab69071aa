"""Text that multiplies is refused before it fills the memory."""

from pathlib import Path

import pytest

from support.building import diagnostics, mistakes
from tidelog.errors import TidelogError
from tidelog.source import Source
from tidelog.syntax import parse

TESTS = ", ".join(f"(x < {n} ; x > {n})" for n in range(11))
DECLARED = ".decl a(x: number) .input a .decl b(x: number)\n"


@pytest.mark.parametrize(
    "rule",
    [
        f"b(x) :- a(x), {TESTS}, {TESTS}.",
        f"b(y) :- a(y), (y < 0 ; y > 1), (y < 2 ; y > 3), (y < 4 ; y > 5), y = count : {{ a(x), {TESTS} }}.",
        f"b(y) :- a(y), y = count : {{ a(x), {TESTS}, x = count : {{ a(x), {TESTS} }} }}.",
        f"b(count : {{ a(x), {TESTS}, x = count : {{ a(x), {TESTS} }} }}).",
        f"{', '.join(['b(x)'] * 100)} :- a(x), {TESTS}.",
        f"b(x) :- a(x), !({' ; '.join(f'x < {n}, x > {n}, x = {n}' for n in range(30))}).",
        f"b(x) <= b(y) :- a(x), a(y), {TESTS}, {TESTS}.",
    ],
    ids=["body", "aggregate", "nested aggregate", "head", "heads", "negation", "subsumption"],
)
def test_disjunctions_that_multiply_are_refused(rule: str) -> None:
    """Wherever disjunctions stand in a rule, too many alternatives of it are one mistake of that rule."""
    assert mistakes(DECLARED + rule) == [("rule-too-large", rule)]


@pytest.mark.parametrize(
    "component",
    [".comp A{n} {{ .init x = A{m} .init y = A{m} }}", ".comp A{n} : A{m}, A{m} {{ }}"],
    ids=["instances", "bases"],
)
def test_components_that_multiply_are_refused(component: str) -> None:
    """Components that hold or inherit each other twice are given up, with the place that multiplies."""
    levels = 40
    text = ".comp A0 { .decl a(x: number) }\n"
    text += "\n".join(component.format(n=n, m=n - 1) for n in range(1, levels)) + f"\n.init x = A{levels - 1}"

    assert "program-too-large" in {each.code for each in diagnostics(text)}


def test_includes_that_multiply_are_refused(tmp_path: Path) -> None:
    """Files that include each other twice are given up, and told so once."""
    levels = 30
    (tmp_path / "f0.dl").write_text("// nothing more\n")
    for level in range(1, levels):
        line = f'#include "f{level - 1}.dl"\n'
        (tmp_path / f"f{level}.dl").write_text(line * 2)

    with pytest.raises(TidelogError) as caught:
        parse(Source(str(tmp_path / "all.dl"), f'#include "f{levels - 1}.dl"\n'))

    assert [each.code for each in caught.value.diagnostics] == ["program-too-large"]
