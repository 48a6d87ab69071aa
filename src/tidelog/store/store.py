"""A state on disk: a snapshot, and a log of the epochs since."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import EngineState, RelationChange
from tidelog.engine.local.by_row.tables_image import layout_stamp
from tidelog.errors import TidelogError
from tidelog.program.nodes import Program
from tidelog.source import Source
from tidelog.store import mistakes
from tidelog.store.entries import ChangeEntry, CommitEntry
from tidelog.store.growth import Growth, KnownCodes
from tidelog.store.kept_epochs import KeptEpochs
from tidelog.store.lock import Lock
from tidelog.store.log import Log, LogContent, LoggedEpoch, read_log
from tidelog.store.manifest import NAME, StoreManifest, read_manifest, write_manifest
from tidelog.store.snapshot import (
    NUMBERS,
    delete_unnamed,
    kept_until,
    read_dictionaries,
    read_past,
    read_state,
    write_past,
    write_snapshot,
)
from tidelog.store.sync import sync_folder
from tidelog.values import Codec
from tidelog.values.image import Add, ImageWriter, MappedImage

_LOCK: Final = "lock"
# A log is replaced by a snapshot when replaying it takes longer than a second and than reading and
# writing the snapshot, which goes at about this speed; then snapshots never cost more than epochs.
_LEAST_SECONDS: Final = 1.0
_SNAPSHOT_BYTES_PER_SECOND: Final = 2e7
_LEAST_LOG_BYTES: Final = 2**22
# How often a reader tries again when the writer replaced the files under its hands.
_TRIES: Final = 20


@dataclass(frozen=True)
class Loaded:
    """What `load` gives: a state, and the epochs that lead from it to the last committed one.

    `fingerprint` is the one that was given with the state. `past` are epochs before it. `image` has the state
    as it was in memory, if that was written too.
    """

    state: EngineState
    fingerprint: str
    epochs: tuple[LoggedEpoch, ...]
    past: tuple[KeptEpochs, ...] = ()
    image: MappedImage | None = None


@dataclass(frozen=True, slots=True)
class PastEpoch:
    """An epoch of the log in numbers: the input facts it inserted and deleted."""

    epoch: int
    inserted: int
    deleted: int
    is_rule_change: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Status:
    """What `tidelog status` tells of a store; sizes are on disk.

    `facts` are the sizes of relations in the snapshot, `past` the epochs since with the seconds
    that each took when it was applied.
    """

    epoch: int
    snapshot_epoch: int
    snapshot_bytes: int
    log_bytes: int
    facts: Mapping[str, int]
    past: tuple[PastEpoch, ...]


class Store:
    """A folder with a program, its state and its last epochs; one process may write to it.

    An epoch is `begin`, then the engine's work, then `commit` or `roll_back`. When `commit` returns
    the epoch is on the disk; when it raises the store is as it was. Readers see the last epoch that
    was committed when they opened the store.

        store = Store.create(Path("state"), sources, codec)
        store.snapshot(engine.export_state(), program, fingerprint)
        store.append(1, {"edge": RelationChange(...)})
        store.close()
        store = Store.open(Path("state"))
        loaded = store.load(codec)
    """

    def __init__(self, path: Path, lock: Lock | None) -> None:
        self.path = path
        self.sources: tuple[Source, ...] = ()
        self.snapshot_sources: tuple[Source, ...] = ()
        self.inputs: tuple[str, ...] = ()
        # How many old epochs snapshots keep; None for none.
        self.keep_epochs: int | None = None
        self.epoch = 0
        self._lock = lock
        self._manifest: StoreManifest | None = None
        self._handles: dict[str, int] = {}
        self._content: LogContent | None = None
        self._log: Log | None = None
        self._past: list[PastEpoch] = []
        self._replay_seconds = 0.0
        # Doubled when a snapshot fails: on a full disk not every epoch should try again.
        self._patience = 1
        self._snapshot_seconds = 0.0
        self._begun: ChangeEntry | None = None
        self._codec: Codec | None = None
        self._known = KnownCodes()

    # --- making and opening ------------------------------------------------------------------

    @classmethod
    def create(
        cls, path: Path, sources: Sequence[Source], codec: Codec, *, inputs: Sequence[str] = ()
    ) -> "Store":
        """Return a new store, which is there for others after its first `snapshot`.

        `sources` are the texts of the program; a store is portable, so they must include no files.
        `inputs` are relations that are given facts though no directive names them as input.
        """
        if (path / NAME).exists() or (path.exists() and not _is_free(path)):
            raise mistakes.existing(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as cause:
            raise mistakes.unwritable(path, cause) from cause
        store = cls(path, Lock.take(path, path / _LOCK))
        if (path / NAME).exists():
            store.close()
            raise mistakes.existing(path)
        delete_unnamed(path, None)
        store.sources, store.inputs = tuple(sources), tuple(inputs)
        store._codec = codec
        return store

    @classmethod
    def exists(cls, path: Path) -> bool:
        """Say whether a folder holds a store."""
        return (path / NAME).exists()

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> "Store":
        """Return the store of a folder.

        `snapshot_sources` and `inputs` say how to build the program for `load`; `sources` are the
        texts of the last epoch's program.
        """
        if not cls.exists(path):
            raise mistakes.missing(path)
        store = cls(path, None if read_only else Lock.take(path, path / _LOCK))
        try:
            store._open_files()
            assert store._content is not None
            assert store._manifest is not None
            if not read_only:
                store._log = Log.resume(path / store._manifest.log, store._content)
                delete_unnamed(path, store._manifest)
        except BaseException:
            store.close()
            raise
        return store

    def load(self, codec: Codec) -> Loaded:
        """Return the state of the snapshot and the epochs since; may be called once.

        The codec must be new. It gets the texts and records of the snapshot and of all epochs, so
        that codes mean what they meant to the process that wrote them.
        """
        assert self._manifest is not None, "a store without a snapshot"
        assert self._content is not None
        assert self._codec is None, "a store that was loaded already"
        image = self._image()
        if image is not None:
            codec.symbols.read_image(image.about["texts"], image.array)
        read_dictionaries(self.path, self._manifest, self._handles, codec, with_symbols=image is None)
        for epoch in self._content.epochs:
            epoch.change.growth.add_to(codec)
            epoch.commit.growth.add_to(codec)
        self._codec, self._known = codec, KnownCodes.by(codec)
        state = read_state(self.path, self._manifest, self._handles, is_lazy=image is not None)
        past = read_past(self.path, self._manifest, self._handles)
        if image is None:
            self.release_files()
        return Loaded(state, self._manifest.fingerprint, self._content.epochs, past, image)

    def release_files(self) -> None:
        """Close the files of the snapshot; what of a state was not read until now can no longer be."""
        for handle in self._handles.values():
            os.close(handle)
        self._handles.clear()

    @property
    def is_read_only(self) -> bool:
        """Say whether the store was opened for reading only."""
        return self._lock is None

    # --- epochs --------------------------------------------------------------------------------

    def append(self, epoch: int, changes: Mapping[str, RelationChange]) -> None:
        """Commit an epoch that takes no time: `begin` and `commit` at once."""
        assert epoch == self.epoch + 1, "an epoch out of order"
        self.begin(changes)
        self.commit(0.0)

    def begin(self, changes: Mapping[str, RelationChange], sources: Sequence[Source] | None = None) -> None:
        """Write what the next epoch changes: facts, and with `sources` the program too.

        Raises before anything is changed if the disk is full.
        """
        log, codec = self._writable()
        assert self._begun is None, "an epoch within an epoch"
        growth = Growth.since(self._known, codec)
        number = self.epoch + 1
        begun = ChangeEntry(number, growth, changes, None if sources is None else tuple(sources))
        try:
            log.write(begun)
        except BaseException:
            log.roll_back()
            raise
        self._begun = begun

    def commit(self, seconds: float) -> None:
        """End the epoch, which took the engine so many seconds: on return it is on the disk.

        If this raises, the store is as before `begin`.
        """
        log, codec = self._writable()
        assert self._begun is not None, "an epoch that did not begin"
        begun = self._begun
        end = CommitEntry(begun.epoch, Growth.since(begun.growth.after, codec), seconds)
        try:
            log.write(end)
            log.commit()
        except BaseException:
            self.roll_back()
            raise
        self.epoch, self._known, self._begun = begun.epoch, end.growth.after, None
        self._remember(LoggedEpoch(begun, end))

    def roll_back(self) -> None:
        """Give up the epoch that was begun."""
        if self._begun is not None and self._log is not None:
            self._begun = None
            self._log.roll_back()

    # --- snapshots ------------------------------------------------------------------------------

    @property
    def wants_snapshot(self) -> bool:
        """Say whether replaying the log takes longer than a new snapshot would."""
        if self._log is None or self._manifest is None:
            return False
        size = self._manifest.size_bytes
        seconds = max(_LEAST_SECONDS + size / _SNAPSHOT_BYTES_PER_SECOND, 2 * self._snapshot_seconds)
        log_bytes = _LEAST_LOG_BYTES + size // 2
        return (
            self._replay_seconds > self._patience * seconds
            or self._log.size_bytes > self._patience * log_bytes
        )

    @property
    def kept_until(self) -> int:
        """Return the last epoch that snapshots have kept already; the next one needs those after it."""
        return kept_until(self._manifest)

    def snapshot(
        self, state: EngineState, program: Program, fingerprint: str, kept: KeptEpochs | None = None
    ) -> None:
        """Write the state of the present epoch and the epochs since `kept_until`, and start an empty log.

        Until all is on the disk the old snapshot and log stay the store's; if this raises they
        still are.
        """
        if self._lock is None:
            raise mistakes.read_only(self.path)
        assert self._codec is not None, "a store that was not loaded"
        assert self._begun is None, "a snapshot within an epoch"
        before = self._manifest
        generation = before.generation + 1 if before is not None else 0
        log: Log | None = None
        begun = time.perf_counter()
        try:
            log = Log.create(self.path / f"log.{generation}", generation, self.epoch)
            files = write_snapshot(self.path, generation, state, program, self._codec, before)
            oldest = self.epoch - (self.keep_epochs or 0) + 1
            past = write_past(self.path, generation, kept, before, oldest)
            manifest = StoreManifest(
                generation,
                self.epoch,
                self.sources,
                self.inputs,
                fingerprint,
                tuple(state.stratum_work),
                log.path.name,
                files.relations,
                files.symbols,
                files.records,
                self.keep_epochs,
                past,
            )
            write_manifest(self.path, manifest)
            self._switch(manifest, log, begun)
        except BaseException as cause:
            self._give_up_snapshot(generation, log)
            if isinstance(cause, OSError):
                raise mistakes.unwritable(self.path, cause) from cause
            raise

    def write_image(self, write: Callable[[Add], dict[str, object]]) -> None:
        """Write the state of the last snapshot as it is in memory, so that `load` maps it.

        `write` adds arrays and says what they are. Without an image a store is as good, but slower to open.
        """
        assert self._manifest is not None, "an image is of a snapshot"
        assert self._codec is not None, "a store that was not loaded"
        path = self.path / self._manifest.image
        beside = path.with_name(f"{path.name}.new")
        try:
            with ImageWriter(beside) as image:
                image.finish(
                    {
                        "content": self._manifest.content,
                        "layout": layout_stamp(),
                        "texts": self._codec.symbols.write_image(image.add),
                        "engine": write(image.add),
                    }
                )
            beside.replace(path)
            sync_folder(self.path)
        except OSError as cause:
            with suppress(OSError):
                beside.unlink()
            raise mistakes.unwritable(self.path, cause) from cause

    def _image(self) -> MappedImage | None:
        """Return the image of the snapshot, if there is one that this version can map."""
        assert self._manifest is not None, "an image is of a snapshot"
        image = MappedImage.open(self.path / self._manifest.image)
        if image is None or image.about.get("content") != self._manifest.content:
            return None
        known = image.about["texts"]["count"] == sum(piece.count for piece in self._manifest.symbols)
        return image if known and image.about["layout"] == layout_stamp() else None

    def _switch(self, manifest: StoreManifest, log: Log, begun: float) -> None:
        self._close_log()
        self._manifest, self._log = manifest, log
        self._past, self._replay_seconds, self._patience = [], 0.0, 1
        self._snapshot_seconds = time.perf_counter() - begun
        self._known = KnownCodes(
            sum(piece.count for piece in manifest.symbols),
            KnownCodes().records + sum(piece.count for piece in manifest.records),
        )
        delete_unnamed(self.path, manifest)

    def _give_up_snapshot(self, generation: int, log: Log | None) -> None:
        """Go on with the old log, unless the new manifest is in its place already."""
        self._patience *= 2
        if log is not None:
            log.close()
        with suppress(TidelogError):
            if read_manifest(self.path).generation == generation:
                # The disk did not confirm the new manifest, or the user stopped the process just
                # then. Whoever opens the store decides by the manifest that is there; until then
                # no epoch may go to either log.
                self._close_log()
                return
        delete_unnamed(self.path, self._manifest)

    # --- the rest -------------------------------------------------------------------------------

    def status(self) -> Status:
        """Return the numbers of the store."""
        assert self._manifest is not None, "a store without a snapshot"
        if self._log is not None:
            log_bytes = self._log.size_bytes
        else:
            log_bytes = self._content.length if self._content is not None else 0
        return Status(
            self.epoch,
            self._manifest.epoch,
            self._manifest.size_bytes,
            log_bytes,
            {n: file.count for n, file in self._manifest.relations.items() if not _is_made(n)},
            tuple(self._past),
        )

    def close(self) -> None:
        """Release all files and the lock; an epoch that was begun did not happen."""
        self.roll_back()
        self._close_log()
        self.release_files()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _writable(self) -> tuple[Log, Codec]:
        if self._lock is None:
            raise mistakes.read_only(self.path)
        if self._log is None:
            raise mistakes.uncertain(self.path)
        assert self._codec is not None, "a store that was not loaded"
        return self._log, self._codec

    def _open_files(self) -> None:
        """Take hold of all files of one manifest, and read the log.

        A reader may come while the writer puts another snapshot in place: then it looks again.
        """
        for left in reversed(range(_TRIES)):
            manifest = read_manifest(self.path)
            try:
                for file in manifest.files:
                    self._handles[file.file] = os.open(self.path / file.file, os.O_RDONLY)
                content = self._read_log(manifest)
            except (OSError, TidelogError) as cause:
                self.release_files()
                is_hopeless = not left or not self.is_read_only
                if isinstance(cause, OSError) and (is_hopeless or manifest == read_manifest(self.path)):
                    raise _unopened(cause) from cause
                if is_hopeless:
                    raise
                continue
            self._manifest, self._content = manifest, content
            self.sources, self.inputs = manifest.sources, manifest.inputs
            self.keep_epochs = manifest.keep_epochs
            self.snapshot_sources = manifest.sources
            self.epoch = content.epochs[-1].change.epoch if content.epochs else manifest.epoch
            for epoch in content.epochs:
                self._remember(epoch)
            return

    def _remember(self, epoch: LoggedEpoch) -> None:
        change = epoch.change
        inserted = sum(len(each.inserted[0]) for each in change.changes.values() if each.inserted)
        deleted = sum(len(each.deleted[0]) for each in change.changes.values() if each.deleted)
        is_rule_change = change.sources is not None
        if change.sources is not None:
            self.sources = change.sources
        seconds = epoch.commit.seconds
        self._past.append(PastEpoch(change.epoch, inserted, deleted, is_rule_change, seconds))
        self._replay_seconds += seconds

    def _read_log(self, manifest: StoreManifest) -> LogContent:
        path = self.path / manifest.log
        lock = Lock.look(self.path / _LOCK) if self.is_read_only else None
        try:
            data = memoryview(path.read_bytes())
            is_written = self.is_read_only and lock is None
            return read_log(path, data, manifest.generation, manifest.epoch, is_written=is_written)
        finally:
            if lock is not None:
                lock.release()

    def _close_log(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None


def _unopened(cause: OSError) -> TidelogError:
    file = Path(str(cause.filename))
    if isinstance(cause, FileNotFoundError):
        return mistakes.damaged(file, "byte 0", "it is missing")
    return mistakes.unreadable(file, cause)


def _is_made(name: str) -> bool:
    """Say whether a file of the state is of no relation that anybody wrote: of numbers, or of a pass."""
    return name.startswith(NUMBERS) or "/" in name


def _is_free(path: Path) -> bool:
    """Say whether a folder holds nothing but what an interrupted `create` left there."""
    return path.is_dir() and all(
        each.name in {_LOCK, "relations", f"{NAME}.new"}
        or each.name.split(".")[0] in {"log", "symbols", "records", "past", "image"}
        for each in path.iterdir()
    )
