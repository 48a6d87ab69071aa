"""The names in a program's text, each with what it names.

Read from tokens and not from the tree, so that a text that does not parse has its names too. What stands
in conditional parts is included; macros are not expanded.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.source import Source
from tidelog.syntax.cursor import RESERVED
from tidelog.syntax.scanner import Token, scan

_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_ABOUT_RELATIONS: Final = frozenset({".input", ".output", ".printsize", ".limitsize", ".proofs", ".override"})


class NameKind(Enum):
    """What a name can name."""

    RELATION = "relation"
    TYPE = "type"
    FUNCTOR = "functor"
    BRANCH = "branch"
    COMPONENT = "component"
    INSTANCE = "instance"
    COLUMN = "column"
    VARIABLE = "variable"


@dataclass(frozen=True, slots=True)
class Name:
    """A name where it is written; variables and columns belong to the item with number `item`.

    `is_inside` tells that it stands in the braces of a component.
    """

    kind: NameKind
    text: str
    start: int
    end: int
    item: int
    is_declaration: bool = False
    is_inside: bool = False

    @property
    def is_local(self) -> bool:
        """Say whether it is known in its item only."""
        return self.kind in (NameKind.VARIABLE, NameKind.COLUMN)

    @property
    def last(self) -> str:
        """Return the name without qualifiers."""
        return self.text.rpartition(".")[2]


def find_names(source: Source) -> tuple[Name, ...]:
    """Return the names of a text in the order of the text."""
    return tuple(sorted(_Reader(scan(source)).names(), key=lambda name: name.start))


class _Reader:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = _without_lines(tokens)
        self.at = 0
        self.item = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def peek(self, distance: int = 1) -> Token:
        return self.tokens[min(self.at + distance, len(self.tokens) - 1)]

    def names(self) -> Iterator[Name]:
        """Yield the names of one item after the other."""
        while self.token.kind != "end":
            self.item += 1
            if self.token.kind == "directive":
                yield from self._directive()
            elif self.token.kind == "}":
                self.depth = max(0, self.depth - 1)
                self.at += 1
            else:
                yield from self._rule()

    # --- directives ---

    def _directive(self) -> Iterator[Name]:
        word = self.token.text
        self.at += 1
        match word:
            case ".decl":
                yield from self._declared(NameKind.RELATION)
                yield from self._columns("(", ")")
            case ".functor":
                yield from self._declared(NameKind.FUNCTOR)
                yield from self._columns("(", ")")
                if self._accept(":"):
                    yield from self._named(NameKind.TYPE)
            case ".type" | ".number_type" | ".symbol_type":
                yield from self._type()
            case ".lattice":
                yield from self._named(NameKind.TYPE)
                yield from self._rule(ends_with="}")
            case ".comp":
                yield from self._component()
            case ".init":
                yield from self._declared(NameKind.INSTANCE)
                if self._accept("="):
                    yield from self._named(NameKind.COMPONENT)
                    yield from self._parameters()
            case word if word in _ABOUT_RELATIONS:
                yield from self._relations()

    def _declared(self, kind: NameKind) -> Iterator[Name]:
        yield from self._named(kind, is_declaration=True)
        while self.token.kind == "," and self.peek().kind == "word":
            self.at += 1
            yield from self._named(kind, is_declaration=True)

    def _named(self, kind: NameKind, *, is_declaration: bool = False) -> Iterator[Name]:
        """Yield the name here, with its qualifiers, and step behind it."""
        if self.token.kind != "word":
            return
        first = last = self.token
        self.at += 1
        parts = [first.text]
        while self._is_dot_of_name():
            last = self.peek()
            parts.append(last.text)
            self.at += 2
        is_inside = self.depth > 0
        text = ".".join(parts)
        yield Name(kind, text, first.start, last.end, self.item, is_declaration, is_inside)

    def _is_dot_of_name(self) -> bool:
        dot, following = self.token, self.peek()
        is_close = not dot.is_spaced and not following.is_spaced
        return dot.kind == "." and following.kind == "word" and is_close

    def _columns(self, opening: str, closing: str) -> Iterator[Name]:
        """Yield `name: type` between brackets; a type may stand alone."""
        if not self._accept(opening):
            return
        while self.token.kind not in (closing, "directive", "end"):
            if self.token.kind != "word":
                self.at += 1
            elif self.peek().kind == ":":
                yield from self._named(NameKind.COLUMN, is_declaration=True)
                self.at += 1
                yield from self._named(NameKind.TYPE)
            else:
                yield from self._named(NameKind.TYPE)
        self._accept(closing)
        # Qualifiers follow, in a relation's declaration.
        while self.token.kind in ("word", "(", ")", ",") and not self.token.is_fresh:
            if self.token.kind == "word" and self._is_applied() and self.token.text != "choice-domain":
                return
            self.at += 1

    def _type(self) -> Iterator[Name]:
        yield from self._named(NameKind.TYPE, is_declaration=True)
        if not (self._accept("<:") or self._accept("=")):
            return
        while True:
            if self.token.kind == "[":
                yield from self._columns("[", "]")
            elif self.peek().kind == "{":
                yield from self._named(NameKind.BRANCH, is_declaration=True)
                yield from self._columns("{", "}")
            else:
                yield from self._named(NameKind.TYPE)
            if not self._accept("|"):
                return

    def _component(self) -> Iterator[Name]:
        yield from self._named(NameKind.COMPONENT, is_declaration=True)
        yield from self._parameters()
        if self._accept(":"):
            while self.token.kind == "word":
                yield from self._named(NameKind.COMPONENT)
                yield from self._parameters()
                self._accept(",")
        if self._accept("{"):
            self.depth += 1

    def _parameters(self) -> Iterator[Name]:
        if not self._accept("<"):
            return
        while self.token.kind in ("word", ","):
            yield from self._named(NameKind.TYPE)
            self._accept(",")
        self._accept(">")

    def _relations(self) -> Iterator[Name]:
        yield from self._named(NameKind.RELATION)
        while True:
            if self.token.kind == "(":
                self._skip_brackets()
            if self.token.kind != "," or self.peek().kind != "word":
                return
            self.at += 1
            yield from self._named(NameKind.RELATION)

    # --- rules ---

    def _rule(self, ends_with: str = ".") -> Iterator[Name]:
        """Yield the names up to the dot that ends a rule, or to the next directive."""
        brackets = 0
        casts: list[int] = []
        while self.token.kind not in ("directive", "end"):
            token, before = self.token, self.tokens[self.at - 1] if self.at else self.token
            if token.kind in _OPENING:
                brackets += 1
                casts += [brackets] if before.text == "as" else []
            elif token.kind in _CLOSING:
                if brackets == 0 and token.kind == "}":
                    # The end of the component around it.
                    return
                brackets -= 1
                casts = [each for each in casts if each <= brackets]
            if token.kind == "word" and (token.text not in RESERVED or before.kind in ("@", "$")):
                is_type = before.kind == "," and bool(casts) and casts[-1] == brackets
                yield from self._of_rule(before.kind, is_type=is_type)
                continue
            self.at += 1
            if token.kind == ends_with and brackets <= 0:
                return

    def _of_rule(self, before: str, *, is_type: bool) -> Iterator[Name]:
        if before == "@":
            kind = NameKind.FUNCTOR
        elif before == "$":
            kind = NameKind.BRANCH
        elif is_type:
            kind = NameKind.TYPE
        else:
            kind = NameKind.RELATION if self._is_applied() else NameKind.VARIABLE
        if kind is NameKind.VARIABLE:
            # A dot after it ends the rule, wherever the next one begins.
            yield Name(kind, self.token.text, self.token.start, self.token.end, self.item)
            self.at += 1
        else:
            yield from self._named(kind)

    def _is_applied(self) -> bool:
        """Say whether a bracket follows the name here and its qualifiers."""
        at = self.at + 1
        while at + 1 < len(self.tokens) and self.tokens[at].kind == "." and not self.tokens[at].is_spaced:
            if self.tokens[at + 1].kind != "word" or self.tokens[at + 1].is_spaced:
                break
            at += 2
        following = self.tokens[at]
        return following.kind == "(" or (following.kind == "[" and not following.is_spaced)

    # --- moving ---

    def _accept(self, kind: str) -> bool:
        if self.token.kind != kind:
            return False
        self.at += 1
        return True

    def _skip_brackets(self) -> None:
        depth = 0
        while self.token.kind not in ("end", "directive"):
            depth += (self.token.kind in _OPENING) - (self.token.kind in _CLOSING)
            self.at += 1
            if depth <= 0:
                return


def _without_lines(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens without preprocessor lines."""
    kept: list[Token] = []
    is_line = False
    for token in tokens:
        if token.is_fresh:
            is_line = token.kind == "#"
        if not is_line or token.kind == "end":
            kept.append(token)
    return kept
