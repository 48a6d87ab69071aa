"""A place in a list of tokens, and what to say when the next one is not what was hoped for."""

from collections.abc import Sequence
from functools import cached_property
from typing import Final, NoReturn

from tidelog.errors import Diagnostic
from tidelog.source import Span
from tidelog.syntax.literals import LiteralError, string_literal
from tidelog.syntax.scanner import DIRECTIVES, Token

# Deeper text is refused: the parser and the passes behind it recurse over what it reads.
MAX_NESTING: Final = 100

_OPENING: Final = {"(": ")", "[": "]", "{": "}"}
_CLOSING: Final = frozenset(_OPENING.values())

# What is printed without a space before it.
_CLOSE: Final = frozenset("()[]}<>,.")

# Words that begin or join terms, so they can name neither variables nor relations.
FUNCTORS: Final = frozenset(
    {
        "cat", "ftoi", "ftou", "itof", "itou", "ord", "range", "strlen", "substr",
        "to_float", "to_number", "to_string", "to_unsigned", "utof", "utoi",
    }
)  # fmt: skip
AGGREGATES: Final = frozenset({"count", "max", "mean", "min", "sum"})
OPERATOR_WORDS: Final = frozenset(
    {"band", "bnot", "bor", "bshl", "bshr", "bshru", "bxor", "land", "lnot", "lor", "lxor"}
)
RESERVED: Final = (
    FUNCTORS
    | AGGREGATES
    | OPERATOR_WORDS
    | {"_", "as", "autoinc", "contains", "false", "match", "nil", "true"}
)


