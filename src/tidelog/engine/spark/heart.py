"""Beats: what a partner sends the driver while it works, so that the driver can tell that it is there.

A process that was stopped, or a machine that hangs, keeps its connections open. Its beats stop, though,
and whoever waits for a message of it gives up after a while.
"""

import select
import socket
import struct
import threading
from contextlib import suppress
from typing import Final

from tidelog.engine.spark.greeting import Connection
from tidelog.engine.spark.link import BEAT
from tidelog.engine.spark.secure import SecureSocket

_FRAME: Final = struct.pack("<Q", BEAT)
_TIME: Final = struct.Struct("ll")


class Heart:
    """Sends beats on connections, from a thread of its own; `lock` keeps them out of messages."""

    def __init__(self, every_seconds: float) -> None:
        self._every_seconds = every_seconds
        self._locks: dict[int, tuple[Connection, threading.Lock]] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tidelog-heart", daemon=True)
        self._thread.start()

    def add(self, connection: Connection) -> None:
        """Beat on a connection too."""
        self._locks = {**self._locks, id(connection): (connection, threading.Lock())}

    def remove(self, connection: Connection) -> None:
        """Beat on a connection no more; whoever beats on it just now has finished."""
        with self.lock(connection):
            self._locks = {key: each for key, each in self._locks.items() if key != id(connection)}

    def lock(self, connection: Connection) -> threading.Lock:
        """Return the lock to hold while a message is sent."""
        return self._locks[id(connection)][1]

    def stop(self) -> None:
        """End the thread."""
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_over.wait(self._every_seconds):
            for connection, lock in self._locks.values():
                # Who is sending needs no beat, and a full buffer is not to be waited for.
                if lock.acquire(blocking=False):
                    try:
                        with suppress(OSError, ValueError):
                            if _is_writable(connection):
                                connection.sendall(_FRAME)
                    finally:
                        lock.release()


def expect_beats(connection: Connection, seconds: float) -> None:
    """Let reading fail when nothing arrives for so long, not even a beat; writing may take any time."""
    if isinstance(connection, SecureSocket):
        connection.limit_silence(seconds)
    else:
        whole = int(seconds)
        limit = _TIME.pack(whole, int((seconds - whole) * 1_000_000))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)


def _is_writable(connection: Connection) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLOUT)
    return any(event & select.POLLOUT for _, event in poll.poll(0))
