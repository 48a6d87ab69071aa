"""Source under an analysis: findings while it is typed, in all files, with proofs and fixes."""

import ast
from pathlib import Path

import pytest
from lsprotocol import types

from support.lsp_client import Editor, editor, run

UNUSED = """\
/// A function that no file calls.
.decl unused(at: Node, name: symbol)
.output unused
unused(f, n) :- defined(f, n), !called(n).

.decl defined(at: Node, name: symbol)
defined(f, n) :- Link_FunctionDef_name(f, n).

.decl called(name: symbol)
called(n) :- Link_Call_func(_, f), Link_Name_id(f, n).

.decl fix_unused(at: Node, name: symbol, node: Node, text: symbol, title: symbol)
fix_unused(f, n, f, "", cat("Delete ", n)) :- unused(f, n).
"""

TOML = """\
[[analysis]]
program = "rules/unused.dl"
tree = "src"
exclude = ["skipped/*"]
severity = { unused = "error" }
"""

TOOLS = "def total(prices):\n    return sum(prices)\n\n\ndef show(name):\n    print(name)\n"
SHOP = "from tools import total\n\n\nprint(total([1, 2]))\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with settings, rules and two modules."""
    for name in ("rules", "src/skipped"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "tidelog.toml").write_text(TOML)
    (tmp_path / "rules/unused.dl").write_text(UNUSED)
    (tmp_path / "src/tools.py").write_text(TOOLS)
    (tmp_path / "src/shop.py").write_text(SHOP)
    (tmp_path / "src/skipped/old.py").write_text("def never(): pass\n")
    return tmp_path.resolve()


async def actions_at(
    client: Editor, name: str, words: str
) -> tuple[list[types.CodeAction], list[types.ExecuteCommandParams]]:
    """Return the code actions with edits at some words, and the commands of the others."""
    place = client.at(name, words)
    params = types.CodeActionParams(
        client.identifier(name), types.Range(place, place), types.CodeActionContext([])
    )
    found = await client.client.text_document_code_action_async(params)
    # The client's library takes a code action that has a command for a command.
    commands = [ast.literal_eval(each.command) for each in found if isinstance(each, types.Command)]
    return (
        [each for each in found if isinstance(each, types.CodeAction)],
        [types.ExecuteCommandParams(each["command"], arguments=each["arguments"]) for each in commands],
    )


def test_findings_follow_edits_in_all_files(folder: Path):
    """A call that is typed in one file changes the findings of another, which is not even open."""

    async def scenario():
        async with editor(folder) as client:
            await client.until_shown("src/tools.py", [("unused", 5)])
            client.open("src/shop.py")
            end = len(SHOP)
            client.edit("src/shop.py", end, end, "show(1)\n")
            await client.until_shown("src/tools.py", [])
            client.edit("src/shop.py", end, end + 4, "total")
            await client.until_shown("src/tools.py", [("unused", 5)])
            client.open("src/tools.py")
            client.edit("src/tools.py", 0, 0, "# 😀 one line more\n")
            await client.until_shown("src/tools.py", [("unused", 6)])

            assert "src/skipped/old.py" not in {uri.partition("src/")[1] for uri in client.client.diagnostics}
            (shown,) = client.client.diagnostics[client.uri("src/tools.py")]
            assert shown.severity is types.DiagnosticSeverity.Error
            assert "A function that no file calls." in shown.message

    run(scenario)


def test_an_analysis_is_kept_between_starts(folder: Path):
    """The second server starts from what the first one left, with the files as they are now."""
    (folder / "tidelog.toml").write_text(TOML + 'store = ".kept"\n')

    async def first():
        async with editor(folder) as client:
            await client.until_shown("src/tools.py", [("unused", 5)])
            assert (folder / ".kept/follow.json").exists()

    async def second():
        async with editor(folder) as client:
            await client.until_shown("src/tools.py", [("unused", 7)])
            client.open("src/shop.py")
            client.edit("src/shop.py", len(SHOP), len(SHOP), "show(1)\n")
            await client.until_shown("src/tools.py", [])

    run(first)
    (folder / "src/tools.py").write_text(f"\n\n{TOOLS}")
    run(second)


def test_a_text_that_does_not_parse_keeps_its_findings(folder: Path):
    """The mistake is shown beside what was found before, moved with the text around it."""

    async def scenario():
        async with editor(folder) as client:
            client.open("src/tools.py")
            await client.until_shown("src/tools.py", [("unused", 5)])
            client.edit("src/tools.py", 0, 0, "x = (\n\n")
            await client.until(lambda: ("unused", 7) in (client.shown("src/tools.py") or []))
            assert len(client.shown("src/tools.py")) == 2
            client.edit("src/tools.py", 0, 7, "")
            await client.until_shown("src/tools.py", [("unused", 5)])

    run(scenario)


