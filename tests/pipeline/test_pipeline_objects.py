"""State and outputs in object stores: one object commits an epoch, and a run goes on from anywhere."""

import json
import shutil
import threading
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.object_stores import object_store
from support.pipelines import write_grants, write_job, write_members
from tidelog.errors import TidelogError
from tidelog.pipeline import Output, Pipeline, read_job
from tidelog.pipeline.folder import JobFolder
from tidelog.pipeline.mirror import Mirror
from tidelog.pipeline.object_store import ObjectFolder


@pytest.fixture(scope="module")
def s3():
    """Return what gives the address of a folder in a local object store."""
    with object_store() as store:
        yield store.uri


@pytest.fixture(params=["memory", "file", "s3"])
def place(request, tmp_path):
    """Return what gives the address of a folder in a store: of fsspec, of Arrow, and a real object store."""
    if request.param == "memory":
        fsspec = pytest.importorskip("fsspec")
        fsspec.filesystem("memory").store.clear()
        return lambda name: f"memory://{name}"
    if request.param == "file":
        return lambda name: f"file://{tmp_path}/store/{name}"
    found = request.getfixturevalue("s3")
    return lambda name: found(f"{request.node.name}/{name}".replace("[", "-").replace("]", ""))


def test_objects(place):
    """Objects are written whole, read, listed and deleted; one that is not there is None."""
    folder = ObjectFolder(place("a"))

    folder.write("x/one", b"1")
    folder.write("x/one", b"2")
    folder.write("two", b"")
    found = folder.read("x/one"), folder.read("two"), folder.read("three"), folder.names(), folder.names("x")
    folder.delete("x/one")
    folder.delete("x/one")

    assert found == (b"2", b"", None, ["two", "x/one"], ["x/one"])
    assert folder.names() == ["two"]


def make_job(tmp_path, place):
    """Return a job whose state and outputs are elsewhere."""
    write_members(tmp_path, [("ann", "staff"), ("bob", "all")])
    output = Output("can", path=place("can"), feed=place("can_feed"))
    return replace(read_job(tmp_path / "job.toml"), state=place("state"), work="work", outputs=(output,))


def published(place):
    """Return the published facts, and those that the feed adds up to."""
    facts = rows(ObjectFolder(place("can")))
    summed: set[tuple[str, str]] = set()
    feed = ObjectFolder(place("can_feed"))
    for epoch in sorted({name.partition("/")[0] for name in feed.names()}, key=lambda name: int(name[6:])):
        for op, user, resource in rows(feed, epoch):
            assert ((user, resource) in summed) == (op == "-")
            summed ^= {(user, resource)}
    return facts, summed


def rows(folder, under=""):
    """Return the rows of all Parquet objects of a folder."""
    names = [name for name in folder.names(under) if name.endswith(".parquet")]
    tables = [pq.read_table(pa.BufferReader(folder.read(name))) for name in names]
    return {tuple(row.values()) for table in tables for row in table.to_pylist()}


def test_a_run_goes_on_from_what_is_in_the_store(spark, tmp_path, place):
    """Each run finds the state of the one before, on this machine or on one that has nothing of it."""
    write_job(tmp_path)
    job = make_job(tmp_path, place)
    write_grants(tmp_path, "1", ["+,staff,wiki,1", "+,all,mail,1"])

    Pipeline(job, spark=spark).run()
    first = published(place)
    shutil.rmtree(tmp_path / "work")
    write_grants(tmp_path, "2", ["-,staff,wiki,1", "+,all,wiki,1"])
    second_report = Pipeline(job, spark=spark).run()
    second = published(place)
    third_report = Pipeline(job, spark=spark).run()

    assert first == ({("ann", "wiki"), ("bob", "mail")},) * 2
    assert second == ({("bob", "mail"), ("bob", "wiki")},) * 2
    assert [(row.epoch, row.cause) for row in second_report.epochs] == [(2, "stream grant")]
    assert len(second_report.warnings) == place("state").startswith("memory")
    assert (third_report.epoch_count, third_report.skipped) == (0, 0)
    assert json.loads(ObjectFolder(place("state")).read("reports/report.json"))["job"] == "job"
    current = json.loads(ObjectFolder(place("state")).read("current.json"))
    named = {each["object"] for each in current["files"].values()}
    assert set(ObjectFolder(place("state")).names("files")) == named


