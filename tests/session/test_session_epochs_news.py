"""Subscriptions and streams: everyone hears of each epoch, in order."""

import logging
import threading

import pytest

import tidelog
from tidelog import Session, TidelogError
from tidelog.views.delta import RelationDelta

PROGRAM = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl other(x: number)
"""


@pytest.fixture
def db() -> Session:
    """Return a session."""
    return tidelog.open(PROGRAM, engine="reference")


def test_a_callback_hears_of_its_relation_only(db: Session) -> None:
    """It is called after the commit, with the relation's delta, when the relation changed."""
    heard: list[tuple[int, RelationDelta]] = []
    db.subscribe("path", lambda delta: heard.append((db.epoch, delta)))

    db.apply("+edge(1, 2).")
    db.apply("+other(1).")
    db.apply("-edge(1, 2). +edge(2, 3).")

    assert [epoch for epoch, _ in heard] == [1, 3]
    assert heard[1][1].inserted == {(2, 3)}
    assert heard[1][1].deleted == {(1, 2)}


def test_changes_of_rules_are_told_too(db: Session) -> None:
    """An epoch is an epoch, whatever caused it."""
    heard: list[RelationDelta] = []
    db.subscribe("path", heard.append)

    db.add_rules("path(5, 5).")

    assert heard[0].inserted == {(5, 5)}


def test_a_subscription_can_be_ended(db: Session) -> None:
    """Calling it, cancelling it, or leaving its block ends it."""
    heard: list[RelationDelta] = []
    first = db.subscribe("path", heard.append)
    second = db.subscribe("path", heard.append)
    with db.subscribe("path", heard.append):
        db.apply("+edge(1, 2).")
    first()
    second.cancel()
    second.cancel()

    db.apply("+edge(2, 3).")

    assert len(heard) == 3


def test_an_unknown_relation_cannot_be_subscribed_to(db: Session) -> None:
    """A misspelt name is a mistake and not silence."""
    with pytest.raises(TidelogError) as error:
        db.subscribe("paths", print)

    assert error.value.diagnostics[0].code == "undeclared-relation"


def test_a_failing_callback_harms_nobody(db: Session, caplog: pytest.LogCaptureFixture) -> None:
    """Its exception is logged; the epoch stands, and the other callbacks are called."""

    def fail(_: RelationDelta) -> None:
        raise ValueError("mine")

    heard: list[RelationDelta] = []
    db.subscribe("path", fail)
    db.subscribe("path", heard.append)

    with caplog.at_level(logging.ERROR, logger="tidelog"):
        delta = db.apply("+edge(1, 2).")

    assert delta["path"].inserted == {(1, 2)}
    assert len(heard) == 1
    assert "the callback of `path` failed in epoch 1" in caplog.text


def test_a_callback_may_apply_changes(db: Session) -> None:
    """Its epoch is told after the current one has been told to all, so all hear the same order."""
    order: list[tuple[str, set[tuple[object, ...]]]] = []

    def follow(delta: RelationDelta) -> None:
        order.append(("follow", set(delta.inserted)))
        if (1, 2) in delta.inserted:
            db.apply("+edge(7, 8).")

    db.subscribe("path", follow)
    db.subscribe("path", lambda delta: order.append(("listen", set(delta.inserted))))

    db.apply("+edge(1, 2).")

    assert order == [
        ("follow", {(1, 2)}),
        ("listen", {(1, 2)}),
        ("follow", {(7, 8)}),
        ("listen", {(7, 8)}),
    ]


def test_a_rejected_epoch_is_not_told(db: Session) -> None:
    """Nobody hears of what did not happen."""
    heard: list[RelationDelta] = []
    db.subscribe("edge", heard.append)
    deltas = db.deltas()

    with pytest.raises(TidelogError):
        db.apply("+edge(1, 2). +edge(1).")
    db.close()

    assert heard == []
    assert list(deltas) == []


def test_deltas_are_read_by_another_thread(db: Session) -> None:
    """The stream waits for epochs, gives each once and in order, and ends with the session."""
    deltas = db.deltas()
    read: list[int] = []
    reader = threading.Thread(target=lambda: read.extend(delta.epoch for delta in deltas))
    reader.start()

    for number in range(20):
        db.apply(insert={"edge": [(number, number)]})
    db.close()
    reader.join(timeout=30)

    assert read == list(range(1, 21))


def test_a_stream_begins_with_the_next_epoch(db: Session) -> None:
    """Epochs before it are not told; closing it ends it and keeps what waits."""
    db.apply("+edge(1, 2).")
    with db.deltas() as deltas:
        db.apply("+edge(2, 3).")
    db.apply("+edge(3, 4).")

    assert [delta.epoch for delta in deltas] == [2]


def test_a_reader_too_far_behind_is_told(db: Session) -> None:
    """Instead of missing an epoch or holding up the session it gets an error after the last delta."""
    deltas = db.deltas(bound=2)
    for number in range(4):
        db.apply(insert={"edge": [(number, number)]})

    assert [next(deltas).epoch, next(deltas).epoch] == [1, 2]
    with pytest.raises(TidelogError) as error:
        next(deltas)
    assert error.value.diagnostics[0].code == "reader-too-slow"


def test_many_threads_may_apply(db: Session) -> None:
    """Epochs of several threads happen one after the other, and callbacks hear them in order."""
    heard: list[tuple[object, ...]] = []
    db.subscribe("edge", lambda delta: heard.extend(delta.inserted))
    epochs: list[int] = []

    def work(first: int) -> None:
        epochs.extend(db.apply(insert={"edge": [(first, n)]}).epoch for n in range(10))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(epochs) == list(range(1, 41))
    assert len(heard) == len(db["edge"]) == 40
    assert all([y for x, y in heard if x == number] == list(range(10)) for number in range(4))
