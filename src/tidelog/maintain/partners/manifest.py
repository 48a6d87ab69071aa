"""The manifest of a state on shared storage: which files are the state, at which epoch.

manifest.json                              the last committed epoch, replaced in one step
symbols/FIRST.json, records/FIRST.json     values added to the dictionary, from a code on
numbers/FIRST.json                         the numbers that `autoinc()` gave, from one on
RELATION/PARTNER/NAME.parquet              rows with their annotations; a later file overrides
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.numbering import Numbering, RuleNumbers
from tidelog.engine.spark.files import Folder
from tidelog.errors import Diagnostic, TidelogError
from tidelog.values.codec import Codec
from tidelog.values.records import NIL

_NAME = "manifest.json"
_FORMAT = 2


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


@dataclass
class Manifests:
    """Writes and reads the manifest of one folder."""

    folder: Folder
    _symbols: list[str] = field(default_factory=list)
    _records: list[str] = field(default_factory=list)
    _symbols_known: int = 0
    _records_known: int = NIL + 1
    _numbers: list[str] = field(default_factory=list)
    _numbers_known: int = 0

    def read(self, fingerprint: str, codec: Codec, numbering: Numbering) -> Manifest | None:
        """Return the last manifest, if there is one, and take over the values and numbers that it names.

        Raises `TidelogError` if it is that of another program or another version.
        """
        stored = self.folder.read_json(_NAME)
        if stored is None:
            return None
        if (stored["format"], stored["fingerprint"]) != (_FORMAT, fingerprint):
            raise TidelogError([_differs(self.folder.uri)])
        for name in stored["symbols"]:
            texts = json.loads(self.folder.read_bytes(name) or b"[]")
            codec.symbols.encode(texts)
        for name in stored["records"]:
            widths, fields = json.loads(self.folder.read_bytes(name) or b"[[], []]")
            codec.records.append(np.array(widths, np.int64), np.array(fields, np.int64))
        self._symbols, self._records = list(stored["symbols"]), list(stored["records"])
        self._symbols_known, self._records_known = len(codec.symbols), len(codec.records)
        self._numbers = list(stored.get("numbers", ()))
        for name in self._numbers:
            numbering.add(_numbers_from(json.loads(self.folder.read_bytes(name) or b"{}")))
        self._numbers_known = numbering.mark()
        return Manifest(
            stored["epoch"], stored["fingerprint"], tuple(stored["applied"]),
            stored["inputs"], tuple(stored["groups"]),
        )  # fmt: skip

    def commit(self, manifest: Manifest, codec: Codec, numbering: Numbering) -> None:
        """Make this manifest the last one; what it names is written already."""
        self._write_values(manifest.epoch, codec)
        numbers = self._write_numbers(manifest.epoch, numbering)
        self.folder.write_json(
            _NAME,
            {
                "format": _FORMAT, "epoch": manifest.epoch, "fingerprint": manifest.fingerprint,
                "applied": manifest.applied, "inputs": manifest.inputs, "groups": manifest.groups,
                "symbols": self._symbols, "records": self._records, "numbers": numbers,
            },
        )  # fmt: skip
        self._numbers, self._numbers_known = numbers, numbering.mark()

    def _write_numbers(self, epoch: int, numbering: Numbering) -> list[str]:
        """Write the numbers given since the last manifest; return the files of all of them."""
        if numbering.mark() == self._numbers_known:
            return self._numbers
        new = {
            rule: [[column.tolist() for column in each.columns], each.numbers.tolist(), each.step]
            for rule, each in numbering.export(self._numbers_known).items()
        }
        name = f"numbers/{self._numbers_known}-{epoch}.json"
        self.folder.write_bytes(name, json.dumps(new).encode())
        return [*self._numbers, name]

    def _write_values(self, epoch: int, codec: Codec) -> None:
        """Write the texts and records that are new since the last manifest."""
        symbols, records = len(codec.symbols), len(codec.records)
        if symbols > self._symbols_known:
            texts = codec.symbols.decode(np.arange(self._symbols_known, symbols))
            name = f"symbols/{self._symbols_known}-{epoch}.json"
            self.folder.write_bytes(name, json.dumps(texts).encode())
            self._symbols.append(name)
        if records > self._records_known:
            widths, fields = codec.records.rows_from(self._records_known)
            name = f"records/{self._records_known}-{epoch}.json"
            self.folder.write_bytes(name, json.dumps([widths.tolist(), fields.tolist()]).encode())
            self._records.append(name)
        self._symbols_known, self._records_known = symbols, records


def _numbers_from(stored: Mapping[str, Any]) -> dict[str, RuleNumbers]:
    return {
        rule: RuleNumbers(
            [np.array(column, np.int64) for column in columns], np.array(numbers, np.int64), step
        )
        for rule, (columns, numbers, step) in stored.items()
    }


def _differs(uri: str) -> Diagnostic:
    return Diagnostic(
        code="spark-storage-differs",
        message=f"`{uri}` keeps the state of another program, or of another version of tidelog",
        hint="give another folder as storage, or delete this one",
    )
