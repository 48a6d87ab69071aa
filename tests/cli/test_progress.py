"""Progress: one line on a terminal or in a notebook, for whatever takes longer than a second."""

import io
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from support.processes import started
from tidelog import progress as progress_module
from tidelog.engine import recorder as recorder_module
from tidelog.engine.recorder import SessionRecorder
from tidelog.progress import Progress

SLOW = """
.decl a(x: number)
.output a
.functor wait(x: number): number
a(@wait(1)).
"""
FUNCTIONS = "import time\ndef wait(x: int) -> int:\n    time.sleep(1.6)\n    return x\n"


class Terminal(io.StringIO):
    """What a terminal is sent."""

    def isatty(self) -> bool:
        """Return True."""
        return True

    @property
    def lines(self) -> list[str]:
        """What stood on the line, one after the other."""
        return [line.rstrip() for line in self.getvalue().split("\r")]


def _wait_for(is_there: Callable[[], bool]) -> None:
    while not is_there():
        time.sleep(0.01)


def test_an_activity_is_shown_and_erased():
    """The line says what is done, how much memory is used and for how long; afterwards it is empty."""
    terminal, progress = Terminal(), Progress(patience_seconds=0.0)
    progress.show_on(terminal)

    with progress.activity("loading facts"):
        progress.detail("edge")
        _wait_for(lambda: "edge" in terminal.getvalue())

    assert terminal.lines[1].startswith("loading facts | edge | ")
    assert " MiB | " in terminal.lines[1]
    assert terminal.lines[-2:] == ["", ""]


def test_the_innermost_activity_is_shown():
    """What is done within something else stands in its place while it lasts."""
    terminal, progress = Terminal(), Progress(patience_seconds=0.0)
    progress.show_on(terminal)

    with progress.activity("evaluating"):
        with progress.activity("compiling kernels"):
            _wait_for(lambda: "compiling" in terminal.getvalue())
        _wait_for(lambda: "evaluating" in terminal.getvalue())

    shown = [line.partition(" |")[0] for line in terminal.lines if line]
    assert list(dict.fromkeys(shown)) == ["compiling kernels", "evaluating"]


def test_what_is_short_is_not_shown():
    """Within the first second there is nothing on the terminal, not even an empty line."""
    terminal, progress = Terminal(), Progress(patience_seconds=1000.0)
    progress.show_on(terminal)

    with progress.activity("applying changes"):
        time.sleep(0.5)

    assert terminal.getvalue() == ""


def test_a_pipe_stays_as_it_is():
    """Without a terminal nothing is written, and no thread is started."""
    pipe, progress = io.StringIO(), Progress(patience_seconds=0.0)
    progress.show_on(pipe)

    with progress.activity("evaluating"):
        assert not progress.is_shown

    assert pipe.getvalue() == ""


def test_a_notebook(monkeypatch: pytest.MonkeyPatch):
    """In a notebook the line is a display of its cell, which is left empty; the next cell has its own."""
    progress = Progress(patience_seconds=0.0)
    displays: list[list[str]] = []

    def display(data: dict[str, str], **_options: object) -> SimpleNamespace:
        lines = [data["text/plain"]]
        displays.append(lines)
        return SimpleNamespace(update=lambda new, **_options: lines.append(new["text/plain"]))

    monkeypatch.setitem(sys.modules, "ipykernel", progress_module)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))

    with progress.activity("evaluating"):
        _wait_for(lambda: len(displays) == 1 and len(displays[0]) > 1)
    with progress.activity("writing"):
        _wait_for(lambda: len(displays) == 2)

    first, second = displays
    assert (first[0].split()[0], first[-1]) == ("evaluating", "")
    assert (second[0].split()[0], second[-1]) == ("writing", "")


def test_a_long_line_is_cut(monkeypatch: pytest.MonkeyPatch):
    """A line never wraps: it could not be erased."""
    monkeypatch.setenv("COLUMNS", "20")
    terminal, progress = Terminal(), Progress(patience_seconds=0.0)
    progress.show_on(terminal)

    with progress.activity("searching for what is to blame"):
        _wait_for(lambda: "searching" in terminal.getvalue())

    assert terminal.lines[1] == "searching for wh..."


def test_evaluation_tells_stratum_iteration_facts_and_rate(monkeypatch: pytest.MonkeyPatch):
    """A run says where it is."""
    progress = Progress()
    progress.show_on(Terminal())
    monkeypatch.setattr(recorder_module, "PROGRESS", progress)
    recorder = SessionRecorder()

    with recorder.phase("evaluate"):
        recorder.stratum_started(1, 5, ["path", "edge"])
        recorder.iteration_finished(1, 7, 1000, 1_204_211)
        line = progress.line()

    assert line.startswith("evaluating | stratum 2/5 path, edge | iteration 7 | 1,204,211 facts | ")


def _on_terminal(command: list[str], folder: Path) -> str:
    """Return what a command writes to stderr if that is a terminal."""
    reading, writing = pty.openpty()
    found = b""
    with started(command, folder, stdout=subprocess.DEVNULL, stderr=writing) as process:
        os.close(writing)
        # A terminal whose other end is closed is an error to read from.
        with suppress(OSError):
            while part := os.read(reading, 1 << 16):
                found += part
        os.close(reading)
        assert process.wait() == 0
    return found.decode()


@pytest.mark.parametrize("command", ["run", "apply"])
def test_a_slow_command(tmp_path: Path, command: str):
    """On a terminal a command that takes long says what it does; with its errors in a pipe it does not."""
    (tmp_path / "slow.dl").write_text(SLOW)
    (tmp_path / "slow.py").write_text(FUNCTIONS)
    (tmp_path / "changes.dl").write_text("")
    rest = ["--functions", "slow.py"] + (["changes.dl"] if command == "apply" else [])
    whole = [sys.executable, "-m", "tidelog", command, "slow.dl", *rest]

    shown = _on_terminal(whole, tmp_path)
    piped = subprocess.run(whole, cwd=tmp_path, capture_output=True, check=True)

    assert "evaluating | stratum 1/1 a" in shown
    assert shown.rpartition("\r")[2] == ""
    assert piped.stderr == b""


def test_progress_can_be_left_out(tmp_path: Path):
    """With `--no-progress` a terminal stays as it is."""
    (tmp_path / "slow.dl").write_text(SLOW)
    (tmp_path / "slow.py").write_text(FUNCTIONS)
    command = [sys.executable, "-m", "tidelog", "run", "slow.dl", "--functions", "slow.py", "--no-progress"]

    assert _on_terminal(command, tmp_path) == ""
