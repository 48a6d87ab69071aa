"""Sessions over a store: what was committed is there after reopening."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidelog
from tidelog import Session, TidelogError
from tidelog.store.log import Log

PROGRAM = """
.decl edge(x: symbol, y: symbol)
.input edge
.decl path(x: symbol, y: symbol)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl loose(x: number)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a store at epoch 0 with one edge."""
    path = tmp_path / "state"
    tidelog.open(PROGRAM, facts={"edge": [("a", "b")]}, store=path).close()
    return path


@pytest.fixture
def db(folder: Path) -> Iterator[Session]:
    """Return the session of the store."""
    with tidelog.open(store=folder) as session:
        yield session


def contents(db: Session) -> dict[str, set[tuple[object, ...]]]:
    """Return all facts of all relations."""
    return {name: set(db[name]) for name in db}


def test_epochs_survive_the_session(folder: Path) -> None:
    """Reopened, a store is at its last epoch, with its facts, its rules and its program."""
    with tidelog.open(store=folder) as db:
        db.apply("+edge('b', 'c').")
        db.add_rules("path(x, x) :- edge(x, _).")
        db.apply("+loose(3). -edge('a', 'b').")
        db.remove_rules("path(x, y) :- edge(x, y).")
        kept, rules = contents(db), [rule.text for rule in db.rules]

    with tidelog.open(store=folder) as again:
        assert again.epoch == 4
        assert contents(again) == kept
        assert [rule.text for rule in again.rules] == rules
        assert again.apply("+edge('c', 'd').")["path"].inserted == {("c", "c"), ("c", "d"), ("b", "d")}


def test_a_checkpoint_changes_nothing_but_the_time_to_open(folder: Path) -> None:
    """A state written as a whole is the same as one replayed."""
    with tidelog.open(store=folder) as db:
        db.apply("+edge('b', 'c'). +loose(1).")
        db.checkpoint()
        db.apply("+edge('c', 'd').")
        kept = contents(db)

    with tidelog.open(store=folder) as again:
        assert contents(again) == kept
        assert again.apply("-loose(1).")["loose"].deleted == {(1,)}


def test_the_program_may_be_named_again(folder: Path) -> None:
    """The same line of Python makes the store and goes on with it; its facts are read once."""
    with tidelog.open(PROGRAM, facts={"edge": [("x", "y")]}, store=folder) as db:
        assert db["edge"] == {("a", "b")}

    with pytest.raises(TidelogError) as error:
        tidelog.open(PROGRAM + 'path("z", "z").', store=folder)
    assert error.value.diagnostics[0].code == "store-differs"


def test_readers_see_the_last_epoch_and_may_not_write(folder: Path, db: Session) -> None:
    """While one session writes, others read; a second writer is refused."""
    db.apply("+edge('b', 'c').")

    with tidelog.open(store=folder, read_only=True) as reader:
        assert reader.epoch == 1
        assert contents(reader) == contents(db)
        with pytest.raises(TidelogError) as error:
            reader.apply("+edge('c', 'd').")
        assert error.value.diagnostics[0].code == "read-only-store"
        assert contents(reader) == contents(db)
    with pytest.raises(TidelogError) as error:
        tidelog.open(store=folder)
    assert error.value.diagnostics[0].code == "store-in-use"


def test_a_full_disk_fails_the_epoch_and_not_the_session(
    db: Session, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the disk fills before or after the engine's work, state and store stay as they were."""
    before = contents(db)
    write = Log.write
    for failing in (1, 2):
        calls = 0

        def full(log: Log, entry: object, last: int = failing) -> None:
            nonlocal calls
            calls += 1
            if calls == last:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            write(log, entry)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(Log, "write", full)
            with pytest.raises((TidelogError, OSError)):
                db.apply("+edge('b', 'c').")
            calls = 0
            with pytest.raises((TidelogError, OSError)):
                db.add_rules("path(x, x) :- edge(x, _).")
        assert contents(db) == before
        assert db.epoch == 0

    db.apply("+edge('b', 'c').")
    db.close()
    with tidelog.open(store=folder) as again:
        assert again.epoch == 1
        assert again["edge"] == {("a", "b"), ("b", "c")}


