"""The manifest of a state on shared storage: which files are the state, at which epoch.

manifest.json                              the last committed epoch, replaced in one step
manifest.lock                              held while it is replaced, on a local file system
symbols/NAME.json, records/NAME.json       values added to the dictionary
%texts/PART/NAME.parquet                   texts that workers wrote
%records/0/NAME.parquet                    records that a worker wrote, or the driver for partners
numbers/NAME.json                          the numbers that `autoinc()` gave, from one on
RELATION/PARTNER/NAME.parquet              rows with their annotations; a later file overrides

Every name is new, so sessions that work here at the same time write different files. They count when the
manifest names them.
"""

import hashlib
import json
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, field, replace
from typing import Any

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.numbering import Numbering, RuleNumbers
from tidelog.engine.spark.files import MANIFEST, Folder
from tidelog.engine.spark.stores.systems import without_secrets
from tidelog.engine.spark.texts import FiledDictionary, TextFile, filed_symbols
from tidelog.engine.spark.value_records import FiledRecords, RecordFile, filed_records
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program import print_program
from tidelog.program.nodes import Program
from tidelog.values.codec import Codec
from tidelog.values.codes import Codes
from tidelog.values.records import NIL
from tidelog.version import own_version

_FORMAT = 6
# Values and numbers in more files than this become one file.
_MOST_FILES = 32
# How often files that nothing names are looked for, and how long one may be read that was named before.
_SWEPT_EVERY = 16
_GRACE_SECONDS = 600.0


@dataclass(frozen=True)
class Manifest:
    """What was committed last.

    `fingerprint` tells programs apart, `applied` are the ids of the last transactions, `inputs` the files
    of input facts, `groups` the description of each group of strata.
    """

    epoch: int
    fingerprint: str
    applied: tuple[str, ...]
    inputs: Mapping[str, Sequence[str]]
    groups: Sequence[Mapping[str, Any]]
    # The relations that may have input facts, also those that have none.
    named: tuple[str, ...] = ()


