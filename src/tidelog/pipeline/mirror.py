"""A state folder in an object store: a folder of this machine is worked in, and every epoch is copied there.

    current.json          names the objects of the last committed epoch; writing it is the commit
    files/NAME@EPOCH-ID   a file of the state as it was then; never changed

Objects are written before `current.json` names them and deleted after it no longer does. It is replaced in
one step, and only if it is still the one that the run knows. A run that finds another one has lost: it stops,
and what it did here is dropped. Objects that it wrote, or one that was killed, are deleted later.
"""

import json
import shutil
import uuid
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from tidelog.engine.spark.stores.systems import without_secrets
from tidelog.errors import Diagnostic, TidelogError
from tidelog.pipeline.folder import JobFolder
from tidelog.pipeline.object_store import ObjectFolder
from tidelog.store.sync import replace_file

_CURRENT: Final = "current.json"
# In the folder of this machine: what of it is in the object store.
_NOTE: Final = "mirror.json"
_NOT_COPIED: Final = (_NOTE, "lock")
# How often objects that nothing names are looked for, and how long a run may take to copy an epoch.
_SWEPT_EVERY: Final = 16
_GRACE_SECONDS: Final = 600.0
_NOT_COPIED_ENDS: Final = (".crc", ".tmp", ".new")


class Mirror:
    """Keeps a folder of this machine and its copy in an object store at the same epoch."""

    def __init__(self, folder: JobFolder, remote: ObjectFolder) -> None:
        self._folder = folder
        self._remote = remote
        self._id: str | None = None
        self._files: dict[str, dict[str, Any]] = {}
        self._commits = 0

    def open(self) -> None:
        """Bring the folder of this machine to the last epoch that was committed there."""
        current = self._current()
        note = self._note()
        if current is None:
            if note is not None and note["id"] is not None:
                raise TidelogError([_vanished(without_secrets(self._remote.uri))])
            self._folder.make()
            self._write_note()
            return
        if note is not None and note["id"] == current["id"]:
            self._id, self._files = note["id"], note["files"]
            if (last := self._folder.last()) is not None and last.epoch != current["epoch"]:
                # The run before ended between the two commits.
                self.commit(last.epoch)
            return
        self._fetch(current)

    def commit(self, epoch: int) -> None:
        """Copy what is new of an epoch; when this returns the epoch is committed in the object store.

        Raises `TidelogError` if another run has committed an epoch since.
        """
        # Who has lost already need not copy anything.
        self._check(self._remote.read(_CURRENT), epoch)
        made = uuid.uuid4().hex
        before = {each["object"] for each in self._files.values()}
        files = {}
        for path in self._copied():
            name = path.relative_to(self._folder.path).as_posix()
            status = path.stat()
            known = self._files.get(name)
            if known is None or (known["size"], known["changed"]) != (status.st_size, status.st_mtime_ns):
                known = {
                    "object": f"files/{name}@{epoch}-{made[:8]}",
                    "size": status.st_size,
                    "changed": status.st_mtime_ns,
                }
                self._remote.upload(path, known["object"])
            files[name] = known
        content = json.dumps({"format": 1, "epoch": epoch, "id": made, "files": files}, indent=1).encode()

        def replaced(stored: bytes | None) -> bytes:
            self._check(stored, epoch)
            return content

        self._remote.swap(_CURRENT, replaced)
        self._id, self._files = made, files
        self._write_note()
        named = {each["object"] for each in files.values()}
        for name in before - named:
            self._remote.delete(name)
        if self._commits % _SWEPT_EVERY == 0:
            self._remote.sweep("files", named, _GRACE_SECONDS)
        self._commits += 1

    def _check(self, stored: bytes | None, epoch: int) -> None:
        """Raise a diagnostic unless this is the `current.json` that this run continues."""
        current = None if stored is None else self._read(stored)
        if (None if current is None else current["id"]) != self._id:
            raise TidelogError([_lost(without_secrets(self._remote.uri), epoch)])

    @property
    def lease_warning(self) -> Diagnostic | None:
        """Return what a user should know if only a lease keeps others from committing."""
        return self._remote.lease_warning(_CURRENT)

    def publish_reports(self) -> None:
        """Copy the reports of a run, under their own names."""
        if self._folder.reports.is_dir():
            for file in self._folder.reports.iterdir():
                self._remote.upload(file, f"reports/{file.name}")

    def _fetch(self, current: dict[str, Any]) -> None:
        """Make the folder of this machine anew from the object store."""
        path = self._folder.path
        # The lock is held by this run; a folder of manifests was made for it.
        held = [each for each in path.iterdir() if each.name != "lock"]
        if not (path / _NOTE).exists() and (
            self._folder.epochs() or [each.name for each in held] != ["manifests"]
        ):
            raise TidelogError([_not_ours(path)])
        for each in held:
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        self._folder.make()
        files = {}
        for name, each in current["files"].items():
            self._remote.download(each["object"], path / name)
            status = (path / name).stat()
            files[name] = {**each, "size": status.st_size, "changed": status.st_mtime_ns}
        self._id, self._files = current["id"], files
        self._write_note()

    def _current(self) -> dict[str, Any] | None:
        data = self._remote.read(_CURRENT)
        return None if data is None else self._read(data)

    def _read(self, data: bytes) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(data)
            _ = found["id"], found["epoch"], found["files"]
        except (ValueError, TypeError, KeyError) as cause:
            raise TidelogError([_damaged(without_secrets(self._remote.uri))]) from cause
        return found

    def _note(self) -> dict[str, Any] | None:
        """Return what is known here of the copy; None if this folder never had one there."""
        path = self._folder.path / _NOTE
        try:
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if found.get("uri") == self._remote.uri else None

    def _write_note(self) -> None:
        content = {"uri": self._remote.uri, "id": self._id, "files": self._files}
        replace_file(self._folder.path / _NOTE, json.dumps(content).encode())

    def _copied(self) -> list[Path]:
        return sorted(
            path
            for path in self._folder.path.rglob("*")
            if path.is_file()
            and path.name not in _NOT_COPIED
            and not path.name.endswith(_NOT_COPIED_ENDS)
            and self._folder.reports not in path.parents
        )


def work_folder(uri: str, cache: Path) -> Path:
    """Return the folder of this machine for a state elsewhere, by default."""
    return cache / "tidelog" / "pipelines" / blake2b(uri.encode(), digest_size=8).hexdigest()


def _lost(uri: str, epoch: int) -> Diagnostic:
    return Diagnostic(
        code="pipeline-in-use",
        message=f"another run committed to `{uri}` while this one made epoch {epoch}, which is dropped",
        hint="let one run at a time work with a state; the next one continues from what was committed",
    )


def _vanished(uri: str) -> Diagnostic:
    return Diagnostic(
        code="damaged-pipeline",
        message=f"`{uri}` has no {_CURRENT}, but an epoch was committed there",
        hint="restore it, or begin with another state",
    )


def _damaged(uri: str) -> Diagnostic:
    return Diagnostic(
        code="damaged-pipeline",
        message=f"{_CURRENT} of `{uri}` is not what was written there",
        hint="restore it, or begin with another state",
    )


def _not_ours(path: Path) -> Diagnostic:
    return Diagnostic(
        code="unwritable-pipeline",
        message=f"the work folder `{path}` has files of something else",
        hint="give `work` a folder of its own: it is deleted when the state elsewhere is newer",
    )
