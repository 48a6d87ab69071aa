"""Shared libraries for tests, compiled from C and C++ where there is a compiler."""

import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

import tidelog

SOURCES = Path(__file__).parents[1] / "conformance" / "libraries"
INCLUDE = Path(tidelog.__file__).parent / "include"
needs_compiler = pytest.mark.skipif(
    shutil.which("cc") is None or shutil.which("c++") is None, reason="there is no C compiler here"
)


@cache
def library(name: str) -> Path:
    """Return the library of one of the sources, `libNAME.so`; it is compiled once."""
    source = next(SOURCES.glob(f"{name}.c*"))
    return compiled(source, Path(mkdtemp(prefix="tidelog-library-")))


def compiled(source: Path, folder: Path) -> Path:
    """Return the library that a source becomes in a folder."""
    made = folder / f"lib{source.stem}.so"
    compiler = "cc" if source.suffix == ".c" else "c++"
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}"]
    subprocess.run([*command, "-o", made, source], check=True)
    return made


def compiled_text(text: str, folder: Path, name: str = "functors") -> Path:
    """Return the library of a text in C."""
    source = folder / f"{name}.c"
    source.write_text(text, encoding="utf-8")
    return compiled(source, folder)
