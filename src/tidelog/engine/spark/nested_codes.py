"""Codes for records and algebraic values that partners have as plain texts, each partner a share of them.

A code stands for a row of codes, so values get theirs level by level: texts and numbers first, then records
of those, then records of these. A text or row belongs to the partner to which its hash leads. All others
ask that one; it knows which of its own have codes from before, and gives places to the new ones.

    partner 0 asks about [1, "a"] and [2, "b"]       partner 1 owns [1, "a"] and partner 0 the other
    counts of new rows: 1 and 1                      codes 7 and 8, the same for whoever asks

The number of exchanges grows with the depth of values, not with their number. A partner has in memory its
share of the values, and the rows that it owns.
"""

import json
import uuid
import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.spark.agreement import text_rows, texts_in
from tidelog.engine.spark.files import Folder, file_name
from tidelog.engine.spark.kernels import WHOLE_ROW
from tidelog.engine.spark.message import Message, Rows
from tidelog.engine.spark.ownership import parts_by_owner
from tidelog.engine.spark.texts import TEXT, TEXTS, TextFile, write_texts
from tidelog.engine.spark.value_files import ValueFiles
from tidelog.engine.spark.value_records import RECORDS, read_records, write_records
from tidelog.engine.spark.wire import Wire, between_threads, most
from tidelog.values import NIL, Codec, Codes, Dictionary, Kind, Records
from tidelog.values.arrow import pa
from tidelog.values.nesting import NESTED, Nesting
from tidelog.values.types import TypeTable, ValueType

CODE, TYPE = "code", "type"
# A folder for the codes of values that no relation's name can be, once it is quoted.
VALUES = "%values"
_ROWS, _PLACES = "rows ", "places "


@dataclass(frozen=True, slots=True)
class NestedShares:
    """What partners need to give codes: the files with types and plain texts of each, and what has codes."""

    folder: str
    types: TypeTable
    shares: tuple[tuple[str, ...], ...]
    known: ValueFiles


def give_codes(payload: NestedShares, wire: Wire) -> Message:
    """Write the codes of this partner's share to a file, and new values; called in the worker."""
    if wire.partners == 1:
        # Exchanges of one who is alone go nowhere.
        (wire,) = between_threads(1)
    folder, name = Folder(payload.folder), uuid.uuid4().hex[:12]
    # Codes given here are seen nowhere else.
    own = Codec(payload.types)
    tables = [folder.read_table(file, [TYPE, TEXT]) for file in payload.shares[wire.me]]
    values = pa.concat_tables(tables) if tables else None
    roots = list(_parsed(values, own)) if values is not None else []
    texts = _TextCodes(own.symbols, payload.known, folder, wire)
    records = _RecordCodes(payload.known, folder, wire)
    codes_by_type = _give_levels(own, roots, texts.codes, records)
    reply: dict[str, object] = {
        "texts": texts.write(name),
        "records": records.write(name),
        "file": None,
    }
    if values is not None and values.num_rows:
        codes = np.empty(values.num_rows, np.int64)
        for value_type, places, found in roots:
            codes[places] = codes_by_type[value_type.name][found]
        file = file_name(VALUES, wire.me, name)
        folder.write_table(file, values.append_column(CODE, pa.array(codes)), compression="lz4")
        reply["file"] = file
    return Message(text=json.dumps(reply))


def _parsed(values: "pa.Table", own: Codec) -> Iterator[tuple[ValueType, Codes, Codes]]:
    """Yield the places of the values of each type, and the codes that they have here."""
    import pyarrow.compute as pc  # noqa: PLC0415 - in the worker

    for type_name in pc.unique(values.column(TYPE)).to_pylist():
        places = np.flatnonzero(pc.equal(values.column(TYPE), type_name).to_numpy())
        texts = values.column(TEXT).take(pa.array(places))
        yield own.resolve(type_name), places, own.parse_column(texts, type_name)


