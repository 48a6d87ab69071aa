"""Random folders of fact files, right and wrong, for a program that reads them in many ways."""

import gzip
from collections.abc import Mapping
from pathlib import Path

from hypothesis import strategies as st

from support.fact_file_strategies import PIECES

PROGRAM = """
.decl edge(x: number, y: symbol)    .input edge
.decl name(s: symbol)               .input name
.decl pair(a: symbol, b: symbol)    .input pair(rfc4180=true)
.decl flag()                        .input flag
.decl more(y: symbol, n: number)    .input more(headers=true)
.decl some(y: symbol, n: number)    .input some(columns="2:0", delimiter=",")
.decl real(f: float, u: unsigned)   .input real
"""
NAMES = ("edge", "name", "pair", "flag", "more", "some", "real")

# Lines of facts, some of which are not, with texts that occur again.
texts = st.sampled_from(["a", "b", "é", "\N{SNOWMAN}" * 3, "long text " * 4, "", " ", "\ufeff", '"'])
ends = st.sampled_from(["\n", "\n", "\r\n", "\n\n"])
numbers = st.integers(-9, 9).map(str) | st.sampled_from(["x", "0x1F", "0xFFFFFFFFFFFFFFFF", "1.5", ""])


def _lines(*fields: st.SearchStrategy[str], delimiter: str = "\t") -> st.SearchStrategy[str]:
    line = st.tuples(*fields).map(delimiter.join)
    return st.lists(st.tuples(line, ends).map("".join), max_size=30).map("".join)


quoted = st.sampled_from(["a", '"b"', '"c\nd"', '"e""f"', '"g,h"', "é", "", '"open'])
folders = st.fixed_dictionaries(
    {},
    optional={
        "edge": _lines(numbers, texts) | st.lists(st.sampled_from(PIECES), max_size=20).map(b"".join),
        "name": _lines(texts),
        "pair": _lines(quoted, quoted, delimiter=","),
        "some": _lines(numbers, st.just("z"), texts | st.just("a,b"), delimiter=","),
        "real": _lines(numbers | st.just("1e999"), numbers),
        "flag": st.sampled_from(["", "()\n"]),
        "more": st.tuples(st.sampled_from(["y\tn\n", "n\ty\n", "y\tz\n"]), _lines(texts, numbers)).map(
            "".join
        ),
    },
)


def write_folder(
    folder: Path, content: Mapping[str, str | bytes], *, is_packed: bool, ends_with_line: bool
) -> None:
    """Write the files of a folder; inputs without content are empty, but for the flag, which has no file."""
    for name in NAMES:
        text = content.get(name)
        if text is None and name != "flag":
            continue
        data = text if isinstance(text, bytes) else (text or "").encode()
        data = data if ends_with_line else data.removesuffix(b"\n")
        (folder / f"{name}.facts").write_bytes(gzip.compress(data) if is_packed else data)
