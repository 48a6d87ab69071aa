"""The values of number and string tokens."""

import math
import re
from typing import Final

from tidelog.errors import Diagnostic
from tidelog.source import Span
from tidelog.syntax.scanner import Token
from tidelog.syntax.tree import FloatLiteral, NumberLiteral, StringLiteral, UnsignedLiteral

NumericLiteral = NumberLiteral | UnsignedLiteral | FloatLiteral

_SMALLEST_NUMBER: Final = -(2**63)
_INTEGER: Final = re.compile(
    r"(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<binary>[01]+)|(?P<decimal>[0-9]+))(?P<unsigned>u?)"
)
_FLOAT: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_ADDRESS: Final = re.compile(r"([0-9]+)\.([0-9]+)\.([0-9]+)\.([0-9]+)")
_ESCAPE: Final = re.compile(r"\\(.|\n)", re.DOTALL)
_ESCAPES: Final = {
    '"': '"', "'": "'", "\\": "\\", "a": "\a", "b": "\b", "f": "\f",
    "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0", "\n": "",
}  # fmt: skip


class LiteralError(Exception):
    """A token whose value cannot be taken; carries its diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic)


def numeric_literal(token: Token, *, is_negated: bool = False) -> NumericLiteral:
    """Return the literal of a number token, or raise `LiteralError`.

    A number must fit a signed, with the suffix `u` an unsigned 64-bit integer. Behind a minus
    sign one more is allowed: `-9223372036854775808` is one literal and already negative here.

        12 -> NumberLiteral(12)    0xffu -> UnsignedLiteral(255)    127.0.0.1 -> NumberLiteral(2130706433)
    """
    text, span = token.text, token.span
    if len(text) < 19 and text.isdecimal():
        return NumberLiteral(int(text), span=span)
    integer = _INTEGER.fullmatch(text)
    if integer is not None:
        return _integer(integer, span, is_negated=is_negated)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isinf(value):
            raise LiteralError(
                Diagnostic(
                    code="number-too-large",
                    message=f"`{text}` does not fit a 64-bit float",
                    span=span,
                    hint="the largest float is about 1.8e308",
                )
            )
        return FloatLiteral(value, span=span)
    address = _ADDRESS.fullmatch(text)
    if address is not None:
        return _address(address, span)
    raise LiteralError(
        Diagnostic(
            code="bad-number",
            message=f"`{text}` is not a number",
            span=span,
            hint="numbers look like 12, 0x1f, 0b101, 12u, 1.5 or 127.0.0.1; names do not begin with a digit",
        )
    )


def _integer(match: re.Match[str], span: Span, *, is_negated: bool) -> NumericLiteral:
    text = match.group()
    digits, base = match["decimal"], 10
    if match["hex"] is not None:
        digits, base = match["hex"], 16
    elif match["binary"] is not None:
        digits, base = match["binary"], 2
    digits = digits.lstrip("0") or "0"
    # 64 binary digits are the longest that can fit; int() of very long decimal texts is slow or refused.
    value = int(digits, base) if len(digits) <= 64 else 2**64
    if match["unsigned"]:
        if value < 2**64:
            return UnsignedLiteral(value, span=span)
        hint = "the largest unsigned number is 18446744073709551615"
    else:
        if value < 2**63:
            return NumberLiteral(value, span=span)
        if is_negated and value == -_SMALLEST_NUMBER:
            return NumberLiteral(_SMALLEST_NUMBER, span=span)
        hint = "the largest number is 9223372036854775807"
        if value < 2**64:
            hint += f"; write `{text}u` for an unsigned number"
    shown = text if len(text) <= 40 else f"{text[:37]}..."
    raise LiteralError(
        Diagnostic(code="number-too-large", message=f"`{shown}` does not fit 64 bits", span=span, hint=hint)
    )


def _address(match: re.Match[str], span: Span) -> NumberLiteral:
    value = 0
    for part in match.groups():
        if len(part.lstrip("0")) > 3 or int(part) > 255:
            raise LiteralError(
                Diagnostic(
                    code="bad-number",
                    message=f"`{match.group()}` is not an address",
                    span=span,
                    hint="each of the four parts of an address is at most 255",
                )
            )
        value = value * 256 + int(part)
    return NumberLiteral(value, span=span)


def string_literal(token: Token) -> StringLiteral:
    r"""Return the literal of a string token with its escapes resolved, or raise `LiteralError`.

    "a\tb" -> StringLiteral("a	b")
    """
    inside = token.text[1:-1]
    if "\\" not in inside:
        return StringLiteral(inside, span=token.span)

    def resolve(match: re.Match[str]) -> str:
        value = _ESCAPES.get(match[1])
        if value is None:
            span = token.span
            if span.text == token.text:
                start = token.start + 1 + match.start()
                span = Span(token.source, start, start + 2)
            raise LiteralError(
                Diagnostic(
                    code="bad-escape",
                    message=f"`{match.group()}` is not an escape",
                    span=span,
                    hint=r"the escapes are \\ \" \' \a \b \f \n \r \t \v \0; a backslash itself is \\",
                )
            )
        return value

    return StringLiteral(_ESCAPE.sub(resolve, inside), span=token.span)
