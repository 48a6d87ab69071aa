"""Arguments and options that several commands have in common."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class FloatsChoice(StrEnum):
    """How floats are written to outputs."""

    SOUFFLE = "souffle"
    EXACT = "exact"


class OutputFormat(StrEnum):
    """Forms of what a command prints."""

    TEXT = "text"
    JSON = "json"


class RunForm(StrEnum):
    """Forms of the outputs of a run; text is what their directives say."""

    TEXT = "text"
    JSON = "json"
    TABLE = "table"
    CSV = "csv"
    MARKDOWN = "markdown"


class PictureChoice(StrEnum):
    """The pictures of a profile."""

    FLAME = "flame"
    ITERATIONS = "iterations"
    FACTS = "facts"


class ProofForm(StrEnum):
    """Forms of a proof: those of every result, the layout of logic books, two graphs and a page."""

    TEXT = "text"
    JSON = "json"
    HORIZONTAL = "horizontal"
    DOT = "dot"
    MERMAID = "mermaid"
    HTML = "html"


Program = Annotated[
    Path, typer.Argument(help="The program, a .dl file; - reads it from stdin.", metavar="PROGRAM")
]
Programs = Annotated[
    list[Path], typer.Argument(help="Programs, .dl files; - is stdin.", metavar="PROGRAM...")
]
Target = Annotated[
    Path, typer.Argument(help="A store's folder, or a program, a .dl file.", metavar="STORE|PROGRAM")
]
Scripts = Annotated[
    list[Path] | None,
    typer.Argument(help="Change scripts to apply to a program first.", metavar="CHANGES..."),
]
Fact = Annotated[str, typer.Argument(help="A fact, such as path(1, 'a').", metavar="FACT")]

Includes = Annotated[
    list[Path] | None,
    typer.Option(
        "-I", "--include-dir", metavar="DIR", help="A folder that #include searches; may be repeated."
    ),
]
Macros = Annotated[
    list[str] | None,
    typer.Option("-M", "--macro", metavar="NAME=VALUE", help="Define a macro; may be repeated."),
]
Jobs = Annotated[str, typer.Option("-j", "--jobs", metavar="N", help="Number of threads; auto is all cores.")]
Unwanted = Annotated[
    list[str] | None,
    typer.Option("--unwanted", "-u", metavar="FACT", help="A fact, or a pattern, that appeared; repeatable."),
]
Missing = Annotated[
    list[str] | None,
    typer.Option("--missing", "-m", metavar="FACT", help="A fact, or a pattern, that vanished; repeatable."),
]
Epochs = Annotated[
    str | None,
    typer.Option(
        "--epoch", metavar="N|A:B", help="The epochs whose changes are suspects; the last one by default."
    ),
]
Method = Annotated[
    str, typer.Option("--method", metavar="NAME", help="reasons, or ddmin for delta debugging.")
]
Format = Annotated[OutputFormat, typer.Option("--format", help="The form of what is printed.")]
ProofFormat = Annotated[ProofForm, typer.Option("--format", help="The form of what is printed.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to this file instead of stdout.")
]
AtEpoch = Annotated[
    int | None,
    typer.Option("--at", min=0, metavar="N", help="Ask about this old epoch, if it is kept."),
]
NoWarnings = Annotated[bool, typer.Option("-w", "--no-warn", help="Show errors only, no warnings.")]


def parse_jobs(text: str) -> int | None:
    """Return the number of threads; None for `auto`."""
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise typer.BadParameter(f"{text!r} is not a number of threads; give 1 or more, or auto")
    return int(text)


def parse_macros(macros: Iterable[str] | None) -> dict[str, str]:
    """Return macros by name; `-M "A=1 B"` defines two, and a name alone is 1, as in C."""
    words = [word for macro in macros or () for word in macro.split()]
    pairs = [word.partition("=") for word in words]
    for word, (name, _, _) in zip(words, pairs, strict=True):
        if not name.isidentifier():
            raise typer.BadParameter(f"{word!r} is not a macro; write NAME=VALUE")
    return {name: value if equals else "1" for name, equals, value in pairs}
