"""Program texts to begin from: examples, documentation, conformance cases, and their items one by one."""

import re
from functools import cache
from pathlib import Path
from typing import Final

from tidelog.errors import TidelogError
from tidelog.source import Source
from tidelog.syntax import parse
from tidelog.syntax.scanner import scan

_ROOT: Final = Path(__file__).parents[2]
_FOLDERS: Final = ("examples", "tests/conformance/cases", "tests/golden")
_BLOCK: Final = re.compile(r"^```(?:datalog|souffle)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_JOB_BLOCK: Final = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)


@cache
def programs() -> tuple[str, ...]:
    """Return the texts, each once, in an order that does not change from run to run."""
    found: dict[str, None] = {}
    for folder in _FOLDERS:
        for path in sorted((_ROOT / folder).rglob("*.dl")):
            found[path.read_text(encoding="utf-8")] = None
    for path in sorted((_ROOT / "docs").glob("*.md")):
        found.update(dict.fromkeys(_BLOCK.findall(path.read_text(encoding="utf-8"))))
    return tuple(found)


@cache
def program_items() -> tuple[tuple[str, ...], ...]:
    """Return the items of every program that parses, as they are written."""
    return tuple(filter(None, map(_items_of, programs())))


@cache
def program_words() -> tuple[str, ...]:
    """Return the tokens that the programs are made of, each once."""
    return tuple(sorted({token.text for text in programs() for token in scan(Source("words", text))}))


def _items_of(text: str) -> tuple[str, ...]:
    source = Source("corpus.dl", text)
    try:
        items = parse(source).items
    except TidelogError:
        return ()
    starts = sorted({item.span.start for item in items if item.span.source is source})
    return tuple(
        text[start:end].rstrip() + "\n" for start, end in zip(starts, [*starts[1:], len(text)], strict=True)
    )


@cache
def jobs() -> tuple[str, ...]:
    """Return the pipeline jobs of the examples and of the documentation."""
    found: dict[str, None] = {}
    for path in sorted((_ROOT / "examples").rglob("*.toml")):
        found[path.read_text(encoding="utf-8")] = None
    for path in sorted((_ROOT / "docs").glob("*.md")):
        found.update(dict.fromkeys(_JOB_BLOCK.findall(path.read_text(encoding="utf-8"))))
    return tuple(found)
