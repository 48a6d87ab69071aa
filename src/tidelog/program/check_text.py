"""Every mistake in a text, around mistakes in its syntax."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.program.build import build_program
from tidelog.program.nodes import Program
from tidelog.source import Span
from tidelog.syntax.parser import ReadText, in_order
from tidelog.syntax.tree import SyntaxTree

_WORD: Final = re.compile(r"[?\w]+")


def check_text(
    read: ReadText,
    complete: Callable[[SyntaxTree], SyntaxTree] = lambda tree: tree,
    further: Callable[[Program], Iterable[Diagnostic]] = lambda _: (),
) -> tuple[Diagnostic, ...]:
    """Return what is wrong with a program of which `read` is what could be read.

    What could be read around mistakes in the syntax is checked too, but for items that use a name which
    may have been declared where a mistake is. Warnings wait until the whole can be read. `complete` adds
    declarations that the text need not have, such as those of a tree; `further` finds what later stages
    refuse.
    """
    is_whole = not any(each.severity is Severity.ERROR for each in read.diagnostics)
    if not is_whole and read.lost is None:
        return read.diagnostics
    try:
        program, found = build_program(complete(read.tree))
        found = (*found, *further(program))
    except TidelogError as error:
        found = error.diagnostics
    if is_whole:
        return found
    unsure = _spans_with(read.lost or frozenset(), read.tree)
    errors = (each for each in found if each.severity is Severity.ERROR)
    sure = (each for each in errors if not any(span.covers(each.span) for span in unsure))
    return in_order([*read.diagnostics, *sure])


def _spans_with(names: frozenset[str], tree: SyntaxTree) -> list[Span]:
    """Return the places of items that use one of the names."""
    return [item.span for item in tree.items if not names.isdisjoint(_WORD.findall(item.span.text))]