@dataclass
class Manifests:
    """Writes and reads the manifest of one folder.

    Every manifest has a token of its own. Who commits says which manifest it continues, and if another
    one is there by now, somebody else committed an epoch: nothing is written.
    """

    folder: Folder
    _symbols: list[str] = field(default_factory=list)
    _records: list[str] = field(default_factory=list)
    _symbols_known: int = 0
    _records_known: int = NIL + 1
    _numbers: list[str] = field(default_factory=list)
    _numbers_known: int = 0
    _token: str | None = None
    _commits: int = 0

    def read(self, fingerprint: str, codec: Codec, numbering: Numbering) -> Manifest | None:
        """Return the last manifest, if there is one, and take over the values and numbers that it names.

        Raises `TidelogError` if it is that of another program or another version.
        """
        stored = self.folder.read_json(MANIFEST)
        if stored is None:
            return None
        if (stored["format"], stored["fingerprint"]) != (_FORMAT, fingerprint):
            raise TidelogError([_differs(without_secrets(self.folder.uri))])
        filed = {name: TextFile(name, part, count) for name, part, count in stored.get("texts", ())}
        for name in stored["symbols"]:
            if name in filed:
                filed_symbols(codec, self.folder).add_files([filed[name]])
            else:
                codec.symbols.encode(json.loads(self.folder.read_bytes(name) or b"[]"))
        record_files = {name: RecordFile(name, count) for name, count in stored["record_files"]}
        for name in stored["records"]:
            if name in record_files:
                filed_records(codec, self.folder).add_file(record_files[name])
                continue
            widths, fields = json.loads(self.folder.read_bytes(name) or b"[[], []]")
            codec.records.append(np.array(widths, np.int64), np.array(fields, np.int64))
        self._symbols, self._records = list(stored["symbols"]), list(stored["records"])
        self._symbols_known, self._records_known = len(codec.symbols), len(codec.records)
        self._numbers = list(stored.get("numbers", ()))
        for name in self._numbers:
            numbering.add(_numbers_from(json.loads(self.folder.read_bytes(name) or b"{}")))
        self._numbers_known = numbering.mark()
        self._token = stored["token"]
        return Manifest(
            stored["epoch"],
            stored["fingerprint"],
            tuple(stored["applied"]),
            stored["inputs"],
            tuple(stored["groups"]),
            tuple(stored["named"]),
        )

    def commit(
        self, manifest: Manifest, codec: Codec, numbering: Numbering, held: Collection[str] = ()
    ) -> None:
        """Make this manifest the last one; what it names is written already. Files that are `held` stay.

        Raises `TidelogError` if another session committed since this one read or wrote the manifest.
        """
        # Who has lost already need not write anything.
        self._check_token(self.folder.read_bytes(MANIFEST))
        known = self._symbols, self._symbols_known, self._records, self._records_known
        try:
            named = self._write(manifest, codec, numbering)
        except BaseException:
            # The values of an epoch that did not happen: another one may give their codes to others.
            self._symbols, self._symbols_known, self._records, self._records_known = known
            raise
        if (warning := self.folder.lease_warning(MANIFEST)) is not None:
            codec.warnings[warning.code, self.folder.uri] = warning
        if self._commits % _SWEPT_EVERY == 0:
            # The epoch is committed. Another session may delete the same files, and there is a next time.
            with suppress(OSError):
                self.folder.sweep({*named, *held}, _GRACE_SECONDS)
        self._commits += 1

    def _write(self, manifest: Manifest, codec: Codec, numbering: Numbering) -> set[str]:
        """Write the values of an epoch and its manifest; return the files that it names."""
        self._symbols, self._records = list(self._symbols), list(self._records)
        self._write_values(manifest.epoch, codec)
        numbers = self._write_numbers(manifest.epoch, numbering)
        self._symbols = self._joined(self._symbols, manifest.epoch, _join_lists)
        self._records = self._joined(self._records, manifest.epoch, _join_pairs)
        token = uuid.uuid4().hex
        content = {"format": _FORMAT, "token": token, **asdict(manifest)}
        content |= {"symbols": self._symbols, "records": self._records, "numbers": numbers}
        content["texts"] = _text_files(codec)
        content["record_files"] = _record_files(codec)
        written = json.dumps(content, indent=1).encode()

        def replaced(stored: bytes | None) -> bytes:
            self._check_token(stored)
            return written

        self.folder.swap(MANIFEST, replaced)
        self._token = token
        self._numbers, self._numbers_known = numbers, numbering.mark()
        return set(_texts(content))

    def _joined(self, names: list[str], epoch: int, join: Callable[[list[Any]], Any]) -> list[str]:
        """Return files of values; those behind the last file of workers are made one if they are many."""
        kept = max((place + 1 for place, name in enumerate(names) if not name.endswith(".json")), default=0)
        own = names[kept:]
        if len(own) <= _MOST_FILES:
            return names
        parts = [json.loads(self.folder.read_bytes(name) or b"[]") for name in own]
        name = f"{own[0].split('/')[0]}/{_new_name('all', epoch)}.json"
        self.folder.write_bytes(name, json.dumps(join(parts)).encode())
        return [*names[:kept], name]

    def _check_token(self, content: bytes | None) -> None:
        """Raise a diagnostic unless this manifest is the one that this session continues."""
        stored = None if content is None else json.loads(content)
        found = None if stored is None else stored.get("token")
        if found != self._token:
            raise TidelogError(
                [_in_use(without_secrets(self.folder.uri), None if stored is None else stored["epoch"])]
            )

    def _write_numbers(self, epoch: int, numbering: Numbering) -> list[str]:
        """Write the numbers given since the last manifest; return the files of all of them."""
        if numbering.mark() == self._numbers_known:
            return self._numbers
        first, kept = (0, []) if len(self._numbers) >= _MOST_FILES else (self._numbers_known, self._numbers)
        new = {
            rule: [[column.tolist() for column in each.columns], each.numbers.tolist(), each.step]
            for rule, each in numbering.export(first).items()
        }
        name = f"numbers/{_new_name(first, epoch)}.json"
        self.folder.write_bytes(name, json.dumps(new).encode())
        return [*kept, name]

    def _write_values(self, epoch: int, codec: Codec) -> None:
        """Write the texts and records that are new since the last manifest."""
        symbols, records = len(codec.symbols), len(codec.records)
        for first, last, file in _new_texts(codec, self._symbols_known):
            name = f"symbols/{_new_name(first, epoch)}.json" if file is None else file
            if file is None:
                # As Arrow: these are in memory, and decoding many would read those in files as well.
                texts = codec.symbols.to_arrow(np.arange(first, last)).to_pylist()
                self.folder.write_bytes(name, json.dumps(texts).encode())
            self._symbols.append(name)
        for first, last, file in _new_records(codec, self._records_known):
            name = f"records/{_new_name(first, epoch)}.json" if file is None else file
            if file is None:
                widths, fields = _rows_between(codec, first, last)
                self.folder.write_bytes(name, json.dumps([widths.tolist(), fields.tolist()]).encode())
            self._records.append(name)
        self._symbols_known, self._records_known = symbols, records