def _give_levels(
    own: Codec, roots: Sequence[tuple[ValueType, Codes, Codes]], texts: Codes, records: "_RecordCodes"
) -> dict[str, Codes]:
    """Return the agreed code of every code given here, by type."""
    nesting = Nesting(((value_type, found) for value_type, _, found in roots), own.resolve, own.records)
    # Nil is the same everywhere.
    agreed = [np.full(nesting.size, NIL, np.int64) for _ in nesting.types]
    levels = nesting.levels() if nesting.types else []
    (deepest,) = most(records.wire, max(map(len, levels), default=0))
    for height in range(deepest):
        asked: dict[int, list[tuple[Codes, Codes, Codes]]] = {}
        for number, value_type in enumerate(nesting.types):
            places = levels[number][height] if height < len(levels[number]) else np.empty(0, np.int64)
            codes = nesting.members[number][places]
            for position, shape in enumerate(nesting.shapes(codes, value_type) if codes.size else ()):
                if not shape.rows.size:
                    # Types of its fields may have no values.
                    continue
                columns = [np.full(shape.rows.size, position)] if value_type.kind is Kind.ADT else []
                for column, field_type in zip(shape.fields.T, shape.types, strict=True):
                    if field_type.kind in NESTED:
                        columns.append(agreed[nesting.numbers[field_type.name]][column])
                    else:
                        columns.append(texts[column] if field_type.kind is Kind.SYMBOL else column)
                rows = np.column_stack([np.zeros(shape.rows.size, np.int64), *columns])
                asked.setdefault(rows.shape[1], []).append((agreed[number], codes[shape.rows], rows))
        found = records.agree({w: np.concatenate([rows for *_, rows in each]) for w, each in asked.items()})
        for width, each in asked.items():
            ends = np.cumsum([len(rows) for *_, rows in each])[:-1]
            for (target, codes, _), own_codes in zip(each, np.split(found[width], ends), strict=True):
                target[codes] = own_codes
    return {value_type.name: agreed[number] for number, value_type in enumerate(nesting.types)}


class _TextCodes:
    """The codes of texts inside values; the texts that this partner owns, and is the first to give a code."""

    def __init__(self, own: Dictionary, known: ValueFiles, folder: Folder, wire: Wire) -> None:
        self._known = known
        self._folder = folder
        self._wire = wire
        self._owned = Dictionary()
        self.codes = self._agree(own)

    def _agree(self, own: Dictionary) -> Codes:
        """Return the code of every text of a dictionary."""
        codes, first = self._known_codes(own)
        new = np.flatnonzero(codes < 0)
        texts = own.decode(new)
        owners = np.array([zlib.crc32(text.encode()) % self._wire.partners for text in texts], np.int64)
        asked = [new[owners == partner] for partner in range(self._wire.partners)]
        received = self._wire.exchange([Message((), text_rows(own.decode(each))) for each in asked])
        places = [self._owned.encode(texts_in(message)) for message in received]
        replies = [Message((len(self._owned),), (Rows(_PLACES, each.reshape(-1, 1)),)) for each in places]
        for positions, reply in zip(asked, self._wire.exchange(replies), strict=True):
            for table in reply.tables:
                codes[positions] = first + table.rows[:, 0]
            first += reply.numbers[0]
        return codes

    def _known_codes(self, own: Dictionary) -> tuple[Codes, int]:
        """Return the codes of those texts that have one, -1 for others, and how many codes there are."""
        import pyarrow.compute as pc  # noqa: PLC0415 - in the worker

        codes, code = np.full(len(own), -1, np.int64), 0
        if not codes.size:
            return codes, sum(file.count for file in self._known.texts)
        wanted = own.to_arrow(np.arange(len(own)))
        for file in self._known.texts:
            for column in self._folder.read_groups(file.name, TEXT):
                places = pc.index_in(column.cast(wanted.type), value_set=wanted)
                found = np.flatnonzero(places.is_valid().to_numpy())
                codes[places.take(pa.array(found)).to_numpy()] = code + found
                code += len(column)
        return codes, code

    def write(self, name: str) -> list[object]:
        """Write the new texts of this partner to a file, and return what it is."""
        count = len(self._owned)
        if not count:
            return []
        part = self._known.next_part + self._wire.me
        file = TextFile(file_name(TEXTS, part, name), part, count)
        write_texts(self._folder, file, self._owned.to_arrow(np.arange(count)))
        return [file.name, file.part, file.count]


