"""Canonical layout: one item to a line, long items broken at commas and brackets."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.source import Source
from tidelog.syntax.pieces import LayoutUnit, Piece, PieceKind, UnitKind, cut, spaces

WIDTH: Final = 100
_STEP: Final = 4
_CLOSING_OF: Final = {"(": ")", "[": "]", "{": "}"}


def lay_out(text: str, starts: AbstractSet[int] = frozenset()) -> str:
    """Return the text in canonical layout, with the same tokens, comments and preprocessor lines.

    `starts` are offsets where items begin; without them an item is taken to end with its dot
    or, when it began with a directive, at a line that cannot continue it. One blank line
    between items is kept. A rule whose body began on a new line keeps one element to a line.
    """
    lines: list[str] = []
    level = 0
    before: UnitKind | None = None
    for unit in cut(Source("layout", text), starts):
        if unit.kind is UnitKind.TRAILING_COMMENT:
            lines[-1] += f"  {unit.pieces[0].text}"
            continue
        if unit.kind is UnitKind.CLOSING:
            level -= 1
        is_plan = unit.directive == ".plan"
        is_inner_edge = before in (None, UnitKind.OPENING) or unit.kind is UnitKind.CLOSING or is_plan
        if unit.has_blank_before and not is_inner_edge:
            lines.append("")
        lines.extend(_unit_lines(unit, _STEP * (level + is_plan)))
        if unit.kind is UnitKind.OPENING:
            level += 1
        before = unit.kind
    return "".join(f"{line}\n" for line in lines)


def _unit_lines(unit: LayoutUnit, indent: int) -> list[str]:
    if unit.kind is UnitKind.PREPROCESSOR_LINE:
        return [unit.pieces[0].text]
    if unit.kind is UnitKind.COMMENT:
        return [" " * indent + unit.pieces[0].text]
    writer = _Writer(unit, indent)
    if writer.fits(0, len(unit.pieces)) and not writer.is_kept_broken():
        return [" " * indent + writer.flat(0, len(unit.pieces))]
    writer.item()
    return writer.finish()


@dataclass(slots=True)
class _Break:
    """Where the next token must begin a line."""

    indent: int


class _Writer:
    """Writes one item over several lines.

    Where lines break depends on the tokens, their widths and the comments alone, never on
    where they broke before (but for the line behind `:-`): so laying out twice changes nothing.
    """

    def __init__(self, unit: LayoutUnit, indent: int) -> None:
        self.unit = unit
        self.pieces = unit.pieces
        self.indent = indent
        self.lines: list[str] = []
        self.line = " " * indent
        self.is_blank = True
        self.pending: _Break | None = None
        self._spaces = spaces(unit)
        self._partners = _partners(unit.pieces)

    def flat(self, start: int, end: int) -> str:
        """Return pieces on one line."""
        parts: list[str] = []
        for position in range(start, end):
            if position > start and self._spaces[position]:
                parts.append(" ")
            parts.append(self.pieces[position].text)
        return "".join(parts)

    def fits(self, start: int, end: int) -> bool:
        """Return whether pieces may stand on the line being written, a comma behind them."""
        if any(piece.needs_own_line for piece in self.pieces[start:end]):
            return False
        used = self.indent if self.is_blank and self.pending is None else len(self.line) + 1
        if self.pending is not None:
            used = self.pending.indent
        return used + len(self.flat(start, end)) + (end < len(self.pieces)) <= WIDTH

    def is_kept_broken(self) -> bool:
        """Return whether the writer of the rule began its body on a new line."""
        neck = self._find(":-")
        return neck is not None and neck + 1 < len(self.pieces) and self.pieces[neck + 1].newlines > 0

    def item(self) -> None:
        """Write the whole item, broken."""
        neck = self._find(":-")
        if neck is not None:
            self._run(0, neck + 1, self.indent)
            self.pending = _Break(self.indent + _STEP)
            self._elements(neck + 1, len(self.pieces), self.indent + _STEP)
        elif self.unit.directive == ".type" and self._find("|") is not None:
            self._alternatives()
        else:
            self._run(0, len(self.pieces), self.indent)

    def finish(self) -> list[str]:
        """Return the lines written."""
        if not self.is_blank:
            self.lines.append(self.line)
        return self.lines

    def _find(self, kind: str) -> int | None:
        """Return the position of a token outside all brackets."""
        position = 0
        while position < len(self.pieces):
            piece = self.pieces[position]
            if piece.kind is PieceKind.TOKEN and piece.token.kind == kind:
                return position
            position = self._partners.get(position, position) + 1
        return None

    def _alternatives(self) -> None:
        """Write `.type T = A | B`, every alternative on its line."""
        indent = self.indent + _STEP
        position = 0
        while position < len(self.pieces):
            end = self._partners.get(position, position) + 1
            kind = self.pieces[position].token.kind
            if kind == "|":
                self._break(indent)
            self._run(position, end, indent)
            if kind == "=":
                self._break(indent)
            position = end

    def _elements(self, start: int, end: int, indent: int) -> None:
        """Write what stands between commas and semicolons, one to a line."""
        position = begin = start
        while position < end:
            kind = self.pieces[position].token.kind
            position = self._partners.get(position, position) + 1
            is_inside_aggregate = position < end and self.pieces[position].token.kind == "{"
            if kind == "," and not is_inside_aggregate:
                self._run(begin, position, indent)
                self._break(indent)
            elif kind == ";":
                self._run(begin, position - 1, indent)
                self._break(indent)
                self._run(position - 1, position, indent)
                self._break(indent)
            else:
                continue
            begin = position
        self._run(begin, end, indent)

    def _run(self, start: int, end: int, indent: int) -> None:
        """Write pieces one behind the other, breaking only the brackets that do not fit."""
        position = start
        while position < end:
            partner = self._partners.get(position)
            if partner is None or partner >= end:
                self._write(position, indent)
                position += 1
                continue
            # A bracket stays whole if it fits with what clings to it, such as the final dot.
            if self.fits(position, partner + 1) or partner == position + 1:
                for inside in range(position, partner + 1):
                    self._write(inside, indent)
            else:
                self._write(position, indent)
                self._break(indent + _STEP)
                self._elements(position + 1, partner, indent + _STEP)
                self._break(indent)
                self._write(partner, indent)
            position = partner + 1

    def _break(self, indent: int) -> None:
        self.pending = _Break(indent)

    def _write(self, position: int, indent: int) -> None:
        piece = self.pieces[position]
        if piece.kind is PieceKind.PREPROCESSOR_LINE:
            self._new_line(0)
        elif piece.kind is PieceKind.COMMENT and piece.newlines == 0:
            # A comment at the end of a line stays there, even where a new line is to begin.
            self._append(position)
            self.pending = self.pending or (_Break(indent) if piece.needs_own_line else None)
            return
        elif self.pending is not None:
            self._new_line(self.pending.indent)
        elif piece.kind is PieceKind.COMMENT:
            self._new_line(indent)
        self._append(position)
        self.pending = _Break(indent) if piece.needs_own_line else None

    def _new_line(self, indent: int) -> None:
        if not self.is_blank:
            self.lines.append(self.line)
        self.line = " " * indent
        self.is_blank = True
        self.pending = None

    def _append(self, position: int) -> None:
        piece = self.pieces[position]
        if not self.is_blank and (self._spaces[position] or piece.kind is PieceKind.COMMENT):
            self.line += "  " if piece.text.startswith("//") else " "
        self.line += piece.text
        self.is_blank = False


def _partners(pieces: Sequence[Piece]) -> dict[int, int]:
    partners: dict[int, int] = {}
    open_brackets: list[int] = []
    for position, piece in enumerate(pieces):
        kind = piece.token.kind if piece.kind is PieceKind.TOKEN else ""
        if kind in _CLOSING_OF:
            open_brackets.append(position)
        elif open_brackets and kind == _CLOSING_OF[pieces[open_brackets[-1]].token.kind]:
            partners[open_brackets.pop()] = position
    return partners
