"""A section of RESULTS.md that a command writes anew."""

import re
from pathlib import Path


def write_section(page: Path, title: str, text: str) -> None:
    """Put a section into a page in place of the one of the same title, or at its end.

    A section reaches from its heading `## title` to the next heading of that depth.
    """
    section = f"## {title}\n\n{text.strip()}\n"
    old = page.read_text(encoding="utf-8") if page.is_file() else ""
    found = re.search(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", old, re.MULTILINE | re.DOTALL)
    if found is None:
        new = f"{old.rstrip()}\n\n{section}" if old.strip() else section
    else:
        after = old[found.end() :]
        new = old[: found.start()] + section + ("\n" + after if after else "")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(new, encoding="utf-8")
