"""Reading terms: literals, operators, functors, records, aggregates."""

from abc import abstractmethod
from typing import Final, NoReturn

from tidelog.errors import Diagnostic
from tidelog.source import Span
from tidelog.syntax.cursor import AGGREGATES, FUNCTORS, RESERVED, ParseError, TokenCursor, describe
from tidelog.syntax.literals import LiteralError, numeric_literal
from tidelog.syntax.scanner import Token
from tidelog.syntax.tree import (
    Aggregate,
    Application,
    Body,
    BranchTerm,
    Cast,
    Counter,
    Lookup,
    NilLiteral,
    NumberLiteral,
    RecordTerm,
    StringLiteral,
    Term,
    UserApplication,
    Variable,
    Wildcard,
)

# Every level binds tighter than the one before; all are left associative.
BINARY_LEVELS: Final[tuple[tuple[str, ...], ...]] = (
    ("lor",),
    ("lxor",),
    ("land",),
    ("bor",),
    ("bxor",),
    ("band",),
    ("bshl", "bshr", "bshru"),
    ("+", "-"),
    ("*", "/", "%"),
)
BINARY_LEVEL: Final = {
    operator: level for level, operators in enumerate(BINARY_LEVELS) for operator in operators
}
PREFIXES: Final = {"-": "neg", "bnot": "bnot", "lnot": "lnot"}
_PLAIN_TERMS: Final = frozenset({"number", "string", "word"})
_AFTER_PLAIN_TERM: Final = frozenset({",", ")", "]"})
UNSUPPORTED: Final = frozenset({"__ITERATION__", "iteration", "recursive_iteration_cnt", "debug_delta"})


def unsupported(name: str, span: Span) -> ParseError:
    """Return the error for what Soufflé tells about iterations."""
    return ParseError(
        Diagnostic(
            code="unsupported",
            message=f"`{name}()` is not supported",
            span=span,
            hint="give the relation a column that counts",
        )
    )


