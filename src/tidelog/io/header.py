"""The first line of a file with headers: which column of the file is which of the relation."""

from dataclasses import replace

from tidelog.io.column_names import ColumnNamesError, match_columns
from tidelog.io.fields import split_plain
from tidelog.io.mistakes import Mistakes, TextPlace
from tidelog.io.places import CsvLayout
from tidelog.io.quotes import quoted_lines, unquote
from tidelog.program.nodes import Relation


def take_header(
    data: bytes, relation: Relation, layout: CsvLayout, mistakes: Mistakes
) -> tuple[bytes, int, CsvLayout]:
    """Return the data after the header, how many lines it took, and the layout it leads to.

    Columns are matched by name if the header has the relation's names. A header with none of them, in
    whatever case, is skipped, as Soufflé skips it. `columns` in the directive goes before the names. A
    header with only some of the names is reported to `mistakes`.
    """
    text, rest = _first_line(data, layout)
    lines = data[: len(data) - len(rest)].count(b"\n") or 1
    if layout.positions is not None:
        return rest, lines, layout
    found = header_names(text, layout)
    wanted = [column.name for column in relation.columns]
    if {name.casefold() for name in wanted}.isdisjoint(name.casefold() for name in found):
        return rest, lines, layout
    try:
        positions = match_columns(found, wanted)
    except ColumnNamesError as error:
        hint = (
            f"name the columns {', '.join(wanted)}; if this line is a fact, write headers=false in the .input"
        )
        if all(found.count(name) == 1 for name in wanted):
            chosen = ":".join(str(found.index(name)) for name in wanted)
            hint = f'read just these columns with columns="{chosen}" in the .input'
        mistakes.report(error.code, f"in the header: {error.message}", _place(text), hint)
        return rest, lines, layout
    if positions == tuple(range(len(positions))):
        return rest, lines, layout
    return rest, lines, replace(layout, positions=positions, width=len(found))


def header_names(text: str, layout: CsvLayout) -> list[str]:
    """Return the names in a header, without the white space and the quotes around them."""
    if not layout.is_quoted:
        fields = split_plain(text, layout.delimiter, is_alone=False)
        return [field.strip().strip('"').strip() for field, _, _ in fields]
    names = []
    start = 0
    while True:
        end, name = text.find(layout.delimiter, start), None
        if text[start : start + 1] == '"':
            at, name = unquote(text, start)
            end = text.find(layout.delimiter, at)
        end = len(text) if end < 0 else end
        names.append((text[start:end] if name is None else name).strip())
        if end == len(text):
            return names
        start = end + len(layout.delimiter)


def _first_line(data: bytes, layout: CsvLayout) -> tuple[str, bytes]:
    if layout.is_quoted and data.partition(b"\n")[0].count(b'"') % 2:
        # A quoted name may hold a newline.
        text = data.decode("utf-8", "surrogateescape")
        for _, line in quoted_lines(text, layout.delimiter):
            size = len(line.encode("utf-8", "surrogateescape"))
            return _shown(line), data[size:].removeprefix(b"\r").removeprefix(b"\n")
    first, _, rest = data.partition(b"\n")
    return _shown(first.decode("utf-8", "surrogateescape").removesuffix("\r")), rest


def _shown(line: str) -> str:
    return line.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _place(text: str) -> TextPlace:
    return TextPlace(1, text, 0, len(text))
