"""Facts from JSON: a list of lists, or a list of objects with the columns' names.

A record is a list, an object with the fields' names, or null for nil; a value of an algebraic
type is its text, `"$Leaf(1)"`.
"""

import json
import math

import numpy as np

from tidelog.errors import TidelogError
from tidelog.io.mistakes import Mistakes, TextPlace
from tidelog.program.nodes import Relation
from tidelog.program.suggest import counted
from tidelog.values import Codec, Codes, Kind, TextError, Value, ValueType


def read_json(
    data: bytes, name: str, relation: Relation, codec: Codec, *, is_lines: bool = False
) -> list[Codes] | None:
    """Return the codes of the facts in JSON text; with `is_lines`, one fact per line.

    None means that a relation without columns does not hold.
    """
    mistakes = Mistakes(name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        _report_bytes(data, error, mistakes)
        text = ""
    facts = _load_lines(text, mistakes) if is_lines else _load(text, mistakes)
    mistakes.raise_if_any()
    reader = _FactReader(relation, codec, mistakes)
    columns: list[list[int]] = [[] for _ in relation.columns]
    for number, fact in enumerate(facts, start=1):
        codes = reader.codes(fact, number)
        if codes is not None:
            for column, code in zip(columns, codes, strict=True):
                column.append(code)
    mistakes.raise_if_any()
    if relation.arity == 0 and not facts:
        return None
    return [np.array(column, dtype=np.int64) for column in columns]


def _report_bytes(data: bytes, error: UnicodeDecodeError, mistakes: Mistakes) -> None:
    start = data.rfind(b"\n", 0, error.start) + 1
    line = data.count(b"\n", 0, error.start) + 1
    text = data[start : error.start + 80].decode("utf-8", "replace")
    column = len(data[start : error.start].decode("utf-8", "replace"))
    message = f"the byte 0x{data[error.start]:02x} is not UTF-8"
    place = TextPlace(line, text, column, column + 1)
    mistakes.report("bad-encoding", message, place, "save the file in the encoding UTF-8")


def _load(text: str, mistakes: Mistakes) -> list[object]:
    if not text.strip():
        return []
    facts = _parse(text, 0, mistakes)
    if isinstance(facts, list):
        return facts
    if not mistakes.count:
        mistakes.note("malformed-json", "the facts must be a list", "write [[1, 2], [3, 4]]")
    return []


def _load_lines(text: str, mistakes: Mistakes) -> list[object]:
    facts = []
    for number, line in enumerate(text.split("\n")):
        if line.strip():
            facts.append(_parse(line, number, mistakes))
    return facts


def _parse(text: str, lines_before: int, mistakes: Mistakes) -> object:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_float=_float)
    except json.JSONDecodeError as error:
        line = text.split("\n")[error.lineno - 1]
        place = TextPlace(lines_before + error.lineno, line, error.colno - 1, error.colno)
        mistakes.report("malformed-json", f"not JSON: {error.msg}", place, 'write [[1, "a"], [2, "b"]]')
    except RecursionError:
        mistakes.note("malformed-json", "the values are nested too deeply", "use a .facts file")
    except _TwiceError as error:
        mistakes.note("malformed-json", str(error), "give every name once")
    except ValueError as error:
        # Python refuses to read integers of thousands of digits.
        mistakes.note("number-too-large", str(error).partition(":")[0])
    return None


class _TwiceError(ValueError):
    pass


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object; of a name that occurs twice JSON does not say which value counts."""
    found = dict(pairs)
    if len(found) != len(pairs):
        name = next(name for place, (name, _) in enumerate(pairs) if name in dict(pairs[:place]))
        raise _TwiceError(f"an object has the name {name!r} twice")
    return found


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:40]} does not fit float")
    return value


class _FactReader:
    def __init__(self, relation: Relation, codec: Codec, mistakes: Mistakes) -> None:
        self._relation = relation
        self._codec = codec
        self._mistakes = mistakes
        self._types = [codec.resolve(column.type) for column in relation.columns]
        self._names = [column.name for column in relation.columns]

    def codes(self, fact: object, number: int) -> list[int] | None:
        match fact:
            case list():
                items = fact
            case dict() if set(fact) == set(self._names):
                items = [fact[name] for name in self._names]
            case dict():
                self._note_names(fact, number)
                return None
            case _:
                self._mistakes.note("malformed-json", f"fact {number} is neither a list nor an object")
                return None
        if len(items) != len(self._types):
            message = f"fact {number} has {counted(len(items), 'value')} where {len(self._types)} should be"
            self._mistakes.note("wrong-column-count", message)
            return None
        return self._encode(items, number)

    def _note_names(self, fact: dict[str, object], number: int) -> None:
        parts = [f"has no `{name}`" for name in self._names if name not in fact]
        parts += [f"has {name!r}, which is not a column" for name in fact if name not in self._names]
        hint = f"give the names {', '.join(self._names)}" if self._names else "give empty lists"
        self._mistakes.note("column-names", f"fact {number} {', '.join(parts[:10])}", hint)

    def _encode(self, items: list[object], number: int) -> list[int] | None:
        codes = []
        for item, value_type, column in zip(items, self._types, self._relation.columns, strict=True):
            try:
                codes.append(self._code(item, value_type, column.type))
            except TidelogError as error:
                mistake = error.diagnostics[0]
                message = f"fact {number}, column `{column.name}`: {mistake.message}"
                self._mistakes.note(mistake.code, message, mistake.hint)
            except TextError as error:
                message = f"fact {number}, column `{column.name}`: {error.message}"
                self._mistakes.note(error.code, message)
        return codes if len(codes) == len(items) else None

    def _code(self, item: object, value_type: ValueType, type_name: str) -> int:
        if value_type.kind is Kind.ADT and isinstance(item, str):
            return self._codec.parse(item, type_name)
        if value_type.kind is Kind.RECORD:
            item = self._record(item, value_type)
        return self._codec.encode(item, type_name)  # type: ignore[arg-type]

    def _record(self, item: object, value_type: ValueType) -> Value:
        """Return a record's value; JSON is never deep enough here to exhaust the stack."""
        if isinstance(item, dict) and set(item) == {field.name for field in value_type.fields}:
            item = [item[field.name] for field in value_type.fields]
        if not isinstance(item, list) or len(item) != len(value_type.fields):
            return item  # type: ignore[return-value]
        return tuple(
            self._field(part, field.type) for part, field in zip(item, value_type.fields, strict=True)
        )

    def _field(self, item: object, type_name: str) -> Value:
        value_type = self._codec.resolve(type_name)
        if value_type.kind is Kind.RECORD:
            return self._record(item, value_type)
        if value_type.kind is Kind.ADT and isinstance(item, str):
            return self._codec.decode(self._codec.parse(item, type_name), type_name)
        return item  # type: ignore[return-value]
