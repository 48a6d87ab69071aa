"""A language client that talks to `tidelog lsp` in a process of its own."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from lsprotocol import types
from pytest_lsp import LanguageClient
from pytest_lsp.client import make_test_lsp_client

T = TypeVar("T")
WAIT_SECONDS = 60


class Editor:
    """A client with the texts that it shows, as an editor has them."""

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}

    @property
    def process(self) -> asyncio.subprocess.Process:
        """Return the server's process."""
        process = self.client._server
        assert process is not None
        return process

    def uri(self, name: str) -> str:
        """Return the address of a file."""
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str | None = None) -> str:
        """Open a file; return its address."""
        uri = self.uri(name)
        if text is None:
            text = (self.folder / name).read_text(encoding="utf-8")
        self.texts[name], self.versions[name] = text, 1
        item = types.TextDocumentItem(uri, "tidelog", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def replace(self, name: str, text: str) -> None:
        """Send a new text."""
        self._send(name, [types.TextDocumentContentChangeWholeDocument(text)])
        self.texts[name] = text

    def edit(self, name: str, start: int, end: int, text: str) -> None:
        """Replace the characters between two offsets."""
        before = self.texts[name]
        place = types.Range(self.position(name, start), self.position(name, end))
        self._send(name, [types.TextDocumentContentChangePartial(place, text)])
        self.texts[name] = before[:start] + text + before[end:]

    def _send(self, name: str, changes: list[types.TextDocumentContentChangeEvent]) -> None:
        self.versions[name] += 1
        identifier = types.VersionedTextDocumentIdentifier(self.versions[name], self.uri(name))
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, changes))

    def position(self, name: str, offset: int) -> types.Position:
        """Return the position of an offset, in UTF-16 code units."""
        before = self.texts[name][:offset]
        line = before.rpartition("\n")[2]
        return types.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)

    def at(self, name: str, words: str, within: int = 0) -> types.Position:
        """Return the position of the first place of some words, `within` characters into them."""
        return self.position(name, self.texts[name].index(words) + within)

    def identifier(self, name: str) -> types.TextDocumentIdentifier:
        """Return the identifier of a document."""
        return types.TextDocumentIdentifier(self.uri(name))

    def shown(self, name: str) -> list[tuple[str, int]] | None:
        """Return the codes and lines, from 1, of a file's diagnostics; None if nothing was sent for it."""
        found = self.client.diagnostics.get(self.uri(name))
        if found is None:
            return None
        return sorted((str(each.code), each.range.start.line + 1) for each in found)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for messages until a condition holds."""

        async def wait() -> None:
            while not condition():  # noqa: ASYNC110 - messages change what the client shows
                await asyncio.sleep(0.005)

        await asyncio.wait_for(wait(), WAIT_SECONDS)

    async def until_shown(self, name: str, expected: list[tuple[str, int]]) -> None:
        """Wait until the client shows just these diagnostics for a file."""
        try:
            await self.until(lambda: self.shown(name) == expected)
        except TimeoutError:
            assert self.shown(name) == expected


def capabilities(*, encodings: tuple[str, ...] = ()) -> types.ClientCapabilities:
    """Return what the client can do."""
    kinds = [types.PositionEncodingKind(each) for each in encodings] or None
    return types.ClientCapabilities(
        general=types.GeneralClientCapabilities(position_encodings=kinds),
        window=types.WindowClientCapabilities(
            show_document=types.ShowDocumentClientCapabilities(support=True)
        ),
        text_document=types.TextDocumentClientCapabilities(
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(related_information=True)
        ),
    )


@asynccontextmanager
async def editor(
    folder: Path, options: object = None, encodings: tuple[str, ...] = ()
) -> AsyncIterator[Editor]:
    """Yield an editor of a folder whose server has been initialized; afterwards the server is shut down."""
    client = make_test_lsp_client()
    await client.start_io(sys.executable, "-m", "tidelog", "lsp")
    process = client._server
    assert process is not None
    try:
        await client.initialize_session(
            types.InitializeParams(
                capabilities(encodings=encodings),
                initialization_options=options,
                workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name)],
            )
        )
        yield Editor(client, folder)
        if process.returncode is None:
            await asyncio.wait_for(client.shutdown_session(), WAIT_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
        await client.stop()


def run(scenario: Callable[[], Awaitable[T]]) -> T:
    """Run a scenario in an event loop of its own."""

    async def whole() -> T:
        return await scenario()

    return asyncio.run(whole())
