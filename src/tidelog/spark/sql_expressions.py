"""Expressions of recursive SQL, read token by token."""

from collections.abc import Sequence
from typing import Final, NoReturn

from tidelog.errors import TidelogError
from tidelog.program.suggest import did_you_mean
from tidelog.spark.sql_query import span_of
from tidelog.spark.sql_terms import (
    AllOf,
    AnyOf,
    CallTerm,
    CastTerm,
    ColumnTerm,
    ConstantTerm,
    SqlComparison,
    SqlCondition,
    SqlTerm,
    SqlTruth,
    negated,
)
from tidelog.spark.sql_tokens import SqlToken, sql_mistake
from tidelog.values import Kind

_COMPARISONS: Final = {
    "=": "=",
    "==": "=",
    "<>": "<>",
    "!=": "<>",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
}
FUNCTIONS: Final = ("concat", "least", "greatest")
_AGGREGATES: Final = ("count", "sum", "min", "max", "avg", "collect_list", "collect_set", "first", "last")
_TYPES: Final = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "LONG"), Kind.NUMBER),
    **dict.fromkeys(("DOUBLE", "FLOAT", "REAL"), Kind.FLOAT),
    "STRING": Kind.SYMBOL,
}
_BEFORE: Final = "compute it in a separate query first, or in the last query"


