"""A program's text in canonical layout, comments and preprocessor lines kept."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tidelog.source import Source
from tidelog.syntax.layout import lay_out
from tidelog.syntax.parser import parse
from tidelog.syntax.scanner import scan
from tidelog.syntax.tree import Component, Item, Rule, Subsumption


def format_text(
    source: Source,
    *,
    include_path: Sequence[Path] = (),
    defines: Mapping[str, str] | None = None,
) -> str:
    """Return the text laid out anew; raises `TidelogError` if it does not parse.

    The result parses to an equal tree and formatting it again changes nothing. A text whose
    meaning depends on its layout (`__LINE__`, or a macro that quotes what it is given) is
    returned as it is.

        format_text(Source("a.dl", "edge( 1,2 ).edge(2,3)."))  ->  edge(1, 2).
                                                                   edge(2, 3).
    """
    tree = parse(source, include_path=include_path, defines=defines)
    text = lay_out(source.text, frozenset(_starts(tree.items, source)))
    result = Source(source.name, text)
    if _words(result) != _words(source):
        return source.text
    if parse(result, include_path=include_path, defines=defines) != tree:
        return source.text
    return text


def _starts(items: Sequence[Item], source: Source) -> Iterator[int]:
    """Yield where rules begin; other items show it by their directive."""
    for item in items:
        if isinstance(item, Rule | Subsumption) and item.span.source is source:
            yield item.span.start
        if isinstance(item, Component):
            yield from _starts(item.items, source)


def _words(source: Source) -> list[str]:
    return [token.text.rstrip() for token in scan(source, keep_comments=True)]
