"""What commits a state: one file that is replaced in one step, wherever the state is."""

import sys
import threading
import time

import numpy as np
import pytest
from pyarrow import fs

from support.object_stores import object_store
from tidelog.engine.spark.files import Annotated, Folder
from tidelog.engine.spark.stores import lease, s3
from tidelog.engine.spark.stores.swap import swap_for
from tidelog.engine.spark.stores.systems import open_system, without_secrets
from tidelog.errors import TidelogError


@pytest.fixture(scope="module")
def store():
    """Return a local object store."""
    with object_store() as found:
        yield found


@pytest.fixture(params=["file", "s3", "memory"])
def uri(request, tmp_path):
    """Return the address of a folder: of Arrow, in an object store, and of fsspec."""
    if request.param == "file":
        return str(tmp_path / "state")
    if request.param == "s3":
        return request.getfixturevalue("store").uri(request.node.name.replace("[", "-").strip("]"))
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").store.clear()
    return "memory://state"


class TakenError(Exception):
    """The file is not what it was."""


def continues(known, new):
    """Return a change from one content to another."""

    def change(content):
        if content != known:
            raise TakenError
        return new

    return change


def test_a_swap_is_refused_if_somebody_was_faster(uri):
    """A file is made, replaced by who knows its content, and stays as it is for all others."""
    swap = swap_for(*at(uri, "manifest.json"))

    swap(continues(None, b"1"))
    swap(continues(b"1", b"2"))
    for known in (None, b"1"):
        with pytest.raises(TakenError):
            swap(continues(known, b"3"))

    assert Folder(uri).read_bytes("manifest.json") == b"2"
    assert "manifest.json" in Folder(uri).names("")


def at(uri, name):
    """Return the file system and the path of a file."""
    system, path = open_system(uri)
    return system, f"{path}/{name}"


@pytest.mark.parametrize("sides", [2, 5])
def test_one_of_many_wins(uri, sides):
    """Each of several threads knows the same content: one of them replaces it, time and again."""
    content = None
    for number in range(4):
        meeting = threading.Barrier(sides)
        won = []

        def race(side, number=number, content=content, meeting=meeting, won=won):
            new = f"{number} {side}".encode()
            swap = swap_for(*at(uri, "manifest.json"))
            meeting.wait(60)
            try:
                swap(continues(content, new))
            except TakenError:
                return
            won.append(new)

        threads = [threading.Thread(target=race, args=(side,)) for side in range(sides)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)

        assert won == [Folder(uri).read_bytes("manifest.json")]
        content = won[0]


def test_others_write_between_reading_and_writing(store):
    """The store refuses a write whose condition is not met any more; the change sees what is there now."""
    uri = store.uri("between")
    swap_for(*at(uri, "manifest.json"))(continues(None, b"1"))
    seen = []

    def change(content):
        seen.append(content)
        if len(seen) == 1:
            swap_for(*at(uri, "manifest.json"))(continues(b"1", b"of another"))
        return (content or b"") + b" and mine"

    swap_for(*at(uri, "manifest.json"))(change)

    assert seen == [b"1", b"of another"]
    assert Folder(uri).read_bytes("manifest.json") == b"of another and mine"


def test_a_write_whose_reply_is_lost(store, monkeypatch):
    """A request that was sent twice is refused the second time: it has been written, by whom it should be."""
    uri = store.uri("reply")
    swap = swap_for(*at(uri, "manifest.json"))
    assert swap.reason_for_lease is None
    put = s3.ConditionalPut._put

    def put_twice(self, *arguments):
        assert put(self, *arguments)
        return put(self, *arguments)

    monkeypatch.setattr(s3.ConditionalPut, "_put", put_twice)
    swap(continues(None, b"1"))

    assert Folder(uri).read_bytes("manifest.json") == b"1"


