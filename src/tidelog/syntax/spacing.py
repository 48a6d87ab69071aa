"""Where a space stands between two tokens of one line."""

from typing import Final

from tidelog.syntax.cursor import AGGREGATES, OPERATOR_WORDS
from tidelog.syntax.scanner import Token

_RELATION_DIRECTIVES: Final = frozenset({".input", ".output", ".printsize", ".limitsize", ".proofs"})
_DECLARATIONS: Final = frozenset({".decl", ".functor", ".lattice", ".type"})
_TYPE_CONTEXTS: Final = _DECLARATIONS | {".comp", ".init"}
_OPERAND_ENDS: Final = frozenset({"number", "string", ")", "]", "}", "$"})


def is_prefix(token: Token, before: Token | None) -> bool:
    """Return whether the token is an operator that clings to what follows: `!`, `@`, unary `-`."""
    if token.kind in ("!", "@"):
        return True
    if token.kind != "-":
        return False
    if before is None:
        return True
    if before.kind == "word":
        return before.text in OPERATOR_WORDS or before.text in AGGREGATES
    return before.kind not in _OPERAND_ENDS


def is_space_between(
    before: Token, token: Token, *, follows_prefix: bool, directive: str, is_last: bool
) -> bool:
    """Return whether a space belongs between two neighbours.

    `directive` is the word that begins the item (`.decl`), or nothing in rules; `is_last` tells
    that the token ends its item.
    """
    first, second = before.kind, token.kind
    if "bad" in (first, second) or "#" in (first, second) or "##" in (first, second):
        return token.is_spaced
    if second == ".":
        return token.is_spaced and not is_last
    # A dot inside an item joins a qualified name, and `$` begins one only without a space.
    if first == "." or (first == "$" and second == "word"):
        return token.is_spaced
    if follows_prefix or first in ("(", "[") or second in (")", "]", ","):
        return False
    if first == "{" or second == "}":
        return first != "{" or second != "}"
    if second == "[" and first == "word":
        return token.is_spaced
    if second == "(" and first == "word":
        return _is_space_before_bracket(before, token)
    return _is_space_in(directive, before, token)


def _is_space_in(directive: str, before: Token, token: Token) -> bool:
    """Return whether a space belongs around signs that mean different things in different items."""
    first, second = before.kind, token.kind
    if directive in _RELATION_DIRECTIVES and (first in "=-" or second in "=-"):
        return token.is_spaced and "-" in (first, second)
    if directive in _TYPE_CONTEXTS and (second in ("<", ">") or first == "<"):
        return False
    if second == ":":
        return directive not in _DECLARATIONS and directive != ".plan"
    return first != ":" or directive != ".plan"


def _is_space_before_bracket(word: Token, bracket: Token) -> bool:
    if word.text in AGGREGATES:
        # `min(a, b)` is a functor but `min (a + b) * c : ...` an aggregate: the writer shows which.
        return bracket.is_spaced
    return word.text in OPERATOR_WORDS or word.text == "choice-domain"
