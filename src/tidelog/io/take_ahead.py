"""What a reader of files asks for before it reads one itself."""

from collections.abc import Callable

from tidelog.values import Codes

# Returns the codes of the facts in the file if it was read ahead, otherwise None.
TakeAhead = Callable[[], list[Codes] | None]


def nothing_ahead() -> None:
    """Say that a file was not read ahead."""
