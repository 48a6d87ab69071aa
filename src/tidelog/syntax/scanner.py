"""Text cut into tokens: nothing expanded, nothing judged."""

import re
from typing import Final, NamedTuple

from tidelog.source import Source, Span

DIRECTIVES: Final = (
    "comp",
    "decl",
    "functor",
    "include",
    "init",
    "input",
    "lattice",
    "limitsize",
    "number_type",
    "once",
    "output",
    "override",
    "plan",
    "pragma",
    "printsize",
    "proofs",
    "symbol_type",
    "type",
)


class Token(NamedTuple):
    """One token and the characters it came from.

    `kind` is `word`, `number`, `string`, `directive` (`.decl`), `comment`, `bad` (what
    begins no token, or does not end), `end`, or the punctuation itself. A token made by a macro has
    the text of the macro's definition and the place of its use.
    `is_spaced` tells that white space stands before it, `is_fresh` that it is the first of its line.
    """

    kind: str
    text: str
    source: Source
    start: int
    end: int
    is_spaced: bool
    is_fresh: bool

    @property
    def span(self) -> Span:
        """Return the characters of the token, or of the macro use that made it."""
        return Span(self.source, self.start, self.end)


# A backslash before the newline continues the line, so it counts as space and not as a newline.
# Directive words need a space behind them: `inst.input(x)` is a qualified name.
_TOKEN: Final = re.compile(
    r"""
    (?P<space>(?:[ \t\r\v\f\ufeff]|\\\r?\n)+)
  | (?P<newline>\n)
  | (?P<comment>//[^\n]*|/\*(?s:.*?)\*/)
  | (?P<directive>\.(?:"""
    + "|".join(DIRECTIVES)
    + r""")(?=\s|\Z|"|/[/*]))
  | (?P<word>choice-domain(?![\w?])|[?A-Za-z_][?A-Za-z_0-9]*)
  | (?P<number>0[xX][0-9A-Za-z_]*|[0-9]+(?:\.[0-9]+)*(?:[eE][+-]?[0-9]+)?[?A-Za-z_0-9]*)
  | (?P<string>"(?:\\(?:.|\n)|[^"\\\n])*")
  | (?P<quoted>'(?:\\(?:.|\n)|[^'\\\n])*')
  | (?P<punctuation>:-|<:|<=|>=|!=|->|\#\#|/(?!\*)|[][(){}<>=!:;,.|$@+*^%\#-])
  | (?P<bad>/\*(?s:.*)|"[^\n]*|(?s:.))
    """,
    re.VERBOSE,
)


def scan(source: Source, *, keep_comments: bool = False, single_quotes: bool = False) -> list[Token]:
    """Return the tokens of the source, the last one of kind `end`.

    Never fails: what begins no token has the kind `bad`, so that text which the preprocessor
    leaves out is not judged. Single quotes make strings only where asked for (queries).

        scan(Source("a", "edge(1, x).")) -> edge ( 1 , x ) . end
    """
    tokens: list[Token] = []
    append = tokens.append
    is_spaced, is_fresh = True, True
    for match in _TOKEN.finditer(source.text):
        kind = match.lastgroup
        text = match.group()
        if kind == "space":
            is_spaced = True
            continue
        if kind == "newline":
            is_spaced = is_fresh = True
            continue
        if kind == "comment":
            # A comment is one space, however many lines it has: it neither ends a preprocessor line
            # nor begins a new one.
            if keep_comments:
                append(Token("comment", text, source, match.start(), match.end(), is_spaced, is_fresh))
            is_spaced = True
            continue
        if kind == "punctuation":
            kind = text
        elif kind == "quoted":
            kind = "string" if single_quotes else "bad"
        assert kind is not None
        append(Token(kind, text, source, match.start(), match.end(), is_spaced, is_fresh))
        is_spaced = is_fresh = False
    size = len(source.text)
    append(Token("end", "", source, size, size, True, True))
    return tokens
