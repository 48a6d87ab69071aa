"""From the text of a job to a `Job`; every mistake is a diagnostic with its line."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.files import reason_of, unreadable_hint
from tidelog.options import combine_options
from tidelog.pipeline.job import (
    ENGINES,
    JOB_OPTIONS,
    BadRows,
    Changes,
    Job,
    JobSource,
    Output,
    SourceFormat,
    Trigger,
    TriggerKind,
)
from tidelog.pipeline.toml_places import TomlPlaces, Way, read_toml
from tidelog.program.suggest import did_you_mean
from tidelog.source import Source as Text
from tidelog.source import Span

Choice = TypeVar("Choice", bound=StrEnum)

_SECONDS: Final = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0}
_INTERVAL: Final = re.compile(r"(\d+(?:\.\d+)?) *(second|minute|hour|day)s?")
_PARTS: Final = ("job", "trigger", "spark", "source", "output")


def read_job(path: Path) -> Job:
    """Return the job of a file; paths in it are relative to the file's folder.

    Raises `TidelogError` with every mistake.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as cause:
        raise TidelogError([_unreadable(path, "it is not UTF-8")]) from cause
    except (OSError, ValueError) as cause:
        # A name that no file can have, with a null byte in it, is a `ValueError`.
        raise TidelogError([_unreadable(path, reason_of(cause), unreadable_hint(path, cause))]) from cause
    return parse_job(text, name=str(path), folder=path.parent)


def _unreadable(path: Path, words: str, hint: str | None = None) -> Diagnostic:
    return Diagnostic(code="unreadable-job", message=f"cannot read the job {path}: {words}", hint=hint)


def parse_job(text: str, *, name: str = "job.toml", folder: Path | None = None) -> Job:
    """Return the job that a TOML text describes.

    Raises `TidelogError` with every mistake.
    """
    source = Text(name, text)
    content, places = read_toml(source)
    mistakes: list[Diagnostic] = []
    root = _Table(content, (), places, mistakes)
    root.allow(_PARTS)
    job = root.table("job")
    if "job" not in content:
        mistakes.append(_missing("the job has no `[job]`", places.key(), "it names `program` and `state`"))
    sources = tuple(_read_source(each) for each in root.tables("source"))
    outputs = tuple(_read_output(each) for each in root.tables("output"))
    read = _read_job(job, root, sources, outputs, folder or Path(), Path(name).stem)
    mistakes += _check_names(sources)
    if mistakes:
        raise TidelogError(sorted(mistakes, key=_place))
    return read


def _read_job(  # noqa: PLR0913, PLR0917 - the parts of a job
    job: "_Table",
    root: "_Table",
    sources: tuple[JobSource, ...],
    outputs: tuple[Output, ...],
    folder: Path,
    stem: str,
) -> Job:
    own = ("name", "program", "state", "work", "engine", "bad_rows", "functions", "libraries", "include")
    job.allow((*own, "defines", *JOB_OPTIONS))
    _check_local(job, "work")
    spark = root.table("spark")
    spark.allow(("master", "conf", "engine"))
    return Job(
        job.text("program", is_required=bool(job.content)),
        job.text("state", is_required=bool(job.content)),
        sources,
        outputs,
        job.text("name") or stem,
        job.one_of("engine", ENGINES, "local"),
        job.choice("bad_rows", BadRows, BadRows.QUARANTINE),
        _read_trigger(root.table("trigger")),
        job.texts("functions"),
        job.texts("libraries"),
        job.texts("include"),
        job.text_by_name("defines"),
        spark.text("master") or None,
        spark.text_by_name("conf"),
        spark.table("engine").content,
        job.options(),
        folder,
        job.text("work") or None,
        spans={**{key: span for key, span in spark.spans().items() if key}, **job.spans()},
    )


def _read_trigger(table: "_Table") -> Trigger:
    table.allow(("kind", "every"))
    kind = table.choice("kind", TriggerKind, TriggerKind.ONCE)
    text = table.text("every", is_required=kind is TriggerKind.INTERVAL)
    if not text:
        return Trigger(kind)
    match = _INTERVAL.fullmatch(text.strip())
    if match is None:
        table.mistake("every", f"`{text}` is not a valid interval", 'write a number and a unit: "10 minutes"')
        return Trigger(kind)
    if kind is TriggerKind.ONCE:
        table.mistake("every", "a trigger that works once has no interval", 'choose kind = "interval"')
    return Trigger(kind, float(match[1]) * _SECONDS[match[2]])


def _read_source(table: "_Table") -> JobSource:
    table.allow(
        (
            "name", "relation", "format", "path", "table", "changes", "columns", "op", "inserts", "deletes",
            "order", "bookmark", "fields", "options", "max_deleted_share",
        )
    )  # fmt: skip
    form = table.choice("format", SourceFormat, SourceFormat.PARQUET, is_required=True)
    usual = Changes.INSERT if form is SourceFormat.KAFKA else Changes.SNAPSHOT
    source = JobSource(
        table.text("relation", is_required=True),
        form,
        table.text("name"),
        table.text("path") or None,
        table.text("table") or None,
        table.choice("changes", Changes, usual),
        table.text_by_name("columns"),
        table.text("op") or "op",
        table.texts("inserts") or ("+",),
        table.texts("deletes") or ("-",),
        table.text("order") or None,
        table.text("bookmark") or None,
        table.texts("fields"),
        table.text_by_name("options"),
        table.share("max_deleted_share", 0.5),
        spans=table.spans(),
    )
    if table.content.get("format") == form.value:
        _check_place(source, table)
        _check_changes(source, table)
    return source


