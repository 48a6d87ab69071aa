"""A text cut into items, comments and preprocessor lines, for laying it out anew."""

from collections.abc import Set as AbstractSet
from dataclasses import field
from enum import Enum
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.source import Source
from tidelog.syntax.declarations import QUALIFIERS
from tidelog.syntax.scanner import Token, scan
from tidelog.syntax.spacing import is_prefix, is_space_between

_JOINERS: Final = frozenset({",", "=", "|", ":", "<:", "<", ":-", "directive"})
_CONTINUING_WORDS: Final = QUALIFIERS | {"input", "output", "printsize", "choice-domain", "stateful"}


class PieceKind(Enum):
    """What a piece is."""

    TOKEN = "token"  # noqa: S105 - a word of the scanner, not a secret
    COMMENT = "comment"
    PREPROCESSOR_LINE = "preprocessor line"


@dataclass(frozen=True, slots=True)
class Piece:
    """A token, a comment or a whole preprocessor line, and how many newlines stood before it."""

    kind: PieceKind
    text: str
    token: Token
    newlines: int

    @property
    def needs_own_line(self) -> bool:
        """Return whether nothing may follow on the line, or it did not follow anything."""
        if self.kind is PieceKind.TOKEN:
            return self.token.kind == "bad" and self.text.startswith('"')
        if self.kind is PieceKind.PREPROCESSOR_LINE:
            return True
        return self.newlines > 0 or self.text.startswith("//") or "\n" in self.text


class UnitKind(Enum):
    """What stands between two line breaks of the outermost level."""

    ITEM = "item"
    COMMENT = "comment"
    TRAILING_COMMENT = "trailing comment"
    PREPROCESSOR_LINE = "preprocessor line"
    OPENING = "opening of a component"
    CLOSING = "closing of a component"


@dataclass(frozen=True, slots=True)
class LayoutUnit:
    """One item, or a comment or preprocessor line outside of items."""

    kind: UnitKind
    pieces: tuple[Piece, ...]
    has_blank_before: bool

    @property
    def directive(self) -> str:
        """Return the directive word the unit begins with, or nothing."""
        first = self.pieces[0].token
        return first.text if first.kind == "directive" else ""


def cut(source: Source, starts: AbstractSet[int]) -> list[LayoutUnit]:
    """Return the units of a text; `starts` are offsets where items are known to begin."""
    cutter = _Cutter(starts)
    for piece in _pieces(source):
        cutter.take(piece)
    cutter.close()
    return cutter.units


def spaces(unit: LayoutUnit) -> list[bool]:
    """Return for every piece of an item whether a space stands before it on one line."""
    before: Token | None = None
    follows_prefix = False
    is_after_comment = False
    found: list[bool] = []
    for position, piece in enumerate(unit.pieces):
        if piece.kind is not PieceKind.TOKEN:
            found.append(position > 0)
            is_after_comment = True
            continue
        token = piece.token
        if before is None or is_after_comment:
            found.append(position > 0)
        else:
            is_last = position == len(unit.pieces) - 1
            found.append(
                is_space_between(
                    before, token, follows_prefix=follows_prefix, directive=unit.directive, is_last=is_last
                )
            )
        follows_prefix = is_prefix(token, before)
        before, is_after_comment = token, False
    return found


def _pieces(source: Source) -> list[Piece]:
    tokens = scan(source, keep_comments=True)
    pieces: list[Piece] = []
    position = 0
    end = 0
    while tokens[position].kind != "end":
        token = tokens[position]
        newlines = source.text.count("\n", end, token.start)
        kind, text, end = PieceKind.TOKEN, token.text, token.end
        position += 1
        if token.kind == "comment":
            kind, text = PieceKind.COMMENT, text.rstrip()
        elif token.kind == "#" and token.is_fresh:
            kind = PieceKind.PREPROCESSOR_LINE
            while not tokens[position].is_fresh:
                end = tokens[position].end
                position += 1
            text = source.text[token.start : end].rstrip()
        pieces.append(Piece(kind, text, token, newlines))
    return pieces


