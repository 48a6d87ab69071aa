"""From text to tree."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, raise_if_any
from tidelog.source import Source
from tidelog.syntax.items import ItemParser
from tidelog.syntax.preprocess import ReadFile, preprocess, read_included
from tidelog.syntax.scanner import Token
from tidelog.syntax.tree import Rule, SyntaxTree

_WORD: Final = re.compile(r"[?\w]+")
_BAD: Final = frozenset({"bad", "#", "##"})


def parse(
    source: Source,
    *,
    include_path: Sequence[Path] = (),
    defines: Mapping[str, str] | None = None,
) -> SyntaxTree:
    """Return the tree of a program, includes and macros resolved.

    Includes are looked up beside the including file, then in `include_path`; `defines` are
    macros known from the start. Every mistake is reported: the `TidelogError` raised carries
    the diagnostics of the whole text.

        parse(Source("a.dl", "edge(1, 2).")).items -> (Rule(heads=(Atom("edge", ...),)),)
    """
    read = parse_what_can_be(source, include_path=include_path, defines=defines)
    raise_if_any(read.diagnostics)
    return read.tree


@dataclass(frozen=True, slots=True)
class ReadText:
    """The items of a text that could be read, and what is wrong with the others.

    `lost` are the words of declarations among those; it is None if an `#include` or a macro is wrong,
    since any name may be lost then.
    """

    tree: SyntaxTree
    diagnostics: tuple[Diagnostic, ...]
    lost: frozenset[str] | None


def parse_what_can_be(
    source: Source,
    *,
    include_path: Sequence[Path] = (),
    defines: Mapping[str, str] | None = None,
    read: ReadFile = read_included,
) -> ReadText:
    """Return the items of a text around its mistakes; an item with a mistake in it is left out."""
    tokens, preprocessed = preprocess(source, include_path=include_path, defines=defines or {}, read=read)
    tokens, judged = judge(tokens)
    found = [*preprocessed, *judged]
    parser = ItemParser(tokens)
    items, _ = parser.items()
    found.extend(without_echoes(parser.diagnostics, found))
    wrong = [item for item in items if any(item.span.covers(each.span) for each in found)]
    lost = parser.lost.union(*(_WORD.findall(item.span.text) for item in wrong if not isinstance(item, Rule)))
    places = {id(item) for item in wrong}
    tree = SyntaxTree(tuple(item for item in items if id(item) not in places))
    return ReadText(tree, in_order(found), None if preprocessed else frozenset(lost))


def judge(tokens: Sequence[Token]) -> tuple[list[Token], list[Diagnostic]]:
    """Return the tokens without bad ones, and a diagnostic for each of those.

    An unfinished string is finished, so that it spoils no more than it must.
    """
    if _BAD.isdisjoint({token.kind for token in tokens}):
        return list(tokens), []
    kept: list[Token] = []
    found: list[Diagnostic] = []
    for token in tokens:
        if token.kind not in _BAD:
            kept.append(token)
            continue
        span, text = token.span, token.text
        if text.startswith("/*"):
            found.append(
                Diagnostic(
                    code="unterminated-comment",
                    message="the comment that begins here does not end",
                    span=replace(span, end=min(span.end, span.start + 2)),
                    hint="close it with `*/`",
                )
            )
        elif text.startswith('"'):
            kept.append(token._replace(kind="string", text='""'))
            found.append(
                Diagnostic(
                    code="unterminated-string",
                    message="the string that begins here does not end on its line",
                    span=span,
                    hint=r'close it with `"`; a newline inside a string is written `\n`',
                )
            )
        elif text.startswith("'") and len(text) > 1:
            kept.append(token._replace(kind="string", text='""'))
            found.append(
                Diagnostic(
                    code="bad-character",
                    message="strings are written in double quotes",
                    span=span,
                    hint=f'write "{text[1:-1]}"',
                )
            )
        else:
            found.append(_bad_character(token))
    return kept, found


def _bad_character(token: Token) -> Diagnostic:
    char = token.text
    shown = f"`{char}`" if char.isprintable() else f"the character U+{ord(char[0]):04X}"
    hints = {
        "&": "conjunction is written `,`; the bit operator is `band`",
        "#": "preprocessor lines begin with `#`, and nothing else may stand before it",
        "##": "`##` joins words only inside a macro",
        "~": "the bit operator is `bnot`",
        "'": "a string begins here and does not end; close it",
    }
    return Diagnostic(
        code="bad-character",
        message=f"{shown} is not part of the language",
        span=token.span,
        hint=hints.get(char),
    )


def in_order(found: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics as they stand in the text, one source after the other."""
    sources: dict[int, int] = {}
    for diagnostic in found:
        if diagnostic.span is not None:
            sources.setdefault(id(diagnostic.span.source), len(sources))

    def place(diagnostic: Diagnostic) -> tuple[int, int]:
        span = diagnostic.span
        return (-1, 0) if span is None else (sources[id(span.source)], span.start)

    return tuple(sorted(found, key=place))


def without_echoes(mistakes: Sequence[Diagnostic], found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return the mistakes that do not stand on a line where an earlier stage found one already."""
    known = {(id(d.span.source), d.span.line) for d in found if d.span is not None}
    return [
        mistake
        for mistake in mistakes
        if mistake.span is None or (id(mistake.span.source), mistake.span.line) not in known
    ]
