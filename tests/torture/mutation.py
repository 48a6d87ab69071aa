"""Texts damaged as people and tools damage them, token by token."""

import random
import re
from collections.abc import Callable, Sequence
from typing import Final

_TOKEN: Final = re.compile(r'"(?:\\.|[^"\\\n])*"|\w+|\s+|.', re.DOTALL)
_NUMBER: Final = re.compile(r"\d[\w.]*")

NUMBERS: Final = (
    *("0", "-1", "1u", "1.5", "0x", "0xFFFFFFFFFFFFFFFF", "0b102", "1e999", "1e-999", "-0.0", "00"),
    "1.2.3.4",
    *("9223372036854775807", "9223372036854775808", "18446744073709551616u", "-9223372036854775808"),
    *("127.0.0.1", "999.0.0.1", "1_000", "1" * 30, "1" * 5000, "1.0e", "0.1f", "٣", "²", "1u1"),
)
TEXTS: Final = (
    *('""', '"\\', '"', '"\\x"', '"\\u12"', '"\\\n"', '"a', "'a'", "'", '"\\"', '"\t"', '"\\t\\n\\r\\0"'),
    '"é"',
    *('"\\\\"', '"#"', '"//"', '"/*"', '"*/"', '"%s{0}"', '"' + "a" * 3000 + '"', '"[1, nil]"', '"1"'),
    '"nan"',
)
STRANGE: Final = (
    *("\0", "\x01", "\x7f", "\x85", "\xa0", "\u2028", "\ufeff", "\u200b", "\ufffd", "\U0001f600", "é", "λ"),
    *("e\u0301", "\u202e", "\v", "\f", "\r", "\r\n", "\\\n", "\\", "\u0130", "ß", "\U0010ffff", "؀"),
)
_BRACKETS: Final = (
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    ("!(", ")"),
    ("-(", ")"),
    ("count : {", "}"),
    ("$A(", ")"),
)
_DEPTHS: Final = (1, 1, 1, 2, 3, 10, 120, 160, 1000)
_LONGEST: Final = 20_000

Operation = Callable[[random.Random, list[str], Sequence[str]], None]


def mutate(chance: random.Random, text: str, words: Sequence[str], operations: int) -> str:
    """Return the text after some operations on its tokens; `words` are those of the language."""
    tokens = _TOKEN.findall(text)
    for _ in range(operations):
        operation = chance.choices(_OPERATIONS, _WEIGHTS)[0]
        operation(chance, tokens, words)
        if sum(map(len, tokens)) > _LONGEST:
            return "".join(tokens)[:_LONGEST]
    return "".join(tokens)


def _range(chance: random.Random, tokens: Sequence[str]) -> tuple[int, int]:
    """Return the beginning and the end of a few tokens in a row."""
    begin = chance.randint(0, len(tokens))
    return begin, min(len(tokens), begin + chance.choice((1, 1, 1, 2, 3, 6, 12)))


def _delete(chance: random.Random, tokens: list[str], _: Sequence[str]) -> None:
    begin, end = _range(chance, tokens)
    del tokens[begin:end]


def _repeat(chance: random.Random, tokens: list[str], _: Sequence[str]) -> None:
    begin, end = _range(chance, tokens)
    tokens[begin:begin] = tokens[begin:end] * chance.choice((1, 1, 1, 2, 5, 200))


def _move(chance: random.Random, tokens: list[str], _: Sequence[str]) -> None:
    begin, end = _range(chance, tokens)
    moved = tokens[begin:end]
    del tokens[begin:end]
    place = chance.randint(0, len(tokens))
    tokens[place:place] = moved


def _swap(chance: random.Random, tokens: list[str], _: Sequence[str]) -> None:
    if tokens:
        first, second = chance.randrange(len(tokens)), chance.randrange(len(tokens))
        tokens[first], tokens[second] = tokens[second], tokens[first]


def _copy(chance: random.Random, tokens: list[str], _: Sequence[str]) -> None:
    """Put one token of the text in the place of another, as a wrong name or type stands there."""
    if tokens:
        tokens[chance.randrange(len(tokens))] = chance.choice(tokens)


def _replace(chance: random.Random, tokens: list[str], words: Sequence[str]) -> None:
    if tokens:
        tokens[chance.randrange(len(tokens))] = chance.choice(words)


def _insert(chance: random.Random, tokens: list[str], words: Sequence[str]) -> None:
    tokens.insert(chance.randint(0, len(tokens)), chance.choice(words))


def _nest(chance: random.Random, tokens: list[str], _: Sequence[str]) -> None:
    begin, end = _range(chance, tokens)
    opening, closing = chance.choice(_BRACKETS)
    depth = chance.choice(_DEPTHS)
    tokens.insert(end, closing * depth)
    tokens.insert(begin, opening * depth)


def _write_number(chance: random.Random, tokens: list[str], _: Sequence[str]) -> None:
    places = [place for place, token in enumerate(tokens) if _NUMBER.match(token)] or range(len(tokens))
    if places:
        tokens[chance.choice(places)] = chance.choice(NUMBERS)


def _write_text(chance: random.Random, tokens: list[str], _: Sequence[str]) -> None:
    places = [place for place, token in enumerate(tokens) if token.startswith('"')] or range(len(tokens))
    if places:
        tokens[chance.choice(places)] = chance.choice(TEXTS)


def _write_strange(chance: random.Random, tokens: list[str], _: Sequence[str]) -> None:
    tokens.insert(chance.randint(0, len(tokens)), chance.choice(STRANGE))


def _cut_off(chance: random.Random, tokens: list[str], _: Sequence[str]) -> None:
    text = "".join(tokens)
    tokens[:] = _TOKEN.findall(text[: chance.randint(0, len(text))])


_OPERATIONS: Final[tuple[Operation, ...]] = (
    *(_delete, _repeat, _move, _swap, _copy, _replace, _insert),
    *(_nest, _write_number, _write_text, _write_strange, _cut_off),
)
_WEIGHTS: Final = (6, 4, 3, 4, 10, 8, 5, 2, 3, 2, 1, 1)