@dataclass(slots=True)
class _Cutter:
    starts: AbstractSet[int]
    units: list[LayoutUnit] = field(default_factory=list)
    current: list[Piece] = field(default_factory=list)
    last: Token | None = None
    depth: int = 0
    has_newline: bool = False
    level: int = 0

    def take(self, piece: Piece) -> None:
        self.has_newline = self.has_newline or piece.newlines > 0
        if piece.kind is not PieceKind.TOKEN:
            if self.current:
                self.current.append(piece)
            else:
                self._outside(piece)
            return
        token = piece.token
        if self.current and self.depth <= 0 and self._begins_item(token):
            self.close()
        if not self.current and token.kind == "}" and self.level > 0:
            self.level -= 1
            self._add(UnitKind.CLOSING, (piece,))
            return
        self.current.append(piece)
        if token.kind in ("(", "[", "{"):
            self.depth += 1
        elif token.kind in (")", "]", "}"):
            self.depth -= 1
        is_component = self.current[0].token.text == ".comp" and self.current[0].token.kind == "directive"
        before, self.last, self.has_newline = self.last, token, False
        if is_component and token.kind == "{" and self.depth == 1:
            self.level += 1
            self.close(UnitKind.OPENING)
        elif self._ends_item(before, token):
            self.close()

    def _ends_item(self, before: Token | None, token: Token) -> bool:
        """Return whether the token just taken ends its item: a dot, or the bracket of an annotation."""
        if self.current[0].token.kind == "@":
            return token.kind == "]" and self.depth == 0
        return token.kind == "." and not self._may_join(before, token)

    def close(self, kind: UnitKind = UnitKind.ITEM) -> None:
        """End the item; comments and preprocessor lines behind its last token stand outside."""
        pieces, self.current = self.current, []
        behind = len(pieces)
        while behind and pieces[behind - 1].kind is not PieceKind.TOKEN:
            behind -= 1
        if behind:
            self._add(kind, tuple(pieces[:behind]))
        self.depth = 0
        self.last = None
        for piece in pieces[behind:]:
            self._outside(piece)

    def _begins_item(self, token: Token) -> bool:
        if token.kind == "directive" or token.start in self.starts:
            return True
        first = self.current[0].token
        if first.kind != "directive" or self.last is None:
            return False
        if token.kind == "}":
            return self.level > 0
        is_new_line = token.kind in ("word", "@") and self.has_newline
        is_joined = self.last.kind in _JOINERS or self.last.text == "choice-domain"
        return is_new_line and not is_joined and token.text not in _CONTINUING_WORDS

    def _may_join(self, before: Token | None, dot: Token) -> bool:
        """Return whether the dot may join a qualified name: no space around it, words on both sides."""
        following = dot.source.text[dot.end : dot.end + 1]
        is_word_behind = following.isalpha() or following in ("_", "?")
        is_word_before = before is not None and before.kind == "word" and not dot.is_spaced
        return bool(following) and is_word_behind and is_word_before and dot.end not in self.starts

    def _outside(self, piece: Piece) -> None:
        if piece.kind is PieceKind.PREPROCESSOR_LINE:
            self._add(UnitKind.PREPROCESSOR_LINE, (piece,))
        elif piece.newlines == 0 and self.units and not self._ends_line(self.units[-1]):
            self._add(UnitKind.TRAILING_COMMENT, (piece,))
        else:
            self._add(UnitKind.COMMENT, (piece,))

    @staticmethod
    def _ends_line(unit: LayoutUnit) -> bool:
        return unit.pieces[-1].text.startswith("//") or unit.kind is UnitKind.PREPROCESSOR_LINE

    def _add(self, kind: UnitKind, pieces: tuple[Piece, ...]) -> None:
        self.units.append(LayoutUnit(kind, pieces, pieces[0].newlines > 1))