class ParseError(Exception):
    """Leaves the item being read; carries its diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic)


class TokenCursor:
    """Reads tokens one after another; knows which brackets belong together.

    `tokens` ends with a token of kind `end`. Mistakes that do not stop the reading of an item
    are added to `diagnostics`; the others are raised as `ParseError`.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.token = tokens[0]
        self.diagnostics: list[Diagnostic] = []
        self.nesting = 0

    @cached_property
    def _partners(self) -> dict[int, int]:
        """Return the closing bracket of every opening one; texts of plain facts never ask."""
        return _partners(self.tokens)

    # --- moving ---

    def advance(self) -> Token:
        """Return the token here and step behind it; stays at the end."""
        token = self.token
        if token.kind != "end":
            self.position += 1
            self.token = self.tokens[self.position]
        return token

    def peek(self, distance: int = 1) -> Token:
        """Return the token that many places ahead, or the last one."""
        return self.tokens[min(self.position + distance, len(self.tokens) - 1)]

    def accept(self, kind: str) -> bool:
        """Step behind the token and return True if it is of this kind."""
        if self.token.kind != kind:
            return False
        self.advance()
        return True

    def expect(self, kind: str, hint: str | None = None) -> Token:
        """Return the token and step behind it, or raise if it is of another kind."""
        if self.token.kind != kind:
            self.fail_expected(f"`{kind}`", hint)
        return self.advance()

    def is_word(self, text: str) -> bool:
        """Return whether the token here is this word."""
        return self.token.kind == "word" and self.token.text == text

    def after_partner(self, distance: int = 0) -> Token | None:
        """Return the token behind the bracket that closes the one `distance` ahead, if any does."""
        partner = self._partners.get(self.position + distance)
        return None if partner is None else self.tokens[partner + 1]

    def has_comma_inside(self, distance: int) -> bool:
        """Return whether a comma between terms stands directly inside the bracket `distance` ahead.

        The comma before the braces of a user aggregate is not one.
        """
        position = self.position + distance
        end = self._partners.get(position, len(self.tokens))
        position += 1
        while position < end and self.tokens[position].kind != "end":
            if self.tokens[position].kind == "," and self.tokens[position + 1].kind != "{":
                return True
            position = self._partners.get(position, position) + 1
        return False

    def pass_annotations(self) -> None:
        """Step behind annotations `@[...]` and `@![...]`: they are meant for other tools."""
        while self.token.kind == "@":
            start = self.position
            distance = 2 if self.peek().kind == "!" else 1
            if self.peek(distance).kind != "[":
                return
            depth = 0
            while True:
                # Any token may stand inside, directives too, so partners are not known here.
                kind = self.advance().kind
                depth += (kind in _OPENING) - (kind in _CLOSING)
                if kind == "]" and depth == 0:
                    break
                if kind == "end":
                    self.position, self.token = start, self.tokens[start]
                    self.fail_expected("an annotation", "an annotation is written `@[...]`")

    # --- names ---

    def name(self, what: str) -> Token:
        """Return a word that may name something, or raise."""
        token = self.token
        if token.kind != "word":
            self.fail_expected(what)
        if token.text in RESERVED:
            raise ParseError(
                Diagnostic(
                    code="reserved-word",
                    message=f"`{token.text}` is a word of the language and cannot be {what}",
                    span=token.span,
                    hint="choose another name",
                )
            )
        return self.advance()

    def any_word(self, what: str) -> Token:
        """Return any word but `_`: columns, fields and keys cannot be mistaken for terms."""
        if self.token.kind != "word" or self.token.text == "_":
            self.fail_expected(what)
        return self.advance()

    def qualified_name(self, what: str) -> tuple[str, Span]:
        """Return a name with its qualifiers, such as `inst.edge`, and its span.

        A dot belongs to the name only if no space stands on either side of it, because a dot
        also ends a rule.
        """
        first = self.name(what)
        if self.token.kind != "." or not self._is_dot_of_name():
            return first.text, first.span
        parts = [first.text]
        last = first
        while self.token.kind == "." and self._is_dot_of_name():
            self.advance()
            last = self.advance()
            parts.append(last.text)
        if last.text in DIRECTIVES and self.token.kind not in _CLOSE:
            self._fail_like_directive(last)
        return ".".join(parts), first.span.to(last.span)

    def _fail_like_directive(self, last: Token) -> NoReturn:
        """Raise, for with a space behind it the name would end in a directive: `k.plan {`."""
        raise ParseError(
            Diagnostic(
                code="reserved-word",
                message=f"`.{last.text}` is a directive, and can end a name only before a bracket or a comma",
                span=last.span,
                hint="choose another name",
            )
        )

    def _is_dot_of_name(self) -> bool:
        following = self.peek()
        return not self.token.is_spaced and following.kind == "word" and not following.is_spaced

    def string(self, what: str) -> str:
        """Return the value of a string, or raise."""
        if self.token.kind != "string":
            self.fail_expected(what, "write it in double quotes")
        return self.literal_string(self.advance())

    def literal_string(self, token: Token) -> str:
        """Return the value of a string token; a bad escape is reported and read as nothing."""
        try:
            return string_literal(token).value
        except LiteralError as error:
            self.diagnostics.append(error.diagnostic)
            return ""

    # --- spans and nesting ---

    def span_from(self, start: Token) -> Span:
        """Return the span from a token to the one before the cursor."""
        last = self.tokens[self.position - 1] if self.position else self.token
        if last.source is start.source:
            return Span(start.source, min(start.start, last.start), max(start.end, last.end))
        return start.span

    def enter(self) -> None:
        """Go one level deeper, or raise when the text is nested too deeply."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise ParseError(
                Diagnostic(
                    code="nested-too-deeply",
                    message=f"the text is nested more than {MAX_NESTING} levels deep here",
                    span=self.token.span,
                    hint="split it with auxiliary relations or variables",
                )
            )

    def leave(self) -> None:
        """Come back one level."""
        self.nesting -= 1

    # --- mistakes ---

    def fail_expected(self, what: str, hint: str | None = None) -> NoReturn:
        """Raise that something else was expected here."""
        raise ParseError(self.expected(what, hint))

    def expected(self, what: str, hint: str | None = None) -> Diagnostic:
        """Return a diagnostic that says what was expected and what was found.

        When the line ended too early, it points behind the last token before, where the
        missing text belongs.
        """
        token = self.token
        span = token.span
        if token.is_fresh and self.position > 0:
            before = self.tokens[self.position - 1]
            span = Span(before.source, before.end, before.end)
        return Diagnostic(
            code="syntax", message=f"expected {what}, found {describe(token)}", span=span, hint=hint
        )


def describe(token: Token) -> str:
    """Return the words for a token in a message."""
    if token.kind == "end":
        return "the end of the text"
    if token.kind == "string":
        return "a string"
    return f"`{token.text}`"


def _partners(tokens: Sequence[Token]) -> dict[int, int]:
    partners: dict[int, int] = {}
    open_brackets: list[int] = []
    for position, token in enumerate(tokens):
        kind = token.kind
        if kind in _OPENING:
            open_brackets.append(position)
        elif kind in _CLOSING and open_brackets:
            # A wrong closing bracket is passed over: the parser reports it where it reads it.
            if _OPENING[tokens[open_brackets[-1]].kind] == kind:
                partners[open_brackets.pop()] = position
        elif kind == "directive":
            open_brackets.clear()
    return partners


def begins_query(tokens: Sequence[Token]) -> bool:
    """Say whether tokens begin with `?-`; alone, `?` is a word."""
    return len(tokens) > 1 and (tokens[0].text, tokens[1].text) == ("?", "-") and not tokens[1].is_spaced
