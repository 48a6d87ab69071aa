"""Changes as text: `+edge(1, 2).` inserts, `-edge(3, 1).` deletes, `commit.` ends a transaction."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.source import Source, Span
from tidelog.syntax.bodies import BodyParser
from tidelog.syntax.cursor import ParseError, describe
from tidelog.syntax.parser import judge, without_echoes
from tidelog.syntax.scanner import Token, scan
from tidelog.syntax.tree import Atom

_SIGNS: Final = frozenset("+-")
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_COMMIT: Final = "commit"


@dataclass(frozen=True, slots=True)
class WrittenChange:
    """`+edge(1, 2).` or `-edge(1, 2).`"""

    is_insert: bool
    atom: Atom
    span: Span = field(compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class WrittenTransaction:
    """The changes up to a `commit.` or to the end of the text, and what is wrong with them.

    Diagnostics count lines from the beginning of the script; what
    later finds mistakes in the changes has to add `line_offset` as well.
    """

    changes: tuple[WrittenChange, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    line_offset: int = 0
    is_committed: bool = True


def parse_changes(source: Source, line_offset: int = 0) -> tuple[WrittenTransaction, ...]:
    """Return the transactions of a change script; the end of the text commits the rest.

        parse_changes(Source("a", "+edge(1, 2). commit. -edge(1, 2).")) -> two transactions

    Strings may stand in single quotes. Mistakes are kept with the transaction they stand in.
    """
    *pieces, rest = _split(scan(source, single_quotes=True))
    transactions = [_transaction(piece, line_offset) for piece in pieces]
    if rest[0].kind != "end":
        transactions.append(replace(_transaction(rest, line_offset), is_committed=False))
    return tuple(transactions)


def read_changes(lines: Iterable[str], name: str) -> Iterator[WrittenTransaction]:
    """Yield the transactions of a script while its lines come in, each as soon as it is committed.

    The last lines are a transaction too if they hold anything.
    """
    held: list[str] = []
    offset = 0
    for line in lines:
        held.append(line)
        # Only a line with the word can commit, so that a long transaction is scanned once.
        if _COMMIT not in line:
            continue
        source = Source(name, "".join(held))
        tokens = scan(source, single_quotes=True)
        if _has_open_comment(tokens):
            continue
        *pieces, rest = _split(tokens)
        for piece in pieces:
            yield _transaction(piece, offset)
        if pieces:
            held, offset = _rest_of(source, rest, offset)
    yield from parse_changes(Source(name, "".join(held)), offset)


def parse_facts(text: str, name: str = "facts") -> tuple[Atom, ...]:
    """Return the atoms of a text, with dots, commas or nothing between them.

        parse_facts("edge(1, 2). edge('a', 3)") -> two atoms

    Raises `TidelogError` with every mistake.
    """
    tokens, found = judge(scan(Source(name, text), single_quotes=True))
    parser = _ChangeParser(tokens)
    atoms = parser.facts()
    found = [*found, *without_echoes(parser.diagnostics, found)]
    if found:
        raise TidelogError(found)
    return atoms


class _ChangeParser(BodyParser):
    """Reads changes and facts, going on with the next one after a mistake."""

    def changes(self) -> tuple[WrittenChange, ...]:
        """Return all changes."""
        changes: list[WrittenChange] = []
        while self.token.kind != "end":
            start = self.position
            try:
                changes.append(self._change())
            except ParseError as error:
                self._go_on(error, start)
        return tuple(changes)

    def facts(self) -> tuple[Atom, ...]:
        """Return all facts."""
        atoms: list[Atom] = []
        while self.token.kind != "end":
            start = self.position
            try:
                atoms.append(self.atom())
            except ParseError as error:
                self._go_on(error, start)
            if not self.accept("."):
                self.accept(",")
        return tuple(atoms)

    def _change(self) -> WrittenChange:
        start = self.token
        if start.kind not in _SIGNS:
            raise ParseError(
                Diagnostic(
                    code="syntax",
                    message=f"expected `+`, `-` or `commit.`, found {describe(start)}",
                    span=start.span,
                    hint="a change is written `+edge(1, 2).` or `-edge(1, 2).`",
                )
            )
        self.advance()
        atom = self.atom()
        self.expect(".", "a change ends with `.`")
        return WrittenChange(start.kind == "+", atom, span=self.span_from(start))

    def _go_on(self, error: ParseError, start: int) -> None:
        """Note the mistake and step to where the next change seems to begin."""
        self.diagnostics.append(error.diagnostic)
        self.nesting = 0
        if self.position == start:
            self.advance()
        while self.token.kind != "end":
            hints = (
                self.token.kind in _SIGNS,
                self.token.is_fresh,
                self.tokens[self.position - 1].kind == ".",
            )
            if sum(hints) >= 2:
                return
            self.advance()


def _transaction(tokens: Sequence[Token], line_offset: int) -> WrittenTransaction:
    kept, found = judge(tokens)
    parser = _ChangeParser(kept)
    changes = parser.changes()
    found = [*found, *without_echoes(parser.diagnostics, found)]
    moved = tuple(replace(each, line_offset=each.line_offset + line_offset) for each in found)
    return WrittenTransaction(changes, moved, line_offset)


def _split(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return the tokens between commits, each with an `end`; the last are those behind all commits."""
    pieces: list[list[Token]] = [[]]
    depth = 0
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if _is_commit(tokens, position) and depth <= 0:
            pieces[-1].append(token._replace(kind="end", text="", end=token.start))
            pieces.append([])
            depth = 0
            position += 2
            continue
        depth += (token.kind in _OPENING) - (token.kind in _CLOSING)
        if token.kind == "." and token.text == ".":
            # A bracket left open costs the change it stands in and not the commits behind it.
            following = tokens[position + 1]
            depth = 0 if following.kind in _SIGNS or following.is_fresh else depth
        pieces[-1].append(token)
        position += 1
    return pieces


def _is_commit(tokens: Sequence[Token], position: int) -> bool:
    token = tokens[position]
    if token.kind != "word" or token.text != _COMMIT or tokens[position + 1].kind != ".":
        return False
    return position == 0 or tokens[position - 1].kind not in _SIGNS


def _has_open_comment(tokens: Sequence[Token]) -> bool:
    """Say whether a comment goes on behind the tokens; it is one bad token, the last."""
    return len(tokens) > 1 and tokens[-2].kind == "bad" and tokens[-2].text.startswith("/*")


def _rest_of(source: Source, rest: Sequence[Token], offset: int) -> tuple[list[str], int]:
    """Return the text behind the last commit and how many lines stand before it.

    What stands on the commit's own line keeps its column.
    """
    start = rest[0].start
    line = source.line_of(start)
    begin = source.line_starts[line - 1]
    return [" " * (start - begin) + source.text[start:]], offset + line - 1
