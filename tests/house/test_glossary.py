"""One word per thing: code, comments, messages and documentation keep to `docs/glossary.md`.

The column *not* of the glossary has what a thing is not called. A word in `code` font is ordinary English
elsewhere and must not be part of a name in the code; any other word or phrase must not be in prose either.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from support.doc_pages import ROOT

GLOSSARY = ROOT / "docs" / "glossary.md"
CODE = ("src/tidelog", "benchmarks", "examples")
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs")
# Where a word may be all the same, and why.
EXCEPTIONS = {
    ("label", "src/tidelog/explain/proofs/dot.py"): "Graphviz calls it so",
}


class Word(NamedTuple):
    """What is not to be used, the word to use in its place, and whether that holds for prose."""

    text: str
    better: str
    is_in_prose: bool


class Place(NamedTuple):
    """A name that code defines, or a piece of prose, and the line where it starts."""

    line: int
    text: str


# --- what is read ---------------------------------------------------------------------------------


@cache
def words_not_used() -> tuple[Word, ...]:
    """Return what the glossary rules out."""
    found = []
    for line in GLOSSARY.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or cells[2] in ("not", "---", ""):
            continue
        found.extend(
            Word(text.strip("`").lower(), cells[0], is_in_prose=not text.startswith("`"))
            for text in cells[2].split(", ")
        )
    return tuple(found)


def parts_of(name: str) -> list[str]:
    """Return the words of a name: `_is_given`, `MaxLevel` and `HTTPServer` have two each."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def names_in(source: str) -> Iterator[Place]:
    """Yield the names that a module defines, not those of other libraries that it uses."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield Place(node.lineno, name)
            case ast.arg(arg=name) | ast.alias(asname=str(name)):
                yield Place(node.lineno, name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield Place(node.lineno, name)


def prose_in(source: str) -> Iterator[Place]:
    """Yield the docstrings, messages and comments of a module, those on following lines as one."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield Place(node.lineno, node.value)
    comment, last = Place(0, ""), 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            text = token.string.lstrip("#")
            is_more = token.start[0] == last + 1
            if not is_more and comment.text:
                yield comment
            comment = Place(comment.line, comment.text + text) if is_more else Place(token.start[0], text)
            last = token.start[0]
    if comment.text:
        yield comment


def prose_on(page: str) -> Iterator[Place]:
    """Yield the paragraphs of a Markdown page without its blocks of code."""
    line = 1
    for number, block in enumerate(re.split(r"^```.*$", page, flags=re.MULTILINE)):
        if number % 2 == 0:
            start = line
            for paragraph in re.split(r"(\n\s*\n)", block):
                yield Place(start, paragraph)
                start += paragraph.count("\n")
        line += block.count("\n")


# --- what is looked for ---------------------------------------------------------------------------


def is_excepted(word: Word, path: str) -> bool:
    """Say whether a word may be in this file, or in the folder that it is in."""
    return any(word.text == text and path.startswith(place) for text, place in EXCEPTIONS)


def faults_of_names(source: str, path: str) -> Iterator[str]:
    """Yield the names of a module that have a word which the glossary rules out."""
    ruled_out = {word.text: word for word in words_not_used() if " " not in word.text}
    stem = Place(1, Path(path).stem)
    for place in (stem, *names_in(source)):
        for part in parts_of(place.text):
            word = ruled_out.get(part)
            if word is not None and not is_excepted(word, path):
                yield f"{path}:{place.line}: `{place.text}` has `{part}`; say {word.better}"


def faults_of_prose(places: Iterator[Place], path: str) -> Iterator[str]:
    """Yield the pieces of prose with a word or phrase that the glossary rules out."""
    for place in places:
        text = " ".join(re.sub(r"`[^`]*`", "`", place.text).lower().split())
        for found in phrases().finditer(text):
            word = words_in_prose()[found.lastindex - 1]
            if not is_excepted(word, path):
                yield f"{path}:{place.line}: `{found[0]}`; say {word.better}"


@cache
def words_in_prose() -> tuple[Word, ...]:
    """Return what must not be in prose either."""
    return tuple(word for word in words_not_used() if word.is_in_prose)