@pytest.mark.parametrize("point", ["upload", "write", "delete"])
def test_a_run_that_ends_while_it_copies(spark, tmp_path, point, monkeypatch):
    """Ended before, at or after the commit in the store, a run is continued, here or on another machine."""
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").store.clear()
    write_job(tmp_path)
    job = make_job(tmp_path, lambda name: f"memory://{name}")
    write_grants(tmp_path, "1", ["+,staff,wiki,1"])
    Pipeline(job, spark=spark).run()
    write_grants(tmp_path, "2", ["+,all,mail,1"])

    class EndedError(Exception):
        """The process is gone."""

    def end(*_: object) -> None:
        raise EndedError

    with monkeypatch.context() as patch:
        patch.setattr(ObjectFolder, point, end)
        with pytest.raises(EndedError):
            Pipeline(job, spark=spark).run()
    for is_elsewhere in (False, True):
        if is_elsewhere:
            shutil.rmtree(tmp_path / "work")
        Pipeline(job, spark=spark).run()

        facts, summed = published(lambda name: f"memory://{name}")
        assert facts == summed == {("ann", "wiki"), ("bob", "mail")}


def test_two_runs_with_one_state(spark, tmp_path):
    """The second to commit an epoch is told, and changes nothing in the store."""
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").store.clear()
    write_job(tmp_path)
    job = make_job(tmp_path, lambda name: f"memory://{name}")
    Pipeline(job, spark=spark).run()
    slow = Mirror(Pipeline(job, spark=spark).folder, ObjectFolder(job.state))
    slow.open()
    write_grants(tmp_path, "1", ["+,staff,wiki,1"])
    Pipeline(replace(job, work="other"), spark=spark).run()
    before = ObjectFolder(job.state).read("current.json")

    with pytest.raises(TidelogError, match="another run committed"):
        slow.commit(1)

    assert ObjectFolder(job.state).read("current.json") == before


def test_one_of_two_runs_that_race_commits(tmp_path, place, monkeypatch):
    """Both have found the same state, and both have copied their epoch: one of them commits it."""
    mirrors, folders = {}, {}
    for name in ("one", "two"):
        folders[name] = JobFolder(tmp_path / name)
        folders[name].make()
        mirrors[name] = Mirror(folders[name], ObjectFolder(place("state")))
        mirrors[name].open()
        (folders[name].path / "facts").write_text(name, encoding="utf-8")
    meeting, failed = threading.Barrier(2), {}
    swap = ObjectFolder.swap

    def swap_together(folder, name, change):
        meeting.wait(120)
        swap(folder, name, change)

    monkeypatch.setattr(ObjectFolder, "swap", swap_together)

    def commit(name):
        try:
            mirrors[name].commit(0)
        except TidelogError as error:
            failed[name] = error

    threads = [threading.Thread(target=commit, args=(name,)) for name in mirrors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(200)
    monkeypatch.undo()

    (lost,) = failed
    (won,) = mirrors.keys() - failed.keys()
    assert failed[lost].diagnostics[0].code == "pipeline-in-use"
    fetched = JobFolder(tmp_path / "third")
    fetched.make()
    Mirror(fetched, ObjectFolder(place("state"))).open()
    assert (fetched.path / "facts").read_text(encoding="utf-8") == won
    with pytest.raises(TidelogError, match="another run committed"):
        mirrors[lost].commit(1)
    before = json.loads(ObjectFolder(place("state")).read("current.json"))
    copied = [name for name in ObjectFolder(place("state")).names("files") if "/facts@" in name]
    assert len(copied) == 2
    ObjectFolder(place("state")).sweep("files", {each["object"] for each in before["files"].values()}, -600.0)
    copied = [name for name in ObjectFolder(place("state")).names("files") if "/facts@" in name]
    assert copied == [before["files"]["facts"]["object"]]


def test_a_lease_is_warned_of(tmp_path, place):
    """Where nothing but a lease keeps two runs apart a run says so."""
    folder = JobFolder(tmp_path / "work")
    folder.make()

    found = Mirror(folder, ObjectFolder(place("state"))).lease_warning

    is_leased = place("state").startswith("memory")
    assert (None if found is None else found.code) == ("leased-storage" if is_leased else None)


def test_stores_that_cannot_be_used(spark, tmp_path):
    """An unknown scheme, a store that does not answer and a work folder of others are diagnostics."""
    write_job(tmp_path)
    write_members(tmp_path, [("ann", "staff")])
    job = read_job(tmp_path / "job.toml")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it", encoding="utf-8")
    states = ["nowhere://a", "s3://a/b?scheme=http&endpoint_override=127.0.0.1:1&region=us-east-1"]

    for state in states:
        with pytest.raises(TidelogError, match="cannot be used") as raised:
            Pipeline(replace(job, state=state, work="work"), spark=spark).run()
        assert [each.code for each in raised.value.diagnostics] == ["unwritable-pipeline"]
    store = f"file://{tmp_path}/store"
    Pipeline(replace(job, state=store, work="work"), spark=spark).run()
    with pytest.raises(TidelogError, match="has files of something else"):
        Pipeline(replace(job, state=store, work="mine"), spark=spark).run()
    assert (tmp_path / "mine" / "thesis.txt").exists()
