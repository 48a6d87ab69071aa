"""States of Spark's engine in object stores and on fsspec, with partners in threads: nothing is renamed."""

import threading

import pytest

from support.object_stores import object_store
from support.programs import build
from support.resident_session import Resident
from support.resident_threads import no_spark, tasks_in_threads
from tidelog.engine.spark.files import MANIFEST, Folder
from tidelog.engine.spark.options import SparkOptions
from tidelog.errors import TidelogError
from tidelog.maintain.partners import manifest as manifests
from tidelog.maintain.spark import SparkMaintainedEngine

PATHS = """
.decl edge(x: symbol, y: symbol)
.input edge
.decl path(x: symbol, y: symbol)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl named(name: symbol, n: number)
named(cat(x, "!"), n) :- edge(x, _), n = count : { path(x, _) }.
"""


@pytest.fixture(scope="module")
def store():
    """Return a local object store."""
    with object_store() as found:
        yield found


@pytest.fixture(params=["file", "s3", "memory"])
def uri(request, tmp_path):
    """Return the address of a folder: of Arrow, in an object store, and of fsspec."""
    if request.param == "file":
        return f"file://{tmp_path}/state"
    if request.param == "s3":
        return request.getfixturevalue("store").uri(request.node.name.replace("[", "-").strip("]"))
    pytest.importorskip("fsspec").filesystem("memory").store.clear()
    return "memory://state"


class Kept(Resident):
    """A session's engine with its state somewhere."""

    partners = 2
    uri = ""

    def _new_engine(self):
        chosen = SparkOptions(
            no_spark(self.partners), partners=self.partners, driver_facts=0, resident=True, storage=self.uri
        )
        self.engine = SparkMaintainedEngine(self.program, self.codec, self.settings, self.functions, chosen)


def session_at(uri):
    """Return a session that is not started."""
    return type("KeptThere", (Kept,), {"uri": uri})(build(PATHS))


def opened(uri, inputs):
    """Return a session that goes on from what is there, with the input facts that should be there."""
    run = session_at(uri)
    run.epoch = run.engine.resume()
    run.inputs = {name: set(facts) for name, facts in inputs.items()}
    return run


def test_a_state_goes_on_in_any_store(uri):
    """Epochs are followed, the state is found again, and files of former epochs go."""
    with tasks_in_threads():
        run = session_at(uri).start({"edge": [("a", "b"), ("b", "c")]})
        for number in range(3):
            run.change({"edge": [("c", f"d{number}")]}, {"edge": [("a", "b")]} if number == 1 else {})
            assert run.relations() == run.expected()
        run.engine.close()
        again = opened(uri, run.inputs)

        assert again.epoch == 3
        assert again.relations() == again.expected()
        again.change({"edge": [("d0", "a")]})
        assert again.relations() == again.expected()
        again.engine.close()
    named = set(manifests._texts(Folder(uri).read_json(MANIFEST)))
    before = set(Folder(uri).names(""))
    assert named & before
    Folder(uri).sweep(named | {MANIFEST}, -600.0)
    after = set(Folder(uri).names("")) - {"manifest.lock"}
    assert after == (named & before) | {MANIFEST}


def test_one_of_two_that_race_commits(uri, monkeypatch):
    """Both sessions know the same manifest when they commit: one wins, the other is told and went back."""
    with tasks_in_threads():
        first = session_at(uri).start({"edge": [("a", "b")]})
        first.engine.close()
        runs = {name: opened(uri, {"edge": [("a", "b")]}) for name in ("one", "two")}
        before = {name: run.relations() for name, run in runs.items()}
        meeting, failed = threading.Barrier(2), {}
        swap = Folder.swap

        def swap_together(folder, name, change):
            meeting.wait(120)
            swap(folder, name, change)

        monkeypatch.setattr(Folder, "swap", swap_together)

        def commit(name):
            try:
                runs[name].change({"edge": [("b", name), ("only", name)]})
            except TidelogError as error:
                failed[name] = error

        threads = [threading.Thread(target=commit, args=(name,)) for name in runs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(200)
        monkeypatch.undo()

    with tasks_in_threads():
        (lost,) = failed
        (won,) = runs.keys() - failed.keys()
        diagnostic = failed[lost].diagnostics[0]
        assert diagnostic.code == "spark-storage-in-use"
        assert "committed epoch 1" in diagnostic.message
        assert runs[lost].relations() == before[lost]
        assert runs[won].relations() == runs[won].expected()
        seen = opened(uri, runs[won].inputs)
        assert seen.epoch == 1
        assert seen.relations() == seen.expected()
        with pytest.raises(TidelogError, match="spark-storage-in-use"):
            runs[lost].change({"edge": [("z", lost)]})
        for run in (*runs.values(), seen):
            run.engine.close()


def test_one_of_two_that_begin_in_one_place(uri):
    """A state that another session has begun is not overwritten."""
    with tasks_in_threads():
        late = session_at(uri)
        first = session_at(uri).start({"edge": [("a", "b")]})
        with pytest.raises(TidelogError, match="another session committed epoch 0"):
            late.start({"edge": [("x", "y")]})
        seen = opened(uri, first.inputs)

        assert seen.relations() == seen.expected()
        for run in (late, first, seen):
            run.engine.close()


class KilledError(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("point", ["before", "after"])
def test_a_session_killed_at_its_commit(uri, monkeypatch, point):
    """All files of the epoch are written: it counts if the manifest was, and the next session goes on."""
    with tasks_in_threads():
        run = session_at(uri).start({"edge": [("a", "b")]})
        swap = Folder.swap

        def end(folder, name, change):
            if point == "after":
                swap(folder, name, change)
            raise KilledError

        with monkeypatch.context() as patch:
            patch.setattr(Folder, "swap", end)
            inputs = {"edge": {("a", "b")} | ({("b", "c")} if point == "after" else set())}
            with pytest.raises(KilledError):
                run.change({"edge": [("b", "c")]})
        again = opened(uri, inputs)

        assert again.epoch == (1 if point == "after" else 0)
        assert again.relations() == again.expected()
        again.change({"edge": [("b", "d")]})
        assert again.relations() == again.expected()
        run.engine.close()
        again.engine.close()


def test_a_lease_is_warned_of(uri):
    """Where nothing but a lease guards the state the session says so; elsewhere it says nothing."""
    with tasks_in_threads():
        run = session_at(uri).start({"edge": [("a", "b")]})
        run.engine.close()

    codes = [warning.code for warning in run.codec.warnings.values()]
    assert codes == (["leased-storage"] if uri.startswith("memory") else [])