def test_a_store_that_ignores_conditions(store, monkeypatch):
    """It is found out before anything depends on it: a lease does the work, and a warning says why."""
    uri = store.uri("ignoring")
    put = s3.ConditionalPut._put

    def put_anyway(self, client, key, content, tag):
        if not put(self, client, key, content, tag):
            client.put_object(Bucket=self._bucket, Key=key, Body=content)
        return True

    monkeypatch.setattr(s3.ConditionalPut, "_put", put_anyway)
    folder = Folder(uri)

    folder.swap("manifest.json", continues(None, b"1"))

    warning = folder.lease_warning("manifest.json")
    assert warning is not None
    assert "even if the condition of the write is not met" in warning.message
    assert "secret" not in str(warning)
    assert folder.names("") == ["manifest.json"]
    with pytest.raises(TakenError):
        folder.swap("manifest.json", continues(None, b"2"))


def test_without_botocore_a_lease_does_it(store, monkeypatch):
    """What is missing is named in the warning."""
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    folder = Folder(store.uri("alone"))

    folder.swap("manifest.json", continues(None, b"1"))

    assert "pip install botocore" in folder.lease_warning("manifest.json").message


def test_a_lease_that_nobody_gave_back(monkeypatch):
    """A lease of a process that ended counts for its time, and no longer."""
    pytest.importorskip("fsspec").filesystem("memory").store.clear()
    system, path = at("memory://state", "manifest.json")
    swap = swap_for(system, path)
    system.create_dir(f"{path}.lease", recursive=True)
    held = f"{path}.lease/{time.time():.6f}-of-another"
    with system.open_output_stream(held) as stream:
        stream.write(b"lease")

    monkeypatch.setattr(lease, "_MOST_SECONDS", 0.0)
    with pytest.raises(TimeoutError, match="others hold the lease"):
        swap(continues(None, b"1"))
    monkeypatch.setattr(lease, "LEASE_SECONDS", 0.0)
    swap(continues(None, b"1"))

    assert Folder("memory://state").names("") == ["manifest.json"]


def test_who_takes_too_long_does_not_write(monkeypatch):
    """The holder of a lease that is about to end writes nothing."""
    pytest.importorskip("fsspec").filesystem("memory").store.clear()
    monkeypatch.setattr(lease, "_WRITE_SECONDS", -1.0)

    with pytest.raises(TidelogError, match="it took too long"):
        Folder("memory://state").swap("manifest.json", continues(None, b"1"))

    assert Folder("memory://state").names("") == []


def test_files_of_a_folder(uri):
    """Rows are written, read, listed, deleted and swept, under the same names everywhere."""
    folder = Folder(uri)
    rows = np.array([[1, 2], [3, 4]])

    for part in range(2):
        folder.write_rows(f"edge/{part}/a.parquet", Annotated(rows))
    folder.write_bytes("thesis.txt", b"of somebody else")
    folder.write_json("symbols/0.json", ["a"])
    read = folder.read_rows("edge/0/a.parquet", 2).rows.tolist(), folder.read_json("symbols/0.json")
    listed = folder.names("edge")
    new = folder.sweep({"edge/0/a.parquet"}, 600.0)
    old = folder.sweep({"edge/0/a.parquet"}, -600.0)

    assert read == ([[1, 2], [3, 4]], ["a"])
    assert listed == ["edge/0/a.parquet", "edge/1/a.parquet"]
    assert (new, old) == (0, 2)
    assert folder.names("") == ["edge/0/a.parquet", "thesis.txt"]
    folder.delete("edge/0/a.parquet")
    assert folder.names("edge") == []


def test_messages_keep_secrets(store):
    """A store that does not answer is named, its credentials are not."""
    port = store.endpoint.partition(":")[2]
    folder = Folder(store.uri("a").replace(port, "1"))

    with pytest.raises(TidelogError) as caught:
        folder.swap("manifest.json", continues(None, b"1"))

    assert "s3://bucket/a" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert without_secrets("hdfs://ann@host/a") == "hdfs://host/a"


def test_what_hadoop_calls_s3(store):
    """A URI of Spark's own file systems works, too."""
    system, path = open_system(store.uri("a").replace("s3://", "s3a://"))

    assert isinstance(system, fs.S3FileSystem)
    assert path == "bucket/a"
