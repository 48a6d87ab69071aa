"""Texts of several statements: rules, facts, declarations, changes and queries, one after the other."""

from collections.abc import Sequence
from enum import Enum
from itertools import groupby
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.source import Source
from tidelog.syntax.cursor import begins_query
from tidelog.syntax.scanner import Token, scan

_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
# What cannot be the last token of anything.
_GOES_ON: Final = frozenset({",", ";", ":-", "=", "<", ">", "!=", "<=", ">=", "!", ":", "|", "->"})


def is_unfinished(text: str) -> bool:
    """Say whether a line goes on in the next one.

    A rule, and a query after `?-`, end with a dot. Anything else goes on while a bracket or a comment is
    open, or where a comma or an operator is the last thing written.
    """
    *tokens, _ = scan(Source("shell", text), single_quotes=True)
    if not tokens:
        return False
    last = tokens[-1]
    if last.kind == "bad":
        return last.text.startswith("/*")
    depth = sum((token.kind in _OPENING) - (token.kind in _CLOSING) for token in tokens)
    needs_dot = begins_query(tokens) or any(token.kind == ":-" for token in tokens)
    return depth > 0 or last.kind in _GOES_ON or (needs_dot and last.kind != ".")


class StatementKind(Enum):
    """What a statement does."""

    PROGRAM = "program"
    CHANGES = "changes"
    QUERY = "query"


@dataclass(frozen=True, slots=True)
class Statements:
    """A query, or neighbouring statements of one other kind, with white space for what was before.

    So each place in the text is the place in the whole.
    """

    kind: StatementKind
    text: str


def split_statements(text: str) -> list[Statements]:
    """Return the queries, changes and program texts of a text in order.

    .decl edge(x: number, y: number)     a program text, up to the query
    edge(1, 2).
    ?- edge(1, x).                       a query
    +edge(2, 3). -edge(1, 2).            changes
    """
    source = Source("cell", text)
    pieces = _pieces(scan(source, single_quotes=True))
    found: list[Statements] = []
    for (kind, _), group in groupby(enumerate(pieces), lambda each: _sort_of(*each)):
        members = [piece for _, piece in group]
        start, end = members[0][0].start, members[-1][-1].end
        found.append(Statements(kind, _blank(text[:start]) + text[start:end]))
    return found


def _sort_of(place: int, piece: Sequence[Token]) -> tuple[StatementKind, int]:
    """Return the kind of a statement, and a number by which queries differ from their neighbours."""
    if begins_query(piece):
        return StatementKind.QUERY, place
    if piece[0].kind in ("+", "-") or piece[0].text == "commit":
        return StatementKind.CHANGES, -1
    return StatementKind.PROGRAM, -1


def _pieces(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return the tokens of each query or change, and of what stands between them."""
    pieces: list[list[Token]] = []
    depth = 0
    for place, token in enumerate(tokens[:-1]):
        if not pieces or (depth <= 0 and _is_next(pieces[-1], tokens[place : place + 2])):
            pieces.append([])
            depth = 0
        depth += (token.kind in _OPENING) - (token.kind in _CLOSING)
        pieces[-1].append(token)
    return pieces


def _is_next(piece: Sequence[Token], following: Sequence[Token]) -> bool:
    """Say whether a statement ends before the tokens that follow; directives have no dot at their end."""
    token = following[0]
    if piece[-1].kind == "." and token.is_spaced:
        return True
    is_change = token.kind in ("+", "-") and piece[0].kind == "directive"
    return token.is_fresh and (is_change or begins_query(following))


def _blank(text: str) -> str:
    """Return white space with the lines and columns of a text."""
    return "".join(char if char == "\n" else " " for char in text)
