"""Facts in a table of a SQLite file.

Numbers are integers, floats reals, symbols texts; records and algebraic types are given as
their text, and so is an unsigned that SQLite's integers cannot hold.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from tidelog.errors import Diagnostic, TidelogError
from tidelog.io.column_names import ColumnNamesError, match_columns
from tidelog.io.mistakes import Mistakes, unreadable_file
from tidelog.io.python_rows import encode_rows
from tidelog.program.nodes import Relation
from tidelog.program.suggest import did_you_mean
from tidelog.values import Codec, Codes, Fact, Kind, TextError, Value
from tidelog.values.codes import NUMBER_MAX

# An unsigned column has no type, for SQLite would turn its texts into rounded reals.
_COLUMN_TYPES: Final = {Kind.NUMBER: " INTEGER", Kind.FLOAT: " REAL", Kind.UNSIGNED: ""}


def read_sqlite(path: Path, table: str, relation: Relation, codec: Codec) -> list[Codes] | None:
    """Return the codes of the facts in a table or view; its columns are matched by `match_columns`."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            known = [name for (name,) in database.execute("SELECT name FROM sqlite_master")]
            if table not in known:
                raise _missing_table(path, table, known)
            cursor = database.execute(f"SELECT * FROM {_quoted(table)}")  # noqa: S608 - quoted
            names = [str(each[0]) for each in cursor.description]
            rows = cursor.fetchall()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise unreadable_file(str(path), error) from error
    if relation.arity == 0:
        return [] if rows else None
    mistakes = Mistakes(f"{path} ({table})")
    try:
        positions = match_columns(names, [column.name for column in relation.columns])
    except ColumnNamesError as error:
        message = f"{path} ({table}): {error.message}"
        raise TidelogError([Diagnostic(error.code, message, hint=error.hint)]) from error
    if positions != tuple(range(len(names))):
        rows = [tuple(row[position] for position in positions) for row in rows]
    return encode_rows(_facts(rows, relation, codec, mistakes), relation, codec, mistakes)


def write_sqlite(
    path: Path, table: str, relation: Relation, batches: Iterator[Sequence[Codes]], codec: Codec
) -> None:
    """Put facts into a table, in place of a table or view of that name."""
    kinds = [codec.resolve(column.type).kind for column in relation.columns]
    declared = ", ".join(
        _quoted(column.name) + _COLUMN_TYPES.get(kind, " TEXT")
        for column, kind in zip(relation.columns, kinds, strict=True)
    )
    marks = ", ".join("?" * relation.arity)
    with closing(sqlite3.connect(path)) as database, database:
        for kind, name in database.execute("SELECT type, name FROM sqlite_master").fetchall():
            if name == table and kind in {"table", "view"}:
                database.execute(f"DROP {kind} {_quoted(table)}")
        database.execute(f"CREATE TABLE {_quoted(table)} ({declared or _quoted('holds')})")
        insert = f"INSERT INTO {_quoted(table)} VALUES ({marks or '1'})"  # noqa: S608 - quoted
        for batch in batches:
            columns = [
                _stored(codes, column.type, kind, codec)
                for codes, column, kind in zip(batch, relation.columns, kinds, strict=True)
            ]
            database.executemany(insert, zip(*columns, strict=True) if columns else [()])


def _stored(codes: Codes, type_name: str, kind: Kind, codec: Codec) -> list[Value]:
    if kind in (Kind.RECORD, Kind.ADT):
        texts: list[Value] = codec.column_to_text(codes, type_name).to_pylist()
        return texts
    values = codec.decode_column(codes, type_name)
    if kind is Kind.UNSIGNED:
        return [str(value) if int(value) > NUMBER_MAX else value for value in values]  # type: ignore[arg-type]
    if kind is Kind.FLOAT:
        # SQLite keeps NaN as NULL, so it is kept as text.
        return ["nan" if value != value else value for value in values]  # noqa: PLR0124 - NaN
    return values


def _facts(rows: list[Fact], relation: Relation, codec: Codec, mistakes: Mistakes) -> list[Fact]:
    """Return rows with the texts of numbers, records and algebraic types read."""
    kinds = [codec.resolve(column.type).kind for column in relation.columns]
    if all(kind in (Kind.NUMBER, Kind.SYMBOL) for kind in kinds):
        return rows
    facts = []
    for number, row in enumerate(rows, start=1):
        fact: list[Value] = list(row)
        for position, (value, column, kind) in enumerate(zip(row, relation.columns, kinds, strict=False)):
            if kind is not Kind.SYMBOL and isinstance(value, str):
                try:
                    fact[position] = codec.decode(codec.parse(value, column.type), column.type)
                except TextError as error:
                    mistakes.note(error.code, f"row {number}, column `{column.name}`: {error.message}")
        facts.append(tuple(fact))
    mistakes.raise_if_any()
    return facts


def _missing_table(path: Path, table: str, known: list[str]) -> TidelogError:
    hint = did_you_mean(table, known, "it has " + (", ".join(known[:10]) or "no tables"))
    return TidelogError([Diagnostic("missing-table", f"`{path}` has no table `{table}`", hint=hint)])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
