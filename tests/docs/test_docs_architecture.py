"""ARCHITECTURE.md and README.md are true to the files they speak of."""

import re
import tomllib

import pytest

from support.doc_pages import ROOT
from tidelog.engine.epoch import Strategy

PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "tidelog"


def test_every_linked_path_exists() -> None:
    """A file or folder that the page links is there, and is called as the link says."""
    links = re.findall(r"\[([^\]]+)\]\(([^)#]+)\)", PAGE)

    assert len(links) > 60
    assert [target for _, target in links if not (ROOT / target).exists()] == []
    named = [(text, target) for text, target in links if "/" in text and text != "src/tidelog"]
    assert [text for text, target in named if not target.endswith(text)] == []


def test_the_stages_are_those_enforced() -> None:
    """The table of stages has the layers of the import contract, in their order."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = contract["tool"]["importlinter"]["contracts"][0]["layers"]
    wanted = [re.findall(r"tidelog\.(\w+)", layer) for layer in layers]

    rows = re.findall(r"^\| (\[.*?\)) \| [^|]+ \|$", PAGE, re.MULTILINE)

    assert [re.findall(r"\[(\w+)\]", row) for row in rows] == wanted


def test_the_stages_are_all_packages() -> None:
    """Every package of the source is a stage of the table."""
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}

    assert packages == set(re.findall(r"\]\(src/tidelog/(\w+)\)", PAGE))


def test_words_in_code_are_in_the_files_named() -> None:
    """What the page calls by its name in the code is there."""
    names = {"PASSES": "plan/passes.py", "CHECKS": "program/build.py", "join_postings": "storage/join.py"}

    for name, file in names.items():
        assert f"`{name}`" in PAGE
        assert name in (SOURCE / file).read_text(encoding="utf-8")
    assert [
        each.value for each in Strategy if each.value not in ("auto", "recompute") and each.value not in PAGE
    ] == []


@pytest.mark.parametrize("walk", ["One fact", "One deletion", "One aggregate", "One stratum on Spark"])
def test_each_walk_through_the_code_is_short_and_names_files(walk: str) -> None:
    """What happens to one thing is followed through named files, in under 200 words."""
    section = re.search(rf"^## {walk}.*?(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None

    text = re.sub(r"```.*?```", "", section[0], flags=re.DOTALL)
    words = re.sub(r"\]\([^)]*\)", "]", text).split()

    assert len(words) < 200
    assert len(re.findall(r"\]\(src/tidelog/", text)) >= 6


def test_the_rules_in_the_readme_are_those_of_the_example() -> None:
    """README.md shows the rules of the points-to program as they stand in it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    program = (ROOT / "examples" / "pointsto" / "pointsto.dl").read_text(encoding="utf-8")
    shown = re.search(r"^```text\n(vpt.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert shown is not None

    rules = [re.sub(r"\s+", "", rule) for rule in re.split(r"\.\n", shown[1]) if rule.strip()]

    assert len(rules) == 5
    assert [rule for rule in rules if rule not in re.sub(r"\s+", "", program)] == []


def test_the_glossary_has_the_words_of_strategies() -> None:
    """Every strategy is named in the glossary."""
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")

    assert [each.value for each in Strategy if f"`{each.value}`" not in glossary] == []
