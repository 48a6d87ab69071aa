"""Programs in an editor: what the server answers while they are written."""

from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from support.lsp_client import editor, run

GRAPH = """\
/// An arc of the graph.
.decl edge(from: symbol, to: symbol)
.input edge

/// A way along arcs.
.decl path(from: symbol, to: symbol)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a program and its facts."""
    (tmp_path / "graph.dl").write_text(GRAPH)
    (tmp_path / "edge.facts").write_text("a\tb\nb\tc\nc\td\n")
    return tmp_path.resolve()


def test_mistakes_are_shown_while_typing(folder: Path):
    """Every mistake is shown where it stands, around those in the syntax, and vanishes with its cause."""

    async def scenario():
        async with editor(folder) as client:
            client.open("graph.dl")
            await client.until_shown("graph.dl", [])
            at = client.texts["graph.dl"].index("edge(y, z)")
            client.edit("graph.dl", at, at + 4, "egde")
            await client.until_shown("graph.dl", [("undeclared-relation", 9)])
            client.edit("graph.dl", 0, 0, ".decl torn(value number)\n")
            await client.until_shown("graph.dl", [("syntax", 1), ("undeclared-relation", 10)])
            client.replace("graph.dl", GRAPH)
            await client.until_shown("graph.dl", [])
            assert client.client.messages == []

    run(scenario)


def test_hover_tells_type_documentation_and_facts(folder: Path):
    """A relation has its declaration, comment and number of facts; a variable has its type."""

    async def scenario():
        async with editor(folder) as client:
            client.open("graph.dl")

            async def hover(words: str, within: int = 0) -> str:
                params = types.HoverParams(
                    client.identifier("graph.dl"), client.at("graph.dl", words, within)
                )
                found = await client.client.text_document_hover_async(params)
                return "" if found is None else found.contents.value

            relation = await hover("edge(x, y)")
            variable = await hover("edge(y, z)", 8)
            nothing = await hover(":- edge")

            assert ".decl edge(from: symbol, to: symbol)" in relation
            assert "An arc of the graph." in relation
            assert "3 facts" in relation
            assert "z: symbol" in variable
            assert "column `to` of `path`" in variable
            assert nothing == ""

    run(scenario)


def test_definition_and_references_cross_files(folder: Path):
    """A relation is found where it is declared, also in an included file and in a file that includes it."""
    (folder / "more.dl").write_text('#include "graph.dl"\n.decl far(x: symbol)\nfar(x) :- path(x, _).\n')
    (folder / "other.dl").write_text(".decl path(x: symbol)\n")

    async def scenario():
        async with editor(folder) as client:
            client.open("more.dl")
            client.open("graph.dl")
            place = client.at("more.dl", "path(x, _)")
            definition = await client.client.text_document_definition_async(
                types.DefinitionParams(client.identifier("more.dl"), place)
            )
            context = types.ReferenceContext(include_declaration=True)
            references = await client.client.text_document_references_async(
                types.ReferenceParams(context, client.identifier("graph.dl"), client.at("graph.dl", "path("))
            )
            variable = await client.client.text_document_references_async(
                types.ReferenceParams(context, client.identifier("graph.dl"), client.at("graph.dl", "z) :-"))
            )

            assert [(each.uri, each.range.start.line) for each in definition] == [(client.uri("graph.dl"), 5)]
            assert sorted((each.uri.rsplit("/", 1)[1], each.range.start.line) for each in references) == [
                ("graph.dl", 5),
                ("graph.dl", 6),
                ("graph.dl", 7),
                ("graph.dl", 8),
                ("graph.dl", 8),
                ("more.dl", 2),
            ]
            assert [each.range.start.line for each in variable] == [8, 8]

    run(scenario)


def test_rename_changes_all_files_and_refuses_clashes(folder: Path):
    """The edits lead to a program with the same facts; a name that is taken is refused."""
    (folder / "more.dl").write_text('#include "graph.dl"\n.decl far(x: symbol)\nfar(x) :- path(x, _).\n')

    async def scenario():
        async with editor(folder) as client:
            client.open("graph.dl")

            async def rename(words: str, new: str) -> dict[str, list[types.TextEdit]]:
                params = types.RenameParams(
                    text_document=client.identifier("graph.dl"),
                    position=client.at("graph.dl", words),
                    new_name=new,
                )
                found = await client.client.text_document_rename_async(params)
                return found.changes

            changes = await rename("path(x, y) :-", "way")
            variable = await rename("z) :-", "last")

            assert {uri.rsplit("/", 1)[1]: len(edits) for uri, edits in changes.items()} == {
                "graph.dl": 5,
                "more.dl": 1,
            }
            assert [edit.new_text for edit in variable[client.uri("graph.dl")]] == ["last", "last"]
            for words, new in [
                ("path(x, y) :-", "far"),
                ("path(x, y) :-", "edge"),
                ("path(x, y) :-", "count"),
                ("path(x, y) :-", "two words"),
                ("z) :-", "x"),
                ("symbol", "text"),
                (":- edge", "way"),
            ]:
                with pytest.raises(JsonRpcException):
                    await rename(words, new)

    run(scenario)


