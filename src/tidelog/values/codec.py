"""Values of every type as codes, and back."""

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NoReturn, SupportsIndex, cast

import numpy as np

from tidelog.errors import Diagnostic, TidelogError
from tidelog.values.arrow import pa
from tidelog.values.arrow_numbers import numbers_of
from tidelog.values.codes import (
    NUMBER_MAX,
    NUMBER_MIN,
    UNSIGNED_MAX,
    Codes,
    code_to_float,
    code_to_unsigned,
    codes_to_floats,
    codes_to_unsigneds,
    float_to_code,
    floats_to_codes,
    unsigned_to_code,
    unsigneds_to_codes,
)
from tidelog.values.dictionary import Dictionary
from tidelog.values.formatting import format_value
from tidelog.values.order import Packing, order_keys, sort_permutation
from tidelog.values.parsing import parse_value
from tidelog.values.records import NIL, Records
from tidelog.values.style import Style
from tidelog.values.types import PRIMITIVES, BranchType, Kind, TypeTable, ValueType
from tidelog.values.value import Branch, Value

# What a Python value of each kind is called in messages.
_EXPECTED: Final = {
    Kind.NUMBER: f"an int from {NUMBER_MIN} to {NUMBER_MAX}",
    Kind.UNSIGNED: f"an int from 0 to {UNSIGNED_MAX}",
    Kind.FLOAT: "a float",
    Kind.SYMBOL: "a str",
}


# Records nested deeper than this are encoded one by one, without recursion.
_DEEPEST_TOGETHER: Final = 20


