"""What may be typed next in the shell: commands, relations, and the constants of a column."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from tidelog.cli.tables import TableForm
from tidelog.session import Session
from tidelog.values import Value
from tidelog.views.fact_text import write_value

# Looking through more takes longer than people wait for a key.
_MOST_ROWS: Final = 200_000
_MOST_VALUES: Final = 1000


class Completion:
    """Offers words for the place of the cursor in a line."""

    def __init__(self, session: Session, commands: Sequence[str]) -> None:
        self._session = session
        self._commands = tuple(commands)

    def __call__(self, before: str, text: str) -> list[str]:
        """Return what may stand for `text` behind what was typed before it, sorted.

        Inside `edge(`, these are the constants of the column.
        """
        column, start = open_column(before)
        if column is not None:
            # A text with spaces was begun in the word before.
            begun = before[start:].lstrip() + text
            values = self._constants(*column, quote="'" if begun.startswith("'") else '"')
            return sorted(value[len(begun) - len(text) :] for value in values if value.startswith(begun))
        fitting = sorted({word for word in self._words(before.strip(), text) if word.startswith(text)})
        is_command = len(fitting) == 1 and not before.strip() and fitting[0] in self._commands
        return [f"{fitting[0]} "] if is_command and not fitting[0].endswith(".") else fitting

    def _words(self, before: str, text: str) -> Sequence[str]:
        match before:
            case "":
                return (*self._commands, *self._session.relations)
            case ".mode":
                return tuple(TableForm)
            case ".timer":
                return ("off", "on")
            case ".read":
                folder, _, start = text.rpartition("/")
                names = Path(folder or ("/" if text.startswith("/") else ".")).glob(f"{start}*")
                return [str(name) + "/" * name.is_dir() for name in names]
            case "help" | ":help" | ".help":
                return self._commands
        return self._session.relations

    def _constants(self, relation: str, position: int, quote: str) -> list[str]:
        snapshot = self._session.snapshot
        declared = snapshot.program.relations.get(relation)
        if declared is None or position >= declared.arity:
            return []
        with snapshot.lock:
            codes = snapshot.engine.facts(relation)[position][:_MOST_ROWS]
            values = snapshot.codec.decode_column(
                np.unique(codes)[:_MOST_VALUES], declared.columns[position].type
            )
        return [_written(value, quote) for value in values]


def open_column(line: str) -> tuple[tuple[str, int] | None, int]:
    """Return the relation and the column that the end of a line stands in, and where that column begins.

    open_column('path("a", ') -> ("path", 1), 9
    """
    calls: list[tuple[str, int, int]] = []
    quote = word = ""
    for place, char in enumerate(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "([{":
            calls.append((word if char == "(" else "", 0, place + 1))
        elif char in ")]}" and calls:
            calls.pop()
        elif char == "," and calls:
            name, position, _ = calls.pop()
            calls.append((name, position + 1, place + 1))
        word = word + char if char.isalnum() or char in "_?." else ""
    if not calls or not calls[-1][0]:
        return None, len(line)
    name, position, start = calls[-1]
    return (name.lstrip("."), position), start


def _written(value: Value, quote: str) -> str:
    text = write_value(value)
    if quote == "'" and isinstance(value, str) and "'" not in value and "\\" not in text:
        return f"'{value}'"
    return text
