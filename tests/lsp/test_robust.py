"""The server under hard use: rapid edits, kills, odd characters, requests about nothing."""

import asyncio
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from support.lsp_client import WAIT_SECONDS, Editor, editor, run
from tidelog.analysis.follow import Follow
from tidelog.trees import Forest

RULES = """\
/// A function that no file calls.
.decl unused(at: Node, name: symbol)
.output unused
unused(f, n) :- Link_FunctionDef_name(f, n), !called(n).
.decl called(name: symbol)
called(n) :- Link_Call_func(_, f), Link_Name_id(f, n).
"""
SETTINGS = '[[analysis]]\nprogram = "unused.dl"\ntree = "src"\n'
MODULE = "".join(f"def f{number}():\n    return {number}\n\n\n" for number in range(8)) + "f0()\nf1()\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with an analysis of two modules."""
    (tmp_path / "src").mkdir()
    (tmp_path / "unused.dl").write_text(RULES)
    (tmp_path / "tidelog.toml").write_text(SETTINGS)
    (tmp_path / "src/a.py").write_text(MODULE)
    (tmp_path / "src/b.py").write_text("f2()\n")
    return tmp_path.resolve()


def expected(client: Editor) -> dict[str, list[tuple[str, int]]]:
    """Return what an analysis from nothing finds in the texts that the client shows."""
    texts = {name.removeprefix("src/"): client.texts[name] for name in ("src/a.py", "src/b.py")}
    found: dict[str, list[tuple[str, int]]] = {name: [] for name in texts}
    for finding in Follow(RULES, Forest.of("python").update(dict(texts)).forest).findings():
        assert finding.span is not None
        found[finding.span.source.name].append((finding.relation, finding.span.line))
    return {f"src/{name}": sorted(each) for name, each in found.items()}


async def agree(client: Editor) -> None:
    """Wait until the client shows for both files what an analysis from nothing finds."""
    for name, findings in expected(client).items():
        await client.until_shown(name, findings)


def type_something(client: Editor, chance: random.Random) -> None:
    """Make one edit of a few characters, which may leave a text that does not parse."""
    name = chance.choice(["src/a.py", "src/a.py", "src/b.py"])
    text = client.texts[name]
    start = chance.randrange(len(text) + 1)
    end = min(len(text), start + chance.choice([0, 0, 0, 1, 5]))
    words = ["f3()\n", "\n", "f", "(", ")", "😀", "é", "# x\n", "def g():\n    f4()\n", "", '"', "    "]
    client.edit(name, start, end, chance.choice(words))


@pytest.mark.timeout(900)
def test_ten_thousand_rapid_edits_and_a_kill_in_between(folder: Path):
    """Edits faster than any analysis end in what the last texts have, also after the server was killed."""
    chance = random.Random(3)  # noqa: S311 - not for secrets

    async def half(client: Editor, count: int) -> None:
        for number in range(count):
            type_something(client, chance)
            if number % 100 == 99:
                # Texts grow into something that no longer parses; people repair them.
                client.replace("src/a.py", MODULE.replace("f1()", f"f{chance.randrange(8)}()"))
                client.replace("src/b.py", f"f{chance.randrange(8)}()  # 😀\n")
                await asyncio.sleep(0)
            if number % 1000 == 999:
                await agree(client)
        client.edit("src/b.py", 0, 0, "x = '😀'; f5()\n")
        await agree(client)

    async def scenario() -> None:
        async with editor(folder) as client:
            client.open("src/a.py")
            client.open("src/b.py")
            await half(client, 5_000)
            texts = dict(client.texts)
            client.process.kill()
            await client.process.wait()
        async with editor(folder) as client:
            for name, text in texts.items():
                client.open(name, text)
            await agree(client)
            await half(client, 5_000)
            assert client.client.messages == []

    run(scenario)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8", "utf-32"])
def test_positions_count_as_the_client_does(folder: Path, encoding: str):
    """Edits and ranges behind an emoji are right in all three ways of counting."""
    units = {"utf-16": 2, "utf-8": 4, "utf-32": 1}[encoding]

    async def scenario() -> None:
        async with editor(folder, encodings=(encoding,)) as client:
            uri = client.open("src/b.py", 'x = "😀"; f2()\n')
            await client.until_shown("src/a.py", expected_lines(3, 4, 5, 6, 7))
            start = types.Position(0, 8 + units)
            end = types.Position(0, 10 + units)
            change = types.TextDocumentContentChangePartial(types.Range(start, end), "f3")
            identifier = types.VersionedTextDocumentIdentifier(2, uri)
            client.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))
            await client.until_shown("src/a.py", expected_lines(2, 4, 5, 6, 7))
            client.replace("src/b.py", 'x = "😀"; \ny = 1; z = "😀"\ndef g(): ...\n')
            await client.until_shown("src/b.py", [("unused", 3)])
            assert client.client.error is None

    run(scenario)


def expected_lines(*numbers: int) -> list[tuple[str, int]]:
    """Return the findings of functions `f0` to `f7` that nobody calls."""
    return [("unused", 4 * number + 1) for number in numbers]


