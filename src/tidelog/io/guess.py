"""How a file given by its path is read: by its suffix, its first line and the program's `.input`."""

import zlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

from tidelog.errors import Diagnostic, TidelogError
from tidelog.io.header import header_names
from tidelog.io.mistakes import unreadable_file
from tidelog.io.places import CsvLayout, Format, Place, layout_of, place_of
from tidelog.io.streams import existing_file, open_bytes
from tidelog.program.nodes import Directive, Relation

_FORMATS: Final = {
    ".parquet": Format.PARQUET,
    ".json": Format.JSON,
    ".jsonl": Format.JSON,
    ".ndjson": Format.JSON,
    ".sqlite": Format.SQLITE,
    ".sqlite3": Format.SQLITE,
    ".db": Format.SQLITE,
}
_LONGEST_HEADER: Final = 65536


def place_of_file(relation: Relation, path: Path, directives: Sequence[Directive]) -> Place:
    """Return the place of a file that is given by its path, in the place of the program's own.

    The suffix says the format. Lines of text are separated by commas with quotes as in RFC 4180 in
    a `.csv` whose first line has no tab outside quotes, else by tabs; a first line with a column's
    name is a header. What the relation's `.input` directives say goes before these guesses.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    directive = _directive_for(path, directives)
    form = _FORMATS.get(suffix)
    if directive is not None:
        declared = place_of(relation, directive, Path())
        if form is None and "IO" in directive.parameters:
            form = declared.format
        if declared.format is Format.SQLITE and form is Format.SQLITE:
            return Place(form, path, table=declared.table)
    if form is not None and form is not Format.CSV:
        return Place(form, path, table=relation.name)
    layout = _guess_layout(relation, path, suffix, directive)
    return Place(Format.CSV, path, layout, table=relation.name)


def _directive_for(path: Path, directives: Sequence[Directive]) -> Directive | None:
    """Return the directive that speaks of a file: the one with its name, or all if they agree."""
    named = [each for each in directives if Path(each.parameters.get("filename", "")).name == path.name]
    declared = named or list(directives)
    ways = {tuple(sorted(_way(each).items())) for each in declared}
    if len(ways) > 1:
        message = f"the .input directives of `{declared[0].relation}` differ in how a file is read"
        hint = f'`{path.name}` is read as the directive with filename="{path.name}" says; add it'
        raise TidelogError([Diagnostic("bad-io-parameter", message, declared[-1].span, hint)])
    return declared[0] if declared else None


def _way(directive: Directive) -> dict[str, str]:
    """Return the parameters that say how a file is read, not where it is."""
    where = {"filename", "dbname", "fact-dir"}
    return {key: value for key, value in directive.parameters.items() if key not in where}


def _guess_layout(relation: Relation, path: Path, suffix: str, directive: Directive | None) -> CsvLayout:
    first = _first_line(path)
    is_quoted = suffix == ".csv" and _has_commas(first, relation, path, directive)
    layout = CsvLayout("," if is_quoted else "\t", is_quoted=is_quoted)
    if directive is not None:
        layout = layout_of(relation, directive, layout)
        if "headers" in directive.parameters or layout.positions is not None:
            return layout
    # A line with some of the names is taken for a header too, which is a mistake that is reported.
    names = {column.name for column in relation.columns}
    return replace(layout, has_header=not names.isdisjoint(header_names(first, layout)))


def _has_commas(first: str, relation: Relation, path: Path, directive: Directive | None) -> bool:
    """Say whether the columns of a `.csv` are separated by commas, and not by tabs as we write them.

    Tabs outside quotes separate columns; where they may as well be part of quoted texts, the program
    has to say what is meant.
    """
    declared = {} if directive is None else directive.parameters
    if "\t" not in first or "delimiter" in declared or "rfc4180" in declared or declared.get("IO") == "csv":
        return "\t" not in first
    is_inside = False
    for char in first:
        is_inside ^= char == '"'
        if char == "\t" and not is_inside:
            return False
    if first.count("\t") + 1 == relation.arity:
        message = f"`{path}` may be separated by tabs, or by commas with tabs in quoted texts"
        hint = f'write `.input {relation.name}(rfc4180=true)`, or `.input {relation.name}(delimiter="\\t")`'
        raise TidelogError([Diagnostic("bad-io-parameter", message, hint=hint)])
    return True


def _first_line(path: Path) -> str:
    try:
        found = existing_file(path, None)
        if not found.is_file():
            # A pipe can be read once, so that nobody may look at it first.
            return ""
        with closing(open_bytes(found)) as stream:
            return stream.readline(_LONGEST_HEADER).decode("utf-8-sig", "replace").rstrip("\r\n")
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable_file(str(path), error) from error
