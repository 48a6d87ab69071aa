"""What may be written at a place: relations, variables, types, directives, functors."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from lsprotocol import types

from tidelog.dataclass import dataclass
from tidelog.lsp.documentation import Documentation, comment_above, declaration_text
from tidelog.lsp.names import NameKind
from tidelog.lsp.programs import ProgramFile, Programs
from tidelog.syntax.cursor import AGGREGATES, FUNCTORS
from tidelog.syntax.scanner import DIRECTIVES
from tidelog.values.types import PRIMITIVES

_KINDS: Final = {
    NameKind.RELATION: types.CompletionItemKind.Function,
    NameKind.TYPE: types.CompletionItemKind.Class,
    NameKind.FUNCTOR: types.CompletionItemKind.Operator,
    NameKind.BRANCH: types.CompletionItemKind.EnumMember,
    NameKind.COMPONENT: types.CompletionItemKind.Module,
}
_OLD: Final = frozenset({"number_type", "symbol_type", "once"})
_LINES: Final = ("include", "define", "ifdef", "ifndef", "if", "else", "endif", "undef", "pragma once")
_WORD: Final = re.compile(r"[?\w]*\Z")
_ABOUT: Final = re.compile(r"\.(?:input|output|printsize|limitsize|proofs|override)\s+(?:[?\w.]+\s*,\s*)*\Z")
_TYPE: Final = re.compile(r"(?:\.type\s+\w+\s*(?:<:|=[^=]*\|?)\s*|[?\w]+\s*:\s*)\Z")
_OF_TREE: Final = re.compile(r"^\.decl (\w+)\((.*)\)$", re.MULTILINE)

TRIGGERS: Final = (".", "@", "$", "#", '"')


@dataclass(frozen=True)
class Suggestions:
    """Suggests what fits where one types."""

    programs: Programs
    documentation: Documentation

    def at(self, file: ProgramFile, offset: int) -> list[types.CompletionItem]:
        """Return what may be written at an offset."""
        text = file.document.text
        line = text[text.rfind("\n", 0, offset) + 1 : offset]
        prefix = _WORD.search(line)
        before = line[: prefix.start()] if prefix is not None else line
        if before.count('"') % 2 and "include" not in before:
            return []
        return list(self._choose(file, offset, before))

    def _choose(self, file: ProgramFile, offset: int, before: str) -> Iterable[types.CompletionItem]:
        path = file.document.path
        if "//" in before:
            return ()
        if re.search(r'include\s*"[^"]*\Z', before):
            return self._files(file)
        if before.strip() == ".":
            return (_word(name, types.CompletionItemKind.Keyword) for name in DIRECTIVES if name not in _OLD)
        if before.strip() == "#":
            return (_word(name, types.CompletionItemKind.Keyword) for name in _LINES)
        if before.endswith("@"):
            return self._declared(path, NameKind.FUNCTOR)
        if before.endswith("$"):
            return self._declared(path, NameKind.BRANCH)
        if re.search(r"\.init\s+\w+\s*=\s*\Z", before):
            return self._declared(path, NameKind.COMPONENT)
        if _ABOUT.search(before):
            return self._declared(path, NameKind.RELATION)
        if _TYPE.search(before) and re.match(r"\s*\.(?:decl|type|functor)\b", self._item_start(file, offset)):
            return self._types(path)
        return self._in_rule(file, offset)

    def _item_start(self, file: ProgramFile, offset: int) -> str:
        """Return the text from the last directive at the start of a line."""
        text = file.document.text[:offset]
        found = [match.start() for match in re.finditer(r"^[ \t]*\.\w", text, re.MULTILINE)]
        return text[found[-1] :] if found else text

    def _declared(self, path: Path, kind: NameKind) -> Iterator[types.CompletionItem]:
        seen: set[str] = set()
        for place in self.programs.declared(path, kind):
            if place.name.text not in seen:
                seen.add(place.name.text)
                yield types.CompletionItem(
                    place.name.text,
                    kind=_KINDS[kind],
                    detail=declaration_text(place),
                    documentation=comment_above(place.document.text, place.name.start) or None,
                )

    def _types(self, path: Path) -> Iterator[types.CompletionItem]:
        for name in PRIMITIVES:
            yield _word(name, types.CompletionItemKind.Keyword)
        yield from self._declared(path, NameKind.TYPE)

    def _in_rule(self, file: ProgramFile, offset: int) -> Iterator[types.CompletionItem]:
        yield from self._variables(file, offset)
        yield from self._declared(file.document.path, NameKind.RELATION)
        forest = self.programs.forest(file.document)
        if forest is not None:
            for name, columns in _OF_TREE.findall(forest.declarations()):
                yield types.CompletionItem(name, kind=_KINDS[NameKind.RELATION], detail=f"{name}({columns})")
        for name in sorted(FUNCTORS | AGGREGATES):
            yield _word(name, types.CompletionItemKind.Operator)

    def _variables(self, file: ProgramFile, offset: int) -> Iterator[types.CompletionItem]:
        """Yield the variables of the rule around a place; the word being typed is not one yet."""
        before = [each for each in file.names if each.end < offset]
        items = {each.item for each in (before[-1:] + [n for n in file.names if n.start >= offset][:1])}
        typed = file.name_at(offset)
        items |= set() if typed is None else {typed.item}
        seen = set()
        for each in file.names:
            is_typed = typed is not None and each.start == typed.start
            if (
                each.kind is NameKind.VARIABLE
                and each.item in items
                and not is_typed
                and each.text not in seen
            ):
                seen.add(each.text)
                yield _word(each.text, types.CompletionItemKind.Variable)

    def _files(self, file: ProgramFile) -> Iterator[types.CompletionItem]:
        folder = file.document.path.parent
        try:
            found = sorted(path.name for path in folder.glob("*.dl") if path != file.document.path)
        except OSError:
            return
        for name in found:
            yield _word(name, types.CompletionItemKind.File)


def _word(name: str, kind: types.CompletionItemKind) -> types.CompletionItem:
    return types.CompletionItem(name, kind=kind)