def _check_place(source: JobSource, table: "_Table") -> None:
    """Note what is wrong with where the rows are."""
    form = source.format
    if form.is_files and source.path is None:
        table.missing("path", f"a {form} source needs the folder of its files")
    if not form.is_files and source.path is not None:
        table.mistake("path", f"a {form} source has no path", "give its `options`, or `table`")
    if form is SourceFormat.TABLE and source.table is None:
        table.missing("table", "a source from the catalog needs the table's name")
    if form is not SourceFormat.TABLE and source.table is not None:
        table.mistake("table", f"a {form} source has no table", 'choose format = "table"')
    needs = {SourceFormat.JDBC: ("url", "dbtable"), SourceFormat.KAFKA: ("kafka.bootstrap.servers",)}.get(
        form, ()
    )
    for option in needs:
        if option not in source.options:
            hint = f'write options = {{ "{option}" = "..." }}'
            table.missing("options", f"a {form} source needs the option `{option}`", hint)
    if source.fields and form is not SourceFormat.CSV:
        table.mistake("fields", f"a {form} source knows the names of its columns", "leave `fields` out")


def _check_changes(source: JobSource, table: "_Table") -> None:
    """Note what is wrong with how the rows tell changes."""
    form, changes = source.format, source.changes
    is_rows = form in (SourceFormat.JDBC, SourceFormat.TABLE)
    if form is SourceFormat.KAFKA and changes is Changes.SNAPSHOT:
        hint = 'choose changes = "insert" or changes = "op"'
        table.mistake("changes", "a Kafka topic holds changes, never all facts", hint)
    if is_rows and changes is not Changes.SNAPSHOT and source.bookmark is None:
        table.missing("bookmark", "to read new rows only, name an increasing column of the source")
    if source.bookmark is not None and (changes is Changes.SNAPSHOT or not is_rows):
        words = "a bookmark is for changes read from a JDBC or catalog table"
        table.mistake("bookmark", words, "leave it out: nothing else needs one")
    if changes is not Changes.OP:
        for key in ("op", "inserts", "deletes", "order"):
            if key in table.content:
                table.mistake(key, f"`{key}` belongs to changes with an op column", 'choose changes = "op"')
    both = set(source.inserts) & set(source.deletes)
    if both:
        table.mistake("deletes", f"`{min(both)}` means both to insert and to delete", "give each a word")


def _read_output(table: "_Table") -> Output:
    table.allow(("relation", "path", "table", "format", "feed", "feed_table", "every"))
    output = Output(
        table.text("relation", is_required=True),
        table.text("path") or None,
        table.text("table") or None,
        table.text("format") or "parquet",
        table.text("feed") or None,
        table.text("feed_table") or None,
        table.count("every", 1),
        spans=table.spans(),
    )
    if "format" in table.content and output.table is None:
        table.mistake("format", "a format belongs to a table", "files are Parquet; give `table` a name")
    return output


def _check_local(table: "_Table", key: str) -> None:
    """Note a folder that is worked in, and is not in a file system of this machine."""
    place = table.content.get(key)
    if isinstance(place, str) and "://" in place:
        message = f"`{key}` is a folder of this machine's file system, or of one that all machines share"
        table.mistake(key, message, "give a path; `state`, `path` and `feed` may be elsewhere")


def _check_names(sources: Sequence[JobSource]) -> Iterator[Diagnostic]:
    seen: dict[str, JobSource] = {}
    for source in sources:
        if source.id in seen and source.id:
            first = seen[source.id].at("name")
            yield Diagnostic(
                code="duplicate-source",
                message=f"two sources are called `{source.id}`",
                span=source.at("name"),
                hint="give each a `name` of its own",
                related=() if first is None else (("the first one", first),),
            )
        seen.setdefault(source.id, source)


