"""Whatever is thrown at the parser, only diagnostics come out."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.errors import TidelogError
from tidelog.source import Source
from tidelog.syntax import format_text, parse, parse_atom, print_tree
from tidelog.syntax.scanner import scan
from tidelog.syntax.tree import Atom

PROGRAM = (Path(__file__).parents[1] / "golden" / "syntax" / "language.dl").read_text(encoding="utf-8")
WORDS = sorted(
    {token.text for token in scan(Source("words", PROGRAM))} | {"\n", "#if", "#define", "#", "'", '"', "/*"}
)


def outcome(read, *given):
    """Return what a reader gives, or the error that carries its diagnostics."""
    try:
        return read(*given)
    except TidelogError as error:
        return error


def survive(text):
    """Parse the text; where it is right, print and format it too, and check what comes out."""
    source = Source("fuzz/text.dl", text)
    tree = outcome(parse, source)
    if isinstance(tree, TidelogError):
        assert str(tree)
        return
    assert parse(Source("printed", print_tree(tree))) == tree
    once = format_text(source)
    assert format_text(Source("fuzz/text.dl", once)) == once


@given(st.text(max_size=80))
@settings(max_examples=100)
def test_any_text(text):
    """Random characters are read or reported."""
    survive(text)


@given(st.lists(st.sampled_from(WORDS), max_size=30), st.sampled_from(["", " "]))
@settings(max_examples=200)
def test_any_words(words, between):
    """Random tokens are read or reported."""
    survive(between.join(words))


@given(
    st.lists(
        st.tuples(
            st.integers(0, len(PROGRAM)), st.integers(0, 12), st.sampled_from(WORDS) | st.text(max_size=2)
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=100)
def test_damaged_programs(damages):
    """A program with pieces cut out and others put in is read or reported."""
    text = PROGRAM
    for place, length, inserted in damages:
        text = text[:place] + inserted + text[place + length :]

    survive(text)


@given(st.text(st.sampled_from("abx_(,)'\"[]$-+.1 {}:=\\"), max_size=30))
@settings(max_examples=100)
def test_any_query(text):
    """Random queries are atoms or diagnostics."""
    found = outcome(parse_atom, text)

    assert isinstance(found, Atom) or found.diagnostics
