"""How values are written as text."""

from enum import Enum


class Style(Enum):
    """How values are written.

    `SOUFFLE` is what Soufflé writes: floats without a trailing `.0`, and nothing for an empty symbol
    inside a record. `SOUFFLE_QUOTED` is what it writes with `rfc4180`: every symbol inside a record is in
    quotes. In JSON a record is a list, or an object with the fields' names; a value of an
    algebraic type is its plain text as a string.
    """

    PLAIN = "plain"
    SOUFFLE = "souffle"
    SOUFFLE_QUOTED = "souffle quoted"
    JSON_LISTS = "json lists"
    JSON_OBJECTS = "json objects"

    @property
    def is_json(self) -> bool:
        """Say whether it is one of the two of JSON."""
        return self in (Style.JSON_LISTS, Style.JSON_OBJECTS)
