"""An analysis that follows the documents of a client, and its findings by file."""

import fnmatch
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tidelog.analysis.follow import Finding
from tidelog.analysis.kept_analysis import start_analysis
from tidelog.analysis.request import AnalysisRequest
from tidelog.engine.function_files import load_functions
from tidelog.errors import Diagnostic, TidelogError
from tidelog.lsp.settings import AnalysisSettings
from tidelog.options import OpenOptions
from tidelog.trees.forest import read_text
from tidelog.trees.languages import find_language
from tidelog.values import Fact

_SKIPPED: Final = frozenset({"node_modules", "__pycache__"})

FindingKey = tuple[str, Fact]


class LiveAnalysis:
    """A program over the files below a folder; open documents go before files.

    Used by one thread at a time. A text with mistakes in it keeps the tree, and so the findings, that its
    file had.
    """

    def __init__(self, settings: AnalysisSettings, opened: Mapping[Path, str]) -> None:
        self.settings = settings
        self.suffixes = find_language(settings.language).suffixes
        self.broken: dict[str, tuple[Diagnostic, ...]] = {}
        self.texts: dict[str, str] = {}
        self._by_file: dict[str, dict[FindingKey, Finding]] = {}
        self._file_of: dict[FindingKey, str] = {}
        texts = dict(self._on_disk())
        for path, text in opened.items():
            name = self.name_of(path)
            if name is not None:
                texts[name] = text
        request = AnalysisRequest.of(settings.program, self._options(), settings.language)
        start = start_analysis(request, texts, settings.store)
        self.follow = start.follow
        self._note_texts(texts, start.mistakes)
        for finding in self.follow.findings():
            self._add(finding)

    def close(self) -> None:
        """Release all facts."""
        self.follow.close()

    # --- files ---

    def name_of(self, path: Path) -> str | None:
        """Return what the analysis calls a file; None if it does not look at it."""
        if path.suffix not in self.suffixes:
            return None
        try:
            name = path.relative_to(self.settings.tree).as_posix()
        except ValueError:
            return None
        parts = name.split("/")[:-1]
        is_skipped = any(part in _SKIPPED or part.startswith(".") for part in parts)
        is_excluded = any(fnmatch.fnmatch(name, pattern) for pattern in self.settings.exclude)
        return None if is_skipped or is_excluded else name

    def path_of(self, name: str) -> Path:
        """Return the path of a file."""
        return self.settings.tree / name

    def _on_disk(self) -> Iterator[tuple[str, str]]:
        if not self.settings.tree.is_dir():
            message = f"there is no folder `{self.settings.tree}`"
            raise TidelogError([Diagnostic(code="no-such-folder", message=message)])
        for where, folders, files in os.walk(self.settings.tree):
            folders[:] = sorted(each for each in folders if each not in _SKIPPED and not each.startswith("."))
            for file in sorted(files):
                name = self.name_of(Path(where, file))
                if name is not None:
                    try:
                        yield name, read_text(Path(where, file))
                    except OSError:
                        # Deleted since it was listed.
                        continue

    def _options(self) -> OpenOptions:
        settings = self.settings
        return OpenOptions(
            facts=settings.facts_folder,
            functions=load_functions(settings.functions),
            include_path=settings.include,
        )

    # --- changes ---

    def update(self, changes: Mapping[str, str | None]) -> set[str]:
        """Follow new texts, None for deleted files; return the files whose findings or places changed."""
        step = self.follow.update(changes)
        affected = set(changes)
        for finding in step.deleted:
            affected |= self._remove((finding.relation, finding.fact))
        for finding in step.inserted:
            affected.add(self._add(finding))
        self._note_texts(changes, step.mistakes)
        for name in changes:
            # What was found before stands elsewhere now, perhaps in another file.
            for relation, fact in list(self._by_file.get(name, ())):
                self._remove((relation, fact))
                affected.add(self._add(self.follow.finding(relation, fact, name)))
        return affected

    def _add(self, finding: Finding) -> str:
        key = (finding.relation, finding.fact)
        name = "" if finding.span is None else finding.span.source.name
        self._by_file.setdefault(name, {})[key] = finding
        self._file_of[key] = name
        return name

    def _remove(self, key: FindingKey) -> set[str]:
        name = self._file_of.pop(key, None)
        if name is None:
            return set()
        self._by_file[name].pop(key, None)
        return {name}

    def _note_texts(self, changes: Mapping[str, str | None], mistakes: Iterable[Diagnostic]) -> None:
        for name, text in changes.items():
            self.broken.pop(name, None)
            if text is None:
                self.texts.pop(name, None)
            else:
                self.texts[name] = text
        for mistake in mistakes:
            name = "" if mistake.span is None else mistake.span.source.name
            self.broken[name] = (*self.broken.get(name, ()), mistake)

    # --- findings ---

    @property
    def names(self) -> set[str]:
        """Return the files with findings or mistakes."""
        return {name for name, found in self._by_file.items() if found} | set(self.broken)

    def findings(self, name: str) -> list[Finding]:
        """Return what is found in a file, in the order of its text."""
        found = self._by_file.get(name, {}).values()
        return sorted(found, key=lambda each: (each.span.start if each.span else 0, each.text))

    def count(self, relation: str) -> int | None:
        """Return the number of facts of a relation; None if the session does not keep them."""
        db = self.follow.db
        return len(db[relation]) if relation in db else None
