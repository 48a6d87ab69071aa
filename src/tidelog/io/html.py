"""Small tables as HTML, for notebooks: no colours, so that they fit a dark page and a light one."""

from collections.abc import Iterable, Mapping, Sequence

from tidelog.io.show import value_text
from tidelog.program.suggest import counted
from tidelog.values import Fact


def html_table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[object]], notes: Sequence[str] = ()
) -> str:
    """Return a table below its title, with notes under it; every text is escaped.

    A newline breaks the line, and what stands behind it in a head is small.
    """
    columns = "".join(map(_head, heads))
    return (
        f"<div><p><strong>{_escape(title)}</strong></p><table><thead><tr>{columns}</tr></thead>"
        f"<tbody>{''.join(f'<tr>{_cells(row)}</tr>' for row in rows)}</tbody></table>"
        f"{''.join(f'<p>{_escape(note)}</p>' for note in notes)}</div>"
    )


def facts_html(
    name: str, columns: Sequence[str], types: Sequence[str], facts: Sequence[Fact], size: int
) -> str:
    """Return the first facts of a relation, with the types of its columns."""
    heads = [f"{column}\n{type_name}" for column, type_name in zip(columns, types, strict=True)]
    more = [f"... and {size - len(facts):,} more"] if size > len(facts) else []
    rows = ([value_text(value) for value in fact] for fact in facts)
    return html_table(f"{name}: {counted(size, 'fact')}", heads, rows, more)


def relations_html(epoch: int, schema: Mapping[str, Mapping[str, str]], sizes: Sequence[int | str]) -> str:
    """Return relations with their columns and sizes."""
    columns = (", ".join(f"{name}: {type_}" for name, type_ in each.items()) for each in schema.values())
    title = f"{counted(len(schema), 'relation')}, epoch {epoch}"
    return html_table(title, ("relation", "columns", "facts"), zip(schema, columns, sizes, strict=True))


def text_html(text: str) -> str:
    """Return a text whose lines and columns stay."""
    return f"<pre>{_escape(text)}</pre>"


def _head(text: str) -> str:
    name, _, small = text.partition("\n")
    return f"<th>{_escape(name)}{f'<br><small>{_escape(small)}</small>' if small else ''}</th>"


def _cells(row: Sequence[object]) -> str:
    return "".join(
        f"<td>{each:,}</td>" if isinstance(each, int) else f"<td>{_lines(str(each))}</td>" for each in row
    )


def _lines(text: str) -> str:
    return "<br>".join(map(_escape, text.split("\n")))


def _escape(text: str) -> str:
    from html import escape  # noqa: PLC0415 - only needed in notebooks

    return escape(text)
