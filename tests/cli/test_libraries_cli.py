"""`-l` and `-L`: functors from C libraries on the command line."""

import shutil
import subprocess
from pathlib import Path

import pytest

from support.command_line import Command, make_command
from support.compiled import library, needs_compiler

pytestmark = needs_compiler
PROGRAM = """\
.functor twice(x: number): number
.decl n(x: number)
.input n
.decl a(x: number)
.output a(IO=stdout)
a(@twice(x)) :- n(x).
"""
PRINTED = "---------------\na\n===============\n2\n14\n===============\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with a program, its facts, and a folder `lib` with a library."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    (tmp_path / "prog.dl").write_text(PROGRAM)
    (tmp_path / "n.facts").write_text("1\n7\n")
    (tmp_path / "lib").mkdir()
    shutil.copy(library("functors"), tmp_path / "lib" / "libfunctors.so")
    return tmp_path


@pytest.fixture
def tidelog(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Return the command line as a function from arguments to status, stdout and stderr."""
    return make_command(monkeypatch, capfd)


@pytest.mark.parametrize("engine", ["local", "reference"])
@pytest.mark.parametrize(
    "words",
    [("-l", "functors", "-L", "lib"), ("-lfunctors", "-Llib"), ("-l", "lib/libfunctors.so"), ("-Llib",)],
)
def test_a_library_is_found(folder: Path, tidelog: Command, words: tuple[str, ...], engine: str) -> None:
    """By its name in a folder, as Soufflé writes it, by its path, or as the usual one in a folder."""
    assert folder.exists()
    assert tidelog("run", "prog.dl", *words, "--engine", engine) == (0, PRINTED, "")


def test_the_usual_library_is_beside_or_in_the_environment(
    folder: Path, tidelog: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`libfunctors.so` of the current folder, or of `LD_LIBRARY_PATH`, needs no option."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder / "lib"))
    by_environment = tidelog("prog.dl")
    monkeypatch.delenv("LD_LIBRARY_PATH")
    without = tidelog("prog.dl")
    (folder / "lib" / "libfunctors.so").rename(folder / "libfunctors.so")

    assert by_environment == (0, PRINTED, "")
    assert without[0] == 1
    assert "error[missing-function]" in without[2]
    assert tidelog("prog.dl") == (0, PRINTED, "")


def test_a_library_that_is_not_there(folder: Path, tidelog: Command) -> None:
    """The status is 1, and nothing is written."""
    assert folder.exists()
    status, out, err = tidelog("prog.dl", "-l", "other", "-L", "lib")

    assert (status, out) == (1, "")
    assert err.startswith("error[library-not-found]: there is no library libother.so in lib\n")


def test_other_commands_take_libraries(folder: Path, tidelog: Command) -> None:
    """Proofs and epochs call the same functions."""
    (folder / "changes").write_text("+n(20).\n")

    proof = tidelog("why", "prog.dl", "a(14)", "-Llib")
    delta = tidelog("apply", "prog.dl", "changes", "-Llib")

    assert proof[1].startswith("a(14)")
    assert "n(7)" in proof[1]
    assert "+a(40)" in delta[1]


def test_the_width_of_numbers(folder: Path, tidelog: Command) -> None:
    """`--library-bits 32` is for libraries of a Soufflé with 32 bits."""
    shutil.copy(library("narrow"), folder / "libfunctors.so")
    (folder / "prog.dl").write_text(PROGRAM.replace("twice", "negated"))

    suspicious = tidelog("prog.dl")
    narrow = tidelog("prog.dl", "--library-bits", "32")

    assert "may be the 32-bit number -1" in suspicious[2]
    assert narrow[1].splitlines()[3:5] == ["-7", "-1"]


def test_the_header_is_where_include_says(folder: Path, tidelog: Command) -> None:
    """A stateful functor compiles with that folder, and runs."""
    (folder / "state.c").write_text(
        '#include "tidelog.h"\n'
        "int64_t twice(const tidelog_symbols *s, const tidelog_records *r, int64_t x)"
        " { (void)s; (void)r; return 2 * x; }\n"
    )
    (folder / "prog.dl").write_text(PROGRAM.replace("x: number): number", "x: number): number stateful"))
    status, out, _ = tidelog("include")
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-I", out.strip(), "-o", "libstate.so", "state.c"], check=True, cwd=folder
    )

    assert status == 0
    assert tidelog("prog.dl", "-lstate") == (0, PRINTED, "")
