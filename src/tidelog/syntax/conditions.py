"""The integer expressions of `#if` and `#elif`."""

from collections.abc import Callable, Sequence
from typing import Final

from tidelog.syntax.literals import LiteralError, numeric_literal
from tidelog.syntax.scanner import Token
from tidelog.syntax.tree import FloatLiteral

_MAX_NESTING: Final = 50
_MASK: Final = 2**64


def _divide(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


# Loosest first, as in C.
_LEVELS: Final[tuple[dict[str, Callable[[int, int], int]], ...]] = (
    {"||": lambda left, right: int(bool(left) or bool(right))},
    {"&&": lambda left, right: int(bool(left) and bool(right))},
    {"|": lambda left, right: left | right},
    {"^": lambda left, right: left ^ right},
    {"&": lambda left, right: left & right},
    {"==": lambda left, right: int(left == right), "!=": lambda left, right: int(left != right)},
    {
        "<": lambda left, right: int(left < right),
        "<=": lambda left, right: int(left <= right),
        ">": lambda left, right: int(left > right),
        ">=": lambda left, right: int(left >= right),
    },
    {"<<": lambda left, right: left << (right % 64), ">>": lambda left, right: left >> (right % 64)},
    {"+": lambda left, right: left + right, "-": lambda left, right: left - right},
    {
        "*": lambda left, right: left * right,
        "/": _divide,
        "%": lambda left, right: left - right * _divide(left, right),
    },
)
_LEVEL: Final = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}
# Operators the scanner cuts in two, since the language itself does not have them.
_JOINED: Final = frozenset({"&&", "||", "==", "<<", ">>"})


class ConditionError(Exception):
    """The expression is not one; says why and where."""

    def __init__(self, message: str, token: Token) -> None:
        self.message = message
        self.token = token
        super().__init__(message)


def evaluate_condition(tokens: Sequence[Token], line: Token) -> bool:
    """Return whether the expression, macros already replaced, is not zero; or raise `ConditionError`.

    Words that are left count as 0. `line` is the `#if` itself, for messages.

        2 * 3 > 5 && !0 -> True
    """
    if not tokens:
        raise ConditionError("the condition is empty", line)
    reader = _Reader(tokens, line)
    value = reader.choice()
    if reader.position < len(reader.tokens):
        token = reader.tokens[reader.position]
        raise ConditionError(f"`{token.text}` is not expected in a condition", token)
    return value != 0


class _Reader:
    def __init__(self, tokens: Sequence[Token], line: Token) -> None:
        self.tokens = _joined(tokens)
        self.line = line
        self.position = 0
        self.nesting = 0

    def choice(self) -> int:
        """Return `a ? b : c`, or what stands before the question mark."""
        self.nesting += 1
        if self.nesting > _MAX_NESTING:
            raise ConditionError("the condition is nested too deeply", self.line)
        value = self._level(0)
        if self._accept("?"):
            yes = self.choice()
            if not self._accept(":"):
                raise ConditionError("expected `:` after `?`", self._here())
            no = self.choice()
            value = yes if value else no
        self.nesting -= 1
        return value

    def _level(self, lowest: int) -> int:
        """Return operands joined by operators of the level `lowest` or tighter."""
        value = self._operand()
        while self.position < len(self.tokens):
            token = self.tokens[self.position]
            level = _LEVEL.get(token.text, -1)
            if level < lowest:
                break
            self.position += 1
            right = self._level(level + 1)
            try:
                value = _wrap(_LEVELS[level][token.text](value, right))
            except ZeroDivisionError:
                raise ConditionError("division by zero", token) from None
        return value

    def _operand(self) -> int:
        signs: list[str] = []
        while self.position < len(self.tokens) and self.tokens[self.position].text in ("!", "-", "+", "~"):
            signs.append(self.tokens[self.position].text)
            self.position += 1
        value = self._plain()
        for sign in reversed(signs):
            value = {"!": int(not value), "-": -value, "+": value, "~": ~value}[sign]
        return _wrap(value)

    def _plain(self) -> int:
        token = self._here()
        if self.position >= len(self.tokens):
            raise ConditionError("the condition ends too early", token)
        self.position += 1
        if token.kind == "(":
            value = self.choice()
            if not self._accept(")"):
                raise ConditionError("expected `)`", self._here())
            return value
        if token.kind == "word":
            return int(token.text == "true")
        if token.kind == "number":
            try:
                literal = numeric_literal(token._replace(text=token.text.rstrip("lLU")))
            except LiteralError as error:
                raise ConditionError(error.diagnostic.message, token) from error
            if not isinstance(literal, FloatLiteral):
                return literal.value
        raise ConditionError(f"`{token.text}` is not an integer", token)

    def _accept(self, text: str) -> bool:
        if self.position < len(self.tokens) and self.tokens[self.position].text == text:
            self.position += 1
            return True
        return False

    def _here(self) -> Token:
        return self.tokens[self.position] if self.position < len(self.tokens) else self.line


def _joined(tokens: Sequence[Token]) -> list[Token]:
    joined: list[Token] = []
    for token in tokens:
        if joined and not token.is_spaced and joined[-1].text + token.text in _JOINED:
            joined[-1] = joined[-1]._replace(text=joined[-1].text + token.text, end=token.end)
        else:
            joined.append(token)
    return joined


def _wrap(value: int) -> int:
    return (value + _MASK // 2) % _MASK - _MASK // 2
