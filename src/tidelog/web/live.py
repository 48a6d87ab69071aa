"""News of epochs for every open page, as server-sent events."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Final

from tidelog.errors import TidelogError
from tidelog.session import Session
from tidelog.session.subscriptions import DeltaStream
from tidelog.views import Delta
from tidelog.web.replies import mistake
from tidelog.web.schema import LiveReply

# A browser opens six connections to a host at most, and a page without focus closes its own.
MOST_LISTENERS: Final = 32
# A page that reads slower than epochs happen misses the oldest ones: each says which epoch it is.
_MOST_WAITING: Final = 64
_BEAT_SECONDS: Final = 20.0

_Queue = asyncio.Queue[LiveReply | None]


class LiveFeed:
    """Hands the deltas of a session to whoever listens; it reads them from the first listener on."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._listeners: set[_Queue] = set()
        self._stream: DeltaStream | None = None
        self._is_closed = False

    def check_room(self) -> None:
        """Raise if too many pages listen already."""
        if self._is_closed or len(self._listeners) >= MOST_LISTENERS:
            raise mistake("explorer-busy", "too many pages listen for epochs", "close some of them")

    async def events(self) -> AsyncIterator[str]:
        """Yield events until the server ends: the present epoch, then each one as it is committed."""
        queue: _Queue = asyncio.Queue(_MOST_WAITING)
        self._listeners.add(queue)
        try:
            self._start(asyncio.get_running_loop())
            nothing: LiveReply = {
                "epoch": self._session.epoch,
                "inserted": 0,
                "deleted": 0,
                "has_rules": False,
                "relations": [],
            }
            yield _event("present", nothing)
            while not self._is_closed:
                try:
                    news = await asyncio.wait_for(queue.get(), _BEAT_SECONDS)
                except TimeoutError:
                    # A comment: it finds out whether anybody still listens.
                    yield ":\n\n"
                    continue
                if news is None:
                    return
                yield _event("epoch", news)
        finally:
            self._listeners.discard(queue)

    def close(self) -> None:
        """End all events; the thread that reads epochs ends too."""
        self._is_closed = True
        if self._stream is not None:
            self._stream.close()
        for queue in self._listeners:
            _put(queue, None)

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._stream is None:
            self._stream = self._session.deltas()
            work = threading.Thread(target=self._read, args=(self._stream, loop), daemon=True)
            work.start()

    def _read(self, stream: DeltaStream, loop: asyncio.AbstractEventLoop) -> None:
        try:
            for delta in stream:
                if loop.is_closed():
                    return
                loop.call_soon_threadsafe(self._tell, plain_news(delta))
        except TidelogError:
            # So many epochs at once that some were missed: the next listener starts anew.
            self._stream = None

    def _tell(self, news: LiveReply) -> None:
        for queue in self._listeners:
            _put(queue, news)


def plain_news(delta: Delta) -> LiveReply:
    """Return what an epoch did, in numbers."""
    return {
        "epoch": delta.epoch,
        "inserted": delta.inserted_count,
        "deleted": delta.deleted_count,
        "has_rules": bool(delta.rules),
        "relations": [
            {"name": name, "inserted": len(delta[name].inserted), "deleted": len(delta[name].deleted)}
            for name in delta
        ],
    }


def _put(queue: _Queue, news: LiveReply | None) -> None:
    if queue.full():
        queue.get_nowait()
    queue.put_nowait(news)


def _event(name: str, news: LiveReply) -> str:
    return f"event: {name}\ndata: {json.dumps(news)}\n\n"
