"""All analyses of a client: loaded, updated and loaded again in the worker's thread."""

import gc
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from threading import Lock

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.lsp.findings import Findings
from tidelog.lsp.live import LiveAnalysis
from tidelog.lsp.settings import AnalysisSettings
from tidelog.lsp.texts import Texts
from tidelog.lsp.worker import Worker

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AnalysisListener:
    """What to call, in the worker's thread: with files to show again, and with what went wrong."""

    on_findings: Callable[[Iterable[Path]], None]
    on_mistakes: Callable[[Path, tuple[Diagnostic, ...]], None]


class Analyses:
    """The analyses of the settings; changes wait here until the worker has time for them."""

    def __init__(self, texts: Texts, worker: Worker, listener: AnalysisListener) -> None:
        self._texts = texts
        self._worker = worker
        self._listener = listener
        self._lock = Lock()
        self._waiting: dict[AnalysisSettings, dict[Path, str | None]] = {}
        self.running: dict[AnalysisSettings, Findings] = {}
        self.settings: tuple[AnalysisSettings, ...] = ()

    def configure(self, settings: Iterable[AnalysisSettings]) -> None:
        """Run these analyses from now on; those that ran before go on."""
        self.settings = tuple(settings)
        for each in self.settings:
            if each not in self.running:
                self.load(each)
        self._worker.put("drop analyses", self._drop_others)

    def load(self, settings: AnalysisSettings) -> None:
        """Load an analysis, or load it again; one that has mistakes leaves the old one running."""
        self._worker.put(("load", settings), lambda: self._load(settings))

    def change(self, path: Path, text: str | None) -> None:
        """Follow a new text of a file; None if the file is deleted."""
        for settings in self.settings:
            with self._lock:
                self._waiting.setdefault(settings, {})[path] = text
            self._worker.put(("follow", settings), partial(self._follow, settings))

    def for_file(self, path: Path) -> list[Findings]:
        """Return the analyses that look at a file."""
        return [each for each in list(self.running.values()) if each.analysis.name_of(path) is not None]

    # --- in the worker's thread ---

    def _load(self, settings: AnalysisSettings) -> None:
        with self._lock:
            self._waiting.pop(settings, None)
        opened = {path: document.text for path, document in dict(self._texts.opened).items()}
        try:
            analysis = LiveAnalysis(settings, opened)
        except TidelogError as error:
            self._listener.on_mistakes(settings.program, error.diagnostics)
            return
        before = self.running.get(settings)
        self.running[settings] = Findings(analysis, self._texts)
        self._listener.on_mistakes(settings.program, ())
        _LOGGER.info("%s: %d files", settings.program.name, len(analysis.texts))
        affected = set(map(analysis.path_of, analysis.names))
        affected |= {path for path in opened if analysis.name_of(path) is not None}
        if before is not None:
            affected |= set(map(before.analysis.path_of, before.analysis.names))
            before.analysis.close()
        # The trees and facts stay: looking through them again would make single edits slow.
        gc.collect()
        gc.freeze()
        self._listener.on_findings(affected)

    def _follow(self, settings: AnalysisSettings) -> None:
        findings = self.running.get(settings)
        if findings is None:
            return
        with self._lock:
            waiting = self._waiting.pop(settings, {})
        analysis = findings.analysis
        changes = dict(_changes(analysis, waiting))
        # A document that is opened, or changed back, is shown too: its version is new.
        affected = {path for path in waiting if analysis.name_of(path) is not None}
        try:
            affected |= set(map(analysis.path_of, analysis.update(changes))) if changes else set()
        except TidelogError as error:
            # The state is as it was; the next edit tries again.
            self._listener.on_mistakes(settings.program, error.diagnostics)
        self._listener.on_findings(affected)

    def _drop_others(self) -> None:
        for settings in [each for each in self.running if each not in self.settings]:
            analysis = self.running.pop(settings).analysis
            self._listener.on_findings(set(map(analysis.path_of, analysis.names)))
            analysis.close()


def _changes(analysis: LiveAnalysis, waiting: Mapping[Path, str | None]) -> Iterable[tuple[str, str | None]]:
    """Yield the texts that differ from those that the analysis has."""
    for path, text in waiting.items():
        name = analysis.name_of(path)
        if name is not None and analysis.texts.get(name) != text:
            yield name, text
