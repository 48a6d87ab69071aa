"""Colours for programs, facts and change scripts."""

from typing import Any, ClassVar

from pygments import lexers, token
from pygments.lexer import RegexLexer, words


class DatalogLexer(RegexLexer):
    """Tidelog's dialect of Datalog."""

    name = "Datalog"
    aliases = ("datalog", "tidelog", "facts")
    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [
            (r"//.*?$", token.Comment.Single),
            (r"/\*.*?\*/", token.Comment.Multiline),
            (r"^#\s*\w+.*?$", token.Comment.Preproc),
            (r'"(?:\\.|[^"\\\n])*"', token.String),
            (r"\.(?=[a-z_]+\b)[a-z_]+", token.Keyword),
            (
                words(("number", "unsigned", "float", "symbol"), prefix=r"\b", suffix=r"\b"),
                token.Keyword.Type,
            ),
            (
                words(("count", "sum", "min", "max", "mean", "nil"), prefix=r"\b", suffix=r"\b"),
                token.Name.Builtin,
            ),
            (r"[A-Za-z_?][\w?]*(?:\.[A-Za-z_?][\w?]*)*(?=\()", token.Name.Function),
            (r"@@?\w+|\$\w+", token.Name.Decorator),
            (r"\b\d[\w.]*\b", token.Number),
            (r":-|<=|>=|!=|[-+*/%^<>=!|;:]", token.Operator),
            (r"[\w?]+", token.Name),
            (r"\s+|.", token.Text),
        ]
    }


def register() -> None:
    """Let Pygments find the lexer by its name, as it finds those of packages."""
    lexers.LEXERS["DatalogLexer"] = (__name__, DatalogLexer.name, DatalogLexer.aliases, (), ())
    lexers._lexer_cache[DatalogLexer.name] = DatalogLexer  # noqa: SLF001 - there is no other way without a package
