"""Partners over real sockets: what is sent arrives, and nobody else is let in."""

import json
import shutil
import socket
import struct
import subprocess
import threading

import numpy as np
import pytest

from tidelog.engine.spark import sockets
from tidelog.engine.spark.message import BadMessageError, Message, Rows, decode, encode
from tidelog.engine.spark.sockets import Access, Tls, admit, connect, greet, listen, receive
from tidelog.engine.spark.wire import PartnerLostError, total

SECRET = b"s" * 32


def together(accesses, work):
    """Connect as many partners as there are accesses, and return what each one's work returned."""
    listeners = [listen("127.0.0.1") for _ in accesses]
    places = [listener.getsockname()[:2] for listener in listeners]
    found = [None] * len(accesses)

    def run(me):
        try:
            wire = connect(listeners[me], me, places, accesses[me])
            try:
                found[me] = work(wire)
            finally:
                wire.close()
        except PartnerLostError as lost:
            found[me] = lost
        finally:
            listeners[me].close()

    threads = [threading.Thread(target=run, args=(me,)) for me in range(len(accesses))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


def exchange(wire):
    """Send every partner a row with both numbers, and rows enough to need a thread."""
    many = np.full((60_000, 2), wire.me, np.int32)
    messages = [
        Message((other,), (Rows("r", np.array([[wire.me, other]])), Rows("many", many)))
        for other in range(wire.partners)
    ]
    received = wire.exchange(messages)
    sums = total(wire, wire.me, 1)
    return [(m.numbers, m.tables[0].rows.tolist(), int(m.tables[1].rows.sum())) for m in received], sums


def test_messages_arrive():
    """Each partner gets what each other one sent it, and sums go over all of them."""
    found = together([Access(SECRET)] * 3, exchange)

    for me, (received, sums) in enumerate(found):
        assert received == [((me,), [[other, me]], 120_000 * other) for other in range(3)]
        assert sums == (3, 3)


def test_messages_keep_their_content():
    """Numbers, text, rows of both widths and weights come out as they went in."""
    rows = Rows("a/1", np.array([[1, -2], [2**40, 4]]), np.array([7, 8], np.int32))
    narrow = Rows("b", np.array([[5]], np.int32))

    back = decode(b"".join(bytes(piece) for piece in encode(Message((1, 2), (rows, narrow), "said"))))

    assert (back.numbers, back.text, [table.name for table in back.tables]) == ((1, 2), "said", ["a/1", "b"])
    assert back.tables[0].rows.tolist() == [[1, -2], [2**40, 4]]
    assert back.tables[0].weights.tolist() == [7, 8]
    assert back.tables[1].rows.dtype == np.int32


def test_another_secret_is_not_let_in():
    """A partner that knows another secret is hung up on, and nobody is sent anything."""
    short = Access(SECRET, wait_seconds=2)

    found = together([short, Access(b"t" * 32, wait_seconds=2)], exchange)

    assert all(isinstance(each, PartnerLostError) for each in found)


def test_a_stranger_does_not_disturb():
    """Whoever calls without knowing how is hung up on, and the partners meet all the same."""
    listeners = [listen("127.0.0.1") for _ in range(2)]
    places = [listener.getsockname()[:2] for listener in listeners]
    with socket.create_connection(places[0]) as stranger:
        stranger.sendall(b"GET / HTTP/1.0\r\n\r\n" + b"x" * 200)
        wires = [None, None]

        def run(me):
            wires[me] = connect(listeners[me], me, places, Access(SECRET, wait_seconds=20))

        threads = [threading.Thread(target=run, args=(me,)) for me in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

    for wire, listener in zip(wires, listeners, strict=True):
        assert wire is not None
        wire.close()
        listener.close()


def test_giving_up_is_told():
    """A partner that cannot go on tells the others why."""

    def work(wire):
        if wire.me == 0:
            wire.give_up("no memory left")
            return None
        return wire.exchange([Message()] * 2)

    _, lost = together([Access(SECRET)] * 2, work)

    assert isinstance(lost, PartnerLostError)
    assert lost.reason == "no memory left"


def test_connections_can_be_encrypted(tmp_path):
    """With certificates of one authority partners talk through TLS."""
    if shutil.which("openssl") is None:
        pytest.skip("needs the command `openssl`")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=partner",
    ]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    tls = Tls(str(certificate), str(key), str(certificate))

    found = together([Access(SECRET, tls)] * 2, exchange)

    assert [sums for _, sums in found] == [(1, 2), (1, 2)]


def with_header(head, rest=b""):
    """Return the bytes of a message with any header."""
    header = json.dumps(head).encode()
    return struct.pack("<I", len(header)) + header + rest


GOOD = {"numbers": [1], "tables": [["r", 2, 1, 8, 0]], "text": ""}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x01\0",
        struct.pack("<I", 1 << 31) + b"{}",
        struct.pack("<I", 3) + b"abc",
        with_header([]),
        with_header({**GOOD, "numbers": ["1"]}, bytes(16)),
        with_header({**GOOD, "tables": {}}),
        with_header({**GOOD, "text": None}, bytes(16)),
        with_header({**GOOD, "tables": [["r", 2, 1]]}, bytes(16)),
        with_header({**GOOD, "tables": [["r", -1, 2, 8, 0]]}, bytes(16)),
        with_header({**GOOD, "tables": [["r", 1 << 40, 1 << 40, 8, 0]]}, bytes(16)),
        with_header(GOOD, bytes(15)),
        with_header(GOOD, bytes(17)),
        with_header(GOOD)[:-1] + b"[" * 5000,
    ],
)
def test_damaged_messages_are_refused(data):
    """Bytes that are no message are told to be none, by the decoder and by the wire."""
    ours, theirs = socket.socketpair()
    theirs.sendall(struct.pack("<Q", len(data)) + data)

    with pytest.raises(BadMessageError):
        decode(data)
    with ours, theirs, pytest.raises(PartnerLostError, match="not a message"):
        receive(ours)


