"""What a session remembers of its last epochs."""

from pathlib import Path

import pytest

import tidelog
from tidelog.views import history

PROGRAM = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl any()
any() :- edge(_, _).
"""


def test_history_has_the_delta_of_every_epoch() -> None:
    """`db.history` gives what `apply` and `add_rules` gave, oldest first."""
    with tidelog.open(PROGRAM) as db:
        first = db.apply(insert=["edge(1, 2)", "edge(2, 3)"])
        second = db.add_rules("path(x, x) :- edge(x, _).")

        assert db.history == (first, second)
        assert db.inputs == ("edge",)


def test_a_store_remembers_the_epochs_since_its_snapshot(tmp_path: Path) -> None:
    """Opening a store again gives the same deltas, those of derived relations and rules too."""
    with tidelog.open(PROGRAM, store=tmp_path / "state") as db:
        db.apply(insert=["edge(1, 2)", "edge(2, 3)"])
        db.add_rules("path(x, x) :- edge(x, _).")
        db.apply(delete=["edge(1, 2)"])
        before = [str(delta) for delta in db.history]

    with tidelog.open(store=tmp_path / "state") as db:
        assert [str(delta) for delta in db.history] == before
        assert [delta.epoch for delta in db.history] == [1, 2, 3]
        assert "-path(1, 2)." in before[2]


def test_the_oldest_epochs_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session does not grow with the number of epochs or of changed facts; the last delta stays."""
    monkeypatch.setattr(history, "_MOST_DELTAS", 2)
    with tidelog.open(PROGRAM) as db:
        for number in range(4):
            db.apply(insert=[f"edge({number}, {number})"])
        assert [delta.epoch for delta in db.history] == [3, 4]

        monkeypatch.setattr(history, "_MOST_FACTS", 1)
        db.apply(insert=["edge(7, 8)", "edge(8, 9)"])
        assert [delta.epoch for delta in db.history] == [5]


def test_texts_of_forgotten_epochs_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules that come and go for weeks leave neither old texts of the program nor empty pieces of it."""
    monkeypatch.setattr(history, "_MOST_DELTAS", 4)
    rule = "path(x, x) :- edge(x, _)."
    with tidelog.open(PROGRAM, facts={"edge": [(1, 2)]}) as db:
        for _ in range(10):
            db.add_rules(rule)
            db.remove_rules(rule)

        assert len(db._epochs.history._texts) == 5
        assert len(db._epochs.text.pieces) == 1
        blame = db.blame(missing=["path(1, 1)"], epoch=(19, 20))
        assert [str(change) for change in blame] == [f"-{rule}"]


def test_ids_of_rules_are_never_given_twice() -> None:
    """A rule that is added gets a new id, also if the text of the last one is gone as a whole."""
    with tidelog.open(PROGRAM) as db:
        db.add_rules("path(x, x) :- edge(x, _).")
        last = db.rules[-1].id
        db.remove_rules(last)

        db.add_rules("path(y, y) :- edge(_, y).")

        assert db.rules[-1].id == last + 1
