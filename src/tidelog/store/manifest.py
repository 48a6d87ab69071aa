"""The one file that says which files make up a store."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tidelog.dataclass import dataclass
from tidelog.source import Source
from tidelog.store import mistakes
from tidelog.store.sync import digest, replace_file

FORMAT: Final = 1
NAME: Final = "manifest.json"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file below the store's folder; it never changes once a manifest names it.

    `count` is the number of facts, texts or records in it. `content` tells whether a relation is
    the same as when the file was written.
    """

    file: str
    size_bytes: int
    checksum: str
    count: int
    content: str = ""


@dataclass(frozen=True, slots=True)
class StoreManifest:
    """A snapshot: the program, the epoch, and the files with the state of that epoch.

    `fingerprint` stands for the rules as the engine ran them, so that annotations that another
    plan would not give are told from good ones. `past` has old epochs, as many as `keep_epochs` says.
    """

    generation: int
    epoch: int
    sources: tuple[Source, ...]
    inputs: tuple[str, ...]
    fingerprint: str
    stratum_work: tuple[int, ...]
    log: str
    relations: Mapping[str, StoredFile]
    symbols: tuple[StoredFile, ...]
    records: tuple[StoredFile, ...]
    keep_epochs: int | None = None
    past: tuple[StoredFile, ...] = ()

    @property
    def files(self) -> tuple[StoredFile, ...]:
        """Return all files but the log."""
        return (*self.relations.values(), *self.symbols, *self.records, *self.past)

    @property
    def image(self) -> str:
        """Return the name of the file that may have the same state as it is in memory."""
        return f"image.{self.generation}"

    @property
    def content(self) -> str:
        """Return what tells the states of two manifests apart."""
        return digest(repr((self.fingerprint, self.epoch, [x.checksum for x in self.files])).encode()).hex()

    @property
    def size_bytes(self) -> int:
        """Return the size of all files but the log."""
        return sum(file.size_bytes for file in self.files)


def write_manifest(folder: Path, manifest: StoreManifest) -> None:
    """Make a manifest the store's; from here on its files are the state."""
    inner = {"format": FORMAT, **_as_json(manifest)}
    replace_file(folder / NAME, json.dumps({"checksum": _checksum(inner), "store": inner}, indent=1).encode())


def read_manifest(folder: Path) -> StoreManifest:
    """Return the store's manifest."""
    path = folder / NAME
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as cause:
        raise mistakes.missing(folder) from cause
    except OSError as cause:
        raise mistakes.unreadable(path, cause) from cause
    try:
        outer = json.loads(content)
        inner, checksum = outer["store"], outer["checksum"]
        form = inner["format"]
    except (ValueError, KeyError, TypeError) as cause:
        raise mistakes.damaged(path, "its start", "it is not a valid manifest") from cause
    if checksum != _checksum(inner):
        raise mistakes.damaged(path, "an unknown place", "its checksum does not fit")
    if form != FORMAT:
        raise mistakes.newer(folder, form)
    return _from_json(inner)


def _checksum(inner: Mapping[str, Any]) -> str:
    return digest(json.dumps(inner, sort_keys=True).encode()).hex()


def _as_json(manifest: StoreManifest) -> dict[str, Any]:
    members = asdict(manifest)
    members["sources"] = [{"name": source.name, "text": source.text} for source in manifest.sources]
    return members


def _from_json(inner: Mapping[str, Any]) -> StoreManifest:
    return StoreManifest(
        inner["generation"],
        inner["epoch"],
        tuple(Source(each["name"], each["text"]) for each in inner["sources"]),
        tuple(inner["inputs"]),
        inner["fingerprint"],
        tuple(inner["stratum_work"]),
        inner["log"],
        {name: StoredFile(**each) for name, each in inner["relations"].items()},
        tuple(StoredFile(**each) for each in inner["symbols"]),
        tuple(StoredFile(**each) for each in inner["records"]),
        # Manifests of earlier versions say nothing of old epochs.
        inner.get("keep_epochs"),
        tuple(StoredFile(**each) for each in inner.get("past", ())),
    )
