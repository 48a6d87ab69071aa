"""docs/errors.md names every diagnostic, with an example that causes it."""

import ast
import re
from pathlib import Path

import pytest

from tidelog.errors import TidelogError
from tidelog.program import build_program
from tidelog.source import Source
from tidelog.syntax import parse

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "errors.md").read_text()
ENTRIES = re.findall(r"^### ([a-z-]+)\n\n(.+?)\n\n```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

CODE = re.compile(r"[a-z]+(-[a-z]+)+")
# Words of the language, of the command line and of git that look like codes.
NO_CODE = {
    "choice-domain", "diff-tree", "leapfrog-exclude", "ls-tree", "magic-transform", "magic-transform-exclude",
    "rev-parse", "why-not",
}  # fmt: skip


def codes_in_source() -> set[str]:
    """Return every diagnostic code that the package can give.

    A code is written out where it is given: as `code=...`, or as the first argument, with a hyphen, of
    `Diagnostic` or of a function that makes one.
    """
    found: set[str] = set()
    for path in (ROOT / "src" / "tidelog").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            named = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            first = [each for each in node.args[:1] if CODE.fullmatch(str(getattr(each, "value", "")))]
            codes = [each.value for each in (*named, *first) if isinstance(each, ast.Constant)]
            found.update(code for code in codes if isinstance(code, str))
    return found - NO_CODE


def test_the_page_has_every_code() -> None:
    """A code that the package can give has an entry on the page."""
    on_page = {code for code, *_ in ENTRIES}

    assert codes_in_source() - on_page == set()


def test_the_page_has_no_other_code() -> None:
    """A code on the page can be given by the package, and stands there once."""
    on_page = [code for code, *_ in ENTRIES]

    assert set(on_page) - codes_in_source() == set()
    assert len(on_page) == len(set(on_page)) == PAGE.count("\n### ")


@pytest.mark.parametrize(("code", "example"), [(e[0], e[3]) for e in ENTRIES if e[2] == "tidelog"])
def test_the_program_causes_the_diagnostic(code: str, example: str) -> None:
    """A program on the page is answered with the code it stands under, and no other."""
    try:
        _, found = build_program(parse(Source("example.dl", example)))
    except TidelogError as error:
        found = error.diagnostics

    assert {each.code for each in found if each.severity.value == "error"} <= {code}
    assert code in {each.code for each in found}


@pytest.mark.parametrize(("code", "example"), [(e[0], e[3]) for e in ENTRIES if e[2] == "python"])
def test_the_python_causes_the_diagnostic(
    code: str, example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A piece of Python on the page raises an error with the code it stands under."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(TidelogError) as caught:
        exec(compile(example, "example.py", "exec"), {})  # noqa: S102 - the examples are ours

    assert code in {each.code for each in caught.value.diagnostics}


def test_every_diagnostic_has_a_place_and_most_a_hint() -> None:
    """What is reported about a program's text says where, and nearly always what to try."""
    found = []
    for _, _, language, example in ENTRIES:
        if language != "tidelog":
            continue
        try:
            found.extend(build_program(parse(Source("example.dl", example)))[1])
        except TidelogError as error:
            found.extend(error.diagnostics)

    assert all(each.span is not None for each in found)
    assert sum(each.hint is None for each in found) <= len(found) // 8
