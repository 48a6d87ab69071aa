"""The declarations of a document, and its names by kind for colours."""

from typing import Final

from lsprotocol import types

from tidelog.lsp.names import Name, NameKind
from tidelog.lsp.programs import ProgramFile

_SYMBOLS: Final = {
    NameKind.RELATION: types.SymbolKind.Function,
    NameKind.TYPE: types.SymbolKind.Class,
    NameKind.FUNCTOR: types.SymbolKind.Operator,
    NameKind.BRANCH: types.SymbolKind.EnumMember,
    NameKind.COMPONENT: types.SymbolKind.Module,
    NameKind.INSTANCE: types.SymbolKind.Object,
}
_TOKENS: Final = {
    NameKind.RELATION: "function",
    NameKind.TYPE: "type",
    NameKind.FUNCTOR: "macro",
    NameKind.BRANCH: "enumMember",
    NameKind.COMPONENT: "namespace",
    NameKind.INSTANCE: "namespace",
    NameKind.COLUMN: "parameter",
    NameKind.VARIABLE: "variable",
}
LEGEND: Final = types.SemanticTokensLegend(list(dict.fromkeys(_TOKENS.values())), ["declaration"])


def document_symbols(file: ProgramFile) -> list[types.DocumentSymbol]:
    """Return the declarations in the order of the text."""
    return [
        types.DocumentSymbol(name.text, _SYMBOLS[name.kind], place, place)
        for name in file.names
        if name.is_declaration and name.kind in _SYMBOLS
        for place in [file.document.positions.range(name.start, name.end)]
    ]


def semantic_tokens(file: ProgramFile) -> types.SemanticTokens:
    """Return the names as the protocol encodes them: each relative to the one before."""
    data: list[int] = []
    line = character = 0
    for name in file.names:
        start = file.document.positions.position(name.start)
        end = file.document.positions.position(name.end)
        if start.line != end.line:
            continue
        step = start.line - line
        data += [step, start.character - (0 if step else character), end.character - start.character]
        data += [LEGEND.token_types.index(_TOKENS[name.kind]), int(name.is_declaration)]
        line, character = start.line, start.character
    return types.SemanticTokens(data)


def highlights(file: ProgramFile, name: Name) -> list[types.DocumentHighlight]:
    """Return where a document names the same thing."""
    return [
        types.DocumentHighlight(file.document.positions.range(each.start, each.end))
        for each in file.names
        if (each.kind, each.last) == (name.kind, name.last) and (not name.is_local or each.item == name.item)
    ]
