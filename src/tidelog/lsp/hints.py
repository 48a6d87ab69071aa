"""Hints that are edits, as quick fixes."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from lsprotocol import types

from tidelog.dataclass import dataclass
from tidelog.lsp.texts import Document

_INSTEAD: Final = re.compile(r"did you mean `([^`]+)`\?|it is called `([^`]+)`")
_NAME: Final = re.compile(r"[.?\w]+")
_APPLIED: Final = re.compile(r"[?\w.]+\s*\(([^()]*)\)")


@dataclass(frozen=True, slots=True)
class HintEdit:
    """What a quick fix is called, and the text that replaces what is between two offsets."""

    title: str
    start: int
    end: int
    text: str


Suggest = Callable[[Document, int, int, str], Iterator[HintEdit]]


def hint_actions(document: Document, diagnostics: list[types.Diagnostic]) -> list[types.CodeAction]:
    """Return a quick fix for each diagnostic whose hint says what to write."""
    found = []
    for each in diagnostics:
        for edit in _edits(document, each):
            change = types.TextEdit(document.positions.range(edit.start, edit.end), edit.text)
            found.append(
                types.CodeAction(
                    edit.title,
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[each],
                    edit=types.WorkspaceEdit(changes={document.uri: [change]}),
                )
            )
    return found


def _edits(document: Document, diagnostic: types.Diagnostic) -> Iterator[HintEdit]:
    start, end = (
        document.positions.offset(diagnostic.range.start),
        document.positions.offset(diagnostic.range.end),
    )
    hint = diagnostic.data.get("hint") if isinstance(diagnostic.data, dict) else None
    instead = _INSTEAD.search(hint) if isinstance(hint, str) else None
    if instead is not None:
        yield from _replace_name(document, start, end, diagnostic, instead[1] or instead[2])
    suggest = _BY_CODE.get(str(diagnostic.code))
    if suggest is not None:
        yield from suggest(document, start, end, hint if isinstance(hint, str) else "")


def _replace_name(
    document: Document, start: int, end: int, diagnostic: types.Diagnostic, name: str
) -> Iterator[HintEdit]:
    """Yield the edit that puts another name where the message's first quoted one stands."""
    quoted = re.search(r"`([^`]+)`", diagnostic.message)
    wrong = quoted[1] if quoted else ""
    at = document.text.find(wrong, start, max(end, start + len(wrong))) if wrong else -1
    if at < 0 and (match := _NAME.match(document.text, start)):
        wrong, at = match[0], match.start()
    if at >= 0:
        yield HintEdit(f"Change to `{name}`", at, at + len(wrong), name)


def _ignore_variable(document: Document, start: int, end: int, _hint: str) -> Iterator[HintEdit]:
    name = document.text[start:end]
    yield HintEdit("Change to `_`", start, end, "_")
    yield HintEdit(f"Change to `_{name}`", start, end, f"_{name}")


def _declare(document: Document, start: int, _end: int, hint: str) -> Iterator[HintEdit]:
    """Yield a declaration above the rule that uses a relation; its types are a guess."""
    atom = _APPLIED.match(document.text, start)
    name = re.search(r"declare it: `\.decl ([?\w]+)", hint)
    if atom is None or name is None:
        return
    terms = [term.strip() for term in atom[1].split(",")] if atom[1].strip() else []
    columns = [term if re.fullmatch(r"[a-z]\w*", term) else f"x{place}" for place, term in enumerate(terms)]
    columns = [each if columns.count(each) == 1 else f"{each}{at}" for at, each in enumerate(columns)]
    declaration = ", ".join(
        f"{column}: {_type_of(term)}" for column, term in zip(columns, terms, strict=True)
    )
    line = document.text.rfind("\n", 0, start) + 1
    yield HintEdit(f"Declare `{name[1]}`", line, line, f".decl {name[1]}({declaration})\n")


def _type_of(term: str) -> str:
    return "number" if re.fullmatch(r"-?\d+", term) else "symbol"


def _close_string(_document: Document, _start: int, end: int, _hint: str) -> Iterator[HintEdit]:
    yield HintEdit('Close the string with `"`', end, end, '"')


def _quote_string(document: Document, start: int, end: int, _hint: str) -> Iterator[HintEdit]:
    text = document.text[start:end]
    if len(text) > 2 and text[0] == text[-1] == "'" and '"' not in text:
        yield HintEdit("Write it in double quotes", start, end, f'"{text[1:-1]}"')


def _close_comment(document: Document, _start: int, _end: int, _hint: str) -> Iterator[HintEdit]:
    end = len(document.text)
    yield HintEdit("Close the comment with `*/`", end, end, " */")


def _read_input(document: Document, start: int, end: int, hint: str) -> Iterator[HintEdit]:
    name = re.search(r"add `\.input ([^`]+)`", hint)
    if name is not None:
        line_end = document.text.find("\n", end)
        at = len(document.text) if line_end < 0 else line_end
        yield HintEdit(f"Add `.input {name[1]}`", at, at, f"\n.input {name[1]}")
    del start


_BY_CODE: Final[dict[str, Suggest]] = {
    "single-variable": _ignore_variable,
    "undeclared-relation": _declare,
    "unterminated-string": _close_string,
    "bad-character": _quote_string,
    "unterminated-comment": _close_comment,
    "no-source": _read_input,
}