class TermParser(TokenCursor):
    """Reads terms; aggregates need bodies, which a subclass reads."""

    @abstractmethod
    def aggregate_body(self) -> Body:
        """Return `{ body }` or a single atom."""

    def term(self) -> Term:
        """Return a term, operators and all."""
        # Most terms are one token; facts by the hundred thousand are read along this way.
        if self.token.kind in _PLAIN_TERMS and self.tokens[self.position + 1].kind in _AFTER_PLAIN_TERM:
            return self._primary()
        self.enter()
        term = self._binary(0)
        self.leave()
        return term

    def terms_until(self, closing: str) -> tuple[Term, ...]:
        """Return the terms between commas up to the closing bracket, which is passed."""
        if self.accept(closing):
            return ()
        terms = [self.term()]
        while self.accept(","):
            terms.append(self.term())
        if self.token.kind != closing:
            self.fail_expected(f"`,` or `{closing}`", _hint_after_term(self.token))
        self.advance()
        return tuple(terms)

    def _binary(self, lowest: int) -> Term:
        """Return operands joined by operators of the level `lowest` or tighter.

        Climbs precedences in one loop, so that a plain operand costs one call and not one for
        every level.
        """
        start = self.token
        left = self._unary()
        while True:
            operator = self.token.text if self.token.kind != "string" else ""
            level = BINARY_LEVEL.get(operator)
            if level is None or level < lowest:
                return left
            self.advance()
            if operator == "*" and self.token.kind == "*" and not self.token.is_spaced:
                self.fail_expected("a term", "a power is written `^`")
            right = self._binary(level + 1)
            left = Application(operator, (left, right), span=self.span_from(start))

    def _unary(self) -> Term:
        """Return a power, or a prefix and its operand: `-x ^ 2` is `-(x ^ 2)`."""
        start = self.token
        functor = PREFIXES.get(start.text) if start.kind in ("-", "word") else None
        if functor is not None:
            self.advance()
            if functor == "neg" and self.token.kind == "number" and self.peek().kind != "^":
                literal = self._number(is_negated=True)
                if isinstance(literal, NumberLiteral) and literal.value < 0:
                    return NumberLiteral(literal.value, span=self.span_from(start))
                return Application("neg", (literal,), span=self.span_from(start))
            self.enter()
            operand = self._unary()
            self.leave()
            return Application(functor, (operand,), span=self.span_from(start))
        base = self._primary()
        if self.token.kind != "^":
            return base
        self.advance()
        self.enter()
        exponent = self._unary()
        self.leave()
        return Application("^", (base, exponent), span=self.span_from(start))

    def _primary(self) -> Term:
        token = self.token
        match token.kind:
            case "word":
                return self._word()
            case "number":
                return self._number()
            case "string":
                self.advance()
                return StringLiteral(self.literal_string(token), span=token.span)
            case "(":
                return self._bracketed()
            case "[":
                self.advance()
                terms = self.terms_until("]")
                return RecordTerm(terms, span=self.span_from(token))
            case "$":
                return self._branch()
            case "@":
                return self._user()
            case _:
                closes = token.kind in (")", "]", "}", ",")
                raise ParseError(
                    self.expected("a term", f"one is missing before `{token.text}`" if closes else None)
                )

    def _bracketed(self) -> Term:
        self.advance()
        inner = self.term()
        self.expect(")", _hint_after_term(self.token))
        return inner

    def _number(self, *, is_negated: bool = False) -> Term:
        token = self.advance()
        try:
            return numeric_literal(token, is_negated=is_negated)
        except LiteralError as error:
            self.diagnostics.append(error.diagnostic)
            return NumberLiteral(0, span=token.span)

    def _word(self) -> Term:
        token = self.token
        text = token.text
        if text not in RESERVED:
            following = self.peek()
            if following.kind == "(":
                self._fail_on_atom(token)
            if self.is_lookup():
                return self._lookup()
            self.advance()
            return Variable(text, span=token.span)
        if text in AGGREGATES:
            return self._aggregate_or_functor()
        if text in FUNCTORS:
            self.advance()
            self.expect("(")
            return Application(text, self.terms_until(")"), span=self.span_from(token))
        self.advance()
        match text:
            case "_":
                return Wildcard(span=token.span)
            case "nil":
                return NilLiteral(span=token.span)
            case "autoinc":
                self.expect("(")
                self.expect(")")
                return Counter(span=self.span_from(token))
            case "as":
                return self._cast(token)
            case _:
                raise ParseError(
                    Diagnostic(
                        code="syntax",
                        message=f"expected a term, found `{text}`",
                        span=token.span,
                        hint=f"`{text}` is a word of the language and cannot be a variable",
                    )
                )

    def _fail_on_atom(self, token: Token) -> NoReturn:
        text = token.text
        if text in UNSUPPORTED:
            raise unsupported(text, token.span)
        raise ParseError(
            Diagnostic(
                code="syntax",
                message=f"`{text}` is not a functor, and an atom cannot be used as a term",
                span=token.span,
                hint=f"a functor of your own is written `@{text}(...)`",
            )
        )

    def is_lookup(self) -> bool:
        """Say whether a name follows with a bracket behind it, as in `price[item]`."""
        place = 1
        while self.peek(place).kind == "." and self.peek(place + 1).kind == "word":
            if self.peek(place).is_spaced:
                return False
            place += 2
        bracket = self.peek(place)
        return bracket.kind == "[" and not bracket.is_spaced

    def _lookup(self) -> Lookup:
        start = self.token
        name, _ = self.qualified_name("a relation")
        self.expect("[")
        return Lookup(name, self.terms_until("]"), span=self.span_from(start))

    def _cast(self, start: Token) -> Cast:
        self.expect("(")
        term = self.term()
        self.expect(",", "a cast is written `as(term, type)`")
        type_name, _ = self.qualified_name("a type")
        self.expect(")")
        return Cast(term, type_name, span=self.span_from(start))

    def _branch(self) -> BranchTerm | Counter:
        """Return `$Name(terms)`, `$Name`, or the old counter `$`."""
        start = self.advance()
        if self.token.kind != "word" or self.token.is_spaced or self.token.text in RESERVED:
            return Counter(span=start.span)
        name, _ = self.qualified_name("a branch")
        terms: tuple[Term, ...] = ()
        if self.accept("("):
            terms = self.terms_until(")")
        return BranchTerm(name, terms, span=self.span_from(start))

    def _user(self) -> UserApplication | Aggregate:
        start = self.advance()
        if self.accept("@"):
            return self._user_aggregate(start)
        name = self.any_word("the name of a functor").text
        self.expect("(")
        return UserApplication(name, self.terms_until(")"), span=self.span_from(start))

    def _user_aggregate(self, start: Token) -> Aggregate:
        """Return `@@name x : init, { body }`; `@@name init, x : { body }` means the same.

        An aggregate that is a class has no init: `@@name x : { body }`.
        """
        name = self.any_word("the name of an aggregate").text
        target: Term | None = None if self.token.kind == ":" else self.term()
        init: Term | None = None
        if target is not None and self.accept(","):
            init, target = target, self.term()
        self.expect(":", "a user aggregate is written `@@name x : init, { body }`")
        if init is None and self.token.kind != "{":
            init = self.term()
            self.expect(",", "a user aggregate is written `@@name x : init, { body }`")
        body = self.aggregate_body()
        return Aggregate(f"@{name}", target, body, init, span=self.span_from(start))

    def _aggregate_or_functor(self) -> Term:
        """Return `min(a, b)`, or `min x : { body }` where the target may stand in brackets too."""
        start = self.token
        functor = start.text
        if self.peek().kind == "(" and self.has_comma_inside(1):
            if functor not in ("min", "max"):
                raise ParseError(
                    Diagnostic(
                        code="syntax",
                        message=f"`{functor}` is an aggregate, not a functor",
                        span=start.span,
                        hint=f"write `{functor} x : {{ body }}`",
                    )
                )
            self.advance()
            self.advance()
            return Application(functor, self.terms_until(")"), span=self.span_from(start))
        self.advance()
        target: Term | None = None if self.token.kind == ":" else self.term()
        shape = "count : { body }" if functor == "count" else f"{functor} x : {{ body }}"
        self.expect(":", f"an aggregate is written `{shape}`")
        if (target is None) != (functor == "count"):
            self.diagnostics.append(
                Diagnostic(
                    code="syntax",
                    message=f"`{functor}` takes {'no' if functor == 'count' else 'a'} term before the colon",
                    span=start.span,
                    hint=f"an aggregate is written `{shape}`",
                )
            )
        body = self.aggregate_body()
        return Aggregate(functor, target, body, span=self.span_from(start))


def _hint_after_term(token: Token) -> str | None:
    """Return what may be meant by a token that cannot follow a term."""
    if token.kind in ("&", "|"):
        return "the bit operators are band, bor and bxor"
    if token.kind == "word":
        return f"is an operator or a comma missing before {describe(token)}?"
    return None
