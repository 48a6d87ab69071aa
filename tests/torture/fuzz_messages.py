"""What partners of a job send each other, whole and damaged, to the decoder and to sockets that listen.

Damaged bytes are refused, whoever does not know the secret is hung up on, a length that lies costs no
memory, and a stranger does not keep partners from each other.
"""

import json
import random
import socket
import struct
import threading
from typing import Final

import numpy as np

from tidelog.engine.spark.greeting import Access, admit, listen
from tidelog.engine.spark.message import BadMessageError, Message, Rows, decode, encode
from tidelog.engine.spark.sockets import SocketWire, connect, receive
from tidelog.engine.spark.wire import PartnerLostError
from torture.byte_damage import damage
from torture.fuzzing import FuzzKind
from torture.shrinking import Parts

SECRET: Final = b"the secret of a job, which strangers do not know"
_FRAME: Final = struct.Struct("<Q")
_LENGTH: Final = struct.Struct("<I")
_GIVE_UP: Final = b"\xff" * 8
_PIECES: Final = (
    *(b"\0" * 8, b"\xff" * 8, _GIVE_UP + b"\x04" + b"\0" * 7 + b"gone", b'"numbers"', b'"tables"'),
    *(b'"text"', b"[]"),
    *(b"[[", b"]]", b"{", b"}", b"null", b"-1", b"1e9", b"9" * 30, b"9" * 5000, b"true", b'"r"', b","),
    b"\x80\x04.",
    *(b"cos\nsystem\n(S'true'\ntR.", b'["r", 1000000000, 1000000000, 8, 1]', b'["r", -1, 1, 8, 0]'),
    b"\xe2\x82",
)
_VERBS: Final = {"decode": 60, "receive": 30, "admit": 8, "connect": 1}


def make(chance: random.Random) -> Parts:
    """Return who gets some bytes, and the bytes as Latin-1."""
    verb = chance.choices(list(_VERBS), list(_VERBS.values()))[0]
    data = b"".join(encode(_message(chance)))
    if chance.random() < 0.3:
        data = _header(chance)
    if verb == "decode":
        operations = chance.choice((0, 0, 1, 1, 2, 4))
    else:
        size = len(data) if chance.random() < 0.8 else chance.choice((0, 1, 1 << 30, 1 << 40, (1 << 64) - 2))
        data = _FRAME.pack(size) + data
        operations = chance.choice((0, 1, 1, 2, 4))
    if verb in {"admit", "connect"} and chance.random() < 0.5:
        data = chance.randbytes(chance.choice((0, 1, 31, 32, 67, 68, 69, 300)))
    return verb, damage(chance, data, _PIECES, operations).decode("latin-1")


def _message(chance: random.Random) -> Message:
    tables = []
    for number in range(chance.choice((0, 1, 1, 2))):
        count, arity = chance.choice((0, 1, 3, 50)), chance.choice((1, 2, 3))
        wide = np.arange(count * arity, dtype=np.int64).reshape(count, arity)
        rows = wide if chance.random() < 0.5 else wide.astype(np.int32)
        weights = np.ones(count, np.int32) if chance.random() < 0.5 else np.empty(0, np.int32)
        tables.append(Rows(f"r{number}", rows, weights))
    numbers = tuple(chance.randrange(-5, 1 << 40) for _ in range(chance.choice((0, 1, 2))))
    return Message(numbers, tuple(tables), chance.choice(("", "text", "λ", '{"do": "evaluate"}')))


def _header(chance: random.Random) -> bytes:
    """Return bytes with a header that is JSON of another form, or has a length that lies."""
    others: tuple[object, ...] = (
        *({}, [], None, 1, "x", {"numbers": 1, "tables": [], "text": ""}),
        {"numbers": [], "tables": {}, "text": ""},
        *({"numbers": ["1"], "tables": [], "text": ""}, {"numbers": [], "tables": [["r"]], "text": ""}),
        {"numbers": [], "tables": [["r", 1 << 40, 1 << 40, 8, 1]], "text": ""},
        {"numbers": [], "tables": [["r", -1, 2, 4, 0]], "text": ""},
        {"numbers": [], "tables": [["r", 5, 0, 8, 0]], "text": ""},
        {"numbers": [], "tables": [["r", 1 << 50, 0, 8, 0]], "text": None},
    )
    header = json.dumps(chance.choice(others)).encode()
    if chance.random() < 0.1:
        header = b"[" * chance.choice((10, 5000, 100_000))
    length = len(header) if chance.random() < 0.8 else chance.choice((0, 1, 1 << 31, (1 << 32) - 1))
    return _LENGTH.pack(length) + header + chance.randbytes(chance.choice((0, 0, 8, 64)))


def attempt(verb: str, data: str) -> None:
    """Give the bytes to whom the verb says; nothing but a refusal or a message may come of it."""
    given = data.encode("latin-1")
    if verb == "decode":
        try:
            check(decode(given))
        except BadMessageError as error:
            str(error)
    elif verb == "connect":
        check_meeting(given)
    else:
        check_socket(verb, given)


def check(message: Message) -> None:
    """Check that a message is one: it can be sent again, and what arrives is the same."""
    again = decode(b"".join(encode(message)))
    assert again.numbers == message.numbers, "the numbers are others"
    assert again.text == message.text, "the text is another"
    kept = [table for table in message.tables if len(table.rows)]
    assert [table.name for table in again.tables] == [table.name for table in kept], "the tables are others"
    for one, other in zip(again.tables, kept, strict=True):
        assert np.array_equal(one.rows, other.rows), "the rows are others"
        assert np.array_equal(one.weights, other.weights), "the weights are others"


def check_socket(verb: str, given: bytes) -> None:
    """Let bytes arrive at a socket that ends after them."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        try:
            theirs.send(given)
        except BlockingIOError:
            return
        theirs.shutdown(socket.SHUT_WR)
        if verb == "admit":
            assert admit(ours, Access(SECRET, wait_seconds=1.0)) is None, "a stranger is let in"
            return
        ours.settimeout(5)
        try:
            check(receive(ours))
        except PartnerLostError as error:
            str(error)


def check_meeting(given: bytes) -> None:
    """Let a stranger call a partner before the other partner does; the two must find each other."""
    listeners = [listen("127.0.0.1") for _ in range(2)]
    places = [listener.getsockname()[:2] for listener in listeners]
    access = Access(SECRET, wait_seconds=5.0)
    found: list[SocketWire] = []
    with socket.create_connection(places[0]) as stranger:
        stranger.sendall(given[: 1 << 16])
        if len(given) % 2:
            stranger.shutdown(socket.SHUT_WR)
        else:
            # Whoever says no more must be hung up on soon, and not after the whole time to wait.
            stranger.close()
        first = threading.Thread(target=lambda: found.append(connect(listeners[0], 0, places, access)))
        first.start()
        second = connect(listeners[1], 1, places, access)
        first.join(10)
    assert found, "a stranger keeps partners from each other"
    second.close()
    found[0].close()
    for listener in listeners:
        listener.close()


KIND: Final = FuzzKind("fuzz-messages", make, attempt)
