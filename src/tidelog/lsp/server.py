"""`tidelog lsp`: the protocol's requests, each answered by the part that knows."""

import asyncio
import os
import sys
from collections.abc import Callable, Generator
from typing import Any, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from tidelog.errors import TidelogError
from tidelog.lsp.answers import Answers
from tidelog.lsp.completion import TRIGGERS
from tidelog.lsp.outline import LEGEND
from tidelog.lsp.service import WHY, Service
from tidelog.lsp.texts import path_of, uri_of
from tidelog.version import own_version

_WATCHED: Final = ("**/*.dl", "**/*.facts", "**/tidelog.toml", "**/pyproject.toml")


class DocumentProtocol(LanguageServerProtocol):
    """Leaves documents to the service, which counts lines as the protocol does."""

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(
        self, params: types.DidOpenTextDocumentParams
    ) -> Generator[Any, Any, None]:
        """Open a document."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(
        self, params: types.DidChangeTextDocumentParams
    ) -> Generator[Any, Any, None]:
        """Change a document."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(
        self, params: types.DidCloseTextDocumentParams
    ) -> Generator[Any, Any, None]:
        """Close a document."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CLOSE], (params,), None


class TidelogServer(LanguageServer):
    """A language server over standard input and output."""

    def __init__(self) -> None:
        super().__init__("tidelog", own_version(), protocol_cls=DocumentProtocol)
        self.service = Service(self._publish, self._show_warning)
        self.was_shut_down = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def note_loop(self) -> None:
        """Remember the loop that messages are sent from."""
        self._loop = asyncio.get_running_loop()

    def _publish(self, params: types.PublishDiagnosticsParams) -> None:
        self._send(lambda: self.text_document_publish_diagnostics(params))

    def _show_warning(self, message: str) -> None:
        params = types.ShowMessageParams(types.MessageType.Warning, message)
        self._send(lambda: self.window_show_message(params))

    def _send(self, send: Callable[[], None]) -> None:
        """Send something from the loop's thread; a loop that has ended sends nothing."""
        if self._loop is not None:
            try:
                self._loop.call_soon_threadsafe(send)
            except RuntimeError:
                return


def serve() -> int:
    """Serve a client on standard input and output until it leaves; return the exit status.

    What functors print goes to standard error: standard output belongs to the protocol.
    """
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    server = make_server()
    try:
        server.start_io(stdout=out)
    finally:
        server.service.close()
    return 0 if server.was_shut_down else 1


def make_server() -> TidelogServer:
    """Return a server with all its features."""
    server = TidelogServer()
    for register in (_lifecycle, _documents, _answers, _actions):
        register(server)
    return server


def _lifecycle(server: TidelogServer) -> None:
    service = server.service

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.note_loop()
        uris = [each.uri for each in params.workspace_folders or []] or [params.root_uri or ""]
        folders = [path for uri in uris if uri for path in [path_of(uri)] if path is not None]
        kind = server.workspace.position_encoding or "utf-16"
        encoding = str(getattr(kind, "value", kind))
        service.start(folders, encoding, params.initialization_options)

    @server.feature(types.INITIALIZED)
    def initialized(_params: types.InitializedParams) -> None:
        capabilities = server.client_capabilities.workspace
        watched = None if capabilities is None else capabilities.did_change_watched_files
        if watched is None or not watched.dynamic_registration:
            return
        suffixes = [each for findings in service.settings.analyses for each in _patterns(findings.language)]
        watchers = [types.FileSystemWatcher(pattern) for pattern in (*_WATCHED, *dict.fromkeys(suffixes))]
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        server.client_register_capability(
            types.RegistrationParams([types.Registration("tidelog-files", method, options)])
        )

    @server.feature(types.SHUTDOWN)
    def shutdown(_params: None) -> None:
        server.was_shut_down = True
        service.close()


def _patterns(language: str) -> list[str]:
    from tidelog.trees.languages import find_language  # noqa: PLC0415 - a grammar may be missing

    try:
        return [f"**/*{suffix}" for suffix in find_language(language).suffixes]
    except TidelogError:
        return []


def _documents(server: TidelogServer) -> None:
    service = server.service

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        service.open(params.text_document)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        service.change(params)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        service.close_document(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        path = path_of(params.text_document.uri)
        if path is not None:
            service.saved(path)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_files(params: types.DidChangeWatchedFilesParams) -> None:
        for change in params.changes:
            path = path_of(change.uri)
            if path is not None:
                service.file_changed(path)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def did_change_settings(_params: types.DidChangeConfigurationParams) -> None:
        service.configure()


def _answers(server: TidelogServer) -> None:
    answers = Answers(server.service)
    table = (
        (types.TEXT_DOCUMENT_HOVER, None, answers.hover),
        (types.TEXT_DOCUMENT_DEFINITION, None, answers.definition),
        (types.TEXT_DOCUMENT_REFERENCES, None, answers.references),
        (types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, None, answers.highlight),
        (
            types.TEXT_DOCUMENT_COMPLETION,
            types.CompletionOptions(trigger_characters=list(TRIGGERS)),
            answers.completion,
        ),
        (types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, None, answers.symbols),
        (types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, LEGEND, answers.tokens),
        (types.TEXT_DOCUMENT_FORMATTING, None, answers.formatting),
        (types.TEXT_DOCUMENT_PREPARE_RENAME, None, answers.prepare_rename),
        (types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True), answers.rename),
    )
    for feature, options, answer in table:
        server.feature(feature, options)(_as_function(answer))


def _as_function(answer: Callable[[Any], object]) -> Callable[[Any], object]:
    """Return a method as a function, which the library can mark as its own."""

    def respond(params: Any) -> object:
        return answer(params)

    return respond


def _actions(server: TidelogServer) -> None:
    service = server.service

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions([types.CodeActionKind.QuickFix, types.CodeActionKind.Empty]),
    )
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        if service.program(uri) is not None:
            return service.hint_actions(uri, params.range)
        # Behind the edits that wait, so that the answer is about the text that the client sees.
        found = service.worker.ask(lambda: service.finding_actions(uri, params.range))
        return await asyncio.wrap_future(found)

    @server.command(WHY)
    async def why(uri: str, relation: str, fact: str) -> str | None:
        path = await asyncio.wrap_future(service.worker.ask(lambda: service.explain(uri, relation, fact)))
        if path is None:
            return None
        window = server.client_capabilities.window
        if window is not None and window.show_document is not None and window.show_document.support:
            server.window_show_document(types.ShowDocumentParams(uri_of(path), take_focus=True))
        return path.read_text(encoding="utf-8")
