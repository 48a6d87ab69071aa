"""Partners over real sockets: what is sent arrives, and nobody else is let in."""

import json
import shutil
import socket
import struct
import subprocess
import threading
import time
from contextlib import ExitStack, suppress

import numpy as np
import pytest

from support.wires import SECRET, exchange, together
from tidelog.engine.spark import greeting, link, sockets
from tidelog.engine.spark.greeting import Access, Tls, admit, greet, listen, own_address
from tidelog.engine.spark.message import BadMessageError, Message, Rows, decode, encode
from tidelog.engine.spark.secure import anonymous_context
from tidelog.engine.spark.sockets import connect, receive
from tidelog.engine.spark.wire import PartnerLostError
from tidelog.errors import TidelogError


@pytest.mark.parametrize("is_encrypted", [True, False])
def test_messages_arrive(is_encrypted):
    """Each partner gets what each other one sent it, and sums go over all of them."""
    found = together([Access(SECRET, is_encrypted=is_encrypted)] * 3, exchange)

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
    monkeypatch.setattr(link, "ROOM_BYTES", 64)

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
    monkeypatch.setattr(greeting, "_GREETING_SECONDS", 0.05)
    ours, theirs = socket.socketpair()
    theirs.sendall(b"half a greeting")

    with ours, theirs:
        assert admit(ours, Access(SECRET, wait_seconds=3600)) is None


@pytest.fixture
def held():
    """Return a stack that closes what is put on it."""
    with ExitStack() as stack:
        yield stack


class Relay:
    """Stands between two partners: calls a place for everyone who calls it, and sees or changes all bytes."""

    def __init__(self, held, place, change):
        self.listener = held.enter_context(listen("127.0.0.1"))
        self._held = held
        self.place = self.listener.getsockname()[:2]
        self.seen = bytearray()
        self._to, self._change = place, change
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        caller = self._held.enter_context(self.listener.accept()[0])
        called = self._held.enter_context(socket.create_connection(self._to))
        for source, target in ((caller, called), (called, caller)):
            threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    def _pass_on(self, source, target):
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self.seen += data
                target.sendall(self._change(data))
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)


def through_relay(held, access, change=lambda data: data):
    """Return what a partner received from another one behind a relay, or why not, and the relay."""
    listener = held.enter_context(listen("127.0.0.1"))
    relay = Relay(held, listener.getsockname()[:2], change)
    received = []

    def called():
        try:
            _, connection = admit(listener.accept()[0], access)
            held.callback(connection.close)
            received.append(receive(connection))
        except PartnerLostError as error:
            received.append(error)

    thread = threading.Thread(target=called)
    thread.start()
    with suppress(OSError, PartnerLostError):
        connection = greet(socket.create_connection(relay.place), 1, access)
        held.callback(connection.close)
        sockets.send(connection, Message(text=PRIVATE * 1000))
    thread.join(30)
    return received[0], relay


PRIVATE = "what the facts say "


def test_who_listens_reads_nothing(held):
    """Facts do not pass in the clear, unless the user asks for it."""
    message, relay = through_relay(held, Access(SECRET, wait_seconds=5))
    plain, open_relay = through_relay(held, Access(SECRET, wait_seconds=5, is_encrypted=False))

    assert message.text == plain.text == PRIVATE * 1000
    assert PRIVATE.encode() not in relay.seen
    assert PRIVATE.encode() in open_relay.seen


def test_who_changes_a_byte_is_noticed(held):
    """A message that is not as it was sent is a loss, never another message."""

    def change(data):
        # The pieces of the greeting are small.
        return data if len(data) < 4000 else data[:-1] + bytes([data[-1] ^ 1])

    found, _ = through_relay(held, Access(SECRET, wait_seconds=5), change)

    assert isinstance(found, PartnerLostError)


