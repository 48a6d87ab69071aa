"""Python source to measure with: that of the standard library and of the installed packages."""

import sysconfig
from collections.abc import Iterator
from pathlib import Path


def python_files() -> Iterator[Path]:
    """Yield Python files that are installed here, those of the standard library first."""
    for name in ("stdlib", "purelib", "platlib"):
        folder = Path(sysconfig.get_paths()[name])
        for path in sorted(folder.rglob("*.py")):
            if name != "stdlib" or "site-packages" not in path.parts:
                yield path


def read_files(lines: int) -> dict[str, str]:
    """Return texts of about this many lines, by path; files that are not UTF-8 are left out."""
    texts: dict[str, str] = {}
    count = 0
    for path in dict.fromkeys(python_files()):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        texts["/".join(path.parts[-4:])] = text
        count += text.count("\n")
        if count >= lines:
            break
    return texts