class Codec:
    """Codes of values, by the types of one program.

    Equal values of a type have equal codes. `symbols` and `records` grow with what is encoded
    and never forget.

        codec.encode("a", "symbol") == codec.symbols.code_of("a")
    """

    def __init__(self, types: TypeTable) -> None:
        self.types: TypeTable = {**PRIMITIVES, **types}
        self.symbols = Dictionary()
        self.records = Records()
        # Warnings about what engines met in facts, by code and what they are about.
        self.warnings: dict[tuple[str, str], Diagnostic] = {}

    def resolve(self, type_name: str) -> ValueType:
        """Return the type that says how codes of the named type are read.

        For a narrowed record or algebraic type this is the type with the fields.
        """
        value_type = self.types[type_name]
        while value_type.kind in (Kind.RECORD, Kind.ADT) and not (value_type.fields or value_type.branches):
            if value_type.base is not None:
                value_type = self.types[value_type.base]
            elif value_type.members:
                value_type = self.types[value_type.members[0]]
            else:
                break
        return value_type

    def is_symbol(self, type_name: str) -> bool:
        """Say whether values of the type are texts."""
        return self.types[type_name].kind is Kind.SYMBOL

    # --- Python values ---------------------------------------------------------------------

    def encode(self, value: Value, type_name: str) -> int:
        """Return the code of a Python value; a value of another type is a diagnostic."""
        value_type = self.resolve(type_name)
        if value_type.kind in (Kind.RECORD, Kind.ADT):
            return self._encode_nested(value, value_type)
        return self._encode_simple(value, value_type)

    def decode(self, code: int, type_name: str) -> Value:
        """Return the Python value of a code."""
        value_type = self.resolve(type_name)
        match value_type.kind:
            case Kind.NUMBER:
                return int(code)
            case Kind.UNSIGNED:
                return code_to_unsigned(int(code))
            case Kind.FLOAT:
                return code_to_float(int(code))
            case Kind.SYMBOL:
                return self.symbols.text_of(int(code))
            case Kind.RECORD | Kind.ADT:
                return self._decode_nested([int(code)], value_type)[0]

    def encode_column(self, values: Iterable[Value], type_name: str) -> Codes:
        """Return the codes of Python values of one type."""
        return self._encode_many(list(values), type_name, _DEEPEST_TOGETHER)

    def _encode_many(self, values: list[Value], type_name: str, depth: int) -> Codes:
        value_type = self.resolve(type_name)
        exact = set(map(type, values))
        codes = self._encode_exact(values, value_type, exact)
        if codes is not None:
            return codes
        if depth and len(values) > 1:
            if value_type.kind is Kind.RECORD and exact <= {tuple, type(None)}:
                return self._encode_records(values, value_type, depth)
            if value_type.kind is Kind.ADT and exact <= {Branch}:
                return self._encode_branches(cast("list[Branch]", values), value_type, depth)
        single = (self.encode(value, type_name) for value in values)
        return np.fromiter(single, dtype=np.int64, count=len(values))

    def _encode_exact(self, values: list[Value], value_type: ValueType, exact: set[type]) -> Codes | None:
        """Return the codes of values of just the one Python type, None if some do not fit."""
        try:
            match value_type.kind:
                case Kind.NUMBER if exact <= {int}:
                    return np.array(values, dtype=np.int64)
                case Kind.UNSIGNED if exact <= {int} and min(cast("list[int]", values), default=0) >= 0:
                    return unsigneds_to_codes(np.array(values, dtype=np.uint64))
                case Kind.FLOAT if exact <= {float}:
                    return floats_to_codes(np.array(values, dtype=np.float64))
                case Kind.SYMBOL if exact <= {str}:
                    return self.symbols.encode(cast("list[str]", values))
        except (OverflowError, UnicodeEncodeError):
            pass
        return None

    def _encode_records(self, values: list[Value], value_type: ValueType, depth: int) -> Codes:
        """Return the codes of records, encoding each field of all of them together."""
        codes = np.full(len(values), NIL, dtype=np.int64)
        rows = [row for row, value in enumerate(values) if value is not None]
        records = [cast("tuple[Value, ...]", values[row]) for row in rows]
        for record in records:
            if len(record) != len(value_type.fields):
                _reject(record, value_type)
        fields = [
            self._encode_many([record[position] for record in records], field.type, depth - 1)
            for position, field in enumerate(value_type.fields)
        ]
        codes[rows] = self.make_records(_stacked(fields, len(records)), value_type)
        return codes

    def _encode_branches(self, values: list[Branch], value_type: ValueType, depth: int) -> Codes:
        """Return the codes of branches, encoding each field of all of one name together."""
        codes = np.empty(len(values), dtype=np.int64)
        rows_of: dict[str, list[int]] = {}
        for row, value in enumerate(values):
            rows_of.setdefault(value.name, []).append(row)
        for rows in rows_of.values():
            branches = [values[row] for row in rows]
            position, branch = self._open_branch(branches[0], value_type)
            for value in branches:
                if len(value.fields) != len(branch.fields):
                    _reject(value, value_type)
            fields = [np.full(len(rows), position, dtype=np.int64)]
            for place, field in enumerate(branch.fields):
                fields.append(self._encode_many([b.fields[place] for b in branches], field.type, depth - 1))
            codes[rows] = self.make_records(_stacked(fields, len(rows)), value_type)
        return codes

    def decode_column(self, codes: Codes, type_name: str) -> list[Value]:
        """Return the Python values of codes of one type."""
        value_type = self.resolve(type_name)
        match value_type.kind:
            case Kind.NUMBER:
                return cast("list[Value]", codes.tolist())
            case Kind.UNSIGNED:
                return cast("list[Value]", codes_to_unsigneds(codes).tolist())
            case Kind.FLOAT:
                return cast("list[Value]", codes_to_floats(codes).tolist())
            case Kind.SYMBOL:
                return cast("list[Value]", self.symbols.decode(codes))
            case Kind.RECORD | Kind.ADT:
                self.records.expect(codes)
                return self._decode_nested(codes.tolist(), value_type)

    def _encode_simple(self, value: Value, value_type: ValueType) -> int:
        match value_type.kind:
            case Kind.NUMBER | Kind.UNSIGNED as kind:
                low, high = (NUMBER_MIN, NUMBER_MAX) if kind is Kind.NUMBER else (0, UNSIGNED_MAX)
                if isinstance(value, (bool, np.bool_)) or not isinstance(value, SupportsIndex):
                    _reject(value, value_type)
                try:
                    number = operator.index(value)
                except TypeError:
                    # An array says that it has an index, whatever it holds.
                    _reject(value, value_type)
                if not low <= number <= high:
                    _reject(value, value_type)
                return number if kind is Kind.NUMBER else unsigned_to_code(number)
            case Kind.FLOAT:
                if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
                    _reject(value, value_type)
                try:
                    return float_to_code(float(value))
                except (OverflowError, TypeError):
                    _reject(value, value_type)
            case _:
                if not isinstance(value, str):
                    _reject(value, value_type)
                try:
                    value.encode()
                except UnicodeEncodeError:
                    _reject(value, value_type)
                return self.symbols.code_of(str(value))

    def _encode_nested(self, value: Value, value_type: ValueType) -> int:
        # A stack instead of recursion: a record may be a list of many thousand members. Each
        # frame is a row under construction with the fields that are still to come.
        frames: list[tuple[list[int], list[tuple[Value, ValueType]], ValueType]] = []
        done: int | None = None
        pending: tuple[Value, ValueType] | None = (value, value_type)
        while True:
            if pending is not None:
                item, item_type = pending
                pending = None
                if item_type.kind not in (Kind.RECORD, Kind.ADT):
                    done = self._encode_simple(item, item_type)
                elif item is None and item_type.kind is Kind.RECORD:
                    done = NIL
                else:
                    frames.append((*self._open(item, item_type), item_type))
            if done is not None:
                if not frames:
                    return done
                frames[-1][0].append(done)
                done = None
            row, fields, row_type = frames[-1]
            if fields:
                pending = fields.pop()
            else:
                frames.pop()
                done = int(self.make_records(np.array([row], np.int64).reshape(1, len(row)), row_type)[0])

    def _open(self, value: Value, value_type: ValueType) -> tuple[list[int], list[tuple[Value, ValueType]]]:
        """Return the start of a value's row, and its fields with their types, last first."""
        if value_type.kind is Kind.RECORD:
            fields = value_type.fields
            if not isinstance(value, (tuple, list)) or len(value) != len(fields):
                _reject(value, value_type)
            row: list[int] = []
            parts: Sequence[Value] = value
        else:
            if not isinstance(value, Branch):
                _reject(value, value_type)
            position, branch = self._open_branch(value, value_type)
            fields = branch.fields
            if len(value.fields) != len(fields):
                _reject(value, value_type)
            row, parts = [position], value.fields
        members = [(part, self.resolve(field.type)) for part, field in zip(parts, fields, strict=True)]
        return row, members[::-1]

    @staticmethod
    def _open_branch(value: Branch, value_type: ValueType) -> tuple[int, BranchType]:
        try:
            return value_type.branch(value.name)
        except KeyError:
            _reject(value, value_type)

    def _decode_nested(self, codes: list[int], value_type: ValueType) -> list[Value]:
        # A stack instead of recursion: an item is opened when it is first on top, and built when
        # it is on top again, for then all that is inside it has been built.
        opened: dict[tuple[int, str], list[tuple[int, ValueType]]] = {}
        built: dict[tuple[int, str], Value] = {}
        waiting = [(code, value_type) for code in set(codes)]
        while waiting:
            code, item_type = waiting[-1]
            item = (code, item_type.name)
            if item in built:
                waiting.pop()
            elif item in opened:
                built[item] = self._build(code, item_type, opened.pop(item), built)
                waiting.pop()
            else:
                opened[item] = fields = [] if code == NIL else self.fields(code, item_type)
                waiting.extend(pair for pair in fields if pair[1].kind in (Kind.RECORD, Kind.ADT))
        return [built[code, value_type.name] for code in codes]

    def _build(
        self,
        code: int,
        value_type: ValueType,
        fields: list[tuple[int, ValueType]],
        built: dict[tuple[int, str], Value],
    ) -> Value:
        """Return the value of a record or branch; the values inside it must be built."""
        if value_type.kind is Kind.RECORD and code == NIL:
            return None
        values = tuple(
            built[field, field_type.name]
            if field_type.kind in (Kind.RECORD, Kind.ADT)
            else self.decode(field, field_type.name)
            for field, field_type in fields
        )
        if value_type.kind is Kind.RECORD:
            return values
        return Branch(value_type.branches[self.records.row(code)[0]].name, values)

    def fields(self, code: int, value_type: ValueType) -> list[tuple[int, ValueType]]:
        """Return the field codes of a record or branch that is not nil, with their types."""
        row = self.records.row(code)
        if value_type.kind is Kind.RECORD:
            fields = value_type.fields
        else:
            fields = value_type.branches[row[0]].fields
            row = row[1:]
        return [(part, self.resolve(field.type)) for part, field in zip(row, fields, strict=True)]

    def make_records(self, rows: Codes, value_type: ValueType) -> Codes:
        """Return the codes of rows that are values of one type, for an algebraic type all of one branch."""
        del value_type  # codecs that share their values need it
        return self.records.intern(rows)

    # --- order -----------------------------------------------------------------------------

    def order_keys(self, codes: Codes, type_name: str) -> Codes:
        """Return keys whose int64 order is the order of the values.

        Numbers by size (NaN last), symbols by code points, records by fields with nil first,
        values of algebraic types by the branch's name and then by fields. Keys of one call can
        be compared with each other only.
        """
        return order_keys(codes, type_name, self.resolve, self.symbols, self.records)

    def sort_rows(self, columns: Sequence[Codes], types: Sequence[str]) -> Codes:
        """Return the permutation that puts rows into value order, the first column first."""
        if not columns:
            return np.empty(0, dtype=np.int64)
        return sort_permutation([self.order_keys(c, t) for c, t in zip(columns, types, strict=True)])

    def sorted_batches(
        self, columns: Sequence[Codes], types: Sequence[str], batch_rows: int
    ) -> Iterator[list[Codes]]:
        """Return rows in value order, at most so many at a time; there must be a column."""
        kinds = {self.resolve(type_name).kind for type_name in types}
        packing = Packing.of(columns) if kinds == {Kind.NUMBER} else None
        if packing is not None:
            # Sorting the packed numbers themselves is several times as quick as a permutation.
            packed = packing.pack(columns)
            packed.sort()
            for start in range(0, packed.size, batch_rows):
                yield packing.unpack(packed[start : start + batch_rows])
            return
        order = self.sort_rows(columns, types)
        for start in range(0, order.size, batch_rows):
            rows = order[start : start + batch_rows]
            yield [codes[rows] for codes in columns]

    # --- text ------------------------------------------------------------------------------

    def format(self, code: int, type_name: str, style: Style = Style.PLAIN) -> str:
        """Return the text of a value as it stands in a fact file: `[1, a, nil]`, `$Leaf(2)`."""
        return format_value(int(code), self.resolve(type_name), self, style)

    def parse(self, text: str, type_name: str) -> int:
        """Return the code of the value that a text of a fact file writes.

        A text that is not a value of the type raises `TextError`, which says what is wrong where.
        """
        return parse_value(text, self.resolve(type_name), self)

    # --- Arrow -----------------------------------------------------------------------------

    def parse_column(self, texts: "pa.ChunkedArray", type_name: str) -> Codes:
        """Return the codes of symbols, or of values that texts write, each different one read once."""
        if self.is_symbol(type_name):
            return self.symbols.encode_arrow(texts)
        parts = [np.empty(0, dtype=np.int64)]
        for chunk in texts.chunks:
            encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
            distinct = [self.parse(text, type_name) for text in encoded.dictionary.to_pylist()]
            parts.append(np.array(distinct, dtype=np.int64)[numbers_of(encoded.indices)])
        return np.concatenate(parts)

    def column_to_arrow(self, codes: Codes, type_name: str) -> "pa.Array":
        """Return values as an Arrow column: int64, uint64, float64, or string.

        Records and values of algebraic types are given as their text.
        """
        match self.resolve(type_name).kind:
            case Kind.NUMBER:
                return pa.array(codes, type=pa.int64())
            case Kind.UNSIGNED:
                return pa.array(codes_to_unsigneds(codes), type=pa.uint64())
            case Kind.FLOAT:
                return pa.array(codes_to_floats(codes), type=pa.float64())
            case Kind.SYMBOL:
                return self.symbols.to_arrow(codes)
            case Kind.RECORD | Kind.ADT:
                self.records.expect(codes)
                return self._distinct_texts(codes, lambda code: self.format(code, type_name))

    def column_to_text(self, codes: Codes, type_name: str, style: Style = Style.PLAIN) -> "pa.Array":
        """Return the texts of values, as `format` gives them, as an Arrow column of strings."""
        match self.resolve(type_name).kind:
            case Kind.NUMBER | Kind.UNSIGNED:
                return self.column_to_arrow(codes, type_name).cast(pa.string())
            case Kind.SYMBOL:
                return self.column_to_arrow(codes, type_name)
            case _:
                return self._distinct_texts(codes, lambda code: self.format(code, type_name, style))

    def column_to_json(self, codes: Codes, type_name: str, *, has_objects: bool) -> "pa.Array":
        """Return values as JSON texts; records are lists, or objects with the fields' names."""
        value_type = self.resolve(type_name)
        style = Style.JSON_OBJECTS if has_objects else Style.JSON_LISTS
        return self._distinct_texts(codes, lambda code: format_value(code, value_type, self, style))

    @staticmethod
    def _distinct_texts(codes: Codes, text_of: Callable[[int], str]) -> "pa.Array":
        distinct, inverse = np.unique(codes, return_inverse=True)
        texts = pa.array([text_of(code) for code in distinct.tolist()], type=pa.string())
        return texts.take(pa.array(inverse))


def _stacked(columns: list[Codes], count: int) -> Codes:
    """Return columns as rows; `count` is the number of rows where there are no columns."""
    return np.column_stack(columns) if columns else np.empty((count, 0), dtype=np.int64)


def _reject(value: object, value_type: ValueType) -> NoReturn:
    try:
        shown = repr(value)
    except ValueError:
        shown = "a number with more digits than Python writes"
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    raise TidelogError(
        [
            Diagnostic(
                code="wrong-value-type",
                message=f"{shown} is not a value of type `{value_type.name}`",
                hint=f"give {_hint(value_type)}",
            )
        ]
    )


def _hint(value_type: ValueType) -> str:
    match value_type.kind:
        case Kind.RECORD:
            return f"a tuple of {_fields(len(value_type.fields))}, or None for nil"
        case Kind.ADT:
            names = ", ".join(f"{b.name} ({_fields(len(b.fields))})" for b in value_type.branches)
            return f"a tidelog.Branch, one of: {names}"
        case kind:
            return _EXPECTED[kind]


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"