def test_two_connections_do_not_make_one(held):
    """Who agrees on keys with both ends cannot pass their proofs on: these belong to one connection."""
    access = Access(SECRET, wait_seconds=5)
    listener, between = (held.enter_context(listen("127.0.0.1")) for _ in range(2))
    found = []

    def relay():
        called = anonymous_context(is_server=True).wrap_socket(between.accept()[0], server_side=True)
        raw = socket.create_connection(listener.getsockname()[:2])
        caller = anonymous_context(is_server=False).wrap_socket(raw)
        with suppress(OSError):
            for source, target, count in ((called, caller, 32), (caller, called, 32), (called, caller, 36)):
                data = b""
                while len(data) < count and (more := source.recv(count - len(data))):
                    data += more
                target.sendall(data)
            called.sendall(caller.recv(32))
        called.close()
        caller.close()

    threads = [
        threading.Thread(target=lambda: found.append(admit(listener.accept()[0], access))),
        threading.Thread(target=relay),
    ]
    for thread in threads:
        thread.start()
    with pytest.raises((PartnerLostError, OSError)):
        greet(socket.create_connection(between.getsockname()[:2]), 1, access)
    for thread in threads:
        thread.join(30)

    assert found == [None]


def meet(listeners, access):
    """Return the wires of partners that connect through these listeners, None for those that do not."""
    places = [listener.getsockname()[:2] for listener in listeners]
    wires = [None] * len(listeners)

    def run(me):
        wires[me] = connect(listeners[me], me, places, access)

    threads = [threading.Thread(target=run, args=(me,)) for me in range(len(listeners))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return wires


def test_silent_strangers_keep_nobody_waiting():
    """Partners meet while strangers who say nothing are still connected (issue 18)."""
    listeners = [listen("127.0.0.1") for _ in range(2)]
    strangers = [socket.create_connection(listeners[0].getsockname()[:2]) for _ in range(5)]

    # Less than one stranger is given to prove its identity.
    wires = meet(listeners, Access(SECRET, wait_seconds=8))

    assert all(wire is not None for wire in wires)
    for closed in (*strangers, *wires, *listeners):
        closed.close()


def test_ports_are_taken_from_a_range():
    """The first free port is listened on; a range that is in use is an error."""
    first = listen("127.0.0.1")
    port = first.getsockname()[1]

    with pytest.raises(TidelogError, match=f"no port from {port} to {port} is free"):
        listen("127.0.0.1", (port, port))

    with listen("127.0.0.1", (port, port + 20)) as second:
        assert port < second.getsockname()[1] <= port + 20
    first.close()


def test_addresses_may_be_of_ipv6():
    """Partners meet on an address of version 6."""
    try:
        listeners = [listen("::1") for _ in range(2)]
    except OSError:
        pytest.skip("this machine has no address ::1")

    wires = meet(listeners, Access(SECRET, wait_seconds=20))

    assert own_address("::1") == "::1"
    assert all(wire is not None for wire in wires)
    for closed in (*wires, *listeners):
        closed.close()


@pytest.mark.parametrize("is_encrypted", [True, False])
def test_a_busy_partner_is_waited_for(is_encrypted):
    """Beats tell that it is there, however long it works before it sends anything."""

    def work(wire):
        if wire.me == 1:
            time.sleep(1.5)
        return [each.text for each in wire.exchange([Message(text="here")] * 2)]

    found = together([Access(SECRET, is_encrypted=is_encrypted, silence_seconds=0.5)] * 2, work)

    assert found == [["here"] * 2] * 2


@pytest.mark.parametrize("is_encrypted", [True, False])
@pytest.mark.parametrize("rows", [1, 3_000_000])
def test_a_frozen_partner_is_given_up(is_encrypted, rows):
    """Without a sign of it others do not wait for ever, however much they have to send (issue 18)."""
    is_noticed = threading.Event()

    def work(wire):
        if wire.me == 1:
            with wire.switch._changed:  # what its thread does, it does with this lock
                assert is_noticed.wait(30)
            return None
        try:
            return wire.exchange([Message(tables=(Rows("r", np.zeros((rows, 1), np.int64)),))] * 2)
        finally:
            is_noticed.set()

    lost, _ = together([Access(SECRET, is_encrypted=is_encrypted, silence_seconds=0.5)] * 2, work)

    assert isinstance(lost, PartnerLostError)