class SqlExpressions:
    """A way through tokens, with what SQL has in it: terms, and conditions over them."""

    def __init__(self, tokens: Sequence[SqlToken]) -> None:
        self.tokens = tokens
        self.place = 0

    @property
    def at_end(self) -> bool:
        """Say whether all tokens were read."""
        return self.place >= len(self.tokens)

    @property
    def token(self) -> SqlToken:
        """Return the next token; at the end the last one."""
        return self.tokens[min(self.place, len(self.tokens) - 1)]

    def takes(self, *words: str) -> bool:
        """Read one of some words or signs, if it is next."""
        if self.at_end or not self.token.is_word(*words):
            return False
        self.place += 1
        return True

    def expect(self, word: str) -> None:
        """Read a word or sign that must be next."""
        if not self.takes(word):
            self.refuse(f"`{word}` is expected here", self.token.span)

    def name(self) -> SqlToken:
        """Read a name."""
        token = self.token
        if self.at_end or not token.is_name:
            self.refuse("a name is expected here", token.span)
        self.place += 1
        return token

    def refuse(self, message: str, span: object, hint: str | None = None) -> NoReturn:
        """Raise the diagnostic for what cannot be evaluated."""
        raise TidelogError([sql_mistake(message, span, hint)])  # type: ignore[arg-type]

    # --- conditions ----------------------------------------------------------------------------

    def condition(self) -> SqlCondition:
        """Read conditions with OR between them."""
        found = [self._all_of()]
        while self.takes("OR"):
            found.append(self._all_of())
        return found[0] if len(found) == 1 else AnyOf(tuple(found))

    def _all_of(self) -> SqlCondition:
        found = [self._one()]
        while self.takes("AND"):
            found.append(self._one())
        return found[0] if len(found) == 1 else AllOf(tuple(found))

    def _one(self) -> SqlCondition:
        if self.takes("NOT"):
            return negated(self._one())
        if self.takes("TRUE"):
            return SqlTruth(holds=True)
        if self.takes("FALSE"):
            return SqlTruth(holds=False)
        if self.token.is_word("EXISTS"):
            self.refuse("EXISTS cannot be part of a recursive branch", self.token.span, "write a join")
        start = self.place
        if self.takes("("):
            # A bracket may be around conditions or around the first term of a comparison.
            try:
                inner = self.condition()
                self.expect(")")
            except TidelogError:
                self.place = start
            else:
                return inner
        return self._comparison()

    def _comparison(self) -> SqlCondition:
        start = self.place
        left = self.term()
        if self.takes("IS"):
            is_negated = self.takes("NOT")
            self.expect("NULL")
            return SqlTruth(holds=is_negated)
        is_negated = self.takes("NOT")
        found: SqlCondition
        if self.takes("BETWEEN"):
            low = self.term()
            self.expect("AND")
            high = self.term()
            span = span_of(self.tokens[start : self.place])
            found = AllOf((SqlComparison(">=", left, low, span), SqlComparison("<=", left, high, span)))
        elif self.takes("IN"):
            found = self._among(left, start)
        else:
            token = self.token
            operator = None if self.at_end else _COMPARISONS.get(token.text)
            if operator is None or is_negated:
                self.refuse("a comparison is expected here", token.span, "=, <>, <, <=, >, >=, BETWEEN, IN")
            self.place += 1
            right = self.term()
            found = SqlComparison(operator, left, right, span_of(self.tokens[start : self.place]))
        return negated(found) if is_negated else found

    def _among(self, left: SqlTerm, start: int) -> SqlCondition:
        self.expect("(")
        if self.token.is_word("SELECT", "WITH"):
            self.refuse("IN takes values here, not a query", self.token.span, "write a join")
        values = [self.term()]
        while self.takes(","):
            values.append(self.term())
        self.expect(")")
        span = span_of(self.tokens[start : self.place])
        return AnyOf(tuple(SqlComparison("=", left, value, span) for value in values))

    # --- terms ---------------------------------------------------------------------------------

    def term(self) -> SqlTerm:
        """Read sums and texts that are joined."""
        start = self.place
        found = self._product()
        while not self.at_end and self.token.is_word("+", "-", "||"):
            operator = self.token.text
            self.place += 1
            operands = (found, self._product())
            found = CallTerm(operator, operands, span_of(self.tokens[start : self.place]))
        return found

    def _product(self) -> SqlTerm:
        start = self.place
        found = self._unary()
        while not self.at_end and self.token.is_word("*", "/", "%", "DIV"):
            operator = self.token.text.lower()
            self.place += 1
            operands = (found, self._unary())
            found = CallTerm(operator, operands, span_of(self.tokens[start : self.place]))
        return found

    def _unary(self) -> SqlTerm:
        start = self.place
        if self.takes("-"):
            inner = self._unary()
            span = span_of(self.tokens[start : self.place])
            if isinstance(inner, ConstantTerm) and not isinstance(inner.value, str):
                return ConstantTerm(-inner.value, span)
            return CallTerm("negative", (inner,), span)
        self.takes("+")
        return self._primary()

    def _primary(self) -> SqlTerm:
        token = self.token
        if self.at_end:
            self.refuse("a value is expected here", token.span)
        if self.takes("("):
            if self.token.is_word("SELECT", "WITH"):
                self.refuse("a query cannot be a value here", self.token.span, "write a join")
            inner = self.term()
            self.expect(")")
            return inner
        self.place += 1
        match token.kind:
            case "number":
                is_whole = token.text.isdecimal()
                return ConstantTerm(int(token.text) if is_whole else float(token.text), token.span)
            case "text":
                return ConstantTerm(token.value, token.span)
            case "word" | "quoted":
                return self._named(token)
            case _:
                return self.refuse("a value is expected here", token.span)

    def _named(self, token: SqlToken) -> SqlTerm:
        """Read a column, a cast or a call, whose first token was read."""
        if token.is_word("NULL", "CASE", "INTERVAL", "DATE", "TIMESTAMP", "ARRAY", "STRUCT") and not (
            not self.at_end and self.token.text == "."
        ):
            message = f"{token.text.upper()} cannot be part of a recursive branch"
            self.refuse(message, token.span, _BEFORE)
        if self.takes("."):
            column = self.name()
            return ColumnTerm(token.value, column.value, column.span)
        if not self.takes("("):
            return ColumnTerm(None, token.value, token.span)
        if token.is_word("CAST"):
            return self._cast(token)
        name = token.value
        if name in _AGGREGATES:
            hint = "use shortest_paths for the least, or group in the last query"
            self.refuse(
                f"`{name}` is an aggregate, which cannot be part of a recursive branch", token.span, hint
            )
        if name not in FUNCTIONS:
            self.refuse(
                f"the function `{name}` cannot be part of a recursive branch",
                token.span,
                did_you_mean(name, FUNCTIONS, _BEFORE),
            )
        terms = [self.term()]
        while self.takes(","):
            terms.append(self.term())
        self.expect(")")
        return CallTerm(name, tuple(terms), token.span)

    def _cast(self, token: SqlToken) -> SqlTerm:
        inner = self.term()
        self.expect("AS")
        wanted = self.name()
        self.expect(")")
        kind = _TYPES.get(wanted.text.upper())
        if kind is None:
            hint = f"casts are to {', '.join(sorted(_TYPES))}"
            self.refuse(f"`{wanted.text}` is not a type of a recursive branch", wanted.span, hint)
        return CastTerm(inner, kind, token.span)
