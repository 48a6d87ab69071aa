"""What is known about a name: its declaration, the comment above it, and how many facts there are."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import TidelogError
from tidelog.io.places import Format, place_of
from tidelog.lsp.names import Name, NameKind
from tidelog.lsp.programs import NamePlace, ProgramFile, Programs
from tidelog.program.build import make_draft
from tidelog.program.suggest import counted
from tidelog.syntax import tree
from tidelog.syntax.walk_tree import walk

# The number of facts of a relation in a program's session, None if there is none.
CountFacts = Callable[[Path, str], int | None]

_COMMENT_LINE: Final = re.compile(r"[ \t]*//+[ \t]?(.*)")
_LARGEST_FILE: Final = 200_000_000


@dataclass(frozen=True)
class Documentation:
    """Tells about names; `count_facts` knows the sessions that are open."""

    programs: Programs
    count_facts: CountFacts

    def about(self, file: ProgramFile, name: Name) -> str | None:
        """Return what to show about a name, as Markdown; None if nothing is known."""
        if name.kind is NameKind.VARIABLE:
            return self._variable(file, name)
        places = [place for place in self.programs.places_of(file, name) if place.name.is_declaration]
        if not places:
            return self._of_tree(file, name) if name.kind is NameKind.RELATION else None
        parts = [
            f"```datalog\n{declaration_text(places[0])}\n```",
            comment_above(places[0].document.text, places[0].name.start),
        ]
        if name.kind is NameKind.RELATION:
            parts.append(self._facts(file, name, places[0]))
        return "\n\n".join(part for part in parts if part)

    def _variable(self, file: ProgramFile, name: Name) -> str | None:
        """Return a variable with the type of the first column that it stands in."""
        items = self.programs.read(file.document).tree.items
        for node in walk(items):
            if not isinstance(node, tree.Rule | tree.Subsumption) or not _is_at(node, file, name.start):
                continue
            for atom in walk((node,)):
                if isinstance(atom, tree.Atom):
                    found = self._column_of(file, atom, name.text)
                    if found is not None:
                        return found
        return None

    def _column_of(self, file: ProgramFile, atom: tree.Atom, variable: str) -> str | None:
        for number, term in enumerate(atom.terms):
            if not isinstance(term, tree.Variable) or term.name != variable:
                continue
            columns = self.columns(file, atom.relation)
            if number < len(columns):
                column, type_name = columns[number]
                return f"```datalog\n{variable}: {type_name}\n```\n\ncolumn `{column}` of `{atom.relation}`"
        return None

    def columns(self, file: ProgramFile, relation: str) -> list[tuple[str, str]]:
        """Return the names and types of a relation's columns; none if it is not declared."""
        for place in self.programs.declared(file.document.path, NameKind.RELATION):
            if place.name.text == relation:
                names = [each for each in _names_of(place, self.programs) if each.start > place.name.end]
                columns = [each.text for each in names if each.kind is NameKind.COLUMN]
                kinds = [each.text for each in names if each.kind is NameKind.TYPE]
                return list(zip(columns, kinds, strict=False))
        forest = self.programs.forest(file.document)
        text = "" if forest is None else forest.declarations(relation)
        found = re.search(rf"\.decl {re.escape(relation)}\(([^)]*)\)", text)
        pairs = [part.split(": ") for part in found[1].split(", ")] if found else []
        return [(column, kind) for column, kind in pairs]

    def _of_tree(self, file: ProgramFile, name: Name) -> str | None:
        """Return what is known about a relation that trees declare."""
        forest = self.programs.forest(file.document)
        text = "" if forest is None else forest.declarations(name.text)
        found = re.search(rf"((?:^///.*\n)*)^(\.decl {re.escape(name.text)}\(.*)$", text, re.MULTILINE)
        if found is None:
            return None
        doc = "\n".join(line.removeprefix("/// ") for line in found[1].splitlines())
        counted_facts = self._counted(self.count_facts(file.document.path, name.text))
        return "\n\n".join(part for part in (f"```datalog\n{found[2]}\n```", doc, counted_facts) if part)

    # --- facts ---

    def _facts(self, file: ProgramFile, name: Name, place: NamePlace) -> str:
        count = self.count_facts(file.document.path, name.text)
        if count is None:
            count = self._in_files(file, place)
        return self._counted(count)

    def _counted(self, count: int | None) -> str:
        return "" if count is None else counted(count, "fact")

    def _in_files(self, file: ProgramFile, place: NamePlace) -> int | None:
        """Return the number of lines of the fact files beside a program, if it reads any."""
        try:
            draft, _ = make_draft(self.programs.read(file.document).tree)
            relation = draft.declarations.relations.get(place.name.text)
            if relation is None:
                return None
            found = [
                place_of(relation, each, file.document.path.parent)
                for each in draft.declarations.directives
                if each.kind == "input" and each.relation == place.name.text
            ]
        except TidelogError:
            return None
        paths = [each.path for each in found if each.format is Format.CSV and not each.is_compressed]
        counts = [_lines_in(path) for path in paths if path is not None]
        known = [each for each in counts if each is not None]
        return sum(known) if known else None


def declaration_text(place: NamePlace) -> str:
    """Return the lines of a declaration, up to the one that closes its brackets."""
    text = place.document.text
    start = text.rfind("\n", 0, place.name.start) + 1
    end = place.name.end
    depth = 0
    while end < len(text):
        depth += (text[end] in "([{") - (text[end] in ")]}")
        if text[end] == "\n" and depth <= 0:
            break
        end += 1
    return text[start:end].split("//")[0].strip() if "\n" not in text[start:end] else text[start:end].strip()


def comment_above(text: str, offset: int) -> str:
    """Return the comment on the lines above the line of an offset."""
    lines = text[: text.rfind("\n", 0, offset) + 1].splitlines()
    found: list[str] = []
    for line in reversed(lines):
        match = _COMMENT_LINE.fullmatch(line)
        if match is None:
            break
        found.append(match[1])
    return "\n".join(reversed(found))


def _names_of(place: NamePlace, programs: Programs) -> list[Name]:
    """Return the names in the same item as a declaration."""
    file = programs.file(place.document.path)
    return [] if file is None else [each for each in file.names if each.item == place.name.item]


def _is_at(node: tree.Item, file: ProgramFile, offset: int) -> bool:
    span = node.span
    return span.source.text == file.document.text and span.start <= offset <= span.end


def _lines_in(path: Path) -> int | None:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            return None
        data = path.read_bytes()
    except OSError:
        return None
    return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))
