"""Facts given in Python one by one: tuples, lists, dicts, named tuples, data classes."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

import numpy as np

from tidelog.io.column_names import ColumnNamesError, match_columns
from tidelog.io.mistakes import Mistakes
from tidelog.io.python_columns import encode_values
from tidelog.program.nodes import Relation
from tidelog.program.suggest import counted
from tidelog.values import Branch, Codec, Codes, Value

_PLAIN: Final = frozenset({tuple, list})


def codes_from_rows(data: Iterable[object], relation: Relation, codec: Codec) -> list[Codes] | None:
    """Return the codes of facts given one by one; None if a relation without columns does not hold."""
    rows = list(data)
    mistakes = Mistakes(f"facts of `{relation.name}`")
    codes = encode_rows(rows, relation, codec, mistakes)
    return codes if relation.arity or rows else None


def encode_rows(rows: Sequence[object], relation: Relation, codec: Codec, mistakes: Mistakes) -> list[Codes]:
    """Return the codes of facts, each given as a tuple or by names.

    Mistakes are raised together and name the row, counted from 1.
    """
    arity = relation.arity
    reader = _RowReader([column.name for column in relation.columns], mistakes)
    exact = set(map(type, rows))
    facts = rows if exact <= _PLAIN else [reader.fact(row, number) for number, row in enumerate(rows, 1)]
    lengths = set(map(len, facts)) - {arity} if exact <= _PLAIN and not mistakes.count else {0}  # type: ignore[arg-type]
    if lengths:
        for number, fact in enumerate(facts, start=1):
            if fact is not None and len(fact) != arity:  # type: ignore[arg-type]
                message = f"row {number} has {counted(len(fact), 'value')} where {arity} should be"  # type: ignore[arg-type]
                mistakes.note(
                    "wrong-column-count", message, f"give {', '.join(reader.names) or 'empty tuples'}"
                )
    mistakes.raise_if_any()
    columns: list[tuple[Value, ...]] = list(zip(*facts, strict=True)) if facts else [()] * arity
    codes = [
        encode_values(values, column, codec, mistakes)
        for values, column in zip(columns, relation.columns, strict=True)
    ]
    mistakes.raise_if_any()
    return codes


class _RowReader:
    """Takes facts apart; `names` are the columns of the relation."""

    def __init__(self, names: Sequence[str], mistakes: Mistakes) -> None:
        self.names = names
        self._mistakes = mistakes
        self._positions: dict[tuple[str, ...], tuple[int, ...]] = {}

    def fact(self, row: object, number: int) -> Sequence[object] | None:
        """Return the values of a fact in the order of the columns, None after a mistake."""
        match row:
            case Mapping():
                return self._from_mapping(row, number)
            case tuple() if hasattr(row, "_fields"):
                return self._from_names(tuple(row._fields), row, number)
            case tuple() | list():
                return row
            case np.void() if row.dtype.names:
                return self._from_names(tuple(row.dtype.names), row.tolist(), number)
            case np.ndarray() if row.ndim == 1:
                return cast("list[object]", row.tolist())
        if dataclasses.is_dataclass(row) and not isinstance(row, (type, Branch)):
            names = tuple(field.name for field in dataclasses.fields(row))
            return self._from_names(names, [getattr(row, name) for name in names], number)
        if len(self.names) == 1:
            return (row,)
        self._mistakes.note(
            "wrong-value-type", f"row {number} is not a tuple but {_shown(row)}", self._hint(row)
        )
        return None

    def _hint(self, row: object) -> str:
        fact = f"({', '.join(self.names)})"
        if isinstance(row, str) and "(" in row:
            return f"give every fact as a tuple, {fact}; `db.apply(insert=[...])` takes facts as texts"
        return f"give every fact as a tuple, {fact}, in a list of facts"

    def _from_mapping(self, row: Mapping[object, object], number: int) -> Sequence[object] | None:
        missing = [name for name in self.names if name not in row]
        unknown = [key for key in row if key not in self.names]
        if not missing and not unknown:
            return [row[name] for name in self.names]
        parts = [f"has no `{name}`" for name in missing[:10]]
        parts += [f"has {key!r}, which is not a column" for key in unknown[:10]]
        hint = f"give the keys {', '.join(map(repr, self.names))}" if self.names else "give empty tuples"
        self._mistakes.note("column-names", f"row {number} " + ", ".join(parts), hint)
        return None

    def _from_names(
        self, names: tuple[str, ...], values: Sequence[object], number: int
    ) -> Sequence[object] | None:
        if names not in self._positions:
            try:
                self._positions[names] = match_columns(names, self.names)
            except ColumnNamesError as error:
                self._mistakes.note(error.code, f"row {number}: {error.message}", error.hint)
                return None
        return [values[position] for position in self._positions[names]]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
