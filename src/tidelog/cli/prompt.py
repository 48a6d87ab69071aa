"""Lines from a terminal, with history and completion, or from a pipe."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Final, Self

_LONGEST_HISTORY: Final = 2000


class Prompt:
    """Reads lines while it is entered as a context; keeps a history between sessions.

    `words` gives the completions of a word behind what was typed before it. In a pipe nothing is
    prompted and nothing is kept.
    """

    def __init__(self, words: Callable[[str, str], Sequence[str]]) -> None:
        self._words = words
        self._fitting: list[str] = []
        self._readline: ModuleType | None = None
        self.is_interactive = sys.stdin.isatty()

    def __enter__(self) -> Self:
        if self.is_interactive:
            self._start_readline()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._readline is not None:
            with suppress(OSError):
                self._readline.set_history_length(_LONGEST_HISTORY)
                self._readline.write_history_file(history_file())

    def lines(self, prompt: Callable[[], str], goes_on: Callable[[str], bool]) -> Iterator[str]:
        """Yield what is typed, several lines together where one goes on in the next."""
        held = ""
        while True:
            try:
                line = self._line("... " if held else prompt())
            except EOFError:
                if held:
                    yield held
                if self.is_interactive:
                    sys.stdout.write("\n")
                return
            except KeyboardInterrupt:
                # What was being typed is dropped; the shell stays.
                sys.stdout.write("\n")
                held = ""
                continue
            held = f"{held}\n{line}" if held else line
            if not goes_on(held):
                yield held
                held = ""

    def complete(self, text: str, state: int) -> str | None:
        """Return the completion of a word numbered `state`, or None."""
        if state == 0:
            before = "" if self._readline is None else self._readline.get_line_buffer()
            start = 0 if self._readline is None else self._readline.get_begidx()
            self._fitting = list(self._words(before[:start], text))
        return self._fitting[state] if state < len(self._fitting) else None

    def _line(self, shown: str) -> str:
        if self.is_interactive:
            return input(shown)
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")

    def _start_readline(self) -> None:
        try:
            import readline  # noqa: PLC0415 - not everywhere, and not needed in a pipe
        except ImportError:
            return
        self._readline = readline
        readline.set_completer(self.complete)
        readline.set_completer_delims(" \t\n(),!")
        readline.parse_and_bind("tab: complete")
        with suppress(OSError):
            readline.read_history_file(history_file())


def history_file() -> Path:
    """Return where lines are kept: TIDELOG_HISTORY, or a file in the user's folder."""
    return Path(os.environ.get("TIDELOG_HISTORY") or Path.home() / ".tidelog_history")
