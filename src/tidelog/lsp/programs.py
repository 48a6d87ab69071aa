"""Programs as an editor sees them: texts with their names, which include each other."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tidelog.analysis.open_tree import declared_by_tree
from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.lsp.names import Name, NameKind, find_names
from tidelog.lsp.texts import Document, Texts, resolved
from tidelog.program.check_text import check_text
from tidelog.source import Source
from tidelog.syntax.parser import ReadText, parse_what_can_be
from tidelog.syntax.tree import SyntaxTree
from tidelog.trees.forest import Forest

SUFFIX: Final = ".dl"
_INCLUDE: Final = re.compile(r'^[ \t]*(?:#[ \t]*include|\.include)[ \t]*"([^"\n]*)"', re.MULTILINE)
_OF_TREE: Final = re.compile(r"\b(?:undef_)?(?:Node|Link)_\w+")
_SKIPPED: Final = frozenset({"node_modules", "__pycache__", "build", "dist"})
_MOST_FILES: Final = 2_000


@dataclass(frozen=True, slots=True)
class NamePlace:
    """A name in a document."""

    document: Document
    name: Name


@dataclass(frozen=True, slots=True)
class ProgramFile:
    """A text of a program: its names, and the files that it includes."""

    document: Document
    names: tuple[Name, ...]
    included: tuple[Path, ...]

    def name_at(self, offset: int) -> Name | None:
        """Return the name at a place; behind its last character is still at it."""
        found = [each for each in self.names if each.start <= offset <= each.end]
        return found[-1] if found else None


class Programs:
    """The programs below some folders; open documents go before files.

    `language_of` returns the language of the trees that a program is about, for the declarations that it
    need not have.
    """

    def __init__(
        self,
        texts: Texts,
        include_path: Sequence[Path] = (),
        language_of: Callable[[Path], str] | None = None,
    ) -> None:
        self.texts = texts
        self.folders: tuple[Path, ...] = ()
        self.include_path = tuple(include_path)
        self.language_of = language_of or (lambda _: "python")
        self._files: dict[Path, ProgramFile] = {}

    # --- files and what they include ---

    def file(self, path: Path) -> ProgramFile | None:
        """Return what is known about a file; None if it cannot be read."""
        document = self.texts.at(path)
        if document is None:
            self._files.pop(path, None)
            return None
        known = self._files.get(path)
        if known is not None and known.document.text == document.text:
            if known.document.version == document.version:
                return known
            known = ProgramFile(document, known.names, known.included)
        else:
            known = ProgramFile(document, find_names(_source(document)), tuple(self._included(document)))
        self._files[path] = known
        return known

    def related(self, path: Path) -> list[ProgramFile]:
        """Return the files of all programs that a file belongs to, itself first."""
        includers: dict[Path, set[Path]] = {}
        for each in self._all():
            for included in each.included:
                includers.setdefault(included, set()).add(each.document.path)
        found: dict[Path, ProgramFile] = {}
        waiting = [path]
        while waiting and len(found) < _MOST_FILES:
            file = None if waiting[-1] in found else self.file(waiting[-1])
            waiting.pop()
            if file is not None:
                found[file.document.path] = file
                waiting += [*file.included, *sorted(includers.get(file.document.path, ()))]
        return list(found.values())

    def includers(self, path: Path) -> list[Path]:
        """Return the programs that include a file, also by way of others, and that nothing includes."""
        known = {each.document.path: each.included for each in self._all()}
        above = {path}
        is_new = True
        while is_new:
            more = {other for other, included in known.items() if above.intersection(included)} - above
            above |= more
            is_new = bool(more)
        included = {each for paths in known.values() for each in paths}
        return sorted(above - {path} - included)

    def _all(self) -> Iterator[ProgramFile]:
        paths = dict.fromkeys(
            [*(path for path in self.texts.opened if path.suffix == SUFFIX), *self._on_disk()]
        )
        for path in list(paths)[:_MOST_FILES]:
            file = self.file(path)
            if file is not None:
                yield file

    def _on_disk(self) -> Iterator[Path]:
        for folder in self.folders:
            for where, folders, files in os.walk(folder):
                folders[:] = [name for name in folders if name not in _SKIPPED and not name.startswith(".")]
                for name in files:
                    if name.endswith(SUFFIX):
                        yield resolved(Path(where, name))

    def _included(self, document: Document) -> Iterator[Path]:
        for match in _INCLUDE.finditer(document.text):
            for folder in (document.path.parent, *self.include_path):
                path = resolved(folder / match[1])
                if self.texts.at(path) is not None:
                    yield path
                    break

    # --- names ---

    def places_of(self, file: ProgramFile, name: Name) -> list[NamePlace]:
        """Return where the same thing is named: in the item if it is local, else in all related files."""
        if name.is_local:
            return [
                NamePlace(file.document, each)
                for each in file.names
                if (each.kind, each.text, each.item) == (name.kind, name.text, name.item)
            ]
        return [
            NamePlace(other.document, each)
            for other in self.related(file.document.path)
            for each in other.names
            if each.kind is name.kind and each.last == name.last
        ]

    def declared(self, path: Path, kind: NameKind) -> list[NamePlace]:
        """Return the declarations of a kind in the programs of a file."""
        return [
            NamePlace(file.document, name)
            for file in self.related(path)
            for name in file.names
            if name.kind is kind and name.is_declaration
        ]

    # --- checking ---

    def read(self, document: Document) -> ReadText:
        """Return the items of a program that could be read."""
        return parse_what_can_be(_source(document), include_path=self.include_path, read=self.texts.read)

    def check(self, document: Document) -> list[Diagnostic]:
        """Return what is wrong in a document.

        A file that is only a part of programs is checked as a part of the first that includes it.
        """
        found = self._check(document)
        if any(each.code.startswith("undeclared") for each in found):
            for path in self.includers(document.path)[:1]:
                above = self.texts.at(path)
                if above is not None:
                    found = self._check(above)
        return [each for each in found if _is_in(each, document.path)]

    def _check(self, document: Document) -> tuple[Diagnostic, ...]:
        try:
            return check_text(self.read(document), lambda tree: self._completed(tree, document))
        except TidelogError as error:
            return error.diagnostics

    def _completed(self, tree: SyntaxTree, document: Document) -> SyntaxTree:
        """Return a program over a tree with the declarations that it leaves out."""
        forest = self.forest(document)
        return tree if forest is None else SyntaxTree((*tree.items, *declared_by_tree(tree.items, forest)))

    def forest(self, document: Document) -> Forest | None:
        """Return an empty forest of the language a program is about; None if it is not about trees."""
        texts = [document.text, *(file.document.text for file in self.below(document.path))]
        if not any(map(_OF_TREE.search, texts)):
            return None
        try:
            return Forest.of(self.language_of(document.path))
        except TidelogError:
            # The grammar is not installed, so the names it would declare are not known.
            return None

    def below(self, path: Path) -> Iterator[ProgramFile]:
        """Yield a file and all files that it includes."""
        seen: set[Path] = set()
        waiting = [path]
        while waiting:
            file = self.file(waiting.pop())
            if file is not None and file.document.path not in seen:
                seen.add(file.document.path)
                yield file
                waiting += file.included


def _source(document: Document) -> Source:
    return Source(str(document.path), document.text)


def _is_in(diagnostic: Diagnostic, path: Path) -> bool:
    """Say whether a diagnostic is about a file; one without a place is about the one that was asked for."""
    return diagnostic.span is None or resolved(Path(diagnostic.span.source.name)) == path
