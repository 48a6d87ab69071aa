"""Answers to questions about programs, and the edits that clients ask for."""

from typing import Protocol

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from tidelog.dataclass import dataclass
from tidelog.errors import TidelogError
from tidelog.lsp.names import Name
from tidelog.lsp.outline import document_symbols, highlights, semantic_tokens
from tidelog.lsp.programs import NamePlace, ProgramFile
from tidelog.lsp.rename import RenameError, check_renamable, rename
from tidelog.lsp.service import Service
from tidelog.source import Source
from tidelog.syntax import format_text


class AtPosition(Protocol):
    """The parameters of a request about a place in a document."""

    text_document: types.TextDocumentIdentifier
    position: types.Position


@dataclass(frozen=True)
class Answers:
    """One method for each request; a document that there is not has nothing to tell."""

    service: Service

    def hover(self, params: types.HoverParams) -> types.Hover | None:
        """Return what is known about a name."""
        found = self._named(params)
        text = None if found is None else self.service.documentation.about(*found)
        if found is None or text is None:
            return None
        file, name = found
        place = file.document.positions.range(name.start, name.end)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), place)

    def definition(self, params: types.DefinitionParams) -> list[types.Location]:
        """Return where a name is declared; a variable has its first place for that."""
        places = self._places(params)
        declared = [place for place in places if place.name.is_declaration]
        return [_location(place) for place in (declared or places[:1])]

    def references(self, params: types.ReferenceParams) -> list[types.Location]:
        """Return where a name is used."""
        with_declaration = params.context.include_declaration
        places = self._places(params)
        return [_location(place) for place in places if with_declaration or not place.name.is_declaration]

    def highlight(self, params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
        """Return where the document itself uses a name."""
        found = self._named(params)
        return [] if found is None else highlights(*found)

    def completion(self, params: types.CompletionParams) -> list[types.CompletionItem]:
        """Return what may be written at a place."""
        file = self.service.program(params.text_document.uri)
        if file is None:
            return []
        return self.service.completion.at(file, file.document.positions.offset(params.position))

    def symbols(self, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        """Return the declarations of a document."""
        file = self.service.program(params.text_document.uri)
        return [] if file is None else document_symbols(file)

    def tokens(self, params: types.SemanticTokensParams) -> types.SemanticTokens:
        """Return the names of a document with their kinds."""
        file = self.service.program(params.text_document.uri)
        return types.SemanticTokens([]) if file is None else semantic_tokens(file)

    def formatting(self, params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        """Return the document in canonical layout; None if it has mistakes, which are shown already."""
        file = self.service.program(params.text_document.uri)
        if file is None:
            return None
        document = file.document
        source = Source(str(document.path), document.text)
        try:
            text = format_text(source, include_path=self.service.programs.include_path)
        except TidelogError:
            return None
        return [] if text == document.text else [types.TextEdit(document.positions.whole, text)]

    def prepare_rename(self, params: types.PrepareRenameParams) -> types.Range | None:
        """Return the range of a name that can be changed."""
        file, name = self._to_rename(params)
        try:
            check_renamable(self.service.programs, file, name)
        except RenameError as error:
            raise JsonRpcInvalidParams(str(error)) from error
        return file.document.positions.range(name.start, name.end)

    def rename(self, params: types.RenameParams) -> types.WorkspaceEdit:
        """Return the edits of all files that change a name."""
        file, name = self._to_rename(params)
        try:
            edits = rename(self.service.programs, file, name, params.new_name)
        except RenameError as error:
            raise JsonRpcInvalidParams(str(error)) from error
        return types.WorkspaceEdit(changes=dict(edits))

    def _named(self, params: AtPosition) -> tuple[ProgramFile, Name] | None:
        file = self.service.program(params.text_document.uri)
        name = None if file is None else file.name_at(file.document.positions.offset(params.position))
        return None if file is None or name is None else (file, name)

    def _places(self, params: AtPosition) -> list[NamePlace]:
        found = self._named(params)
        return [] if found is None else self.service.programs.places_of(*found)

    def _to_rename(self, params: AtPosition) -> tuple[ProgramFile, Name]:
        found = self._named(params)
        if found is None:
            raise JsonRpcInvalidParams("there is no name here")
        return found


def _location(place: NamePlace) -> types.Location:
    positions = place.document.positions
    return types.Location(place.document.uri, positions.range(place.name.start, place.name.end))
