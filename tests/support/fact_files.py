"""Relations and directives that tests of fact files share."""

from pathlib import Path

from support.value_types import TYPES
from tidelog import io
from tidelog.errors import TidelogError
from tidelog.program.nodes import Column, Directive, Relation
from tidelog.values import Codec, Fact


def relation_of(name: str, /, **columns: str) -> Relation:
    """Return a relation with these columns, given by name and type."""
    return Relation(name, tuple(Column(column, type_name) for column, type_name in columns.items()))


def facts_of(columns: list | None, relation: Relation, codec: Codec) -> list[Fact]:
    """Return the facts that code columns stand for."""
    if columns is None:
        return []
    if not relation.columns:
        return [()]
    decoded = [
        codec.decode_column(codes, column.type)
        for codes, column in zip(columns, relation.columns, strict=True)
    ]
    return list(zip(*decoded, strict=True))


def read_text(folder: Path, relation: Relation, content: bytes | str, **parameters: str) -> list[Fact]:
    """Return the facts of a fact file with this content."""
    data = content.encode() if isinstance(content, str) else content
    (folder / f"{relation.name}.facts").write_bytes(data)
    codec = Codec(TYPES)
    columns = io.read_relation(relation, Directive("input", relation.name, parameters), codec, folder)
    return facts_of(columns, relation, codec)


def written(folder: Path, relation: Relation, facts: list[Fact], **parameters: str) -> str:
    """Return the text of the one file that writing these facts makes."""
    codec = Codec(TYPES)
    columns = io.columns_from(facts, relation, codec)
    io.write_relation(relation, Directive("output", relation.name, parameters), columns, codec, folder)
    (file,) = folder.iterdir()
    return file.read_text()


def mistakes_of(error: TidelogError) -> list[tuple[str, int, int, str]]:
    """Return code, line, column and underlined text of every diagnostic that has a place."""
    found = []
    for diagnostic in error.diagnostics:
        span = diagnostic.span
        if span is not None:
            line = span.line + diagnostic.line_offset
            found.append((diagnostic.code, line, span.column, span.text))
    return found
