"""Which analyses run over which files: read from `tidelog.toml`, `pyproject.toml` or the client."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.files import reason_of
from tidelog.program.suggest import did_you_mean
from tidelog.source import Source, Span

FILE: Final = "tidelog.toml"
PROJECT: Final = "pyproject.toml"
SEVERITIES: Final = ("error", "warning", "information", "hint")
_KEYS: Final = (
    "program", "tree", "language", "facts", "functions", "include", "exclude", "severity", "why_depth",
    "store",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AnalysisSettings:
    """A program, and the files it runs over; all paths are absolute.

    `exclude` are patterns of paths below `tree`, and `severity` has one of `SEVERITIES` by relation, for
    all others under `*`. `store` is the folder that the analysis is kept in between starts.
    """

    program: Path
    tree: Path
    language: str = "python"
    facts: Path | None = None
    functions: tuple[Path, ...] = ()
    include: tuple[Path, ...] = ()
    exclude: tuple[str, ...] = ()
    severity: tuple[tuple[str, str], ...] = ()
    why_depth: int = 3
    store: Path | None = None

    @property
    def facts_folder(self) -> Path:
        """Return the folder of the program's other inputs."""
        return self.facts or self.program.parent

    def severity_of(self, relation: str) -> str:
        """Return the severity of a relation's findings."""
        levels = dict(self.severity)
        return levels.get(relation, levels.get("*", "warning"))


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The analyses of a folder, folders for `#include`, and the file that has them, if any."""

    analyses: tuple[AnalysisSettings, ...] = ()
    include: tuple[Path, ...] = ()
    file: Path | None = None


def read_settings(folder: Path, options: object = None) -> ServerSettings:
    """Return the settings of a folder; what a client sends goes before files.

    Raises `TidelogError` with all mistakes.
    """
    if isinstance(options, Mapping) and ("analysis" in options or "include" in options):
        return _settings(options, folder, Source("initializationOptions", ""), None)
    for path, section in ((folder / FILE, ()), (folder / PROJECT, ("tool", "tidelog"))):
        found = _read(path, section)
        if found is not None:
            source, values = found
            return _settings(values, folder, source, path)
    return ServerSettings()


def _read(path: Path, section: Iterable[str]) -> tuple[Source, Mapping[str, object]] | None:
    """Return the text of a file, and the section in it; None if there is no such file or section."""
    try:
        text = path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as cause:
        message = f"`{path}` cannot be read: {reason_of(cause)}"
        raise TidelogError([Diagnostic(code="bad-setting", message=message)]) from cause
    source = Source(str(path), text)
    try:
        values: object = tomllib.loads(text)
    except tomllib.TOMLDecodeError as cause:
        raise TidelogError([_mistake(source, f"this is not TOML: {cause}")]) from cause
    for name in section:
        values = values.get(name) if isinstance(values, Mapping) else None
    return (source, values) if isinstance(values, Mapping) else None


def _settings(
    values: Mapping[str, object], folder: Path, source: Source, file: Path | None
) -> ServerSettings:
    reader = _Reader(folder, source)
    known = ("analysis", "include")
    reader.unknown([name for name in values if name not in known], known)
    entries = values.get("analysis", [])
    if isinstance(entries, Mapping):
        entries = [entries]
    if not isinstance(entries, list) or not all(isinstance(each, Mapping) for each in entries):
        reader.found.append(_mistake(source, "`analysis` must be a list of tables: [[analysis]]", "analysis"))
        entries = []
    analyses = tuple(found for each in entries for found in reader.analysis(each))
    include = reader.paths("include", values.get("include", []))
    if reader.found:
        raise TidelogError(reader.found)
    return ServerSettings(analyses, include, file)


class _Reader:
    """Reads values, and notes what is wrong with them."""

    def __init__(self, folder: Path, source: Source) -> None:
        self.folder = folder
        self.source = source
        self.found: list[Diagnostic] = []

    def analysis(self, values: Mapping[str, object]) -> Iterator[AnalysisSettings]:
        before = len(self.found)
        self.unknown([name for name in values if name not in _KEYS], _KEYS)
        if "program" not in values:
            self._wrong("program", "an analysis needs a `program`")
        program = self.folder / self.text("program", values.get("program", ""))
        facts, store = values.get("facts"), values.get("store")
        made = AnalysisSettings(
            program.resolve(),
            (self.folder / self.text("tree", values.get("tree", "."))).resolve(),
            self.text("language", values.get("language", "python")),
            None if facts is None else (self.folder / self.text("facts", facts)).resolve(),
            self.paths("functions", values.get("functions", [])),
            self.paths("include", values.get("include", [])),
            self.texts("exclude", values.get("exclude", [])),
            tuple(self._severity(values.get("severity", {}))),
            self._depth(values.get("why_depth", 3)),
            None if store is None else (self.folder / self.text("store", store)).resolve(),
        )
        if len(self.found) == before:
            yield made

    def text(self, key: str, value: object) -> str:
        if isinstance(value, str):
            return value
        self._wrong(key, f"`{key}` must be a text")
        return ""

    def texts(self, key: str, value: object) -> tuple[str, ...]:
        several = [value] if isinstance(value, str) else value
        if isinstance(several, list) and all(isinstance(each, str) for each in several):
            return tuple(several)
        self._wrong(key, f"`{key}` must be a list of texts")
        return ()

    def paths(self, key: str, value: object) -> tuple[Path, ...]:
        return tuple((self.folder / each).resolve() for each in self.texts(key, value))

    def unknown(self, names: Iterable[str], known: Iterable[str]) -> None:
        for name in names:
            hint = did_you_mean(name, known, f"the settings are {', '.join(known)}")
            self._wrong(name, f"there is no setting `{name}`", hint)

    def _severity(self, value: object) -> Iterator[tuple[str, str]]:
        levels = {"*": value} if isinstance(value, str) else value
        if not isinstance(levels, Mapping):
            self._wrong("severity", "`severity` must be a text, or texts by relation")
            return
        for relation, level in levels.items():
            if level in SEVERITIES:
                yield str(relation), str(level)
            else:
                hint = f"choose one of {', '.join(SEVERITIES)}"
                self._wrong("severity", f"`{level}` is not a valid severity", hint)

    def _depth(self, value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        self._wrong("why_depth", "`why_depth` must be a whole number of at least 0")
        return 0

    def _wrong(self, key: str, message: str, hint: str | None = None) -> None:
        self.found.append(_mistake(self.source, message, key, hint))


def _mistake(source: Source, message: str, key: str = "", hint: str | None = None) -> Diagnostic:
    """Return a mistake in the settings, at the first place where its key is written."""
    at = source.text.find(key) if key else 0
    span = Span(source, max(at, 0), max(at, 0) + (len(key) if at >= 0 else 0)) if source.text else None
    return Diagnostic(code="bad-setting", message=message, span=span, hint=hint)
