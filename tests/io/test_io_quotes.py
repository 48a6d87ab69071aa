"""Whether quotes close, against a regular expression for whole files."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.kernel_oracles import oracle_of
from tidelog.io.quotes import quotes_are_closed


def is_well_quoted(text, delimiter):
    """Say whether a text is fields, each quoted as a whole or not beginning with a quote."""
    field = rf'(?:"(?:[^"]|"")*"(?:\r(?=\n))?|(?!")[^{delimiter}\n]*)'
    return re.fullmatch(rf"{field}(?:[{delimiter}\n]{field})*", text) is not None


@oracle_of(quotes_are_closed)
@given(text=st.text('"",\t\n\ra', max_size=14), delimiter=st.sampled_from([",", "\t"]))
def test_quotes_close_at_the_end_of_their_field(text, delimiter):
    """A quote that opens a field closes before a delimiter or the end of a line; others mean nothing."""
    data = np.frombuffer(text.encode(), np.uint8)

    assert quotes_are_closed(data, ord(delimiter)) == is_well_quoted(text, delimiter)


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
    assert quotes_are_closed(np.frombuffer(text.encode(), np.uint8), ord(",")) is expected
