"""What the server knows and does, without the protocol around it."""

import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from lsprotocol import types

from tidelog.analysis.follow import Finding
from tidelog.errors import Diagnostic, TidelogError
from tidelog.lsp.analyses import Analyses, AnalysisListener
from tidelog.lsp.completion import Suggestions
from tidelog.lsp.diagnostics import to_protocol
from tidelog.lsp.documentation import Documentation
from tidelog.lsp.findings import Findings
from tidelog.lsp.hints import hint_actions
from tidelog.lsp.programs import SUFFIX, ProgramFile, Programs
from tidelog.lsp.settings import FILE, PROJECT, ServerSettings, read_settings
from tidelog.lsp.texts import Document, Texts, path_of
from tidelog.lsp.worker import Worker

WHY = "tidelog.why"

Publish = Callable[[types.PublishDiagnosticsParams], None]
Warn = Callable[[str], None]


class Service:
    """Documents, programs and analyses of one client.

    `publish` and `warn` are called from the worker's thread too.
    """

    def __init__(self, publish: Publish, warn: Warn) -> None:
        self.texts = Texts()
        self.worker = Worker()
        self.settings = ServerSettings()
        self.programs = Programs(self.texts, language_of=self._language_of)
        self.documentation = Documentation(self.programs, self._count_facts)
        self.completion = Suggestions(self.programs, self.documentation)
        listener = AnalysisListener(self._show_files, self._show_mistakes)
        self.analyses = Analyses(self.texts, self.worker, listener)
        self.published: dict[str, list[types.Diagnostic]] = {}
        self._publish = publish
        self._warn = warn
        self._options: object = None
        self._proofs: tempfile.TemporaryDirectory[str] | None = None

    def start(self, folders: Iterable[Path], encoding: str, options: object) -> None:
        """Take what the client says about itself."""
        self.texts.encoding = encoding
        self.programs.folders = tuple(folders)
        self._options = options
        self.configure()

    def configure(self) -> None:
        """Read the settings, and run the analyses that they name."""
        for folder in self.programs.folders[:1]:
            try:
                self.settings = read_settings(folder, self._options)
            except TidelogError as error:
                self._warn(str(error))
                return
        self.programs.include_path = tuple(
            dict.fromkeys(
                [*self.settings.include, *(path for a in self.settings.analyses for path in a.include)]
            )
        )
        self.analyses.configure(self.settings.analyses)

    def close(self) -> None:
        """End the thread, and delete the proofs that were shown."""
        self.worker.close()
        if self._proofs is not None:
            self._proofs.cleanup()
            self._proofs = None

    # --- documents ---

    def open(self, item: types.TextDocumentItem) -> None:
        """Take a document that is opened."""
        self._changed(self.texts.open(item))

    def change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Take changes of a document."""
        self._changed(self.texts.change(params))

    def close_document(self, uri: str) -> None:
        """Take the file for the text of a document that is closed; a program's diagnostics vanish."""
        path = self.texts.close(uri)
        if path is None:
            return
        if path.suffix == SUFFIX:
            self.worker.put(("check", path), lambda: self._show(uri, []))
        self.file_changed(path)

    def saved(self, path: Path) -> None:
        """Load what a saved file is part of again."""
        if path.name in (FILE, PROJECT):
            self.configure()
        if path.suffix == SUFFIX:
            for settings in self.settings.analyses:
                if any(each.document.path == path for each in self.programs.below(settings.program)):
                    self.analyses.load(settings)
        for settings in self.settings.analyses:
            if path in settings.functions or (
                path.suffix == ".facts" and path.parent == settings.facts_folder
            ):
                self.analyses.load(settings)

    def file_changed(self, path: Path) -> None:
        """Take a file that changed on disk; the text of an open document goes before it."""
        self.saved(path)
        if path in self.texts.opened:
            return
        document = self.texts.at(path)
        self.analyses.change(path, None if document is None else document.text)

    def _changed(self, document: Document | None) -> None:
        if document is None:
            return
        path = document.path
        if path.suffix == SUFFIX:
            self.worker.put(("check", path), partial(self._check, path))
            # Others that include it are checked again too.
            for other in list(self.texts.opened):
                if other != path and other.suffix == SUFFIX:
                    self.worker.put(("check", other), partial(self._check, other))
        self.analyses.change(path, document.text)

    # --- what is shown ---

    def _check(self, path: Path) -> None:
        document = self.texts.opened.get(path)
        if document is not None:
            found = self.programs.check(document)
            self._show(document.uri, to_protocol(found, document, self.texts), document.version)

    def _show_files(self, paths: Iterable[Path]) -> None:
        for path in paths:
            shown = [
                each
                for findings in self.analyses.for_file(path)
                for each in findings.diagnostics(findings.analysis.name_of(path) or "")
            ]
            document = self.texts.opened.get(path)
            self._show(self.texts.uri(path), shown, None if document is None else document.version)

    def _show(self, uri: str, found: list[types.Diagnostic], version: int | None = None) -> None:
        """Publish the diagnostics of a document; those of a file that is not open only if they changed."""
        if version is None and self.published.get(uri, []) == found:
            return
        self.published[uri] = found
        self._publish(types.PublishDiagnosticsParams(uri, found, version))

    def _show_mistakes(self, program: Path, mistakes: tuple[Diagnostic, ...]) -> None:
        if mistakes:
            self._warn(f"the analysis `{program.name}` cannot run: {TidelogError(mistakes)}")

    # --- requests ---

    def program(self, uri: str) -> ProgramFile | None:
        """Return the program of an address; None if there is none."""
        path = path_of(uri)
        return None if path is None or path.suffix != SUFFIX else self.programs.file(path)

    def hint_actions(self, uri: str, place: types.Range) -> list[types.CodeAction]:
        """Return the quick fixes of a program at a place."""
        document = self.texts.find(uri)
        if document is None:
            return []
        lines = range(place.start.line, place.end.line + 1)
        found = [each for each in self.published.get(uri, []) if each.range.start.line in lines]
        return hint_actions(document, found)

    def finding_actions(self, uri: str, place: types.Range) -> list[types.CodeAction]:
        """Return fixes, and the command that shows why, of the findings at a place."""
        path = path_of(uri)
        actions: list[types.CodeAction] = []
        for findings in [] if path is None else self.analyses.for_file(path):
            assert path is not None, "only a path has analyses"
            name = findings.analysis.name_of(path) or ""
            for finding, diagnostic in findings.at(name, place):
                actions += [
                    types.CodeAction(fix.title, types.CodeActionKind.QuickFix, [diagnostic], edit=edit)
                    for fix, edit in findings.fixes(finding)
                ]
                title = f"Why {finding.text}?"
                command = types.Command(title, WHY, arguments=[uri, finding.relation, repr(finding.fact)])
                actions.append(
                    types.CodeAction(title, types.CodeActionKind.Empty, [diagnostic], command=command)
                )
        return actions

    def explain(self, uri: str, relation: str, fact: str) -> Path | None:
        """Write why something is found to a file; None if it is not found any more."""
        path = path_of(uri)
        for findings in [] if path is None else self.analyses.for_file(path):
            assert path is not None, "only a path has analyses"
            finding = self._find(findings, path, relation, fact)
            if finding is not None:
                text = findings.explain(finding)
                self._show_files([path])
                return self._write_proof(text)
        return None

    def _find(self, findings: Findings, path: Path, relation: str, fact: str) -> Finding | None:
        found = findings.analysis.findings(findings.analysis.name_of(path) or "")
        return next((each for each in found if (each.relation, repr(each.fact)) == (relation, fact)), None)

    def _write_proof(self, text: str) -> Path:
        if self._proofs is None:
            self._proofs = tempfile.TemporaryDirectory(prefix="tidelog-why-")
        path = Path(self._proofs.name, "why.md")
        path.write_text(text, encoding="utf-8")
        return path

    # --- what programs ask ---

    def _language_of(self, path: Path) -> str:
        for settings in self.settings.analyses:
            if any(each.document.path == path for each in self.programs.below(settings.program)):
                return settings.language
        return "python"

    def _count_facts(self, path: Path, relation: str) -> int | None:
        for settings, findings in list(self.analyses.running.items()):
            if any(each.document.path == path for each in self.programs.below(settings.program)):
                return findings.analysis.count(relation)
        return None