def test_odd_positions_and_texts_do_no_harm(folder: Path):
    """Positions outside the text, inside a character, backwards, and half characters."""
    places = [(0, 3), (0, 10_000), (99, 99), (0, 5)]

    async def scenario() -> None:
        async with editor(folder) as client:
            uri = client.open("src/b.py", '"😀"\n')
            for number, (line, character) in enumerate(places):
                place = types.Range(types.Position(line, character), types.Position(0, 1))
                change = types.TextDocumentContentChangePartial(place, "\ud83d x")
                identifier = types.VersionedTextDocumentIdentifier(number + 2, uri)
                client.client.text_document_did_change(
                    types.DidChangeTextDocumentParams(identifier, [change])
                )
            client.replace("src/b.py", "f3()\x0c\u2028\n")
            client.edit("src/b.py", 0, 2, "f4")
            client.replace("src/b.py", "f4()\r\nf5()\r\n")
            await client.until_shown("src/a.py", expected_lines(2, 3, 6, 7))
            assert client.client.error is None

    run(scenario)


def test_requests_about_documents_that_were_never_opened(folder: Path):
    """A file on disk is read; where there is none, and for other schemes, the answer is empty."""

    async def scenario() -> None:
        async with editor(folder) as client:
            at = types.Position(1, 8)
            for uri, has_answer in [
                (client.uri("unused.dl"), True),
                (client.uri("gone.dl"), False),
                ("untitled:Untitled-1", False),
                ("file:///%00", False),
                ("", False),
            ]:
                identifier = types.TextDocumentIdentifier(uri)
                hover = await client.client.text_document_hover_async(types.HoverParams(identifier, at))
                symbols = await client.client.text_document_document_symbol_async(
                    types.DocumentSymbolParams(identifier)
                )
                actions = await client.client.text_document_code_action_async(
                    types.CodeActionParams(identifier, types.Range(at, at), types.CodeActionContext([]))
                )
                assert ((hover is not None), bool(symbols), list(actions)) == (has_answer, has_answer, [])
                with pytest.raises(JsonRpcException):
                    await client.client.text_document_rename_async(
                        types.RenameParams(
                            text_document=identifier, position=types.Position(0, 0), new_name="x"
                        )
                    )
            change = types.TextDocumentContentChangeWholeDocument("f3()")
            client.client.text_document_did_change(
                types.DidChangeTextDocumentParams(
                    types.VersionedTextDocumentIdentifier(1, client.uri("src/b.py")), [change]
                )
            )
            client.client.text_document_did_close(
                types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(client.uri("src/b.py")))
            )
            await client.until_shown("src/a.py", expected_lines(3, 4, 5, 6, 7))
            assert client.client.messages == []

    run(scenario)


def test_a_cancelled_request_is_answered_as_cancelled(folder: Path):
    """The server goes on after it."""

    async def scenario() -> None:
        async with editor(folder) as client:
            client.open("src/a.py")
            place = types.Range(types.Position(0, 0), types.Position(0, 0))
            params = types.CodeActionParams(client.identifier("src/a.py"), place, types.CodeActionContext([]))
            # The first analysis is still loading, so the request waits.
            future = client.client.protocol.send_request_async(
                types.TEXT_DOCUMENT_CODE_ACTION, params, msg_id="to-cancel"
            )
            task = asyncio.ensure_future(future)
            await asyncio.sleep(0)
            client.client.cancel_request(types.CancelParams("to-cancel"))
            try:
                await asyncio.wait_for(task, WAIT_SECONDS)
                was_cancelled = False
            except JsonRpcException as error:
                was_cancelled = "cancel" in str(error).lower()
            await client.until_shown("src/a.py", expected_lines(3, 4, 5, 6, 7))
            assert was_cancelled

    run(scenario)


def test_shutdown_and_exit_have_their_statuses(folder: Path):
    """After `shutdown` the status is 0; `exit` without it, or a client that dies, is 1."""

    async def scenario(*, is_polite: bool) -> int | None:
        async with editor(folder) as client:
            client.open("src/a.py")
            if is_polite:
                await client.client.shutdown_async(None)
            client.client.exit(None)
            return await asyncio.wait_for(client.process.wait(), WAIT_SECONDS)

    assert run(lambda: scenario(is_polite=True)) == 0
    assert run(lambda: scenario(is_polite=False)) == 1


def test_the_server_ends_when_its_client_dies(folder: Path):
    """Once its input is closed, the process ends by itself, whatever it was doing."""
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {"processId": os.getpid(), "rootUri": folder.as_uri(), "capabilities": {}},
        }
    )
    message = f"Content-Length: {len(body)}\r\n\r\n{body}"

    done = subprocess.run(
        [sys.executable, "-m", "tidelog", "lsp"],
        input=message.encode(),
        capture_output=True,
        timeout=WAIT_SECONDS,
        check=False,
    )

    assert done.returncode == 1
    assert b'"capabilities"' in done.stdout


def test_what_functors_print_is_kept_from_the_protocol(folder: Path):
    """A functor that writes to standard output does not disturb the client."""
    (folder / "loud.py").write_text("def loud(x):\n    print('loud', x)\n    return x\n")
    (folder / "unused.dl").write_text(
        ".functor loud(x: symbol): symbol\n" + RULES.replace("!called(n)", "!called(n), @loud(n) = n")
    )
    (folder / "tidelog.toml").write_text(f'{SETTINGS}functions = ["loud.py"]\n')

    async def scenario() -> None:
        async with editor(folder) as client:
            await client.until_shown("src/a.py", expected_lines(3, 4, 5, 6, 7))
            assert client.client.error is None

    run(scenario)