def test_a_length_that_lies_costs_no_memory():
    """A frame that announces more than any machine holds is read as far as it goes, and is a loss."""
    ours, theirs = socket.socketpair()
    theirs.sendall(struct.pack("<Q", 1 << 50) + b"little")
    theirs.shutdown(socket.SHUT_WR)

    with ours, theirs, pytest.raises(PartnerLostError):
        receive(ours)


def test_long_messages_arrive_in_pieces(monkeypatch):
    """A message longer than the first room for it is put together as it was sent."""
    monkeypatch.setattr(sockets, "_ROOM_BYTES", 64)

    found = together([Access(SECRET)] * 2, exchange)

    assert found[1][0][0] == ((1,), [[0, 1]], 0)


def test_a_partner_with_an_impossible_number_is_hung_up_on():
    """Who knows the secret but is none of the partners does not take the place of one."""
    listeners = [listen("127.0.0.1") for _ in range(2)]
    places = [listener.getsockname()[:2] for listener in listeners]
    wires = []
    other = threading.Thread(target=lambda: wires.append(connect(listeners[0], 0, places, Access(SECRET))))
    other.start()

    imposter = greet(socket.create_connection(places[0]), 7, Access(SECRET))
    wires.append(connect(listeners[1], 1, places, Access(SECRET)))
    other.join(60)

    assert len(wires) == 2
    for closed in (imposter, *wires, *listeners):
        closed.close()


def test_a_silent_stranger_is_hung_up_on(monkeypatch):
    """Who says too little too slowly does not keep partners waiting as long as they would for each other."""
    monkeypatch.setattr(sockets, "_GREETING_SECONDS", 0.05)
    ours, theirs = socket.socketpair()
    theirs.sendall(b"half a greeting")

    with ours, theirs:
        assert admit(ours, Access(SECRET, wait_seconds=3600)) is None
