"""The words of an SQL text, each with its place."""

import re
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.source import Source, Span

_TOKEN: Final = re.compile(
    r"(?P<blank>\s+|--[^\n]*|/\*(?s:.*?)\*/)"
    r"|(?P<number>\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<word>[^\W\d]\w*)"
    r"|(?P<quoted>`(?:[^`]|``)*`)"
    r"|(?P<text>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\")"
    r"|(?P<sign><=|>=|<>|!=|==|\|\||[-+*/%=<>(),.;])"
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b"}


@dataclass(frozen=True, slots=True)
class SqlToken:
    """A word, name, number, text or sign: `text` as it is written, `value` as it is meant."""

    kind: str
    text: str
    value: str
    span: Span

    def is_word(self, *words: str) -> bool:
        """Say whether this is one of some words of the language, or one of some signs."""
        return self.kind in ("word", "sign") and self.text.upper() in words

    @property
    def is_name(self) -> bool:
        """Say whether this may be a name."""
        return self.kind in ("word", "quoted")


def scan_sql(source: Source) -> list[SqlToken]:
    """Return the tokens of a text; raises `TidelogError` where there is none."""
    tokens: list[SqlToken] = []
    place = 0
    text = source.text
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            span = Span(source, place, place + 1)
            raise TidelogError([sql_mistake(f"`{text[place]}` is not expected here", span)])
        kind = match.lastgroup or ""
        if kind != "blank":
            span = Span(source, place, match.end())
            tokens.append(SqlToken(kind, match[0], _meant(kind, match[0]), span))
        place = match.end()
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    return tokens


def sql_mistake(message: str, span: Span | None, hint: str | None = None) -> Diagnostic:
    """Return the diagnostic for recursive SQL that cannot be evaluated."""
    return Diagnostic(code="recursive-sql", message=message, span=span, hint=hint)


def _meant(kind: str, written: str) -> str:
    match kind:
        case "word":
            return written.lower()
        case "quoted":
            return written[1:-1].replace("``", "`").lower()
        case "text":
            quote = written[0]
            inner = written[1:-1].replace(quote * 2, quote)
            return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), inner, flags=re.DOTALL)
        case _:
            return written
