"""Values that partners make, under codes that all of them agree on.

Within an iteration a partner gives new texts and records the next codes that are free, and others do the
same with theirs. At its end each sends what it made to all. They forget their own new codes and give new
ones, to the values of partner 0 first, then to those of partner 1 and so on: every dictionary grows alike.

    partner 0 made "ab" as 7              all: "ab" is 7, "cd" is 8
    partner 1 made "cd" as 7, "ab" as 8   partner 1 rewrites its candidates: 7 becomes 8, 8 becomes 7

A record is a row of codes, and only its type says what they stand for. So partners remember what they
made as values of which type, inner records before those that contain them.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.spark.message import Message, Rows
from tidelog.engine.spark.wire import Wire
from tidelog.program.nodes import Relation
from tidelog.storage.kernel import CodeArray
from tidelog.values.codec import Codec
from tidelog.values.codes import Codes
from tidelog.values.types import Kind, TypeTable, ValueType

_LENGTHS, _BYTES, _RECORDS = "lengths", "bytes", "records "
_NESTED = frozenset({Kind.RECORD, Kind.ADT})


@dataclass(frozen=True, slots=True)
class _Made:
    """Rows that were made as values of one type, with the codes they have where they were made."""

    value_type: ValueType
    codes: Codes
    rows: Codes


class SharedCodec(Codec):
    """A codec of one partner, which gets the same values under the same codes as those of the others."""

    def __init__(self, types: TypeTable) -> None:
        super().__init__(types)
        self._made: list[tuple[ValueType, Codes, int]] = []
        self._texts, self._records = 0, len(self.records)

    def make_records(self, rows: Codes, value_type: ValueType) -> Codes:
        """Return the codes of rows that are values of one type, and remember that they are."""
        codes = super().make_records(rows, value_type)
        if codes.size:
            self._made.append((value_type, np.unique(codes), rows.shape[1]))
        return codes

    def begin(self) -> None:
        """Regard all values that have codes now as agreed on: all partners must have the same."""
        self._made.clear()
        self._texts, self._records = len(self.symbols), len(self.records)

    def agree(self, wire: Wire) -> "Agreement":
        """Agree with all partners on the codes of what was made since then."""
        own = self._made_here()
        received = wire.exchange([self._message(own)] * wire.partners)
        mine = Agreement(self, self._texts)
        # The values of partner 0 get the codes that they have there.
        if wire.me > 0:
            self.symbols.forget(self._texts)
            self.records.forget(self._records)
        for partner, message in enumerate(received):
            found = Agreement(self, self._texts)
            found.take(*self._values_in(message))
            if partner == wire.me:
                mine = found
        self.begin()
        return mine

    def _made_here(self) -> list[_Made]:
        """Return what may have other codes elsewhere, inner records first, each once."""
        found: list[_Made] = []
        seen: dict[str, set[int]] = defaultdict(set)
        unsettled: dict[str, set[int]] = defaultdict(set)
        for value_type, codes, width in self._made:
            known = seen[value_type.name]
            fresh = np.array([code for code in codes.tolist() if code not in known], np.int64)
            if not fresh.size:
                continue
            known.update(fresh.tolist())
            rows = self.records.unpack(fresh, width)
            is_new = fresh >= self._records
            for column, name in zip(rows.T, field_types(value_type, rows), strict=True):
                field = None if name is None else self.resolve(name)
                if field is not None and field.kind is Kind.SYMBOL:
                    is_new |= column >= self._texts
                elif field is not None and field.kind in _NESTED:
                    is_new |= np.isin(column, list(unsettled[field.name]))
            if is_new.any():
                unsettled[value_type.name].update(fresh[is_new].tolist())
                found.append(_Made(value_type, fresh[is_new], rows[is_new]))
        return found

    def _message(self, made: Sequence[_Made]) -> Message:
        """Return new texts and records for other partners."""
        texts = text_rows(self.symbols.decode(np.arange(self._texts, len(self.symbols))))
        records = (
            Rows(_RECORDS + each.value_type.name, np.column_stack([each.codes, each.rows])) for each in made
        )
        return Message((), (*texts, *records))

    def _values_in(self, message: Message) -> tuple[list[str], Iterator[_Made]]:
        """Return the texts and the records that a partner made."""
        records = (
            _Made(
                self.resolve(table.name.removeprefix(_RECORDS)),
                np.ascontiguousarray(table.rows[:, 0]),
                np.ascontiguousarray(table.rows[:, 1:]),
            )
            for table in message.tables
            if table.name.startswith(_RECORDS)
        )
        return texts_in(message), records


class Agreement:
    """Which codes the values have that one partner made, where they may be others than it gave them."""

    def __init__(self, codec: SharedCodec, first_text: int) -> None:
        self._codec = codec
        self._first = first_text
        self._texts: Codes = np.empty(0, np.int64)
        self._records: dict[str, dict[int, int]] = {}
        self.is_identity = True

    def take(self, texts: Sequence[str], records: Iterator[_Made]) -> None:
        """Give codes to values, in the order in which they were made."""
        self._texts = self._codec.symbols.encode(texts)
        self.is_identity = bool((self._texts == self._first + np.arange(len(texts))).all())
        for made in records:
            fields = field_types(made.value_type, made.rows)
            columns = [self.translate(column, name) for column, name in zip(made.rows.T, fields, strict=True)]
            rows = np.stack(columns, axis=1) if columns else made.rows
            codes = self._codec.records.intern(rows)
            self.is_identity &= bool((codes == made.codes).all())
            known = self._records.setdefault(made.value_type.name, {})
            known.update(zip(made.codes.tolist(), codes.tolist(), strict=True))

    def translate(self, codes: Codes, type_name: str | None) -> Codes:
        """Return the agreed codes of values of one type; None is the position of a branch."""
        value_type = None if type_name is None else self._codec.resolve(type_name)
        if value_type is None or not codes.size:
            return codes
        if value_type.kind is Kind.SYMBOL:
            is_new = codes >= self._first
            if not is_new.any():
                return codes
            found = codes.copy()
            found[is_new] = self._texts[codes[is_new] - self._first]
            return found
        known = self._records.get(value_type.name) if value_type.kind in _NESTED else None
        if not known:
            return codes
        different, places = np.unique(codes, return_inverse=True)
        agreed = np.array([known.get(code, code) for code in different.tolist()], np.int64)
        return agreed[places.reshape(-1)]

    def rows(self, rows: CodeArray, relation: Relation) -> CodeArray:
        """Return rows of a relation with the agreed codes."""
        if self.is_identity or not rows.shape[0]:
            return rows
        columns = [
            self.translate(rows[:, place].astype(np.int64), column.type)
            for place, column in enumerate(relation.columns)
        ]
        found: CodeArray = np.stack(columns, axis=1).astype(rows.dtype) if columns else rows
        return found


def text_rows(texts: Sequence[str]) -> tuple[Rows, ...]:
    """Return texts as rows of a message."""
    encoded = [text.encode() for text in texts]
    lengths = np.array([len(text) for text in encoded], np.int64).reshape(-1, 1)
    joined = b"".join(encoded)
    padded = np.frombuffer(joined + bytes(-len(joined) % 4), np.int32).reshape(-1, 1)
    return Rows(_LENGTHS, lengths), Rows(_BYTES, padded)


def texts_in(message: Message) -> list[str]:
    """Return the texts whose rows are in a message."""
    tables = {table.name: table.rows for table in message.tables if table.name in {_LENGTHS, _BYTES}}
    data = tables[_BYTES].tobytes() if _BYTES in tables else b""
    texts, start = [], 0
    for length in tables[_LENGTHS][:, 0].tolist() if _LENGTHS in tables else ():
        texts.append(data[start : start + length].decode())
        start += length
    return texts


def field_types(value_type: ValueType, rows: Codes) -> list[str | None]:
    """Return the type of each field of rows of one branch; that of the position of a branch is None."""
    if value_type.kind is Kind.RECORD:
        return [field.type for field in value_type.fields]
    branch = value_type.branches[int(rows[0, 0])]
    return [None, *(field.type for field in branch.fields)]
