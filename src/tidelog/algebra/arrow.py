"""Arrow tables as the rows of relations, and back."""

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from tidelog.algebra.nodes import Schema
from tidelog.errors import Diagnostic, TidelogError, raise_if_any
from tidelog.errors.arguments import Arguments
from tidelog.program.nodes import Relation
from tidelog.program.suggest import did_you_mean
from tidelog.values import Codec, Codes, Kind, TextError, Value
from tidelog.values.functors import canonical_value


def take_tables(
    tables: Mapping[str, object], relations: Mapping[str, Relation], *, are_inputs: bool
) -> dict[str, pa.Table]:
    """Return the tables of relations.

    A program takes tables of its inputs alone, and an input without a table is empty. An expression
    needs a table for each relation that it reads, and leaves others aside.
    """
    with Arguments() as arguments:
        wanted = "a mapping from relations to Arrow tables"
        arguments.mapping("tables", tables, wanted, of=lambda each: hasattr(each, "__arrow_c_stream__"))
    if are_inputs:
        raise_if_any(_not_an_input(name, relations) for name in tables if name not in relations)
        relations = {name: each for name, each in relations.items() if name in tables}
    raise_if_any(found for name, each in relations.items() for found in _mistakes(each, tables.get(name)))
    return {name: pa.table(tables[name]) for name in relations}


def _not_an_input(name: str, inputs: Mapping[str, Relation]) -> Diagnostic:
    hint = did_you_mean(name, inputs, f"the inputs are {', '.join(inputs)}")
    return Diagnostic(code="not-an-input", message=f"`{name}` is not an input of the program", hint=hint)


def _mistakes(relation: Relation, table: object) -> Iterator[Diagnostic]:
    wanted = [column.name for column in relation.columns]
    hint = f"give a table with the columns {', '.join(wanted)}"
    if table is None:
        message = f"there is no table for `{relation.name}`, which the expression reads"
        yield Diagnostic(code="no-table", message=message, hint=hint)
        return
    names = pa.table(table).column_names
    if sorted(names) != sorted(wanted):
        message = f"the table for `{relation.name}` has the columns {', '.join(names)}"
        yield Diagnostic(code="column-names", message=message, hint=hint)


def read_table(table: pa.Table, relation: Relation, codec: Codec) -> list[dict[str, Value]]:
    """Return the distinct rows of a table; a value of another type is a diagnostic."""
    names = [column.name for column in relation.columns]
    columns = [
        map(
            canonical_value, codec.decode_column(_codes(table.column(each.name), each.type, codec), each.type)
        )
        for each in relation.columns
    ]
    facts = zip(*columns, strict=True) if columns else [()] * table.num_rows
    return [dict(zip(names, fact, strict=True)) for fact in dict.fromkeys(facts)]


def write_table(rows: Iterable[Mapping[str, Value]], schema: Schema, codec: Codec) -> pa.Table:
    """Return rows as a table, in value order: int64, uint64, float64 and string columns."""
    facts = list(rows)
    codes = [codec.encode_column([row[name] for row in facts], each) for name, each in schema.items()]
    order = codec.sort_rows(codes, list(schema.values()))
    arrays = [
        codec.column_to_arrow(column[order], each)
        for column, each in zip(codes, schema.values(), strict=True)
    ]
    # A table without columns has rows all the same.
    counted = pa.Table.from_arrays([pa.nulls(len(facts)), *arrays], names=["", *schema])
    return counted.select(list(schema))


def _codes(column: pa.ChunkedArray, type_name: str, codec: Codec) -> Codes:
    values = column.to_pylist()
    if codec.resolve(type_name).kind in (Kind.RECORD, Kind.ADT):
        values = [_parse(text, type_name, codec) for text in values]
    return codec.encode_column(values, type_name)


def _parse(text: object, type_name: str, codec: Codec) -> Value:
    """Return a record or a value of an algebraic type that is given as its text."""
    try:
        return codec.decode(codec.parse(str(text), type_name), type_name)
    except TextError as cause:
        message = f"`{text}` is not a value of type `{type_name}`: {cause.message}"
        raise TidelogError([Diagnostic(code="malformed-value", message=message)]) from cause