def test_a_code_action_shows_why(folder: Path):
    """The command writes the proof to a document that the client shows, and the diagnostic has its lines."""

    async def scenario():
        async with editor(folder) as client:
            client.open("src/tools.py")
            await client.until_shown("src/tools.py", [("unused", 5)])
            _, (command,) = await actions_at(client, "src/tools.py", "def show")
            proof = await client.client.workspace_execute_command_async(command)
            await client.until(lambda: bool(client.client.shown_documents))
            shown = client.client.shown_documents[0].uri

            assert "tools.py:5 | def show(name):" in proof
            assert "defined(" in proof
            assert "[unused.dl:4]" in proof
            assert shown.endswith("why.md")
            await client.until(
                lambda: bool(client.client.diagnostics[client.uri("src/tools.py")][0].related_information)
            )

    run(scenario)


def test_fixes_of_the_program_are_quick_fixes(folder: Path):
    """The relation `fix_unused` says which node is replaced by what; here the whole function goes."""

    async def scenario():
        async with editor(folder) as client:
            uri = client.open("src/tools.py")
            await client.until_shown("src/tools.py", [("unused", 5)])
            (fix,), _ = await actions_at(client, "src/tools.py", "def show")
            (edit,) = fix.edit.changes[uri]

            assert fix.title == "Delete show"
            assert (edit.range.start.line, edit.range.end.line, edit.new_text) == (4, 6, "")

    run(scenario)


def test_a_program_that_changes_is_loaded_again(folder: Path):
    """On save the new rules hold; rules with mistakes leave the old ones running."""

    async def scenario():
        async with editor(folder) as client:
            await client.until_shown("src/tools.py", [("unused", 5)])
            client.open("rules/unused.dl")
            params = types.DidSaveTextDocumentParams(client.identifier("rules/unused.dl"))
            (folder / "rules/unused.dl").write_text(UNUSED.replace("!called(n)", '!called(n), n != "show"'))
            client.client.text_document_did_save(params)
            await client.until_shown("src/tools.py", [])
            (folder / "rules/unused.dl").write_text(UNUSED.replace("called(n).", "called(m)."))
            client.client.text_document_did_save(params)
            await client.until(lambda: bool(client.client.messages))
            (folder / "rules/unused.dl").write_text(UNUSED)
            client.client.text_document_did_save(params)
            await client.until_shown("src/tools.py", [("unused", 5)])

            assert "cannot run" in client.client.messages[0].message

    run(scenario)


def test_files_that_change_on_disk_are_followed(folder: Path):
    """What the client reports about files that are not open is read; open documents go before files."""

    async def scenario():
        async with editor(folder) as client:
            await client.until_shown("src/tools.py", [("unused", 5)])

            def changed(name: str, kind: types.FileChangeType) -> None:
                event = types.FileEvent(client.uri(name), kind)
                client.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))

            (folder / "src/more.py").write_text("show(2)\n")
            changed("src/more.py", types.FileChangeType.Created)
            await client.until_shown("src/tools.py", [])
            (folder / "src/more.py").unlink()
            changed("src/more.py", types.FileChangeType.Deleted)
            await client.until_shown("src/tools.py", [("unused", 5)])
            (folder / "tidelog.toml").write_text("analysis = []\n")
            changed("tidelog.toml", types.FileChangeType.Changed)
            await client.until_shown("src/tools.py", [])
            assert client.client.messages == []

    run(scenario)


def test_wrong_settings_are_told(folder: Path):
    """A mistake in the settings is a message with its place; the server goes on."""
    (folder / "tidelog.toml").write_text('[[analysis]]\nprogramm = "a.dl"\n')

    async def scenario():
        async with editor(folder) as client:
            await client.until(lambda: bool(client.client.messages))

            assert "tidelog.toml:2:1" in client.client.messages[0].message
            assert "did you mean `program`?" in client.client.messages[0].message

    run(scenario)


def test_settings_may_come_from_the_client_or_the_project(folder: Path):
    """`initializationOptions` go before files, and `pyproject.toml` is read where there is no own file."""
    (folder / "tidelog.toml").unlink()
    (folder / "pyproject.toml").write_text(TOML.replace("[[analysis]]", "[[tool.tidelog.analysis]]"))
    options = {"analysis": [{"program": "rules/unused.dl", "tree": "src", "severity": "hint"}]}

    async def scenario():
        async with editor(folder) as client:
            await client.until_shown("src/tools.py", [("unused", 5)])
            assert "src/skipped/old.py" not in client.client.diagnostics
        async with editor(folder, options) as client:
            await client.until_shown("src/tools.py", [("unused", 5)])
            await client.until_shown("src/skipped/old.py", [("unused", 1)])
            (shown,) = client.client.diagnostics[client.uri("src/tools.py")]
            assert shown.severity is types.DiagnosticSeverity.Hint

    run(scenario)