@pytest.mark.parametrize(
    ("before", "expected", "unexpected"),
    [
        (".", {"decl", "input", "output"}, {"edge"}),
        ("path(x, y) :- ", {"edge", "path", "x", "y", "strlen", "count"}, {"decl", "z"}),
        (".output ", {"edge", "path"}, {"x", "symbol"}),
        (".decl new(x: ", {"symbol", "number", "Place"}, {"edge", "x"}),
        ("path(x, y) :- x = @", {"shorter"}, {"edge"}),
        ('#include "', {"more.dl"}, {"edge", "graph.dl"}),
        ("// ", set(), {"edge"}),
    ],
)
def test_completion_fits_the_place(folder: Path, before: str, expected: set[str], unexpected: set[str]):
    """What is suggested depends on what stands before."""
    (folder / "more.dl").write_text("")
    declared = ".type Place <: symbol\n.functor shorter(x: symbol): symbol\n"

    async def scenario():
        async with editor(folder) as client:
            client.open("graph.dl", f"{GRAPH}{declared}{before}")
            params = types.CompletionParams(
                client.identifier("graph.dl"), client.position("graph.dl", len(client.texts["graph.dl"]))
            )
            found = {each.label for each in await client.client.text_document_completion_async(params)}

            assert expected <= found
            assert not unexpected & found

    run(scenario)


def test_formatting_lays_the_program_out(folder: Path):
    """The edit is the canonical layout; a text with mistakes is left alone."""

    async def scenario():
        async with editor(folder) as client:
            client.open("graph.dl", ".decl   a( x:number )\na( 1 ).   // one\n")
            params = types.DocumentFormattingParams(
                client.identifier("graph.dl"), types.FormattingOptions(tab_size=4, insert_spaces=True)
            )
            (edit,) = await client.client.text_document_formatting_async(params)
            client.replace("graph.dl", edit.new_text)
            again = await client.client.text_document_formatting_async(params)
            client.replace("graph.dl", ".decl a(")
            torn = await client.client.text_document_formatting_async(params)

            assert edit.new_text == ".decl a(x: number)\na(1).  // one\n"
            assert not again
            assert torn is None

    run(scenario)


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        ("path(a, b) :- egde(a, b).", "Change to `edge`", "path(a, b) :- edge(a, b)."),
        ("path(a, a) :- edge(a, b).", "Change to `_`", "path(a, a) :- edge(a, _)."),
        (
            "path(a, b) :- far(a, b).",
            "Declare `far`",
            ".decl far(a: symbol, b: symbol)\npath(a, b) :- far(a, b).",
        ),
        ('path("a, "b").', None, None),
        ("path('a', \"b\").", "Write it in double quotes", 'path("a", "b").'),
        (".outptu path", "Change to `.output`", ".output path"),
        ('.decl new(x: symbl)\nnew("a").', "Change to `symbol`", '.decl new(x: symbol)\nnew("a").'),
    ],
)
def test_hints_are_quick_fixes(folder: Path, text: str, title: str | None, expected: str | None):
    """Where a hint says what to write, a code action writes it."""

    async def scenario():
        async with editor(folder) as client:
            uri = client.open("graph.dl", f"{GRAPH}{text}")
            await client.until(lambda: bool(client.shown("graph.dl")))
            lines = client.texts["graph.dl"].count("\n")
            place = types.Range(types.Position(9, 0), types.Position(lines, 100))
            params = types.CodeActionParams(
                client.identifier("graph.dl"), place, types.CodeActionContext(client.client.diagnostics[uri])
            )
            actions = await client.client.text_document_code_action_async(params)
            found = {each.title: each.edit.changes[uri] for each in actions}
            if title is None:
                return
            (edit,) = found[title]
            start, end = (
                sum(len(line) + 1 for line in client.texts["graph.dl"].split("\n")[: at.line]) + at.character
                for at in (edit.range.start, edit.range.end)
            )
            changed = client.texts["graph.dl"][:start] + edit.new_text + client.texts["graph.dl"][end:]

            assert changed == f"{GRAPH}{expected}"

    run(scenario)


def test_symbols_tokens_and_highlights(folder: Path):
    """The outline lists declarations, and names have kinds for colours."""

    async def scenario():
        async with editor(folder) as client:
            client.open("graph.dl")
            identifier = client.identifier("graph.dl")
            symbols = await client.client.text_document_document_symbol_async(
                types.DocumentSymbolParams(identifier)
            )
            tokens = await client.client.text_document_semantic_tokens_full_async(
                types.SemanticTokensParams(identifier)
            )
            places = await client.client.text_document_document_highlight_async(
                types.DocumentHighlightParams(identifier, client.at("graph.dl", "edge(y"))
            )

            assert [each.name for each in symbols] == ["edge", "path"]
            assert len(tokens.data) % 5 == 0
            assert len(places) == 4

    run(scenario)
