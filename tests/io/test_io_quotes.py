"""Whether quotes close, against a regular expression for whole files."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.kernel_oracles import oracle_of
from tidelog.io.quotes import cut_quoted


def is_well_quoted(text, delimiter):
    """Say whether a text is fields, each quoted as a whole or not beginning with a quote."""
    field = rf'(?:"(?:[^"]|"")*"(?:\r(?=\n))?|(?!")[^{delimiter}\n]*)'
    return re.fullmatch(rf"{field}(?:[{delimiter}\n]{field})*", text) is not None


def pieces_of(text, delimiter, size):
    """Return the pieces that a text is cut into, None if a quote does not close."""
    data = text.encode()
    ends = np.empty(len(data) // size + 1, np.int64)
    count = cut_quoted(np.frombuffer(data, np.uint8), ord(delimiter), size, ends)
    if count < 0:
        return None
    return [data[first:last].decode() for first, last in pairwise([0, *ends[:count].tolist(), len(data)])]


def _unquoted(text):
    """Return a text with another character in place of every one in quotes."""
    return re.sub('"[^"]*"', lambda quoted: "x" * len(quoted.group()), text)


@oracle_of(cut_quoted)
@given(text=st.text('"",\t\n\ra', max_size=14), delimiter=st.sampled_from([",", "\t"]))
def test_quotes_close_at_the_end_of_their_field(text, delimiter):
    """A quote that opens a field closes before a delimiter or the end of a line; others mean nothing."""
    assert (pieces_of(text, delimiter, 4) is not None) == is_well_quoted(text, delimiter)


@given(
    fields=st.lists(st.sampled_from(["a", "", '"b"', '"c\nd"', '"e\n\n""f"', "\n", "\r\n"]), max_size=30),
    size=st.integers(1, 9),
)
def test_pieces_end_with_lines_outside_quotes(fields, size):
    """Every piece is closed in itself, ends with a line and is as long as was asked for, but for the last."""
    text = "".join(field if field.endswith("\n") else f"{field}," for field in fields)

    pieces = pieces_of(text, ",", size)

    assert "".join(pieces) == text
    assert all(is_well_quoted(piece, ",") for piece in pieces)
    assert all(piece.endswith("\n") and len(piece) >= size for piece in pieces[:-1])
    assert all("\n" not in _unquoted(piece)[size - 1 : -1] for piece in pieces)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ('"', False),
        ('""', True),
        ('"""', False),
        ('"a"b', False),
        ('a"b', True),
        ('"a\nb",c\r\n', True),
        ('"a"\r', False),
        ('x,"y', False),
    ],
)
def test_quotes_at_the_ends(text, expected):
    """A file may end in a quoted field, but not within one."""
    assert (pieces_of(text, ",", 100) is not None) is expected
