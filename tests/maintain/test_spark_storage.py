"""What lies on shared storage: it does not grow with epochs, and nobody's files are deleted."""

import os

import numpy as np
import pytest

import tidelog
from support.programs import build
from support.session_jobs import InJobs, partners_in_threads
from tidelog.engine.numbering import Numbering
from tidelog.engine.spark.files import MANIFEST, Annotated, Folder
from tidelog.errors import TidelogError
from tidelog.maintain.partners import groups
from tidelog.maintain.partners import manifest as manifests
from tidelog.maintain.partners.manifest import Manifest, Manifests
from tidelog.maintain.partners.state_files import read_state, shorten_files, write_inputs
from tidelog.values.codec import Codec


def files_in(path):
    """Return the names of all files below a folder."""
    return sorted(str(each.relative_to(path)) for each in path.rglob("*") if each.is_file())


def of_epoch(epoch, inputs=None):
    """Return the manifest of an epoch without groups."""
    return Manifest(epoch, "one program", (), inputs or {}, ())


def test_texts_of_many_epochs_become_one_file(tmp_path, monkeypatch):
    """A new text in every epoch leaves a bounded number of files, and all texts are read back."""
    monkeypatch.setattr(manifests, "_GRACE_SECONDS", 0.0)
    codec, kept = Codec({}), Manifests(Folder(str(tmp_path)))

    for epoch in range(100):
        codec.symbols.encode([f"text {epoch}"])
        kept.commit(of_epoch(epoch), codec, Numbering())

    again = Codec({})
    found = Manifests(Folder(str(tmp_path))).read("one program", again, Numbering())
    assert found.epoch == 99
    assert again.symbols.decode(np.arange(100)) == [f"text {epoch}" for epoch in range(100)]
    assert len(files_in(tmp_path)) < 60


def test_only_what_an_epoch_loads_becomes_fewer_files(monkeypatch):
    """A job has the relations that a change reaches; the files of others stay, however many they are."""
    monkeypatch.setattr(groups, "MOST_FILES", 2)
    text = """
    .decl a(x: number) .input a
    .decl b(x: number) .input b
    .decl p(x: number)
    p(x) :- a(x).
    .decl q(x: number)
    q(x) :- b(x).
    """
    with partners_in_threads():
        run = InJobs(build(text)).start({"a": [(1,), (2,)], "b": [(1,)]})
        for number in range(10, 14):
            run.change({"a": [(number,)]})
        (group,) = run.engine._groups
        assert len(group.files["p"]) > 2 * run.partners

        run.change({"b": [(5,)]})

        assert run.relations() == run.expected()
        run.change({"a": [(20,)]})
        assert len(group.files["p"]) == run.partners
        assert run.relations() == run.expected()
        run.engine.close()


def test_files_that_nothing_names_are_deleted_after_a_while(tmp_path):
    """Files of the manifest, new files and files of others stay."""
    folder = Folder(str(tmp_path))
    rows = Annotated(np.array([[1, 2]]), np.zeros(1, np.int32), np.ones(1, np.int32))
    for name in ("edge/0/kept.parquet", "edge/0/old.parquet", "edge/0/new.parquet"):
        folder.write_rows(name, rows)
    for name in ("notes.txt", "mine/data.parquet", "edge/0/half.parquet.tmp"):
        folder.write_bytes(name, b"something")
    for name in files_in(tmp_path):
        if name != "edge/0/new.parquet":
            os.utime(tmp_path / name, (0, 0))

    Manifests(folder).commit(of_epoch(0, {"edge": ["edge/0/kept.parquet"]}), Codec({}), Numbering())

    assert files_in(tmp_path) == [
        "edge/0/kept.parquet",
        "edge/0/new.parquet",
        MANIFEST,
        "manifest.lock",
        "mine/data.parquet",
        "notes.txt",
    ]


def test_files_of_a_relation_are_written_as_one(tmp_path):
    """Facts that were inserted and deleted over many epochs are the same facts in one file."""
    folder = Folder(str(tmp_path))
    files, nothing = [], np.empty((0, 1), np.int64)
    for number in range(40):
        inserted = np.array([[number]])
        deleted = np.array([[number - 3]]) if number >= 3 else nothing
        files.append(write_inputs(folder, "n", str(number), inserted, deleted))
        files = shorten_files(folder, "n", files, 1)

    assert len(files) < 33
    assert sorted(read_state(folder, files, 1).live_rows().tolist()) == [[37], [38], [39]]


def test_the_second_to_commit_is_refused(tmp_path):
    """Two sessions that read one manifest: the first one's epoch stays, with its texts (issue 18)."""
    folder, codec = Folder(str(tmp_path)), Codec({})
    Manifests(folder).commit(of_epoch(0), codec, Numbering())
    first, second = Manifests(folder), Manifests(folder)
    codecs = [Codec({}), Codec({})]
    for each, its in zip((first, second), codecs, strict=True):
        each.read("one program", its, Numbering())
    codecs[0].symbols.encode(["of the first"])
    codecs[1].symbols.encode(["of the second"])

    first.commit(of_epoch(1), codecs[0], Numbering())
    before = {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)}
    with pytest.raises(TidelogError, match="spark-storage-in-use"):
        second.commit(of_epoch(1), codecs[1], Numbering())

    assert {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)} == before


def test_epochs_that_end_where_they_began_leave_no_files(spark, tmp_path, monkeypatch):
    """Eighty epochs take about as many files as a few (issue 18)."""
    monkeypatch.setattr(manifests, "_GRACE_SECONDS", 0.0)
    text = ".decl a(x: symbol)\n.input a\n.decl b(x: symbol)\nb(x) :- a(x).\n"
    options = {"engine": "spark", "spark": spark, "spark_options": {"storage": str(tmp_path)}}

    with tidelog.open(text, facts={"a": [("x",)]}, **options) as db:
        for _ in range(40):
            db.apply(insert={"a": [("y",)]})
            db.apply(delete={"a": [("y",)]})

    assert len(files_in(tmp_path)) < 60
    with tidelog.open(text, **options) as db:
        assert (db.epoch, list(db["b"])) == (80, [("x",)])