class _RecordCodes:
    """The codes of rows; those of this partner have a column of zeros before the others."""

    def __init__(self, known: ValueFiles, folder: Folder, wire: Wire) -> None:
        self._folder = folder
        self.wire = wire
        self._owned = Records()
        # The code of each row that this partner owns, by the code that it has here.
        self._codes: list[Codes] = [np.array([NIL])]
        self._next = NIL + 1
        for file in known.records:
            self._take(*read_records(folder, file))
        self._first_new, self._kept = self._next, len(self._owned)

    def _take(self, widths: Codes, fields: Codes) -> None:
        """Keep the rows that this partner owns, of those with the next codes."""
        starts = np.cumsum(widths) - widths
        for width in np.unique(widths).tolist():
            places = np.flatnonzero(widths == width)
            rows = fields[starts[places, None] + np.arange(width)]
            padded = np.column_stack([np.zeros(places.size, np.int64), rows])
            for partner, own in parts_by_owner(padded, WHOLE_ROW, self.wire.partners):
                if partner == self.wire.me:
                    self._owned.intern(padded[own])
                    self._codes.append(self._next + places[own])
        self._next += len(widths)

    def agree(self, asked: dict[int, Codes]) -> dict[int, Codes]:
        """Return the codes of rows, by width; all partners ask at once."""
        wire = self.wire
        different = {width: Records() for width in asked}
        places = {width: different[width].intern(rows) - NIL - 1 for width, rows in asked.items()}
        tables: list[list[Rows]] = [[] for _ in range(wire.partners)]
        positions: list[dict[int, Codes]] = [{} for _ in range(wire.partners)]
        for width, records in different.items():
            rows = records.unpack(np.arange(NIL + 1, len(records)), width)
            for partner, own in parts_by_owner(rows, WHOLE_ROW, wire.partners):
                tables[partner].append(Rows(f"{_ROWS}{width}", rows[own]))
                positions[partner][width] = own
        replies = self._reply(wire.exchange([Message((), tuple(each)) for each in tables]))
        codes = {width: np.empty(len(records) - NIL - 1, np.int64) for width, records in different.items()}
        for partner, reply in enumerate(wire.exchange(replies)):
            for table in reply.tables:
                width, found = int(table.name.removeprefix(_PLACES)), table.rows[:, 0].astype(np.int64)
                # Rows without a code before have the place among the new ones, counted down from -1.
                codes[width][positions[partner][width]] = np.where(found < 0, self._next - found - 1, found)
            if partner == wire.me:
                self._codes.append(self._next + np.arange(reply.numbers[0]))
            self._next += reply.numbers[0]
        return {width: codes[width][places[width]] for width in asked}

    def _reply(self, received: Sequence[Message]) -> list[Message]:
        """Return what the owner says of rows that partners ask about."""
        before = len(self._owned)
        known = np.concatenate(self._codes)
        self._codes = [known]
        found = [
            [(table.name, self._owned.intern(table.rows.astype(np.int64))) for table in message.tables]
            for message in received
        ]
        new = len(self._owned) - before
        return [
            Message(
                (new,),
                tuple(
                    Rows(
                        name.replace(_ROWS, _PLACES),
                        np.where(own < before, known[np.minimum(own, before - 1)], before - own - 1).reshape(
                            -1, 1
                        ),
                    )
                    for name, own in each
                ),
            )
            for each in found
        ]

    def write(self, name: str) -> list[object]:
        """Write the new rows of a range of codes, those of all partners, and return what the file is."""
        wire, count = self.wire, self._next - self._first_new
        codes = np.concatenate(self._codes)[self._kept :] - self._first_new
        tables: list[list[Rows]] = [[] for _ in range(wire.partners)]
        all_widths = self._owned.widths(np.arange(self._kept, len(self._owned)))
        for width in np.unique(all_widths).tolist():
            own = np.flatnonzero(all_widths == width)
            rows = self._owned.unpack(own + self._kept, width)
            # In place of the zeros: the code, counted from the first new one.
            rows[:, 0] = codes[own]
            writers = codes[own] * wire.partners // max(1, count)
            for partner in np.unique(writers).tolist():
                tables[partner].append(Rows(f"{_ROWS}{width}", rows[writers == partner]))
        received = wire.exchange([Message((), tuple(each)) for each in tables])
        parts = [table.rows for message in received for table in message.tables]
        if not parts:
            return []
        return self._write_rows(name, parts)

    def _write_rows(self, name: str, parts: Sequence[Codes]) -> list[object]:
        """Write rows in the order of their codes, which are in the first column and follow each other."""
        codes = np.concatenate([rows[:, 0] for rows in parts])
        first = int(codes.min())
        widths = np.empty(codes.size, np.int64)
        for rows in parts:
            widths[rows[:, 0] - first] = rows.shape[1] - 1
        starts = np.cumsum(widths) - widths
        fields = np.empty(int(widths.sum()), np.int64)
        for rows in parts:
            fields[starts[rows[:, 0] - first, None] + np.arange(rows.shape[1] - 1)] = rows[:, 1:]
        file = write_records(self._folder, file_name(RECORDS, self.wire.me, name), widths, fields)
        return [file.name, file.count]
