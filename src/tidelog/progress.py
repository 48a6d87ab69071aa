"""What is being done now, on one line of a terminal or a notebook: nothing else shows progress.

    loading facts | edge | 310 MiB | 12 s

Whatever may take longer than a second says so while it lasts:

    with activity("loading facts"):
        detail("edge")

The line appears after a second and goes when the outermost activity ends. In a pipe there is none.
"""

import math
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from IPython.display import DisplayHandle

# Most work is done before this; it should not flicker.
_PATIENCE_SECONDS: Final = 1.0
_PERIOD_SECONDS: Final = 0.2
_BAR: Final = 20


class _Activity:
    def __init__(self, words: str) -> None:
        self.words = words
        self.detail = ""
        self.begun = time.monotonic()


class _NotebookLine(StringIO):
    """The line of a notebook: a display of its own, so that nothing stays in the file when it is erased."""

    def __init__(self) -> None:
        super().__init__()
        self._display: DisplayHandle | None = None

    def write(self, text: str) -> int:
        """Show the line that a terminal would show."""
        from IPython.display import display  # noqa: PLC0415 - there is a notebook, or nobody calls this

        line = {"text/plain": text.strip()}
        if self._display is None:
            self._display = display(line, raw=True, display_id=True)
        else:
            self._display.update(line, raw=True)
        if not text.strip():
            # The next line belongs to another cell.
            self._display = None
        return len(text)


_NOTEBOOK_LINE: Final = _NotebookLine()


class Progress:
    """The line of a process; a thread of its own redraws it, so that it moves during long kernels too."""

    def __init__(self, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._patience_seconds = patience_seconds
        self._terminal: TextIO | None = None
        self._activities: list[_Activity] = []
        self._stream: TextIO | None = None
        self._shown = 0
        self._lock = threading.Lock()
        self._is_wanted = threading.Event()
        self._thread: threading.Thread | None = None

    def show_on(self, stream: TextIO | None) -> None:
        """Show activities on a terminal; without one, or in a pipe, on nothing."""
        self._terminal = stream if stream is not None and stream.isatty() else None

    @property
    def is_shown(self) -> bool:
        """Whether somebody may see what is being done."""
        return bool(self._activities)

    @contextmanager
    def activity(self, words: str) -> Iterator[None]:
        """Say what is being done while the block, or the function so decorated, runs."""
        stream = self._terminal or (_NOTEBOOK_LINE if "ipykernel" in sys.modules else None)
        if stream is None:
            yield
            return
        current = _Activity(words)
        self._begin(current, stream)
        try:
            yield
        finally:
            self._end(current)

    def detail(self, words: str) -> None:
        """Say more about what is being done."""
        with self._lock:
            if self._activities:
                self._activities[-1].detail = words

    def line(self) -> str:
        """Return the line to show now."""
        import psutil  # noqa: PLC0415 - only needed where progress is shown

        current = self._activities[-1]
        memory = f"{psutil.Process().memory_info().rss / 2**20:,.0f} MiB"
        seconds = f"{time.monotonic() - self._activities[0].begun:.0f} s"
        return " | ".join(filter(None, (current.words, current.detail, memory, seconds)))

    def _begin(self, current: _Activity, stream: TextIO) -> None:
        with self._lock:
            self._activities.append(current)
            self._stream = stream
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._draw_often, daemon=True)
                self._thread.start()
        self._is_wanted.set()

    def _end(self, current: _Activity) -> None:
        with self._lock:
            self._activities.remove(current)
            if not self._activities:
                self._is_wanted.clear()
                self._draw("")

    def _draw_often(self) -> None:
        while self._is_wanted.wait():
            time.sleep(_PERIOD_SECONDS)
            with self._lock:
                first = self._activities[0].begun if self._activities else math.inf
                if time.monotonic() - first >= self._patience_seconds:
                    self._draw(self.line())

    def _draw(self, line: str) -> None:
        """Put a line in the place of the one shown."""
        if self._stream is None or not (line or self._shown):
            return
        import shutil  # noqa: PLC0415 - as above

        width = shutil.get_terminal_size().columns - 1
        line = line if len(line) <= width else f"{line[: width - 3]}..."
        self._stream.write(f"\r{line.ljust(self._shown)}" if line else f"\r{' ' * self._shown}\r")
        self._stream.flush()
        self._shown = len(line)


def bar(done: int, count: int) -> str:
    """Return how much is done.

    >>> bar(3, 12)
    '[#####...............] 3 of 12'
    """
    filled = _BAR * done // max(count, 1)
    return f"[{'#' * filled}{'.' * (_BAR - filled)}] {done} of {count}"


PROGRESS: Final = Progress()
activity: Final = PROGRESS.activity
detail: Final = PROGRESS.detail