@cache
def phrases() -> re.Pattern[str]:
    """Return what finds them, each in a group of its own, with up to four words for `…`.

    "There is no fact" does not have the phrase "is no fact".
    """
    each = (re.escape(word.text).replace(r"\ …\ ", r" (?:[\w']+ ){0,4}") for word in words_in_prose())
    return re.compile(rf"(?<!there )\b(?:{'|'.join(f'({pattern})' for pattern in each)})\b")


def modules() -> list[Path]:
    """Return all modules that are held to the glossary."""
    return sorted(path for folder in CODE for path in (ROOT / folder).rglob("*.py"))


def pages() -> list[Path]:
    """Return all pages that are held to the glossary, which cannot be held to itself."""
    found = [ROOT / page for page in PAGES if page.endswith(".md")]
    return [*found, *sorted(path for path in (ROOT / "docs").rglob("*.md") if path != GLOSSARY)]


# --- the tests ------------------------------------------------------------------------------------


def test_names_keep_to_the_glossary():
    """No name that the code defines has a word which means another thing there, or none."""
    found = [
        fault
        for path in modules()
        for fault in faults_of_names(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))
    ]

    assert found == [], "\n".join(found)


def test_comments_and_messages_keep_to_the_glossary():
    """No docstring, comment or message has a word or phrase that the glossary rules out."""
    found = [
        fault
        for path in modules()
        for fault in faults_of_prose(prose_in(path.read_text(encoding="utf-8")), str(path.relative_to(ROOT)))
    ]

    assert found == [], "\n".join(found)


def test_pages_keep_to_the_glossary():
    """No page of the documentation has a word or phrase that the glossary rules out."""
    found = [
        fault
        for path in pages()
        for fault in faults_of_prose(prose_on(path.read_text(encoding="utf-8")), str(path.relative_to(ROOT)))
    ]

    assert found == [], "\n".join(found)


def test_no_exception_is_left_over():
    """Every exception is for a word of the glossary and a place that is there and needs it."""
    words = {word.text: word for word in words_not_used()}

    for text, place in EXCEPTIONS:
        paths = [path for path in modules() if str(path.relative_to(ROOT)).startswith(place)]
        assert any(
            text in parts_of(name.text)
            for path in paths
            for name in names_in(path.read_text(encoding="utf-8"))
        ), f"{words[text].text} in {place}"


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("given = 1", "`given`"),
        ("state.rows_given = 1", "`rows_given`"),
        ("def find(the_label): ...", "`the_label`"),
        ("class PartnerCrew: ...", "`PartnerCrew`"),
        ("from json import dumps as dump", "`dump`"),
        ('"""Facts of lower\nstrata."""', "`lower strata`"),
        ("x = 1\n# Partners are lost\n# unless told.", "`unless told`"),
        ("# What brings all of the faults about.", "`brings all of the faults about`"),
        ('raise ValueError(f"`{text}` is no number")', "`is no number`"),
    ],
)
def test_what_is_looked_for_is_found(source, fault):
    """A word in a name, a docstring, a comment or a message is found, with what to say in its place."""
    found = [*faults_of_names(source, "a.py"), *faults_of_prose(prose_in(source), "a.py")]

    assert len(found) == 1
    assert fault in found[0]
    assert "; say " in found[0]


def test_a_page_is_looked_through_outside_its_code():
    """What is in a block of code or in code font is not prose; the line is that of the paragraph."""
    page = "# Title\n\n```\nunless told\n```\n\nFine `unless told`.\n\nOne line,\nunless\ntold.\n"

    found = list(faults_of_prose(prose_on(page), "page.md"))

    assert [fault.split(" ")[0] for fault in found] == ["page.md:9:"]


def test_ordinary_words_are_left_alone():
    """Names of other libraries, words inside longer ones and ordinary English are no faults."""
    names = "import json\njson.dumps(1)\nforgiven = 1\n"
    source = names + 'labelled = "what is given as text"\n# There is no fact in the lower half.\n'

    assert [*faults_of_names(source, "a.py"), *faults_of_prose(prose_in(source), "a.py")] == []