def test_a_store_needs_no_other_file(tmp_path: Path) -> None:
    """Includes and macros are resolved before a program is kept."""
    (tmp_path / "part.dl").write_text(".decl a(x: number)\na(N).\n")
    (tmp_path / "main.dl").write_text('#include "part.dl"\n.decl b(x: number)\nb(x) :- a(x).\n')
    tidelog.open(tmp_path / "main.dl", defines={"N": "7"}, store=tmp_path / "state").close()
    (tmp_path / "part.dl").unlink()

    with tidelog.open(store=tmp_path / "state") as db:
        assert db["b"] == {(7,)}


def test_a_failed_opening_leaves_no_store(tmp_path: Path) -> None:
    """Mistakes in the facts are told, and the folder can be used afterwards."""
    with pytest.raises(TidelogError):
        tidelog.open(PROGRAM, facts={"edge": [(1, 2)]}, store=tmp_path / "state")

    with tidelog.open(PROGRAM, store=tmp_path / "state") as db:
        assert db.epoch == 0


def test_without_program_and_store_there_is_nothing_to_open(tmp_path: Path) -> None:
    """Both ways to open need something that is there."""
    with pytest.raises(TidelogError) as error:
        tidelog.open()
    assert error.value.diagnostics[0].code == "no-program"
    with pytest.raises(TidelogError) as error:
        tidelog.open(store=tmp_path / "nothing")
    assert error.value.diagnostics[0].code == "no-store"


def test_facts_given_for_a_derived_relation_stay_input(tmp_path: Path) -> None:
    """A relation that was given facts can be changed after reopening, from snapshot and log alike."""
    store = tmp_path / "state"
    with tidelog.open(PROGRAM, facts={"path": [("p", "q")]}, store=store) as db:
        db.apply("+path('r', 's').")

    for gone in ("p", "r"):
        with tidelog.open(store=store) as again:
            assert len(again.apply(delete={"path": [(gone, chr(ord(gone) + 1))]})["path"].deleted) == 1
            again.checkpoint()


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_an_epoch_that_fails_never_happened(tmp_path: Path, engine: str) -> None:
    """A function that raises in the middle leaves session and store at the epoch before."""

    def picky(x: int) -> int:
        if x == 13:
            raise ValueError("not this one")
        return x

    program = """
        .functor picky(x: number): number
        .decl a(x: number)
        .decl b(x: number)
        .decl c(x: number)
        b(x) :- a(x).
        c(@picky(x)) :- b(x).
    """
    options = {"functions": {"picky": picky}, "engine": engine, "store": tmp_path / "state"}
    with tidelog.open(program, **options) as db:  # type: ignore[arg-type]
        db.apply("+a(1).")
        with pytest.raises(TidelogError):
            db.apply("+a(2). +a(13). -a(1).")
        assert contents(db) == {"a": {(1,)}, "b": {(1,)}, "c": {(1,)}}
        assert db.epoch == 1
        assert db.apply("+a(2).")["c"].inserted == {(2,)}

    with tidelog.open(**options) as again:  # type: ignore[arg-type]
        assert again.epoch == 2
        assert again["c"] == {(1,), (2,)}


@pytest.mark.parametrize(("first", "second"), [("reference", "local"), ("local", "reference")])
def test_a_store_of_another_engine_is_evaluated_again(first: str, second: str, tmp_path: Path) -> None:
    """Iterations and counts that an engine does not know are not taken from its snapshot."""
    edges = {("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("a", "c")}
    tidelog.open(PROGRAM, facts={"edge": sorted(edges)}, engine=first, store=tmp_path / "s").close()

    with tidelog.open(store=tmp_path / "s", engine=second) as db:
        for edge in [("b", "c"), ("a", "c"), ("c", "d")]:
            db.apply(delete={"edge": [edge]})
            edges.remove(edge)

            with tidelog.open(PROGRAM, facts={"edge": sorted(edges)}, engine="reference") as expected:
                assert set(db["path"]) == set(expected["path"])
