"""What a store does when bytes are lost, changed or refused."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from support.storing import PATHS, from_scratch, make, relations, reopen
from tidelog.engine.epoch import RelationChange
from tidelog.errors import TidelogError
from tidelog.store import log as log_module
from tidelog.store import store as store_module
from tidelog.store import sync
from tidelog.store.store import Store
from tidelog.values import Codec

TYPES = "number", "symbol"
EDGES = [{(1, "a")}, {(1, "a"), (2, "b")}, {(2, "b"), (3, "c")}]


def diagnostics(error):
    """Return code and message of the one diagnostic that was raised."""
    (diagnostic,) = error.value.diagnostics
    return diagnostic.code, diagnostic.message


@pytest.fixture(autouse=True, scope="module")
def patient():
    """However slow the machine is, no snapshot is written but where a test asks for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_module, "_LEAST_SECONDS", 1e9)
        yield


@pytest.fixture(scope="module")
def written(patient, tmp_path_factory):  # noqa: ARG001 - makes sure of the order
    """Return a closed store with two epochs in its log."""
    folder = tmp_path_factory.mktemp("written") / "s"
    kept = make(folder, facts={"edge": [(1, "a")]})
    kept.apply(insert={"edge": [(2, "b")]})
    kept.apply(insert={"edge": [(3, "c")]}, delete={"edge": [(1, "a")]})
    kept.close()
    return folder


@pytest.fixture
def copy(written, tmp_path):
    """Return a copy of that store, to be damaged."""
    return Path(shutil.copytree(written, tmp_path / "copy"))


def load(folder):
    """Open a store, read all of it, and return its epoch."""
    store = Store.open(folder)
    try:
        store.load(Codec({}))
        return store.epoch
    finally:
        store.close()


# --- torn and tampered files ----------------------------------------------------------------


def test_what_was_acknowledged_must_be_there(copy):
    """A log that ends before its last committed epoch is damaged, wherever it ends."""
    log = copy / "log.0"
    content = log.read_bytes()

    for length in range(0, len(content), 7):
        log.write_bytes(content[:length])
        with pytest.raises(TidelogError) as error:
            load(copy)

        assert diagnostics(error)[0] == "damaged-store"
        assert f"`{log}` is damaged at byte " in diagnostics(error)[1]


def test_every_changed_byte_of_the_log_is_found(copy):
    """A byte of the log that is not what was written is a diagnostic naming file and place.

    Only the mark stands there twice, and one of the two is enough.
    """
    log = copy / "log.0"
    content = log.read_bytes()

    for place in {*range(len(content))} - {*range(48, 80)}:
        log.write_bytes(content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :])
        with pytest.raises(TidelogError) as error:
            load(copy)

        assert diagnostics(error)[0] == "damaged-store"
        assert f"`{log}` is damaged at byte " in diagnostics(error)[1]


def test_one_mark_is_enough(copy):
    """A mark whose writing stopped half way is made up for by the one before; without both all is lost."""
    log = copy / "log.0"
    content = log.read_bytes()

    log.write_bytes(content[:50] + b"####" + content[54:])
    assert load(copy) == 2
    assert log.read_bytes()[48:64] == content[64:80]
    log.write_bytes(content[:50] + b"####" + content[54:66] + b"####" + content[70:])
    with pytest.raises(TidelogError) as error:
        load(copy)

    assert "is damaged at byte 48" in diagnostics(error)[1]


def test_an_epoch_that_is_missing_is_damage(copy):
    """The epochs of a log come one after another; what was checked and written does not make up for a gap."""
    store = Store.open(copy)
    store.load(Codec({}))
    store.epoch = 3
    store.append(4, {})
    store.close()

    with pytest.raises(TidelogError) as error:
        load(copy)

    assert diagnostics(error)[0] == "damaged-store"
    assert diagnostics(error)[1].endswith(": epoch 4 comes after epoch 2")


