"""The log of epochs since a snapshot: checked entries, one after another.

A log starts with 80 bytes: magic, format, generation and epoch of the snapshot, their checksum, and
the mark. The mark is the length up to which entries were safe on the disk when it was set; it is
set after every commit and needs no waiting of its own. It has two places, written in turn, so that
one holds whenever the writing stops. An entry is its length, its checksum and its bytes; the
checksum takes in that of the entry before, so that none can be left out or moved.

Below the mark whatever does not fit was damaged. Above it, it was never acknowledged: the process
or the machine stopped while it was written.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.store import mistakes
from tidelog.store.entries import ChangeEntry, CommitEntry, Entry, read_entry, write_entry
from tidelog.store.sync import DIGEST_BYTES, digest, sync_data, write_all

_MAGIC: Final = b"tidelog\n"
_FORMAT: Final = 1
_HEAD: Final = struct.Struct("<8sQQQ")
_MARK: Final = struct.Struct("<Q8s")
_MARK_PLACE: Final = _HEAD.size + DIGEST_BYTES
_MARKS: Final = 2
_START: Final = _MARK_PLACE + _MARKS * _MARK.size
_FRAME: Final = struct.Struct(f"<Q{DIGEST_BYTES}s")


@dataclass(frozen=True, slots=True)
class LoggedEpoch:
    """A committed epoch: what it changes, and the end of it."""

    change: ChangeEntry
    commit: CommitEntry


@dataclass(frozen=True, slots=True)
class LogContent:
    """What was read of a log: its epochs, the length they take, and the last checksum."""

    epochs: tuple[LoggedEpoch, ...]
    length: int
    chain: bytes


class Log:
    """A log that is being written."""

    def __init__(self, path: Path, handle: int, length: int, chain: bytes) -> None:
        self.path = path
        self._handle = handle
        # What is committed, and what is written of the epoch at work.
        self._length, self._chain = length, chain
        self._end, self._end_chain = length, chain
        self._is_uncertain = False
        self._next_mark = 0

    @classmethod
    def create(cls, path: Path, generation: int, epoch: int) -> "Log":
        """Return a new log, safe on the disk after its folder is."""
        head = _HEAD.pack(_MAGIC, _FORMAT, generation, epoch)
        chain = digest(head)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
        try:
            write_all(handle, head + chain + _MARKS * _mark(chain, _START), 0)
            os.fsync(handle)
        except OSError:
            os.close(handle)
            raise
        return cls(path, handle, _START, chain)

    @classmethod
    def resume(cls, path: Path, content: LogContent) -> "Log":
        """Return a log to go on with; what was never acknowledged is cut off."""
        try:
            handle = os.open(path, os.O_RDWR)
            if os.fstat(handle).st_size > content.length:
                os.ftruncate(handle, content.length)
            # Epochs that are there but were not marked must be safe before others follow.
            sync_data(handle)
        except OSError as cause:
            raise mistakes.unwritable(path, cause) from cause
        log = cls(path, handle, content.length, content.chain)
        for _ in range(_MARKS):
            log._set_mark()
        return log

    @property
    def size_bytes(self) -> int:
        """Return the length of what is committed."""
        return self._length

    def write(self, entry: Entry) -> None:
        """Write an entry behind the others, without waiting for the disk."""
        if self._is_uncertain:
            raise mistakes.uncertain(self.path.parent)
        data = write_entry(entry)
        chain = digest(self._end_chain, struct.pack("<Q", len(data)), data)
        frame = _FRAME.pack(len(data), chain) + data
        try:
            write_all(self._handle, frame, self._end)
        except OSError as cause:
            raise mistakes.unwritable(self.path, cause) from cause
        self._end, self._end_chain = self._end + len(frame), chain

    def commit(self) -> None:
        """Make all that was written safe; raises if the disk does not take it."""
        try:
            sync_data(self._handle)
        except OSError as cause:
            raise mistakes.unwritable(self.path, cause) from cause
        self._length, self._chain = self._end, self._end_chain
        self._set_mark()

    def roll_back(self) -> None:
        """Forget what was written since the last commit."""
        self._end, self._end_chain = self._length, self._chain
        try:
            if os.fstat(self._handle).st_size > self._length:
                os.ftruncate(self._handle, self._length)
                sync_data(self._handle)
        except OSError:
            # The entries may come back when the log is read again. Until then nothing may follow.
            self._is_uncertain = True

    def close(self) -> None:
        """Close the file; closing again does nothing."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _set_mark(self) -> None:
        try:
            chain = os.pread(self._handle, DIGEST_BYTES, _HEAD.size)
            place = _MARK_PLACE + self._next_mark * _MARK.size
            os.pwrite(self._handle, _mark(chain, self._length), place)
        except OSError:
            return  # The epochs are safe without it; it only tells damage from an unfinished write.
        self._next_mark = (self._next_mark + 1) % _MARKS


