"""What the parser, the printer and the formatter give for whole texts, kept in files."""

import os
from pathlib import Path

import pytest

from tidelog.errors import TidelogError, render
from tidelog.source import Source
from tidelog.syntax import format_text, parse, print_tree

GOLDEN = Path(__file__).parents[1] / "golden" / "syntax"


def read(name):
    """Return a golden program as a source whose name does not depend on the machine."""
    return Source(name, (GOLDEN / name).read_text(encoding="utf-8"))


def agree(name, text):
    """Compare the text with a golden file, or write it when UPDATE_GOLDEN is set."""
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")

    assert text == path.read_text(encoding="utf-8")


def test_formatter_lays_out_every_form():
    """Comments, blank lines and preprocessor lines stay; spaces and line breaks are made anew."""
    agree("language.formatted", format_text(read("language.dl")))


def test_printer_shows_every_form():
    """The printed tree has its macros replaced and no comments, in the same layout."""
    text = print_tree(parse(read("language.dl")))

    assert parse(Source("printed", text)) == parse(read("language.dl"))
    agree("language.printed", text)


def test_every_mistake_is_reported_at_once():
    """One run reports all mistakes of a text, each underlined and with a hint where there is one."""
    with pytest.raises(TidelogError) as caught:
        parse(read("mistakes.dl"))

    agree("mistakes.expected", "".join(f"{render(found)}\n" for found in caught.value.diagnostics))