@pytest.mark.parametrize(
    ("inserted", "deleted", "found"),
    [
        ((2, "b"), None, "it inserts facts of `edge` that are there"),
        (None, (1, "a"), "it deletes facts of `edge` that are not there"),
    ],
    ids=["inserted", "deleted"],
)
def test_an_epoch_that_does_not_fit_is_damage(copy, inserted, deleted, found):
    """Engines rely on changes that fit the facts, so that whatever a log says is checked."""
    store, codec = Store.open(copy), Codec({})
    store.load(codec)
    sides = [
        [codec.encode_column([] if fact is None else [fact[place]], of) for place, of in enumerate(TYPES)]
        for fact in (inserted, deleted)
    ]
    store.append(3, {"edge": RelationChange(*sides)})
    store.close()

    with pytest.raises(TidelogError) as error:
        reopen(copy)

    assert diagnostics(error) == ("damaged-store", f"`{copy}` is damaged at epoch 3: {found}")


def test_an_unfinished_last_epoch_never_happened(copy):
    """What follows the committed epochs was never acknowledged and is dropped, cut off anywhere."""
    log = copy / "log.0"
    kept = reopen(copy)
    committed = log.stat().st_size
    mark = log.read_bytes()[:80]
    kept.apply(insert={"edge": [(7, "seven")]})
    kept.close()
    content = mark + log.read_bytes()[80:]

    for length in range(committed, len(content), 13):
        log.write_bytes(content[:length])
        assert load(copy) == 2
        assert log.stat().st_size == committed
        log.write_bytes(content[: length - 1] + b"\0" if length > committed else content[:length])
        assert load(copy) == 2
    log.write_bytes(content)
    assert load(copy) == 3, "all of it is there, only the mark is not: it may have been acknowledged"


def test_epochs_cannot_change_places(copy):
    """Entries that fit by themselves but not in this order are damage."""
    log = copy / "log.0"
    other = Path(shutil.copytree(copy, copy.with_name("other")))
    kept = reopen(other)
    kept.apply(insert={"edge": [(8, "x")]})
    kept.close()
    longer = (other / "log.0").read_bytes()
    ours = log.read_bytes()

    log.write_bytes(longer[:80] + longer[len(ours) :] + ours[80:])
    with pytest.raises(TidelogError) as error:
        load(copy)

    assert diagnostics(error)[0] == "damaged-store"


def test_every_changed_file_is_named(copy):
    """A byte changed, lost or added in any other file is found, and the file is named."""
    names = [path for path in copy.rglob("*") if path.is_file() and path.name not in {"lock", "log.0"}]
    assert len(names) == 7

    for path in names:
        content = path.read_bytes()
        middle = len(content) // 2
        changed = bytes([content[middle] ^ 1])
        for damage in (content[:middle] + changed + content[middle + 1 :], content[:-1], b""):
            path.write_bytes(damage)
            with pytest.raises(TidelogError) as error:
                load(copy)
            assert diagnostics(error)[0] == "damaged-store"
            assert f"`{path}`" in diagnostics(error)[1]
        path.write_bytes(content)

    assert load(copy) == 2


def test_a_missing_file_is_named(copy):
    """A file that the manifest names and that is gone is damage, for readers too."""
    path = next((copy / "relations").glob("named.*"))
    path.unlink()

    for read_only in (False, True):
        with pytest.raises(TidelogError) as error:
            Store.open(copy, read_only=read_only)
        assert diagnostics(error) == ("damaged-store", f"`{path}` is damaged at byte 0: it is missing")


def test_a_store_of_a_later_version_is_refused(copy, monkeypatch):
    """A format that is not known is not guessed at."""
    manifest = copy / "manifest.json"
    monkeypatch.setattr("tidelog.store.manifest.FORMAT", 99)
    reopened = reopen_with_format(copy, manifest)

    monkeypatch.undo()
    with pytest.raises(TidelogError) as error:
        load(reopened)

    assert diagnostics(error)[0] == "unknown-store-format"


def reopen_with_format(folder, manifest):
    """Write the manifest again in the format that the package has just now."""
    manifest.unlink()
    shutil.rmtree(folder)
    make(folder).close()
    return folder


# --- writes that fail -----------------------------------------------------------------------


