"""The extension for Visual Studio Code: its files fit the language, and it builds to a small package."""

import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tidelog.syntax.cursor import AGGREGATES, FUNCTORS, OPERATOR_WORDS
from tidelog.syntax.scanner import DIRECTIVES

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "editors" / "vscode"
# What a package may have, and how large it may be.
FILES = {
    "extension/package.json",
    "extension/readme.md",
    "extension/LICENSE.txt",
    "extension/language-configuration.json",
    "extension/dist/extension.js",
    "extension/syntaxes/tidelog.tmLanguage.json",
    "extension.vsixmanifest",
    "[Content_Types].xml",
}
LARGEST = 300_000


def grammar() -> dict[str, str]:
    """Return the patterns of the grammar by the name of what they match."""
    text = (EXTENSION / "syntaxes/tidelog.tmLanguage.json").read_text(encoding="utf-8")
    return {each["name"]: each["match"] for each in json.loads(text)["patterns"] if "match" in each}


def test_the_grammar_has_the_words_of_the_language():
    """Directives, functors, aggregates and operators of the scanner are coloured, and no others."""
    patterns = grammar()
    directives = re.search(r"\(([a-z_|]+)\)", patterns["keyword.control.directive.tidelog"])
    words = re.search(r"\(([a-z_|]+)\)", patterns["keyword.operator.word.tidelog"])

    assert directives is not None
    assert words is not None
    assert set(directives[1].split("|")) == set(DIRECTIVES)
    others = {"as", "autoinc", "contains", "match"}
    assert set(words[1].split("|")) == FUNCTORS | AGGREGATES | OPERATOR_WORDS | others


def test_the_package_names_files_that_exist():
    """What `package.json` points to is there; the bundle is built."""
    package = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    contributed = package["contributes"]

    assert (EXTENSION / contributed["grammars"][0]["path"]).is_file()
    assert (EXTENSION / contributed["languages"][0]["configuration"]).is_file()
    assert contributed["languages"][0]["extensions"] == [".dl"]
    assert contributed["configuration"]["properties"]["tidelog.command"]["default"] == ["tidelog", "lsp"]
    assert package["capabilities"]["untrustedWorkspaces"]["supported"] is False


@pytest.mark.skipif(shutil.which("npm") is None, reason="Node.js is not installed")
@pytest.mark.skipif(not (EXTENSION / "node_modules").is_dir(), reason="npm install has not been run there")
def test_it_builds_to_a_small_package(tmp_path: Path):
    """`npm run package` makes a .vsix with a few files in it."""
    shutil.copytree(EXTENSION, tmp_path / "vscode", symlinks=True)

    subprocess.run(
        ["npm", "run", "package"], cwd=tmp_path / "vscode", check=True, capture_output=True, timeout=240
    )

    package = tmp_path / "vscode/tidelog.vsix"
    assert package.stat().st_size < LARGEST
    with zipfile.ZipFile(package) as archive:
        assert set(archive.namelist()) == FILES
