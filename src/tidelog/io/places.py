"""Where a directive says that facts lie, and in which format."""

from enum import Enum
from pathlib import Path
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.nodes import Directive, Relation
from tidelog.program.suggest import counted, did_you_mean
from tidelog.values.style import Style


class Format(Enum):
    """How facts are written down."""

    CSV = "csv"
    JSON = "json"
    SQLITE = "sqlite"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """How lines are taken apart.

    Without `is_quoted` every character but the delimiter and the newline is text, as Soufflé
    has it; with it, fields may stand in `"` quotes as RFC 4180 says. `positions` are the file's
    columns that fill the relation's columns, in order, where the file has others too, or has them
    in another order. `width` is the number of columns that every line must have where a header
    says it. `style` is how values are written; all styles are read.
    """

    delimiter: str = "\t"
    has_header: bool = False
    is_quoted: bool = False
    positions: tuple[int, ...] | None = None
    width: int | None = None
    style: Style = Style.SOUFFLE


@dataclass(frozen=True, slots=True)
class Place:
    """A file, or standard input or output where `path` is None."""

    format: Format
    path: Path | None
    layout: CsvLayout = CsvLayout()
    is_compressed: bool = False
    has_objects: bool = False
    table: str = ""


_FORMATS: Final = {
    "file": Format.CSV,
    "csv": Format.CSV,
    "stdin": Format.CSV,
    "stdout": Format.CSV,
    "json": Format.JSON,
    "jsonfile": Format.JSON,
    "sqlite": Format.SQLITE,
    "parquet": Format.PARQUET,
}
_STANDARD_STREAMS: Final = frozenset({"stdin", "stdout", "json"})
_YES: Final = frozenset({"true", "1", "yes", "on", ""})
_NO: Final = frozenset({"false", "0", "no", "off"})
_STYLES: Final = {"souffle": Style.SOUFFLE, "exact": Style.PLAIN}
_SUFFIXES: Final = {Format.JSON: ".json", Format.SQLITE: ".sqlite", Format.PARQUET: ".parquet"}


def place_of(relation: Relation, directive: Directive, directory: Path) -> Place:
    """Return the place a directive names; relative files lie in `directory`.

    The file is called after the relation unless the directive has a `filename`: `.facts` for
    input, `.csv` for output. An output directory `-` is standard output.
    """
    parameters = directive.parameters
    word = parameters.get("IO", "file")
    if word not in _FORMATS:
        raise _mistake(
            "unknown-io", f"`{word}` is not a kind of IO", directive, did_you_mean(word, _FORMATS, _CHOICES)
        )
    is_input = directive.kind == "input"
    if word == ("stdout" if is_input else "stdin"):
        raise _mistake(
            "unknown-io",
            f"`{word}` is not for {directive.kind}",
            directive,
            f"use `std{'in' if is_input else 'out'}`",
        )
    form = _FORMATS[word]
    folder = Path(parameters.get("fact-dir" if is_input else "output-dir", directory))
    name = parameters.get("name", relation.name)
    is_compressed = _is_on(directive, "compress") and form is Format.CSV
    suffix = _SUFFIXES.get(form, ".facts" if is_input else ".csv.gz" if is_compressed else ".csv")
    filename = parameters.get("filename") or parameters.get("dbname") or name + suffix
    to_standard = word in _STANDARD_STREAMS or (str(folder) == "-" and form in (Format.CSV, Format.JSON))
    return Place(
        format=form,
        path=None if to_standard else (Path() if str(folder) == "-" else folder) / filename,
        layout=layout_of(relation, directive),
        is_compressed=is_compressed and not to_standard,
        has_objects=_has_objects(directive),
        table=name,
    )


_CHOICES: Final = "use one of " + ", ".join(_FORMATS)


def layout_of(relation: Relation, directive: Directive, guess: CsvLayout | None = None) -> CsvLayout:
    """Return the layout a directive says; what it leaves open is as in the guess."""
    parameters = directive.parameters
    is_quoted = guess is not None and guess.is_quoted and "delimiter" not in parameters
    if "rfc4180" in parameters or parameters.get("IO") == "csv":
        is_quoted = _is_on(directive, "rfc4180") if "rfc4180" in parameters else True
    has_same_quotes = guess is not None and guess.is_quoted == is_quoted
    delimiter = guess.delimiter if guess is not None and has_same_quotes else "," if is_quoted else "\t"
    delimiter = parameters.get("delimiter", delimiter)
    delimiter = {"\\t": "\t"}.get(delimiter, delimiter)
    if not delimiter or "\n" in delimiter or "\r" in delimiter or (is_quoted and '"' in delimiter):
        raise _mistake(
            "bad-io-parameter", f"{delimiter!r} cannot separate columns", directive, "use a tab or a comma"
        )
    has_header = guess is not None and guess.has_header
    if "headers" in parameters:
        has_header = _is_on(directive, "headers")
    return CsvLayout(
        delimiter,
        has_header,
        is_quoted,
        _positions(relation, directive),
        style=_style(directive, is_quoted=is_quoted),
    )


def _style(directive: Directive, *, is_quoted: bool) -> Style:
    """Return how values are written: `floats=exact` is the fewest digits that give a float back."""
    word = directive.parameters.get("floats", "souffle")
    if word not in _STYLES:
        message = f"{word!r} is not a way to write floats"
        raise _mistake("bad-io-parameter", message, directive, "use `souffle` or `exact`")
    style = _STYLES[word]
    return Style.SOUFFLE_QUOTED if is_quoted and style is Style.SOUFFLE else style


def _positions(relation: Relation, directive: Directive) -> tuple[int, ...] | None:
    """Return the file's columns named by `columns="2:0"`."""
    text = directive.parameters.get("columns", "")
    if not text:
        return None
    parts = text.split(":")
    if len(parts) < relation.arity or not all(part.isascii() and part.isdigit() for part in parts):
        message = f"`columns` must name {counted(relation.arity, 'column')} of the file"
        raise _mistake("bad-io-parameter", message, directive, 'count from 0, as in columns="0:2"')
    return tuple(int(part) for part in parts[: relation.arity])


def _is_on(directive: Directive, key: str) -> bool:
    word = directive.parameters.get(key, "false")
    if word.lower() in _NO:
        return False
    if word.lower() in _YES:
        return True
    message = f"`{key}` is true or false, not {word!r}"
    raise _mistake("bad-io-parameter", message, directive, f"write {key}=true")


def _has_objects(directive: Directive) -> bool:
    word = directive.parameters.get("format", "list")
    if word not in {"list", "object"}:
        message = f"{word!r} is not a format of JSON"
        raise _mistake("bad-io-parameter", message, directive, "use `list` or `object`")
    return word == "object"


def _mistake(code: str, message: str, directive: Directive, hint: str) -> TidelogError:
    return TidelogError([Diagnostic(code=code, message=message, span=directive.span, hint=hint)])