@dataclass(frozen=True, slots=True)
class _Table:
    """One table of the text; what is wrong with its values goes to `mistakes`."""

    content: Mapping[str, object]
    way: Way
    places: TomlPlaces
    mistakes: list[Diagnostic]

    def allow(self, keys: Sequence[str]) -> None:
        """Note keys that mean nothing here."""
        for key in self.content:
            if key not in keys:
                self.mistakes.append(
                    Diagnostic(
                        code="unknown-job-key",
                        message=f"{self._what()} has no key `{key}`",
                        span=self.places.key(*self.way, key),
                        hint=did_you_mean(key, keys, f"it may have {', '.join(keys)}"),
                    )
                )

    def table(self, key: str) -> "_Table":
        value = self.content.get(key, {})
        if not isinstance(value, dict):
            name = ".".join(str(part) for part in (*self.way, key))
            self.mistake(key, f"`{key}` is a table", f"write `[{name}]` on a line of its own")
            value = {}
        return _Table(value, (*self.way, key), self.places, self.mistakes)

    def tables(self, key: str) -> list["_Table"]:
        value = self.content.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            self.mistake(key, f"there can be several of `{key}`", f"write `[[{key}]]` with two brackets")
            return []
        return [
            _Table(each, (*self.way, key, place), self.places, self.mistakes)
            for place, each in enumerate(value)
        ]

    def text(self, key: str, *, is_required: bool = False) -> str:
        """Return a text, empty if there is none."""
        if key not in self.content:
            if is_required:
                self.missing(key, f"{self._what()} needs `{key}`")
            return ""
        value = self.content[key]
        if isinstance(value, str) and value:
            return value
        self.mistake(key, f"`{key}` is a text, not {_shown(value)}", f'write {key} = "..."')
        return ""

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.content.get(key, [])
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        self.mistake(key, f"`{key}` is a list of texts, not {_shown(value)}", f'write {key} = ["...", "..."]')
        return ()

    def text_by_name(self, key: str) -> Mapping[str, str]:
        value = self.content.get(key, {})
        if not isinstance(value, dict):
            self.mistake(key, f"`{key}` is a table of texts", f'write {key} = {{ name = "..." }}')
            return {}
        return dict(self._flat(value, (key,)))

    def _flat(self, value: Mapping[str, object], way: Way) -> Iterator[tuple[str, str]]:
        """Yield the texts of a table; `a.b = "c"` without quotes means the name `a.b`."""
        for name, each in value.items():
            match each:
                case str():
                    yield name, each
                case bool() | int() | float():
                    # Options of Spark are texts, and people write `header = true`.
                    yield name, str(each).lower() if isinstance(each, bool) else str(each)
                case dict():
                    yield from ((f"{name}.{inner}", text) for inner, text in self._flat(each, (*way, name)))
                case _:
                    span = self.places.value(*self.way, *way, name)
                    self._note(span, f"`{name}` is a text, not {_shown(each)}", f'write {name} = "..."')

    def options(self) -> dict[str, object]:
        """Return the options of a session, each of which is right by itself."""
        found = {key: self.content[key] for key in JOB_OPTIONS if key in self.content}
        for key, value in found.items():
            try:
                combine_options(None, {key: value})
            except TidelogError as error:
                span = self.places.value(*self.way, key)
                self.mistakes.extend(replace(each, span=span) for each in error.diagnostics)
        return found

    def count(self, key: str, usual: int) -> int:
        value = self.content.get(key, usual)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
        self.mistake(key, f"`{key}` is a number from 1 on, not {_shown(value)}", f"write {key} = {usual}")
        return usual

    def share(self, key: str, usual: float) -> float:
        value = self.content.get(key, usual)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
            return float(value)
        self.mistake(key, f"`{key}` is a number from 0 to 1, not {_shown(value)}", f"write {key} = {usual}")
        return usual

    def one_of(self, key: str, choices: Sequence[str], usual: str) -> str:
        value = self.text(key) or usual
        if value in choices:
            return value
        hint = did_you_mean(value, choices, f"choose one of {', '.join(choices)}")
        self.mistake(key, f"there is no {key} `{value}`", hint)
        return usual

    def choice(
        self, key: str, choices: Callable[[str], Choice], usual: Choice, *, is_required: bool = False
    ) -> Choice:
        names = [str(each) for each in type(usual)]
        if is_required:
            self.text(key, is_required=key not in self.content)
        return choices(self.one_of(key, names, str(usual))) if key in self.content else usual

    def mistake(self, key: str, message: str, hint: str) -> None:
        self._note(self.places.value(*self.way, key), message, hint)

    def missing(self, key: str, message: str, hint: str | None = None) -> None:
        self.mistakes.append(_missing(message, self.places.key(*self.way), hint or f'write {key} = "..."'))

    def spans(self) -> dict[str, Span]:
        """Return where each key's value stands; the table itself is the empty name."""
        found = {"": self.places.key(*self.way)}
        for way, span in self.places.values.items():
            if way[: len(self.way)] == self.way:
                found[".".join(str(part) for part in way[len(self.way) :])] = span
        return found

    def _note(self, span: Span, message: str, hint: str) -> None:
        self.mistakes.append(Diagnostic(code="wrong-job-value", message=message, span=span, hint=hint))

    def _what(self) -> str:
        if not self.way:
            return "a job"
        name = str(self.way[0])
        return {"job": "`[job]`", "trigger": "`[trigger]`", "spark": "`[spark]`", "output": "an output"}.get(
            name, f"a {name}"
        )


def _missing(message: str, span: Span, hint: str) -> Diagnostic:
    return Diagnostic(code="missing-job-key", message=message, span=span, hint=hint)


def _place(mistake: Diagnostic) -> int:
    return 0 if mistake.span is None else mistake.span.start


def _shown(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return "a table"
        case list():
            return "a list"
        case str():
            return f'"{value}"'
        case _:
            return str(value)