@pytest.fixture
def full_disk(monkeypatch):
    """Return a disk that can be told to take only so many more bytes or entries, or to confirm none."""

    class Disk:
        room: int | None = None
        entries: int | None = None
        can_sync = True

        def pwrite(self, handle, data, offset):
            if self.entries is not None:
                self.entries -= 1
                if self.entries < 0:
                    self.room = 0
            if self.room is None:
                return real_write(handle, data, offset)
            if self.room <= 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written = real_write(handle, data[: self.room], offset)
            self.room -= written
            return written

        def sync(self, handle):
            if not self.can_sync:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return real_sync(handle)

    real_write, real_sync = os.pwrite, sync.sync_data
    disk = Disk()
    monkeypatch.setattr(sync.os, "pwrite", disk.pwrite)
    monkeypatch.setattr(log_module, "sync_data", disk.sync)
    return disk


@pytest.mark.parametrize("room", [0, 1, 30, 200, 400, 450, 500])
def test_a_full_disk_fails_the_epoch_and_not_the_store(copy, full_disk, room):
    """The epoch that does not fit never happened, in memory and on disk; the next one does."""
    kept = reopen(copy)
    before, size = relations(kept), (copy / "log.0").stat().st_size
    full_disk.room = room

    with pytest.raises(TidelogError) as error:
        kept.apply(insert={"edge": [(4, "d" * 200)]})
    full_disk.room = None

    assert diagnostics(error)[0] == "unwritable-store"
    assert "No space left on device" in diagnostics(error)[1]
    assert relations(kept) == before
    assert kept.epoch == 2
    assert (copy / "log.0").stat().st_size == size
    kept.apply(insert={"edge": [(5, "e")]})
    kept.close()
    assert relations(reopen(copy)) == from_scratch(PATHS, EDGES[2] | {(5, "e")})


def test_a_change_of_rules_that_does_not_fit_is_undone(copy, full_disk):
    """The engine goes back to the rules of the last committed epoch."""
    kept = reopen(copy)
    before = relations(kept)
    full_disk.entries = 1  # the epoch can begin, but not end

    with pytest.raises(TidelogError) as error:
        kept.add_rules(".decl more(x: symbol)\nmore(cat(s, s)) :- edge(_, s).\n")
    full_disk.entries = full_disk.room = None

    assert diagnostics(error)[0] == "unwritable-store"
    assert relations(kept) == before
    kept.apply(insert={"edge": [(4, "d")]})
    kept.close()
    assert relations(reopen(copy)) == from_scratch(PATHS, EDGES[2] | {(4, "d")})


def test_a_disk_that_cannot_confirm_stops_the_writer(copy, full_disk):
    """If a failed epoch cannot be taken back for sure, nothing follows until the store is opened again."""
    kept = reopen(copy)
    before = relations(kept)
    full_disk.can_sync = False

    with pytest.raises(TidelogError) as first:
        kept.apply(insert={"edge": [(4, "d")]})
    full_disk.can_sync = True
    with pytest.raises(TidelogError) as second:
        kept.apply(insert={"edge": [(4, "d")]})

    assert diagnostics(first)[0] == "unwritable-store"
    assert diagnostics(second)[0] == "uncertain-store"
    assert relations(kept) == before
    kept.close()
    assert relations(reopen(copy)) == before


def test_an_epoch_that_the_engine_refuses_leaves_no_trace(copy, monkeypatch):
    """Whatever stops the engine, the log is as it was."""
    kept = reopen(copy)
    content = (copy / "log.0").read_bytes()

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(kept.snapshot.engine, "apply", stop)
    with pytest.raises(KeyboardInterrupt):
        kept.apply(insert={"edge": [(4, "d")]})
    monkeypatch.undo()

    assert (copy / "log.0").read_bytes() == content
    kept.apply(insert={"edge": [(4, "d")]})
    kept.close()
    assert relations(reopen(copy)) == from_scratch(PATHS, EDGES[2] | {(4, "d")})


