"""Renaming: the edits of all files of a program, or why it cannot be done."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from lsprotocol import types

from tidelog.errors import Diagnostic, Severity
from tidelog.lsp.names import Name, NameKind, find_names
from tidelog.lsp.positions import Positions
from tidelog.lsp.programs import NamePlace, ProgramFile, Programs
from tidelog.lsp.texts import Document, Texts
from tidelog.source import Source
from tidelog.syntax.cursor import RESERVED
from tidelog.values.types import PRIMITIVES

_NAME: Final = re.compile(r"[?A-Za-z_][?A-Za-z_0-9]*")
_FREE: Final = (NameKind.RELATION, NameKind.TYPE, NameKind.FUNCTOR, NameKind.BRANCH, NameKind.VARIABLE)


class RenameError(Exception):
    """Tells why a name cannot be changed."""


def check_renamable(programs: Programs, file: ProgramFile, name: Name) -> list[NamePlace]:
    """Return all places of a name; raises `RenameError` if it cannot be renamed."""
    if name.kind not in _FREE:
        raise RenameError(f"a {name.kind.value} cannot be renamed here")
    places = programs.places_of(file, name)
    if name.kind is NameKind.VARIABLE:
        return places
    if not any(place.name.is_declaration for place in places):
        raise RenameError(f"`{name.text}` is not declared in these files")
    if any(place.name.is_inside or "." in place.name.text for place in places):
        raise RenameError(f"`{name.text}` is declared or used in a component")
    if sum(place.name.is_declaration for place in places) > 1:
        raise RenameError(f"`{name.text}` is declared more than once")
    return places


def rename(programs: Programs, file: ProgramFile, name: Name, new: str) -> dict[str, list[types.TextEdit]]:
    """Return the edits by document that give something a new name; raises `RenameError` on a clash.

    Afterwards the new name must stand where the old one stood and nowhere else, and no file may have a
    mistake that it had not before.
    """
    places = check_renamable(programs, file, name)
    if not _NAME.fullmatch(new):
        raise RenameError(f"`{new}` is not a valid name")
    if new in RESERVED or (name.kind is NameKind.TYPE and new in PRIMITIVES):
        raise RenameError(f"`{new}` is a word of the language")
    if new == name.text:
        return {}
    _check_free(programs, file, name, new)
    edits: dict[str, list[types.TextEdit]] = {}
    texts: dict[str, str] = {}
    documents = {place.document.uri: place.document for place in places}
    for uri, document in documents.items():
        own = [place.name for place in places if place.document.uri == uri]
        edits[uri] = [types.TextEdit(document.positions.range(each.start, each.end), new) for each in own]
        texts[uri] = _replaced(document.text, own, new)
    _check_same(programs, documents, texts)
    return edits


def _check_free(programs: Programs, file: ProgramFile, name: Name, new: str) -> None:
    if name.is_local:
        taken = [each for each in file.names if each.item == name.item and each.text == new]
    else:
        taken = [
            each
            for other in programs.related(file.document.path)
            for each in other.names
            if each.last == new and each.kind is name.kind
        ]
    if taken:
        raise RenameError(f"there is a {taken[0].kind.value} `{new}` already")


def _replaced(text: str, names: Sequence[Name], new: str) -> str:
    for each in sorted(names, key=lambda name: -name.start):
        text = f"{text[: each.start]}{new}{text[each.end :]}"
    return text


def _check_same(programs: Programs, documents: dict[str, Document], texts: dict[str, str]) -> None:
    """Raise if a text has other names, or more mistakes, than before."""
    after = _Renamed(programs.texts, {documents[uri].path: text for uri, text in texts.items()})
    trial = Programs(after, programs.include_path, programs.language_of)
    trial.folders = programs.folders
    for uri, document in documents.items():
        before = [(each.kind, each.item) for each in find_names(Source(uri, document.text))]
        if [(each.kind, each.item) for each in find_names(Source(uri, texts[uri]))] != before:
            raise RenameError("the new name would mean something else")
        changed = after.at(document.path)
        assert changed is not None, "the text that replaces a document can be read"
        if len(_errors(trial.check(changed))) > len(_errors(programs.check(document))):
            raise RenameError(f"it would cause a mistake: {_errors(trial.check(changed))[0].message}")


def _errors(found: Sequence[Diagnostic]) -> list[Diagnostic]:
    return [each for each in found if each.severity is Severity.ERROR]


class _Renamed(Texts):
    """Texts of which some have been replaced."""

    def __init__(self, texts: Texts, replaced: Mapping[Path, str]) -> None:
        super().__init__(texts.encoding)
        self._open = dict(texts.opened)
        for path, text in replaced.items():
            self._open[path] = Document(path, texts.uri(path), Positions(text, texts.encoding), -1)
