"""Partners on several executors: two of these share one connection, and leads pass messages on."""

import struct
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks.spark.model import connections, frames, most_connections
from support.wires import SECRET, exchange, together
from tidelog.engine.spark import switch
from tidelog.engine.spark.greeting import Access
from tidelog.engine.spark.message import Message, Rows, decode
from tidelog.engine.spark.wire import PartnerLostError, total


def on_executors(partners, each):
    """Return the executors of partners, so many of them on each."""
    return [f"executor {partner // each}" for partner in range(partners)]


@pytest.mark.parametrize("is_encrypted", [True, False])
@pytest.mark.parametrize("executors", [["a", "a", "b", "b", "b"], ["a", "b", "a", "c", "b"], ["a"] * 3])
def test_messages_arrive_by_way_of_others(executors, is_encrypted):
    """Partners of different executors get what each sent the other, though few of them are connected."""
    partners = len(executors)

    found = together([Access(SECRET, is_encrypted=is_encrypted)] * partners, exchange, executors)

    for me, (received, sums) in enumerate(found):
        assert received == [((me,), [[other, me]], 120_000 * other) for other in range(partners)]
        assert sums == (partners * (partners - 1) // 2, partners)


@pytest.mark.parametrize("executors", [None, ["a", "a", "b", "b"]])
def test_rows_sent_ahead_belong_to_the_next_exchange(executors):
    """What is sent ahead arrives with the next message, before its rows, however early that is."""

    def work(wire):
        texts = []
        for number in range(30):
            # Partners are ahead of others by turns.
            time.sleep(0.002 * ((wire.me + number) % wire.partners == 0))
            for part in range(number % 3):
                wire.send_ahead(
                    [[Rows(f"{number}.{part}", np.array([[wire.me, other]]))] for other in range(4)]
                )
            last = Rows(f"{number} last", np.array([[wire.me, 0]]))
            received = wire.exchange([Message((number,), (last,))] * wire.partners)
            texts.append([[(t.name, *t.rows[0].tolist()) for t in m.tables] for m in received])
            assert [m.numbers for m in received] == [(number,)] * wire.partners
        return texts

    found = together([Access(SECRET, is_encrypted=False)] * 4, work, executors)

    for me, texts in enumerate(found):
        for number, received in enumerate(texts):
            assert received == [
                [
                    *((f"{number}.{part}", other, me) for part in range(number % 3)),
                    (f"{number} last", other, 0),
                ]
                for other in range(4)
            ]


@pytest.mark.parametrize("giving_up", range(4))
def test_the_reason_reaches_partners_of_other_executors(giving_up):
    """Whoever gives up, all others hear why."""

    def work(wire):
        if wire.me == giving_up:
            wire.give_up("no memory left")
            return None
        return wire.exchange([Message()] * wire.partners)

    found = together([Access(SECRET)] * 4, work, on_executors(4, 2))

    for me, lost in enumerate(found):
        if me != giving_up:
            assert isinstance(lost, PartnerLostError)
            assert lost.reason == "no memory left"


@pytest.mark.parametrize("frozen", range(4))
def test_a_partner_that_is_silent_is_noticed_on_other_executors(frozen):
    """The lead of its executor tells the others, or they notice that the lead is silent."""
    is_noticed = threading.Barrier(4, timeout=30)

    def work(wire):
        if wire.me == frozen:
            with wire.switch._changed:
                is_noticed.wait()
            return None
        try:
            return wire.exchange([Message()] * wire.partners)
        finally:
            is_noticed.wait()

    found = together([Access(SECRET, silence_seconds=0.5)] * 4, work, on_executors(4, 2))

    assert all(isinstance(lost, PartnerLostError) for me, lost in enumerate(found) if me != frozen)


def test_a_lead_passes_on_after_its_work_is_done():
    """A partner that has ended its work stays while others of its executor need its connection."""

    def work(wire):
        wire.exchange([Message()] * wire.partners)
        if wire.me % 2 == 0:
            return "done"
        time.sleep(0.3)
        far = 4 - wire.me
        tables = [[Rows("late", np.full((200_000, 1), wire.me))] if p == far else [] for p in range(4)]
        wire.send_ahead(tables)
        # Only the two that are no leads have something to say to each other.
        until = time.monotonic() + 30
        while not wire.switch._arrived[far] and time.monotonic() < until:
            time.sleep(0.01)
        return len(decode(wire.switch._arrived[far][0][1]).tables[0].rows)

    found = together([Access(SECRET)] * 4, work, on_executors(4, 2))

    assert found == ["done", 200_000, "done", 200_000]


def test_little_waits_where_messages_are_passed_on(monkeypatch):
    """A lead reads no more of what it passes on than others receive, and everything arrives."""
    monkeypatch.setattr(switch, "_MOST_WAITING_BYTES", 1 << 16)

    found = together([Access(SECRET)] * 4, exchange, on_executors(4, 2))

    assert [sums for _, sums in found] == [(6, 4)] * 4


@pytest.mark.parametrize("frame", [b"", b"\x07", b"\x07\0\0\0\x01\xff", b"\x01\0\0\0\x09\xff", b"\xff" * 40])
def test_frames_of_another_form_are_refused(frame):
    """A frame that no partner behind a connection may have sent ends in a loss that says so."""

    def work(wire):
        if wire.me == 1:
            with wire.switch._changed:
                wire.switch.links[0]._queue(struct.pack("<Q", len(frame)) + frame)
            wire.switch._wake_up()
        return wire.exchange([Message()] * wire.partners)

    lost, _ = together([Access(SECRET)] * 2, work)

    assert isinstance(lost, PartnerLostError)
    assert "not a message" in lost.reason


@pytest.mark.parametrize("each", [1, 2, 4])
@pytest.mark.parametrize("partners", range(1, 9))
def test_connections_and_frames_are_those_of_the_model(partners, each):
    """The model in docs/scale.md has as many connections and frames as partners count."""

    def work(wire):
        for _ in range(10):
            total(wire, 1)
        return wire.switch

    found = together([Access(SECRET, is_encrypted=False)] * partners, work, on_executors(partners, each))

    counts = [len(switch.links) for switch in found]
    assert sum(counts) == 2 * connections(partners, each)
    assert max(counts) == most_connections(partners, each)
    assert sum(switch.frames_sent for switch in found) == 10 * sum(frames(partners, each))


def test_the_table_of_scale_is_that_of_the_model():
    """The rows for 10, 100 and 1,000 partners in docs/scale.md are computed with the model."""
    text = Path("docs/scale.md").read_text("utf-8")

    for partners in (10, 100, 1000):
        between, within = frames(partners, 8)
        for number in (connections(partners, 8), most_connections(partners, 8), 2 * between, 2 * within):
            assert f"{number:,}" in text
