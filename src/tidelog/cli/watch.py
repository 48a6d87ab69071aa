"""`tidelog watch`: an analysis that follows files as they are saved, or a history of commits."""

import time
from collections.abc import Iterator
from pathlib import Path

import typer

from tidelog.analysis.follow import Finding, Follow
from tidelog.analysis.kept_analysis import start_analysis
from tidelog.analysis.request import AnalysisRequest
from tidelog.analysis.sarif import write_sarif
from tidelog.cli.guard import MISTAKE
from tidelog.cli.start import spare_pandas
from tidelog.cli.watch_report import WatchReport
from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.options import OpenOptions
from tidelog.program.suggest import counted
from tidelog.progress import activity
from tidelog.trees.forest import Forest, read_text
from tidelog.trees.git_history import GitHistory
from tidelog.trees.languages import find_language


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What the command line asks for."""

    program: Path
    language: str
    options: OpenOptions
    sarif: Path | None = None
    interval_seconds: float = 0.3
    is_once: bool = False
    is_quiet: bool = False
    why_depth: int = 0
    is_json: bool = False
    exits_with_zero: bool = False
    store: Path | None = None


def watch_folder(folder: Path, options: WatchOptions) -> None:
    """Print what is found in a folder, and then what changes with every save, until interrupted.

    Who looks once gets the exit status 1 for findings, and for files that cannot be read as trees.
    """
    spare_pandas()
    if not folder.is_dir():
        raise TidelogError([_no_folder(folder)])
    files = _Files(folder, find_language(options.language).suffixes)
    request = AnalysisRequest.of(options.program, options.options, options.language)
    with activity("reading files"):
        texts = {name: text for name, text in files.changes() if text is not None}
        start = start_analysis(request, texts, options.store)
    follow = start.follow
    report = WatchReport(follow, options.why_depth, is_json=options.is_json, is_quiet=options.is_quiet)
    findings = _begin(report, start.mistakes, options, counted(len(follow.forest.files), "file"))
    broken = _by_file(start.mistakes)
    if options.is_once and (findings or broken) and not options.exits_with_zero:
        raise typer.Exit(MISTAKE)
    while not options.is_once:
        try:
            time.sleep(options.interval_seconds)
        except KeyboardInterrupt:
            return
        changes = dict(files.changes())
        if not changes:
            continue
        begun = time.perf_counter()
        with activity(f"following {counted(len(changes), 'file')}"):
            step = follow.update(changes)
        broken = {name: each for name, each in broken.items() if name not in changes}
        broken |= _by_file(step.mistakes)
        milliseconds = 1000 * (time.perf_counter() - begun)
        report.step(step, f"{', '.join(sorted(changes))}: {milliseconds:.0f} ms")
        if options.sarif is not None:
            write_sarif(options.sarif, follow.findings(), broken.values())


def watch_history(repository: Path, revisions: str | None, options: WatchOptions) -> None:
    """Print what every commit of a range changes, one epoch for each; all of HEAD by default."""
    spare_pandas()
    with GitHistory(repository, find_language(options.language).suffixes) as history:
        commits = history.commits(revisions or "HEAD")
        if not commits:
            message = f"there are no commits in {revisions or 'HEAD'}"
            raise TidelogError([Diagnostic(code="git-failed", message=message)])
        first = commits[0].parent
        with activity("reading files"):
            texts: dict[str, str | None] = {} if first is None else dict(history.files(first))
            start = Forest.of(options.language).update(texts)
        follow = _follow(options, start.forest)
        report = WatchReport(follow, options.why_depth, is_json=options.is_json, is_quiet=options.is_quiet)
        files = counted(len(start.forest.files), "file")
        _begin(report, start.mistakes, options, f"{files} before {commits[0].short}")
        for commit in commits:
            begun = time.perf_counter()
            with activity(f"following {commit.short}"):
                step = follow.update(history.changes(commit))
            milliseconds = 1000 * (time.perf_counter() - begun)
            report.step(step, f"{commit.short} {commit.subject}: {milliseconds:.0f} ms")
        if options.sarif is not None:
            write_sarif(options.sarif, follow.findings())


def _follow(options: WatchOptions, forest: Forest) -> Follow:
    return Follow(options.program, forest, options=options.options)


class _Files:
    """The files of a folder, and which of them changed since the last time one looked."""

    def __init__(self, folder: Path, suffixes: tuple[str, ...]) -> None:
        self._folder = folder
        self._suffixes = suffixes
        self._seen: dict[str, tuple[int, int]] = {}

    def changes(self) -> Iterator[tuple[str, str | None]]:
        """Yield the path and the text of each file that is new or changed, and None for those gone."""
        now: dict[str, tuple[int, int]] = {}
        for path in sorted(self._folder.rglob("*")):
            if path.suffix not in self._suffixes:
                continue
            try:
                status = path.stat()
            except OSError:
                # Gone between the listing and the look.
                continue
            name = path.relative_to(self._folder).as_posix()
            now[name] = (status.st_mtime_ns, status.st_size)
            if self._seen.get(name) != now[name]:
                try:
                    yield name, read_text(path)
                except OSError:
                    del now[name]
        for name in self._seen.keys() - now.keys():
            yield name, None
        self._seen = now


def _begin(
    report: WatchReport, mistakes: tuple[Diagnostic, ...], options: WatchOptions, title: str
) -> list[Finding]:
    """Report what is found at the beginning, and return it."""
    findings = report.start(mistakes, title)
    if options.sarif is not None:
        write_sarif(options.sarif, findings, mistakes)
    return findings


def _no_folder(folder: Path) -> Diagnostic:
    hint = (
        f"`{folder}` is a file; name the folder it is in" if folder.exists() else "name one with --tree DIR"
    )
    return Diagnostic(code="no-such-folder", message=f"there is no folder `{folder}`", hint=hint)


def _by_file(mistakes: tuple[Diagnostic, ...]) -> dict[str, Diagnostic]:
    return {
        mistake.span.source.name: mistake
        for mistake in mistakes
        if mistake.span is not None and mistake.severity is Severity.ERROR
    }