def read_log(path: Path, data: memoryview, generation: int, epoch: int, *, is_written: bool) -> LogContent:
    """Return the committed epochs of a log.

    While a writer works (`is_written`) what it has not marked yet is not committed.
    """
    if len(data) < _START:
        raise mistakes.damaged(path, f"byte {len(data)}", "it ends before its first entry")
    head, chain = bytes(data[: _HEAD.size]), bytes(data[_HEAD.size : _MARK_PLACE])
    if digest(head) != chain or _HEAD.unpack(head) != (_MAGIC, _FORMAT, generation, epoch):
        raise mistakes.damaged(path, "byte 0", "it is not the log of this checkpoint")
    marked = _read_mark(data, chain)
    if marked is None:
        raise mistakes.damaged(path, f"byte {_MARK_PLACE}", "the checksum of the mark does not fit")
    if len(data) < marked:
        raise mistakes.damaged(path, f"byte {len(data)}", f"it ends there, but {marked} bytes were committed")
    return _pair(path, _entries(path, data, marked, chain, is_written=is_written), chain, epoch)


@dataclass(frozen=True, slots=True)
class _Placed:
    entry: Entry
    end: int
    chain: bytes


def _entries(
    path: Path, data: memoryview, marked: int, chain: bytes, *, is_written: bool
) -> Iterator[_Placed]:
    place = _START
    limit = marked if is_written else len(data)
    while place < limit:
        length, check = _FRAME.unpack_from(data, place) if place + _FRAME.size <= len(data) else (0, b"")
        body = data[place + _FRAME.size : place + _FRAME.size + length]
        chain = digest(chain, struct.pack("<Q", length), body)
        if len(body) != length or chain != check:
            if place < marked:
                raise mistakes.damaged(path, f"byte {place}", "the checksum of the entry does not fit")
            return
        place += _FRAME.size + length
        yield _Placed(read_entry(body), place, chain)


def _pair(path: Path, entries: Iterator[_Placed], chain: bytes, epoch: int) -> LogContent:
    epochs: list[LoggedEpoch] = []
    length = _START
    change: ChangeEntry | None = None
    for placed in entries:
        if not isinstance(placed.entry, CommitEntry):
            change = placed.entry
            continue
        if change is None or change.epoch != placed.entry.epoch:
            raise mistakes.damaged(path, f"byte {length}", "an epoch ends that did not begin")
        if change.epoch != epoch + 1:
            raise mistakes.damaged(path, f"byte {length}", f"epoch {change.epoch} comes after epoch {epoch}")
        epoch = change.epoch
        epochs.append(LoggedEpoch(change, placed.entry))
        length, chain, change = placed.end, placed.chain, None
    return LogContent(tuple(epochs), length, chain)


def _read_mark(data: memoryview, chain: bytes) -> int | None:
    """Return the later of the marks that fit, None if none does."""
    places = [_MARK_PLACE + number * _MARK.size for number in range(_MARKS)]
    lengths = [_MARK.unpack_from(data, place)[0] for place in places]
    fitting = (
        length
        for place, length in zip(places, lengths, strict=True)
        if data[place : place + _MARK.size] == _mark(chain, length)
    )
    return max(fitting, default=None)


def _mark(chain: bytes, length: int) -> bytes:
    return _MARK.pack(length, digest(chain, struct.pack("<Q", length))[:8])