def _new_name(first: int | str, epoch: int) -> str:
    return f"{first}-{epoch}-{uuid.uuid4().hex[:12]}"


def _new_texts(codec: Codec, first: int) -> list[tuple[int, int, str | None]]:
    """Return the codes of texts from one on, in ranges, each with the file of workers that has it or None."""
    symbols = codec.symbols
    if isinstance(symbols, FiledDictionary):
        return symbols.ranges(first)
    return [(first, len(symbols), None)] if len(symbols) > first else []


def _text_files(codec: Codec) -> list[list[object]]:
    """Return the files of workers that have texts."""
    if not isinstance(codec.symbols, FiledDictionary):
        return []
    return [[file.name, file.part, file.count] for file in codec.symbols.files]


def _new_records(codec: Codec, first: int) -> list[tuple[int, int, str | None]]:
    """Return the codes of records from one on, as `_new_texts` does."""
    records = codec.records
    if not isinstance(records, FiledRecords):
        return [(first, len(records), None)] if len(records) > first else []
    # A file that begins before has rows that the manifest has otherwise: those in question are in memory too.
    ranges = records.ranges(first)
    return [
        (max(code, first), end, file.name if file is not None and code >= first else None)
        for code, end, file in ranges
    ]


def _rows_between(codec: Codec, first: int, last: int) -> tuple[Codes, Codes]:
    if isinstance(codec.records, FiledRecords):
        return codec.records.rows_between(first, last)
    return codec.records.rows_from(first)


def _record_files(codec: Codec) -> list[list[object]]:
    """Return the files of workers that have records."""
    if not isinstance(codec.records, FiledRecords):
        return []
    return [[file.name, file.count] for file in codec.records.files]


def _join_lists(parts: list[Any]) -> list[Any]:
    return [each for part in parts for each in part]


def _join_pairs(parts: list[Any]) -> list[Any]:
    return [_join_lists([first for first, _ in parts]), _join_lists([second for _, second in parts])]


def _texts(value: object) -> Iterator[str]:
    """Yield every text in a manifest, the names of files among them."""
    match value:
        case str():
            yield value
        case Mapping():
            for each in value.values():
                yield from _texts(each)
        case list() | tuple():
            for each in value:
                yield from _texts(each)


def _numbers_from(stored: Mapping[str, Any]) -> dict[str, RuleNumbers]:
    return {
        rule: RuleNumbers(
            [np.array(column, np.int64) for column in columns], np.array(numbers, np.int64), step
        )
        for rule, (columns, numbers, step) in stored.items()
    }


def _in_use(uri: str, epoch: int | None) -> Diagnostic:
    what = "deleted the state" if epoch is None else f"committed epoch {epoch}"
    return Diagnostic(
        code="spark-storage-in-use",
        message=f"another session {what} in `{uri}`; this epoch was not applied",
        hint="let one session at a time work there; open it again to continue from what is committed",
    )


def _differs(uri: str) -> Diagnostic:
    return Diagnostic(
        code="spark-storage-differs",
        message=f"`{uri}` keeps the state of another program, or of another version of tidelog",
        hint="give another folder as storage, or delete this one",
    )


def fingerprint_of(program: Program) -> str:
    """Return what tells a program, and the version that keeps its state, from all others."""
    # Directives say where facts come from and go to, which is another matter.
    text = f"{own_version()}\n{print_program(replace(program, directives=()))}"
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
