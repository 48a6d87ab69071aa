"""Those who want to hear of every epoch: callbacks, and iterators for other threads."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Final, Self

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.views.delta import Delta, RelationDelta

Callback = Callable[[RelationDelta], object]

_LOGGER: Final = logging.getLogger("tidelog")


@dataclass(frozen=True, eq=False)
class Subscription:
    """A callback for one relation; calling it, or `cancel()`, ends it. Also a context manager."""

    relation: str
    callback: Callback
    subscriptions: "Subscriptions"

    def cancel(self) -> None:
        """End the subscription; calling it twice does no harm."""
        self.subscriptions.remove(self)

    __call__ = cancel

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()


class DeltaStream(Iterator[Delta]):
    """The deltas of later epochs, in order; ends when the session is closed.

    `next` waits for the next epoch. The stream holds at most `bound` deltas: a reader that falls further
    behind gets an error instead of missing an epoch or holding up the session.
    """

    def __init__(self, bound: int, subscriptions: "Subscriptions") -> None:
        self._bound = bound
        self._subscriptions = subscriptions
        self._waiting: deque[Delta] = deque()
        self._is_ended = False
        self._has_overflowed = False
        self._news = threading.Condition()

    def __next__(self) -> Delta:
        with self._news:
            while not self._waiting and not self._is_ended:
                self._news.wait()
            if self._waiting:
                return self._waiting.popleft()
            if self._has_overflowed:
                raise TidelogError([_overflow(self._bound)])
            raise StopIteration

    def close(self) -> None:
        """End the stream; deltas that are waiting can still be read."""
        self._subscriptions.remove(self)
        self.end()

    def put(self, delta: Delta) -> None:
        """Add a delta."""
        with self._news:
            if self._is_ended:
                return
            if len(self._waiting) >= self._bound:
                self._is_ended = self._has_overflowed = True
            else:
                self._waiting.append(delta)
            self._news.notify_all()

    def end(self) -> None:
        """Let readers know that no delta follows."""
        with self._news:
            self._is_ended = True
            self._news.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Subscriptions:
    """Tells everyone of each epoch, in the order of epochs and one at a time.

    A callback may apply changes itself: that epoch is told when the current one has been told to all.
    """

    def __init__(self) -> None:
        self._members: list[Subscription | DeltaStream] = []
        self._pending: deque[Delta] = deque()
        self._is_telling = False
        self._lock = threading.Lock()

    def subscribe(self, relation: str, callback: Callback) -> Subscription:
        """Return a new subscription."""
        subscription = Subscription(relation, callback, self)
        with self._lock:
            self._members.append(subscription)
        return subscription

    def stream(self, bound: int) -> DeltaStream:
        """Return a new stream of deltas."""
        stream = DeltaStream(bound, self)
        with self._lock:
            self._members.append(stream)
        return stream

    def remove(self, member: Subscription | DeltaStream) -> None:
        """Forget a member."""
        with self._lock:
            self._members = [each for each in self._members if each is not member]

    def add(self, delta: Delta) -> None:
        """Take a delta to tell everyone of; called in the order of epochs."""
        with self._lock:
            if self._members:
                self._pending.append(delta)

    def tell(self) -> None:
        """Tell everyone of the deltas taken, unless another call is at it already."""
        with self._lock:
            if self._is_telling:
                return
            self._is_telling = True
        try:
            while self._tell_next():
                pass
        except BaseException:
            with self._lock:
                self._is_telling = False
            raise

    def close(self) -> None:
        """End all streams and forget all callbacks."""
        with self._lock:
            members, self._members = self._members, []
        for member in members:
            if isinstance(member, DeltaStream):
                member.end()

    def _tell_next(self) -> bool:
        with self._lock:
            if not self._pending:
                self._is_telling = False
                return False
            delta = self._pending.popleft()
            members = tuple(self._members)
        for member in members:
            if isinstance(member, DeltaStream):
                member.put(delta)
            elif member.relation in delta:
                _call(member, delta)
        return True


def _call(subscription: Subscription, delta: Delta) -> None:
    try:
        subscription.callback(delta[subscription.relation])
    except Exception:
        # The epoch is committed and others wait for it: a callback's failure is its own.
        _LOGGER.exception("the callback of `%s` failed in epoch %d", subscription.relation, delta.epoch)


def _overflow(bound: int) -> Diagnostic:
    return Diagnostic(
        code="reader-too-slow",
        message=f"more than {bound:,} deltas waited to be read, so later ones were not kept",
        hint="read faster, or ask for more: db.deltas(bound=...)",
    )
