"""The folder of a pipeline: what was committed, and where its files are.

manifests/00000003.json          one per committed epoch; what it does not name does not count
pending.json                     the epoch that is being made
relations/NAME/epoch-3/          all facts of an output
feed/NAME/epoch-3/               what the epoch changed in an output
loads/SOURCE/epoch-3/            all facts of a snapshot source, to find the next difference
orders/SOURCE/epoch-3/           the last order of each fact that changed since the epoch of an older batch
quarantine/source=NAME/epoch=3/  rows that are not facts
engine/                          the engine's own state
checkpoints/SOURCE/              how far Structured Streaming has read
reports/                         what runs did
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, Final, Self

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.store.sync import replace_file, sync_folder

FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class OutputState:
    """An output as of an epoch: `base` is the last epoch in which all its facts were written.

    `columns` are pairs of a name and a kind of value. `rows` is the number of facts, `inserted` and
    `deleted` what the epoch changed.
    """

    columns: tuple[tuple[str, str], ...]
    base: int
    rows: int
    inserted: int
    deleted: int


@dataclass(frozen=True, slots=True)
class OrderBatch:
    """The last orders of some facts of a source: the epoch that wrote them, and the type of the orders."""

    epoch: int
    rows: int
    type: str


@dataclass(frozen=True, slots=True)
class SourceState:
    """How far a source was read.

    `load` is the epoch of a snapshot source's last load, `bad` counts its bad rows by reason and
    `bad_digest` tells them from others; `stream`
    and `batch` are the id of the streaming query and of its last micro-batch; `bookmark` is the last
    value of an increasing column, of which `bookmark_type` is the type. `orders` are the batches, old
    to new, with the last value of the column `order` for each fact, compared as `order_type`.
    """

    load: int | None = None
    bad: Mapping[str, int] | None = None
    stream: str | None = None
    batch: int | None = None
    bookmark: str | None = None
    bookmark_type: str | None = None
    bad_digest: str | None = None
    order: str | None = None
    order_type: str | None = None
    orders: tuple[OrderBatch, ...] = ()


@dataclass(frozen=True, slots=True)
class JobManifest:
    """An epoch that was committed, or is about to be."""

    epoch: int
    job: str
    engine: str
    program: str
    at: str
    sources: Mapping[str, SourceState] = field(default_factory=dict)
    outputs: Mapping[str, OutputState] = field(default_factory=dict)
    quarantined: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the text of the manifest."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1)

    @classmethod
    def from_json(cls, text: str, path: Path) -> Self:
        """Return the manifest of a text."""
        try:
            content = json.loads(text)
            if content.pop("format") != FORMAT:
                raise TidelogError([_other_format(path)])
            content["sources"] = {name: _source_state(each) for name, each in content["sources"].items()}
            content["outputs"] = {
                name: OutputState(**{**each, "columns": tuple((n, k) for n, k in each["columns"])})
                for name, each in content["outputs"].items()
            }
            return cls(**content)
        except (ValueError, TypeError, KeyError, AttributeError) as cause:
            raise TidelogError([_damaged(path)]) from cause


@dataclass(frozen=True, slots=True)
class JobFolder:
    """The files of one pipeline."""

    path: Path

    @classmethod
    def exists(cls, path: Path) -> bool:
        """Say whether a folder is a pipeline's."""
        return (path / "manifests").is_dir()

    def make(self) -> None:
        """Make the folder if it is not there."""
        try:
            (self.path / "manifests").mkdir(parents=True, exist_ok=True)
        except OSError as cause:
            raise TidelogError([_unwritable(self.path, cause)]) from cause

    # --- places --------------------------------------------------------------------------------

    def base(self, relation: str, epoch: int) -> Path:
        """Return where all facts of an output are."""
        return self.path / "relations" / relation / f"epoch-{epoch}"

    def feed(self, relation: str, epoch: int) -> Path:
        """Return where an epoch's changes of an output are."""
        return self.path / "feed" / relation / f"epoch-{epoch}"

    def load(self, source: str, epoch: int) -> Path:
        """Return where the facts of a snapshot source are."""
        return self.path / "loads" / source / f"epoch-{epoch}"

    def orders(self, source: str, epoch: int) -> Path:
        """Return where the orders are that an epoch wrote."""
        return self.path / "orders" / source / f"epoch-{epoch}"

    def quarantine(self, source: str, epoch: int) -> Path:
        """Return the folder with the rows of a source that are not facts."""
        return self.path / "quarantine" / f"source={source}" / f"epoch={epoch}"

    def checkpoint(self, source: str) -> Path:
        """Return where Structured Streaming keeps how far it has read."""
        return self.path / "checkpoints" / source

    @property
    def engine(self) -> Path:
        """Return where the engine keeps its state."""
        return self.path / "engine"

    @property
    def reports(self) -> Path:
        """Return where reports are."""
        return self.path / "reports"

    # --- what was committed ----------------------------------------------------------------------

    def last(self) -> JobManifest | None:
        """Return the manifest of the last committed epoch."""
        epochs = self.epochs()
        return self.read(epochs[-1]) if epochs else None

    def epochs(self) -> list[int]:
        """Return the committed epochs whose manifests are still there."""
        folder = self.path / "manifests"
        names = (path.stem for path in folder.glob("*.json")) if folder.is_dir() else ()
        return sorted(int(name) for name in names if name.isdecimal())

    def read(self, epoch: int) -> JobManifest:
        """Return the manifest of an epoch."""
        path = self._manifest(epoch)
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as cause:
            raise TidelogError([_unknown_epoch(self.path, epoch, self.epochs())]) from cause
        return JobManifest.from_json(text, path)

    def commit(self, manifest: JobManifest) -> None:
        """Make the epoch the last committed one: on return it is on the disk."""
        replace_file(self._manifest(manifest.epoch), manifest.to_json().encode())
        self._pending.unlink(missing_ok=True)

    # --- the epoch that is being made ------------------------------------------------------------

    def begin(self, manifest: JobManifest) -> None:
        """Note the epoch that is about to be made, before the engine's state goes there."""
        replace_file(self._pending, manifest.to_json().encode())

    def pending(self) -> JobManifest | None:
        """Return the epoch that was begun and not committed."""
        if not self._pending.exists():
            return None
        return JobManifest.from_json(self._pending.read_text(encoding="utf-8"), self._pending)

    def forget(self) -> None:
        """Give up the epoch that was begun."""
        self._pending.unlink(missing_ok=True)
        sync_folder(self.path)

    def fresh(self, place: Path) -> Path:
        """Return an empty place for files of an epoch; an attempt that failed may have left some there."""
        if place.exists():
            shutil.rmtree(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    @property
    def _pending(self) -> Path:
        return self.path / "pending.json"

    def _manifest(self, epoch: int) -> Path:
        return self.path / "manifests" / f"{epoch:08d}.json"


def _source_state(content: Mapping[str, Any]) -> SourceState:
    """Return the state of a source from JSON; states of earlier versions know no orders."""
    orders = tuple(OrderBatch(**each) for each in content.get("orders", ()))
    return SourceState(**{**content, "orders": orders})


def _damaged(path: Path) -> Diagnostic:
    return Diagnostic(
        code="damaged-pipeline",
        message=f"{path} is not what was written there",
        hint="restore the file, or begin with another state folder",
    )


def _other_format(path: Path) -> Diagnostic:
    return Diagnostic(
        code="damaged-pipeline",
        message=f"{path} was written by another version of Tidelog, in a format this one does not know",
        hint="use that version, or begin with another state folder",
    )


def _unknown_epoch(path: Path, epoch: int, epochs: list[int]) -> Diagnostic:
    known = f"it has {epochs[0]} to {epochs[-1]}" if epochs else "it has none yet"
    return Diagnostic(code="unknown-epoch", message=f"the pipeline `{path}` has no epoch {epoch}", hint=known)


def _unwritable(path: Path, cause: OSError) -> Diagnostic:
    return Diagnostic(
        code="unwritable-pipeline",
        message=f"the state folder `{path}` cannot be made: {cause.strerror or cause}",
        hint="a state folder is one of this machine's file system, or of a file system all machines share",
    )