def test_an_epoch_that_can_be_neither_kept_nor_undone_ends_the_session(copy, full_disk, monkeypatch):
    """A session whose memory and store differ says so from then on."""
    kept = reopen(copy)
    applied = kept.snapshot.engine.apply
    full_disk.entries = 1  # the epoch can begin, but not end
    calls = []

    def once(*arguments):
        calls.append(arguments)
        if len(calls) > 1:
            raise MemoryError
        return applied(*arguments)

    monkeypatch.setattr(kept.snapshot.engine, "apply", once)
    with pytest.raises(MemoryError):
        kept.apply(insert={"edge": [(4, "d")]})
    full_disk.entries = full_disk.room = None
    with pytest.raises(TidelogError) as error:
        kept.apply(insert={"edge": [(5, "e")]})

    assert diagnostics(error)[0] == "session-apart"


def test_a_snapshot_that_fails_costs_nothing(copy, monkeypatch, caplog):
    """The epoch before it is committed, the old files stay, and the log of the process says why."""
    kept = reopen(copy)

    def refuse(*_):
        (copy / "symbols.1.parquet").write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(store_module, "write_snapshot", refuse)
    monkeypatch.setattr(store_module, "_LEAST_LOG_BYTES", -(10**9))
    kept.apply(insert={"edge": [(4, "d")]})
    monkeypatch.undo()

    assert "unwritable-store" in caplog.text
    assert not (copy / "symbols.1.parquet").exists()
    kept.apply(insert={"edge": [(5, "e")]})
    kept.close()
    assert relations(reopen(copy)) == from_scratch(PATHS, EDGES[2] | {(4, "d"), (5, "e")})


# --- a stop at every step -------------------------------------------------------------------


class StopError(BaseException):
    """The process ends here: nothing after it reaches the disk."""


class Stopping:
    """Lets a number of calls that change the disk pass, and none after them."""

    CALLS = ("pwrite", "ftruncate", "fsync", "fdatasync", "replace", "rename", "unlink", "mkdir")

    def __init__(self, monkeypatch, after):
        self.left = after
        for name in self.CALLS:
            real = getattr(os, name)
            monkeypatch.setattr(
                os, name, lambda *a, real=real, name=name, **k: self.call(real, name, *a, **k)
            )

    def call(self, real, name, *arguments, **named):
        """Pass a call on, or stop; the last write is cut in half."""
        self.left -= 1
        if self.left < 0:
            if self.left == -1 and name == "pwrite":
                handle, data, offset = arguments
                real(handle, data[: len(data) // 2], offset)
            raise StopError
        return real(*arguments, **named)


def test_a_stop_at_any_step_keeps_what_was_acknowledged(tmp_path):
    """Whichever change of the disk is the last, each acknowledged epoch is there, whole, and no other."""
    states = [from_scratch(PATHS, edges) for edges in EDGES]
    stops = 0
    while True:
        folder = tmp_path / f"s{stops}"
        acknowledged = -1
        with pytest.MonkeyPatch.context() as patch:
            Stopping(patch, stops)
            try:
                kept = make(folder, facts={"edge": [(1, "a")]})
                acknowledged = 0
                kept.apply(insert={"edge": [(2, "b")]})
                acknowledged = 1
                kept.checkpoint()
                kept.apply(insert={"edge": [(3, "c")]}, delete={"edge": [(1, "a")]})
                acknowledged = 2
                kept.checkpoint()
                break
            except StopError:
                pass
        unlock(folder)
        if acknowledged < 0 and not Store.exists(folder):
            make(folder, facts={"edge": [(1, "a")]}).close()
        again = reopen(folder)
        assert again.epoch in {acknowledged, acknowledged + 1, 0}
        assert again.epoch >= acknowledged
        assert relations(again) == states[again.epoch]
        again.close()
        stops += 1
    assert stops > 40


def unlock(folder):
    """Let go of the lock as the end of a process does."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - descriptors, not paths
        try:
            target = os.readlink(f"/proc/self/fd/{name}")  # noqa: PTH115 - a number with no path
        except OSError:
            continue
        if target == str(folder / "lock"):
            os.close(int(name))
